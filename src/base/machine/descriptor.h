#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>

namespace gprof {

// Moves a descriptor of ours above 2, closed on exec. When gprof-cli is started with stderr closed, the next file
// opened would become stderr, and a warning would land in the trace.
inline int MoveHigh(int descriptor) {
  if (descriptor < 0) return descriptor;
  const int high = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  const int error = errno;
  close(descriptor);
  errno = error;
  return high;
}

inline int OpenHigh(const char* path, int flags, mode_t mode) { return MoveHigh(open(path, flags | O_CLOEXEC, mode)); }

}  // namespace gprof
