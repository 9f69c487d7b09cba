// gprof-cli partial: what of a trace can be joined with others. docs/commands/partial.md
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/machine/parallel.h"
#include "cli/arguments/options.h"
#include "cli/commands/commands.h"
#include "cli/fleet/fleet_inputs.h"
#include "cli/recording/leftovers.h"
#include "cli/talk.h"
#include "fleet/partial/partial_file.h"
#include "fleet/summarize/summarize_ranks.h"
#include "import/read_trace.h"

namespace gprof::cli {
namespace {

class Partial : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("TRACE", words_, "traces, folders of traces, or a .txt file with one path per line")->type_name("");
    app.add_option("--shard", shard_, "only every Nth trace, starting with number I (counted from 0)")
        ->type_name("I/N")
        ->group("Input");
    app.add_option("--threads", threads_, "most threads to use at a time (default: the cores of this machine)")
        ->type_name("N")
        ->check(WholeNumber(1, 4096))
        ->group("Input");
    app.add_flag("--no-results", has_no_results_,
                 "omit data that only report, check and diff need: takes a third of the time")
        ->group("Output");
    app.add_option("-o,--output", output_, "partial to write (atomically); - for stdout")
        ->type_name("FILE.gpart")
        ->group("Output");
    app.add_flag("-q,--quiet", quietness_, "print only errors; twice: nothing")->group("Output");
    AddMemoryLimitOption(app);
  }

  int Run() override {
    if (words_.empty() || output_.empty()) {
      throw Error(ExitCode::kUsage, words_.empty() ? "no trace given" : "no output given",
                  "usage: gprof-cli partial TRACE... -o FILE.gpart");
    }
    const Shard shard = shard_.empty() ? Shard() : ReadShard(shard_);
    const CoreLimit limit(threads_ > 0 ? threads_ : UsableCores());
    RecoverEarlierRuns();
    const std::vector<std::string> paths = PathsOf(shard, FleetInputs(words_));
    std::vector<RankSummary> ranks;
    std::vector<Error> unreadable;
    for (const std::string& path : paths) {
      try {
        std::vector<RankSummary> more =
            has_no_results_ ? SummarizeWithoutResults(ReadTrace(path)) : SummarizeRanks(ReadTrace(path));
        ranks.insert(ranks.end(), more.begin(), more.end());
      } catch (const Error& error) {
        unreadable.push_back(Explained(error, path));
        ranks.push_back(UnreadableRank(path, error.what()));
        if (quietness_ == 0) Tell(unreadable.back());
      }
    }
    WriteFile(output_, WritePartial(ranks));
    if (unreadable.empty() || unreadable.size() < paths.size()) return CodeOf(ExitCode::kGood);
    if (quietness_ == 1) Tell(unreadable.front());
    return CodeOf(ExitCode::kUnreadable);
  }

 private:
  std::vector<std::string> words_;
  std::string shard_, output_;
  uint32_t threads_ = 0;
  bool has_no_results_ = false;
  int quietness_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakePartial() { return std::make_unique<Partial>(); }

}  // namespace gprof::cli
