#include "cli/recording/leftovers.h"

#include "cli/talk.h"
#include "gprof/error.h"
#include "launch/run/find_tracer.h"
#include "launch/salvage/run_folder_files.h"
#include "launch/salvage/salvage.h"

namespace gprof::cli {

void RecoverEarlierRuns() {
  try {
    const std::vector<std::string> bases = RunFolderBases();
    if (FindRuns(bases).empty()) return;
    RecoverDeadRuns(bases, SalvageOptions{.tracer = FindTracer(), .report_loss = Warn}, Say);
  } catch (const std::exception&) {
    // Without a tracer nothing can be recovered here; where there is one, it will be.
  }
}

}  // namespace gprof::cli
