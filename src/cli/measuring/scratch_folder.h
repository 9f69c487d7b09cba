// A folder for what one run leaves for somebody, and away with it.
#pragma once

#include <string>

namespace gprof::cli {

class ScratchFolder {
 public:
  // `purpose` is a part of its name. Throws Error where none can be made.
  explicit ScratchFolder(const std::string& purpose);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace gprof::cli
