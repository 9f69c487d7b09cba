#include "tracer/cupti/library/second_cupti.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "tracer/core/notice.h"
#include "tracer/cupti/library/cupti_api.h"

namespace gprof::tracer {
namespace {

// The lines of /proc/self/maps, read without stdio. The loader is not asked: its lock may be held for long.
class Maps {
 public:
  Maps() : fd_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC | O_NOCTTY)) {}
  ~Maps() {
    if (fd_ >= 0) close(fd_);
  }
  Maps(const Maps&) = delete;
  Maps& operator=(const Maps&) = delete;

  // Null at the end. Valid until the next call.
  char* NextLine() {
    while (true) {
      char* end = static_cast<char*>(std::memchr(text_ + at_, '\n', used_ - at_));
      if (end != nullptr) {
        *end = 0;
        char* line = text_ + at_;
        at_ = static_cast<std::size_t>(end + 1 - text_);
        return line;
      }
      std::memmove(text_, text_ + at_, used_ - at_);
      used_ -= at_;
      at_ = 0;
      if (used_ == sizeof text_ || !Read()) return nullptr;
    }
  }

 private:
  bool Read() {
    ssize_t n;
    do {
      n = fd_ >= 0 ? read(fd_, text_ + used_, sizeof text_ - used_) : 0;
    } while (n < 0 && errno == EINTR);
    if (n <= 0) return false;
    used_ += static_cast<std::size_t>(n);
    return true;
  }

  int fd_;
  char text_[8192];  // a line has a path of at most 4,096 bytes
  std::size_t at_ = 0, used_ = 0;
};

// The path that a line ends with, if that is a libcupti; else null. Packages may have put a number into its name.
const char* CuptiIn(const char* line) {
  const char* path = std::strchr(line, '/');
  if (path == nullptr) return nullptr;
  const char* file = std::strrchr(path, '/') + 1;
  const bool is_cupti = std::strncmp(file, "libcupti.so", 11) == 0 ||
                        (std::strncmp(file, "libcupti-", 9) == 0 && std::strstr(file, ".so") != nullptr);
  return is_cupti ? path : nullptr;
}

void SayTwo(const char* first, const char* second) {
  Message message;
  message << "two copies of libcupti are loaded, " << first << " and " << second << ", and " << Cupti().path
          << " is recording; a profiler using the other one gets no data, or takes GPU events away "
             "from this trace. Choose one with --cupti FILE";
  Say(trace::NoticeLevel::kWarning, message);
}

bool SayIfTwo() {
  Maps maps;
  char first[4200] = {};
  while (const char* line = maps.NextLine()) {
    const char* path = CuptiIn(line);
    if (path == nullptr || std::strcmp(path, first) == 0) continue;
    if (first[0] != 0) {
      SayTwo(first, path);
      return true;
    }
    const std::size_t n = strnlen(path, sizeof first - 1);
    std::memcpy(first, path, n);
    first[n] = 0;
  }
  return false;
}

}  // namespace

void LookForSecondCupti(bool is_last) {
  static uint32_t flushes = 0;
  static bool is_said = false;
  ++flushes;
  const bool is_time = (flushes & (flushes - 1)) == 0;
  if (is_said || (!is_time && !is_last)) return;
  is_said = SayIfTwo();
}

}  // namespace gprof::tracer
