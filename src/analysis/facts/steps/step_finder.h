// The range of a program that stands for one step of its work: what `steps` compares with each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/operations/op_facts.h"
#include "analysis/facts/operations/range_facts.h"
#include "gprof/trace.h"

namespace gprof {

struct StepChoice {
  uint32_t thread = kNone;
  NameId path;
  std::vector<uint32_t> ranges;  // in order of time, none overlap; those that were cut or never ended are left out
  int64_t covered_ns = 0;        // of the GPU window
  int64_t window_ns = 0;         // from the first to the last operation of any GPU; of all ranges where there is none
  int64_t work_ns = 0;           // kernel time that its process launched within the range; 0 where the window decided
  int64_t all_work_ns = 0;       // kernel time of that process
  bool is_named = false;         // its name means a step, so that it need not be entered as often
};

// `wanted` is the path or the name of a push/pop range, and empty to look for one: the outermost that a thread repeats
// at least 5 times at the same depth and that covers at least half of the GPU window; of several, the one that covers
// most. A name that means a step (MeansAStep) comes first, however often it was entered. Most of the kernel time of
// its process must have been launched in it, collectives aside. Where none covers as much, as start-up took longer: in
// which at least half of the kernel time of its process was launched. Nothing where no range is like that.
std::optional<StepChoice> FindStep(const Trace& trace, const OpFacts& ops, const RangeFacts& ranges,
                                   const std::string& wanted);

// What the name of a range says of whether it is a step of the program.

// Operators of a framework, what autograd runs for them, collectives, layers, loaders and libraries: they repeat within
// a step, and are none.
bool IsPartOfAStep(std::string_view name);

// Frameworks and programs call a step so, whatever number counts its instances: "ProfilerStep#7", "train_step",
// "execute_context_0(0)_generation_4(4)".
bool MeansAStep(std::string_view name);

// The same of the names of a trace, each looked at once.
class StepNames {
 public:
  explicit StepNames(const Trace& trace) : trace_(trace), are_part_(trace.strings.size()) {}
  bool ArePartOfAStep(NameId name);

 private:
  const Trace& trace_;
  std::vector<std::optional<bool>> are_part_;  // by NameId
};

}  // namespace gprof
