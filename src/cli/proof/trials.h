// A program run alternately as it is and with changes, and what becomes of its time and of what it prints.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/proof/change_values.h"
#include "cli/proof/trial.h"
#include "gate/runs/judged_figure.h"
#include "gate/statistics/samples.h"
#include "launch/run/launch.h"

namespace gprof::cli {

struct TrialsOptions {
  LaunchOptions launch;
  AnalysisOptions analysis;
  std::string folder;  // for traces and output, absolute
  uint32_t runs = 10, warm_ups = 1;
  SampleRules rules;
  std::vector<std::string> files;  // that the program writes, and that have to stay the same
  bool compares_output = true;
  std::function<bool(const std::string&)> ignores_line;  // of the output; empty: none
};

enum class Outcome : uint8_t {
  kBetter,
  kWorse,
  kSame,
  kCannotTell,
  kFailed,        // or hung
  kOtherResults,  // prints or writes something else
  kDoesNotApply,
};
std::string_view OutcomeName(Outcome outcome);

struct Tried {
  AppliedChange change;
  Outcome outcome = Outcome::kCannotTell;
  std::string why;  // in words
  SampleComparison judged;
  std::vector<double> values;  // of the figure, in each round
};

struct TrialsResult {
  JudgedFigure figure;
  Tried base;
  std::vector<Tried> changes;
  std::vector<Tried> together;  // one, or none where fewer than two helped
  uint32_t rounds = 0, runs = 0;
  int64_t wall_ns = 0;
  int stop_signal = 0;  // that ended it early
};

class Trials {
 public:
  explicit Trials(const TrialsOptions& options) : options_(options), runner_(options.analysis) {}

  // A run of the program as it is, which shows whether it works, and whether it prints the same each time. Throws Error
  // where it does not. Returns the last of them, with its trace.
  Trial WarmUp();
  // After WarmUp().
  TrialsResult Run(std::vector<AppliedChange> changes);

 private:
  struct Stop {
    int signal;
  };

  Trial RunOnce(const AppliedChange& change);
  std::string ResultsOf(const Trial& trial) const;
  bool IsStillIn(const Tried& tried) const { return tried.why.empty(); }
  // False: it has failed, which ends its part.
  bool Try(Tried* tried, bool counts);
  void Rounds(std::vector<Tried*> all);
  void Judge(std::size_t tried, Tried* changed) const;
  void TryTogether();
  void SayCost(std::size_t changes) const;

  const TrialsOptions& options_;
  TrialRunner runner_;
  std::string expected_;  // what the program prints and writes as it is
  int64_t longest_ns_ = 0;
  TrialsResult result_;
};

}  // namespace gprof::cli
