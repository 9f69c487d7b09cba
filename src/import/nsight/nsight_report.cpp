#include "import/nsight/nsight_report.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/machine/scratch_folder.h"
#include "base/text.h"
#include "gprof/error.h"
#include "import/nsight/nsight.h"

namespace gprof {
namespace {

namespace fs = std::filesystem;

std::function<void(const std::string&)>& Teller() {
  static std::function<void(const std::string&)> say;
  return say;
}

std::string ExportBeside(const std::string& path) { return fs::path(path).replace_extension(".sqlite").string(); }

std::string LineToType(const std::string& path) {
  return "nsys export --type sqlite -o '" + ExportBeside(path) + "' '" + path + "'";
}

[[noreturn]] void Refuse(const std::string& path, const std::string& why) {
  throw Error(ExitCode::kUnreadable, "cannot read '" + path + "': an Nsight Systems report" + why,
              "export it where nsys is installed and use the result: " + LineToType(path));
}

bool IsInPath(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  for (bool is_last = false; !is_last;) {
    const std::size_t colon = rest.find(':');
    is_last = colon == std::string_view::npos;
    const std::string folder(rest.substr(0, colon));
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
    if (!is_last) rest.remove_prefix(colon + 1);
  }
  return false;
}

// Its exit code, or -1 where it cannot be started. What it prints is dropped: its result is a file.
int RunSilently(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, arguments.front(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return -1;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool IsFreshExport(const std::string& database, const std::string& report) {
  std::error_code error;
  const auto made = fs::last_write_time(database, error);
  if (error) return false;
  const auto recorded = fs::last_write_time(report, error);
  return !error && made >= recorded;
}

Trace ReadAs(const std::string& database, const std::string& path) {
  Trace trace = ReadNsight(database);
  trace.path = path;
  return trace;
}

}  // namespace

bool IsNsightReport(const std::string& path) { return path.ends_with(".nsys-rep") || path.ends_with(".qdrep"); }

void AllowNsysExport(std::function<void(const std::string&)> say) { Teller() = std::move(say); }

Trace ReadNsightReport(const std::string& path) {
  if (!Teller()) Refuse(path, "");
  const std::string beside = ExportBeside(path);
  if (IsFreshExport(beside, path)) {
    Teller()("reading '" + beside + "', the export of '" + path + "'");
    return ReadAs(beside, path);
  }
  if (!IsInPath("nsys")) Refuse(path, ", and nsys is not in PATH");
  Teller()("converting '" + path +
           "' with nsys export, which may take a while; to convert it once and keep the result: " + LineToType(path));
  const ScratchFolder folder("nsys");
  const std::string database = folder.path() + "/export.sqlite";
  const int code =
      RunSilently({"nsys", "export", "--type", "sqlite", "--force-overwrite", "true", "-o", database, path});
  if (code != 0 || !fs::exists(database)) Refuse(path, ", and nsys export " + EndingText(code, 0));
  return ReadAs(database, path);
}

}  // namespace gprof
