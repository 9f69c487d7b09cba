/* Preloaded into gprof-cli alone: stands in for a disk or a user with bad timing. GPROF_TEST_TROUBLE says what happens when
   a compressed trace is all written, and is to take the place of the plain one:
     full          there is no room on the disk after all
     kill, kill2   the command is killed, before and after the new file has a name */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

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

int rename(const char* from, const char* to) {
  if (Is("kill2")) raise(SIGKILL);
  int (*const next)(const char*, const char*) = (int (*)(const char*, const char*))dlsym(RTLD_NEXT, "rename");
  return next(from, to);
}
