#include "cli/proof/shell.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/input_file.h"
#include "base/text.h"
#include "cli/proof/trial.h"
#include "gprof/error.h"
#include "launch/run/child.h"

namespace gprof::cli {
namespace {

std::vector<std::string> EnvironmentWith(const Variables& variables) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto is_set = [&](const auto& variable) { return text.starts_with(variable.first + "="); };
    if (std::none_of(variables.begin(), variables.end(), is_set)) entries.push_back(text);
  }
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  return entries;
}

}  // namespace

ShellResult RunShell(const std::string& command, const std::string& folder, const Variables& variables,
                     const std::string& log) {
  const FolderChange change(folder);
  const int64_t start_ns = MonotonicNs();
  Child child({"sh", "-c", "exec </dev/null 2>&1\n" + command}, ProgramOutput::kInFile, 0, log);
  child.Start(EnvironmentWith(variables));
  const ChildEnd end = child.Wait({});
  ShellResult result;
  result.exit_code = end.signal != 0 ? 128 + end.signal : end.exit_code;
  const int late_signal = SignalBetweenRuns();
  result.stop_signal = end.stop_signal != 0 ? end.stop_signal : late_signal;
  result.wall_ns = MonotonicNs() - start_ns;
  return result;
}

std::string LastLineOf(const std::string& log) {
  std::string text = access(log.c_str(), R_OK) == 0 ? ReadInputFile(log) : "";
  text = std::string(Trimmed(text.substr(0, text.find_last_not_of(" \t\r\n") + 1)));
  return Printable(text.substr(text.rfind('\n') + 1));
}

FolderChange::FolderChange(const std::string& folder) : before_(std::filesystem::current_path().string()) {
  std::error_code failed;
  std::filesystem::current_path(folder, failed);
  if (failed) throw Error(ExitCode::kLaunchFailed, "cannot enter the folder '" + folder + "': " + failed.message());
}

FolderChange::~FolderChange() {
  std::error_code ignored;
  std::filesystem::current_path(before_, ignored);
}

}  // namespace gprof::cli
