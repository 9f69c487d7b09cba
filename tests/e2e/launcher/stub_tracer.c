/* Stands in for the tracer where only the launcher is tested: does nothing, and says that it worked. What it makes of
   the arena of a dead process stands in the arena itself, 4096 bytes in:
     append FILE TEXT     adds TEXT, and whether the time of death is known, to FILE
     error N              fails with errno N
     crash, hang, talk */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int InitializeInjection(void) { return 1; }
int InitializeInjectionNvtx2(void* get_export_table) { return get_export_table != 0; }

static int Append(int trace, const char* file, const char* text, int knows_when) {
  char line[1024];
  const int size = snprintf(line, sizeof line, "%s %s\n", text, knows_when ? "now" : "some time ago");
  const int descriptor = trace >= 0 ? dup(trace) : open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const ssize_t written = write(descriptor, line, (size_t)size);
  close(descriptor);
  return written == size ? 0 : EIO;
}

int GprofSalvage(int arena, uint64_t died_ns, int trace) {
  char order[1024] = "", file[512], text[256];
  int number = 0;
  const ssize_t size = pread(arena, order, sizeof order - 1, 4096);
  if (size < 0) return errno;
  if (sscanf(order, "append %511s %255s", file, text) == 2) return Append(trace, file, text, died_ns != 0);
  if (sscanf(order, "error %d", &number) == 1) return number;
  if (strncmp(order, "crash", 5) == 0) raise(SIGSEGV);
  while (strncmp(order, "hang", 4) == 0) pause();
  if (strncmp(order, "talk", 4) == 0) {
    printf("%s\n", getenv("PATH") != 0 ? "with an environment" : "without");
    fflush(stdout);
    return 0;
  }
  return EINVAL;
}
