// Functions that glibc gave a new version, mostly as they moved into libc.so.6 in 2.34.
#include "glibc/forward.h"

FORWARD(__pthread_key_create);
FORWARD(dladdr);
FORWARD(dlclose);
FORWARD(dlerror);
FORWARD(dlopen);
FORWARD(dlsym);
FORWARD(dlvsym);
FORWARD(pthread_attr_setstacksize);
FORWARD(pthread_create);
FORWARD(pthread_detach);
FORWARD(pthread_getspecific);
FORWARD(pthread_join);
FORWARD(pthread_key_create);
FORWARD(pthread_mutex_trylock);
FORWARD(pthread_mutexattr_destroy);
FORWARD(pthread_mutexattr_init);
FORWARD(pthread_mutexattr_settype);
FORWARD(pthread_once);
FORWARD(pthread_rwlock_destroy);
FORWARD(pthread_rwlock_init);
FORWARD(pthread_rwlock_rdlock);
FORWARD(pthread_rwlock_unlock);
FORWARD(pthread_rwlock_wrlock);
FORWARD(pthread_setspecific);
FORWARD(pthread_sigmask);
FORWARD(pthread_testcancel);

// What strtol() and the like are compiled to with headers of glibc 2.38 and newer; they know binary numbers besides.
FORWARD_TO(__isoc23_sscanf, sscanf);
FORWARD_TO(__isoc23_strtol, strtol);
FORWARD_TO(__isoc23_strtoll, strtoll);
FORWARD_TO(__isoc23_strtoul, strtoul);
FORWARD_TO(__isoc23_strtoull, strtoull);
