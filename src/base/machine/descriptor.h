// Descriptors of files, and folders.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

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

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using OpenFolder = std::unique_ptr<DIR, CloseFolder>;  // of opendir()

// The names in a folder, but for those that begin with a dot.
template <class F>
void ForEachEntry(const std::string& folder, F&& visit) {
  const OpenFolder listing(opendir(folder.c_str()));
  while (const dirent* entry = listing ? readdir(listing.get()) : nullptr) {
    if (entry->d_name[0] != '.') visit(std::string_view(entry->d_name));
  }
}

// Those that are numbers: processes of /proc, threads of /proc/PID/task.
inline std::vector<int> NumbersIn(const std::string& folder) {
  std::vector<int> numbers;
  ForEachEntry(folder, [&](std::string_view name) {
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
  });
  return numbers;
}

}  // namespace gprof
