#include "launch/run/find_tracer.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "gprof/error.h"

namespace gprof {

std::string FindTracer() {
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) {
    throw Error(ExitCode::kLaunchFailed,
                "cannot determine where gprof-cli is installed: /proc/self/exe: " + failed.message());
  }
  const std::string tracer = (self.parent_path().parent_path() / "lib" / "gprof-cli" / "libgprof-tracer.so").string();
  if (access(tracer.c_str(), R_OK) != 0) {
    throw Error(ExitCode::kLaunchFailed, "cannot find the tracer '" + tracer + "': " + std::strerror(errno),
                "reinstall gprof-cli, or build it where the CUPTI and NVTX headers are found "
                "(-DGPROF_BUILD_TRACER=ON)");
  }
  return tracer;
}

}  // namespace gprof
