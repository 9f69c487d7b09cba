#include "cli/measuring/scratch_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "gprof/error.h"

namespace gprof::cli {

ScratchFolder::ScratchFolder(const std::string& purpose) {
  std::error_code failed;
  std::string pattern = (std::filesystem::temp_directory_path(failed) / ("gprof-" + purpose + "-XXXXXX")).string();
  if (failed || mkdtemp(pattern.data()) == nullptr)
    throw Error(ExitCode::kLaunchFailed, "cannot make a temporary folder: " + std::string(std::strerror(errno)),
                "set TMPDIR to a folder that can be written");
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace gprof::cli
