// As many cores as PRETEND_CORES says, for programs that ask sched_getaffinity: they have as many threads then.
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t* set) {
  (void)pid;
  const char* const text = getenv("PRETEND_CORES");
  const int count = text ? atoi(text) : 1;
  CPU_ZERO_S(size, set);
  for (int core = 0; core < count; ++core) CPU_SET_S(core, size, set);
  return 0;
}
