#include "cli/recording/leftovers.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cli/live/recorder_protocol.h"
#include "cli/talk.h"
#include "gprof/trace/file.h"
#include "launch/run/find_program.h"
#include "launch/salvage/run_folder_files.h"
#include "launch/salvage/salvage.h"

namespace gprof::cli {
namespace {

// By a run that goes on.
bool IsBeingRecorded(const std::string& path) {
  const std::vector<FoundRun> runs = FindRuns(RunFolderBases());
  return std::any_of(runs.begin(), runs.end(), [&](const FoundRun& run) {
    std::error_code error;
    const std::string output = OutputOf(run);
    return !output.empty() && std::filesystem::equivalent(path, output, error);
  });
}

}  // namespace

void RecoverEarlierRuns() {
  try {
    const std::vector<std::string> bases = RunFolderBases();
    if (FindRuns(bases).empty()) return;
    RecoverDeadRuns(bases, SalvageOptions{.tracer = FindTracer(), .report_loss = Warn}, Say);
    RecoverRecorders();
  } catch (const std::exception&) {
    // Without a tracer nothing can be recovered here; where there is one, it will be.
  }
}

Error Explained(const Error& error, const std::string& path) {
  std::error_code failed;
  const bool is_empty = trace::HoldsNothing(std::filesystem::file_size(path, failed)) && !failed;
  if (error.code() != ExitCode::kUnreadable || !is_empty || !IsBeingRecorded(path)) return error;
  return Error(error.code(), "'" + path + "' is still being recorded, and nothing has been written to it yet",
               "try again in a second, or when the program has ended");
}

}  // namespace gprof::cli
