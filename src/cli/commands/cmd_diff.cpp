// gprof-cli diff: what got better or worse, and by how much. docs/commands/diff.md
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments/diff_arguments.h"
#include "cli/arguments/options.h"
#include "cli/arguments/run_set_arguments.h"
#include "cli/commands/commands.h"
#include "cli/recording/leftovers.h"
#include "gate/diff/diff.h"
#include "gate/runs/run_set.h"
#include "import/read_trace.h"
#include "trace/reshape/merge.h"
#include "trace/reshape/select.h"

namespace gprof::cli {
namespace {

class DiffCommand : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("BASE", base_, "base side: a trace, a folder of traces, a run file, or a baseline (file or name)")
        ->type_name("");
    app.add_option("NEW", new_, "new side, same kinds as BASE")->type_name("");
    runs_.AddOptions(app);
    app.add_option("--dir", folder_, std::string("baseline folder (default ") + kBaselineFolder + ")")
        ->type_name("FOLDER")
        ->group("Filters");
    arguments_.AddOptions(app, false, DiffArguments::Pages::kHtml);
    arguments_.AddOutputOption(app);
    AddMemoryLimitOption(app);
  }

  int Run() override {
    if (base_.empty() || new_.empty()) {
      throw Error(ExitCode::kUsage,
                  base_.empty() ? "nothing to compare" : "nothing to compare '" + base_ + "' with: NEW is missing",
                  "usage: gprof-cli diff BASE NEW [options]");
    }
    const DiffOptions options = arguments_.Options();
    const RunSetOptions of_new = runs_.Read();
    RunSetOptions of_base = of_new;
    of_base.commit.clear();  // the CI system knows that of what it has built
    RecoverEarlierRuns();
    const RunSet base = Load(base_, of_base), now = Load(new_, of_new);
    const Diff diff = CompareRuns(base, now, options);
    if (!arguments_.WantsPage()) return arguments_.Show(diff, of_new.selected);
    // The runs that the times are of.
    const std::optional<Trace> before = TraceOf(base.runs[diff.base.shown], of_new.selection),
                               after = TraceOf(now.runs[diff.now.shown], of_new.selection);
    std::vector<PageTimeline> timelines;
    if (before) timelines.push_back({*before, "base: " + before->path, of_new.analysis.step});
    if (after) timelines.push_back({*after, "new: " + after->path, of_new.analysis.step});
    return arguments_.ShowPage(diff, of_new.selected, std::move(timelines));
  }

 private:
  // None of what was measured elsewhere, such as a baseline.
  static std::optional<Trace> TraceOf(const Measurement& run, const Selection& selection) {
    if (run.traces.empty()) return std::nullopt;
    std::vector<Trace> traces;
    for (const std::string& path : run.traces) traces.push_back(ReadTrace(path));
    Trace trace = traces.size() == 1 ? std::move(traces.front()) : MergeTraces(std::move(traces));
    return selection.IsEmpty() ? std::move(trace) : Select(std::move(trace), selection);
  }

  RunSet Load(const std::string& path, const RunSetOptions& loading) const {
    RunSet set = LoadRunSet({BaselinePath(path, folder_)}, loading);
    for (const Measurement& run : set.runs) {
      if (loading.analysis.step.empty() || !run.breakdown.is_known || run.breakdown.steps) continue;
      throw Error(ExitCode::kUsage, "no NVTX range '" + loading.analysis.step + "' in '" + run.source + "'",
                  "gprof-cli report --only nvtx lists the ranges; --step needs a push/pop range");
    }
    return set;
  }

  RunSetArguments runs_;
  DiffArguments arguments_;
  std::string base_, new_, folder_ = kBaselineFolder;
};

}  // namespace

std::unique_ptr<Command> MakeDiff() { return std::make_unique<DiffCommand>(); }

}  // namespace gprof::cli
