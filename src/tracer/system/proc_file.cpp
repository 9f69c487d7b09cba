#include "tracer/system/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace gprof::tracer {

ssize_t ReadProcFile(const char* path, char* out, std::size_t size) {
  out[0] = 0;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return -1;
  std::size_t used = 0;
  while (used + 1 < size) {
    const ssize_t n = read(fd, out + used, size - 1 - used);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    used += static_cast<std::size_t>(n);
  }
  close(fd);
  if (used > 0 && out[used - 1] == '\n') --used;
  out[used] = 0;
  return static_cast<ssize_t>(used);
}

const char* StatField(const char* line, int number) {
  const char* at = std::strrchr(line, ')');
  for (int field = 2; at != nullptr && field < number; ++field) at = std::strchr(at + 1, ' ');
  return at == nullptr ? nullptr : at + 1;
}

}  // namespace gprof::tracer
