// How a double says that its caller broke a rule of the real library: a line in the file that MOCK_VIOLATIONS names (a
// test reads it afterwards), the same line on stderr, then abort. The real library would crash, hang or corrupt memory.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace mock {

[[noreturn]] inline void Violation(const char* what) {
  char line[256];
  const int n = std::snprintf(line, sizeof(line), "mock violation in pid %d: %s\n", static_cast<int>(getpid()), what);
  const size_t size = n < 0 ? 0 : static_cast<size_t>(n) < sizeof(line) ? static_cast<size_t>(n) : sizeof(line) - 1;
  if (const char* path = std::getenv("MOCK_VIOLATIONS")) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd >= 0) {
      if (write(fd, line, size) < 0) std::perror("MOCK_VIOLATIONS");
      close(fd);
    }
  }
  std::fputs(line, stderr);
  std::abort();
}

inline long EnvNumber(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::strtol(text, nullptr, 0) : otherwise;
}

// The clock of CUPTI on Linux, and so of everything in the doubles.
inline unsigned long long NowNs() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<unsigned long long>(t.tv_sec) * 1000000000ull + static_cast<unsigned long long>(t.tv_nsec);
}

inline void WaitUntilNs(unsigned long long end_ns) {
  for (unsigned long long now = NowNs(); now < end_ns; now = NowNs()) {
    const unsigned long long left = end_ns - now;
    timespec t = {static_cast<time_t>(left / 1000000000ull), static_cast<long>(left % 1000000000ull)};
    nanosleep(&t, nullptr);
  }
}

}  // namespace mock
