// A folder in TMPDIR for what a command needs for a while, and away with it.
#pragma once

#include <string>

#include "gprof/error.h"

namespace gprof {

class ScratchFolder {
 public:
  // `purpose` is a part of its name. Throws Error, with the code and the hint, where none can be made.
  explicit ScratchFolder(const std::string& purpose, ExitCode code = ExitCode::kUnreadable,
                         const std::string& hint = "set TMPDIR to a folder with enough space");
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  // It stays, or goes after all.
  void Keep(bool is_kept = true) { is_kept_ = is_kept; }

 private:
  std::string path_;
  bool is_kept_ = false;
};

}  // namespace gprof
