#include "base/machine/read_proc.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/machine/descriptor.h"

namespace gprof {

std::string ReadProcFile(const std::string& path) {
  constexpr std::size_t kPieceBytes = 16384;
  const int file = OpenHigh(path.c_str(), O_RDONLY, 0);
  if (file < 0) return {};
  std::string text;
  for (;;) {
    const std::size_t known = text.size();
    text.resize(known + kPieceBytes);
    const ssize_t count = read(file, text.data() + known, kPieceBytes);
    text.resize(known + static_cast<std::size_t>(count > 0 ? count : 0));
    if (count == 0 || (count < 0 && errno != EINTR)) break;
  }
  close(file);
  return text;
}

}  // namespace gprof
