#include "base/machine/thread_memory.h"

#include <cstdlib>  // says which C library this is

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/machine/parallel.h"

namespace gprof {

void SeparateMemoryOfThreads() {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, static_cast<int>(UsableCores()));
#endif
}

}  // namespace gprof
