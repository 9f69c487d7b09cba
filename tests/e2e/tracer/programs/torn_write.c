/* Preloaded into a program: the kernel of a busy machine. A process that is killed within a write leaves a part of it:
   here the third chunk of more than 200 bytes is the one, and half of it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

ssize_t write(int descriptor, const void* bytes, size_t size) {
  ssize_t (*const next)(int, const void*, size_t) = (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
  static int chunks = 0;
  const int is_chunk = size > 200 && memcmp(bytes, "\xA9gprof", 6) == 0;
  if (!is_chunk || ++chunks < 3) return next(descriptor, bytes, size);
  next(descriptor, bytes, size / 2);
  raise(SIGKILL);
  return -1;
}
