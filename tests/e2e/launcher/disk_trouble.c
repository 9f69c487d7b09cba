/* Preloaded into gprof-cli: stands in for a disk or a user with bad timing. GPROF_TEST_TROUBLE says which:
     early         Ctrl-C comes, once, when the command waits for processes that are ending
     interrupt     Ctrl-C comes when the trace has been opened to be compressed
   and when the compressed trace is all written, and is to take the place of the plain one:
     full          there is no room on the disk after all
     kill, kill2   the command is killed, before and after the new file has a name */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static int Is(const char* word) {
  const char* const trouble = getenv("GPROF_TEST_TROUBLE");
  return trouble != 0 && strcmp(trouble, word) == 0;
}

int fdatasync(int descriptor) {
  (void)descriptor;
  if (Is("kill")) raise(SIGKILL);
  if (!Is("full")) return 0;
  errno = ENOSPC;
  return -1;
}

int madvise(void* at, size_t size, int advice) {
  if (advice == MADV_SEQUENTIAL && Is("interrupt")) raise(SIGINT);
  int (*const next)(void*, size_t, int) = (int (*)(void*, size_t, int))dlsym(RTLD_NEXT, "madvise");
  return next(at, size, advice);
}

int nanosleep(const struct timespec* length, struct timespec* left) {
  static int came = 0;
  if (!came && Is("early")) came = 1, raise(SIGINT);
  int (*const next)(const struct timespec*, struct timespec*) =
      (int (*)(const struct timespec*, struct timespec*))dlsym(RTLD_NEXT, "nanosleep");
  return next(length, left);
}

int rename(const char* from, const char* to) {
  if (Is("kill2")) raise(SIGKILL);
  int (*const next)(const char*, const char*) = (int (*)(const char*, const char*))dlsym(RTLD_NEXT, "rename");
  return next(from, to);
}
