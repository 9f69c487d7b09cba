// A bisection from its first run to its answer: builds and runs the versions that the search asks for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/proof/bisect_state.h"
#include "cli/proof/trial.h"
#include "cli/proof/version_source.h"
#include "gate/bisect/change_search.h"
#include "gate/runs/judged_figure.h"
#include "launch/run/launch.h"

namespace gprof::cli {

struct BisectOptions {
  LaunchOptions launch;
  AnalysisOptions analysis;
  std::string folder;        // for builds, traces and the state; absolute
  std::string build, apply;  // commands; empty: none
  uint32_t warm_ups = 1;     // of each version, before its first run
  uint32_t most_runs = 0;    // 0: as many as it takes
  int64_t budget_ns = 0;     // 0: as long as it takes
  std::optional<JudgedFigure> metric;
  SearchRules rules;
};

struct BisectOutcome {
  SearchResult found;
  JudgedFigure figure;
  uint32_t runs = 0, builds = 0;
  std::vector<BisectSkip> skipped;
  int64_t wall_ns = 0;  // of runs and builds, those before an interruption too
  int stop_signal = 0;
  std::string why_ended;                  // before the answer was known; empty: it is known
  double before = 0, after = 0;           // medians of the figure on both sides of the first change
  std::vector<std::string> what_changed;  // there, in sentences
};

class Bisection {
 public:
  // Goes on where an earlier one with the same question in this folder ended. Throws Error where the folder is of
  // another one.
  Bisection(const BisectOptions& options, const std::string& question, VersionSource* source);

  // Throws Error where the good or the bad version cannot be built or run.
  BisectOutcome Run();

 private:
  struct Stop {
    int signal;
  };

  void StartSearch();
  std::string WhyOver() const;  // before the answer is known; empty: it goes on
  std::vector<double> Costs() const;
  void Test(uint32_t version);
  bool IsReady(uint32_t version, VersionPlace* place);
  bool Build(uint32_t version, const VersionPlace& place);
  bool Apply(uint32_t version, const VersionPlace& place);
  Trial RunOnce(const VersionPlace& place, const std::string& trace);
  void Skip(uint32_t version, const std::string& why);
  void Keep(uint32_t version, const Trial& trial);
  void SayCost() const;
  void SayProgress(const BisectRun& run) const;
  void AddWhatChanged(BisectOutcome* outcome) const;
  std::vector<std::string> TracesNear(uint32_t version, bool is_after) const;
  double TypicalRunNs() const;
  double TypicalBuildNs() const;
  std::string Path(const std::string& name) const { return options_.folder + "/" + name; }

  const BisectOptions& options_;
  VersionSource* source_;
  TrialRunner runner_;
  BisectState state_;
  JudgedFigure figure_;
  std::unique_ptr<ChangeSearch> search_;
  std::vector<bool> is_warm_;
  std::optional<uint32_t> applied_;
  int64_t start_ns_ = 0;
};

}  // namespace gprof::cli
