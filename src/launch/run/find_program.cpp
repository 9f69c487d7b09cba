#include "launch/run/find_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "gprof/error.h"

namespace gprof {
namespace {

// 0 when `file` looks executable, else the errno that exec would give.
int TryFile(const std::string& file) {
  struct stat status;
  if (stat(file.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  return access(file.c_str(), X_OK) == 0 ? 0 : errno;
}

// What execvp comes to: the first file that runs, else "permission denied" if any file was in the way.
int SearchPath(const std::string& program, std::string_view path) {
  int result = ENOENT;
  for (;;) {
    const std::size_t colon = path.find(':');
    const std::string_view folder = path.substr(0, colon);
    const int error = TryFile(folder.empty() ? program : std::string(folder) + "/" + program);
    if (error == 0) return 0;
    if (error == EACCES) result = EACCES;
    if (colon == std::string_view::npos) return result;
    path.remove_prefix(colon + 1);
  }
}

std::string Hint(const std::string& program, int error) {
  const bool is_path = program.find('/') != std::string::npos;
  if (error == EACCES) return "the file is not executable: chmod +x, or put the interpreter before it";
  if (error == EISDIR) return "it is a folder; give the path of a program";
  if (error != ENOENT) return {};
  if (is_path) return "check the spelling and the current folder";
  const int here = TryFile(program);
  if (here == 0) return "it is in the current folder, which is not in PATH: run ./" + program;
  if (here == EACCES) return "a file of this name is in the current folder, but it is not executable";
  return "it is not in any folder of PATH";
}

}  // namespace

void CheckProgram(const std::string& program, const std::optional<std::string>& path) {
  int error = ENOENT;
  if (program.find('/') != std::string::npos) {
    error = TryFile(program);
  } else if (!program.empty()) {
    error = SearchPath(program, path.value_or("/bin:/usr/bin"));
  }
  if (error == 0) return;
  const ExitCode code = error == ENOENT ? ExitCode::kNotFound : ExitCode::kNotExecutable;
  throw Error(code, "cannot run '" + program + "': " + std::strerror(error), Hint(program, error));
}

void ThrowExecError(const std::string& program, int error) {
  const ExitCode code = error == ENOENT ? ExitCode::kNotFound : ExitCode::kNotExecutable;
  const char* hint = error == ENOENT  ? "the file exists, but its interpreter (#! line or ELF loader) does not"
                     : error == E2BIG ? "its arguments and environment are too large"
                                      : "";
  throw Error(code, "cannot run '" + program + "': " + std::strerror(error), hint);
}

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
