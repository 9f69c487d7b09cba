// A library that waits.
#include <time.h>
#include <unistd.h>

int WaitInLibrary(int microseconds) {
  if (microseconds > 0) usleep((useconds_t)microseconds);
  const struct timespec none = {0, 0};
  nanosleep(&none, NULL);
  return 1;
}
