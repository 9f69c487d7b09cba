#include "base/machine/scratch_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace gprof {

ScratchFolder::ScratchFolder(const std::string& purpose, ExitCode code, const std::string& hint) {
  std::error_code failed;
  path_ = (std::filesystem::temp_directory_path(failed) / ("gprof-" + purpose + "-XXXXXX")).string();
  if (failed || mkdtemp(path_.data()) == nullptr)
    throw Error(code,
                "cannot create a temporary folder (in TMPDIR): " + (failed ? failed.message() : std::strerror(errno)),
                hint);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!is_kept_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace gprof
