// Commands that are no program to be measured: builds, git.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gprof::cli {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct ShellResult {
  int exit_code = 0;    // 128 + N when signal N killed it
  int stop_signal = 0;  // somebody wants us to stop
  int64_t wall_ns = 0;
  bool IsGood() const { return exit_code == 0 && stop_signal == 0; }
};

// By `sh -c`, in `folder`, without input; what it writes to stdout and stderr goes to the file `log`.
ShellResult RunShell(const std::string& command, const std::string& folder, const Variables& variables,
                     const std::string& log);

// The last line of a log that says something; empty: it says nothing.
std::string LastLineOf(const std::string& log);

// While one lives, the current folder is another one.
class FolderChange {
 public:
  explicit FolderChange(const std::string& folder);
  ~FolderChange();
  FolderChange(const FolderChange&) = delete;
  FolderChange& operator=(const FolderChange&) = delete;

 private:
  std::string before_;
};

}  // namespace gprof::cli
