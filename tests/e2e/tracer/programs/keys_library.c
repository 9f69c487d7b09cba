/* Preloaded: takes the thread keys that libc has room for in each thread, so that a later one asks for memory. */
#include <pthread.h>

__attribute__((constructor)) static void TakeKeys(void) {
  for (int i = 0; i < 32; ++i) {
    pthread_key_t key;
    pthread_key_create(&key, 0);
  }
}
