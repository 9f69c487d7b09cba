// gprof-cli diff: what got better or worse, and by how much. docs/commands/diff.md
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/diff_arguments.h"
#include "cli/leftovers.h"
#include "cli/run_set_arguments.h"
#include "cli/selection_arguments.h"
#include "gate/diff.h"
#include "gate/run_set.h"

namespace gprof::cli {
namespace {

class DiffCommand : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("BASE", base_, "what to compare with: a trace, a folder of traces, a run file, a baseline or its name")
        ->type_name("");
    app.add_option("NEW", new_, "what is compared with it, of the same sorts")->type_name("");
    app.add_option("--step", step_, "the NVTX range that is one step, by its name or path; found by itself without this")
        ->type_name("NAME|PATH")
        ->group("What is looked at");
    selection_.AddOptions(app);
    app.add_option("--dir", folder_, std::string("folder of baselines that are named, ") + kBaselineFolder + " by default")
        ->type_name("FOLDER")
        ->group("What is looked at");
    arguments_.AddOptions(app);
    arguments_.AddOutputOption(app);
  }

  int Run() override {
    if (base_.empty() || new_.empty()) {
      throw Error(ExitCode::kUsage, base_.empty() ? "nothing to compare" : "nothing to compare '" + base_ + "' with",
                  "usage: gprof-cli diff BASE NEW [options]");
    }
    const DiffOptions options = arguments_.Options();
    RunSetOptions loading;
    loading.selection = selection_.Read();
    loading.selected = Describe(loading.selection);
    loading.analysis.step = step_;
    RecoverEarlierRuns();
    const RunSet base = Load(base_, loading), now = Load(new_, loading);
    return arguments_.Show(CompareRuns(base, now, options), loading.selected);
  }

 private:
  RunSet Load(const std::string& path, const RunSetOptions& loading) const {
    RunSet set = LoadRunSet({BaselinePath(path, folder_)}, loading);
    for (const Measurement& run : set.runs) {
      if (step_.empty() || !run.breakdown.is_known || run.breakdown.steps) continue;
      throw Error(ExitCode::kUsage, "no NVTX range of '" + run.source + "' is '" + step_ + "'",
                  "gprof-cli report --only nvtx shows the ranges; --step wants one that is pushed and popped");
    }
    return set;
  }

  SelectionArguments selection_;
  DiffArguments arguments_;
  std::string base_, new_, step_, folder_ = kBaselineFolder;
};

}  // namespace

std::unique_ptr<Command> MakeDiff() { return std::make_unique<DiffCommand>(); }

}  // namespace gprof::cli
