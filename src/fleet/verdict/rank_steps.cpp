#include "fleet/verdict/rank_steps.h"

#include <optional>
#include <utility>
#include <vector>

#include "analysis/facts/shared_facts.h"

namespace gprof {
namespace {

int64_t CoveredBy(IntervalSet::Cursor& set, const Iteration& step) { return set.Covered(step.start_ns, step.EndNs()); }

// `steps` has its path.
void Fill(const std::vector<Iteration>& iterations, uint32_t device, const CollectiveTimes& times, StepColumns* steps) {
  static const IntervalSet kNothing;
  const auto of_device = [device](const std::map<uint32_t, IntervalSet>& sets) -> const IntervalSet& {
    const auto at = sets.find(device);
    return at == sets.end() ? kNothing : at->second;
  };
  IntervalSet::Cursor kernels(of_device(times.kernels)), others(of_device(times.others));
  steps->count = static_cast<int64_t>(iterations.size());
  while (steps->count > steps->steps_in_one * static_cast<int64_t>(kKeptSteps)) steps->steps_in_one *= 2;
  const auto entries = static_cast<size_t>((steps->count + steps->steps_in_one - 1) / steps->steps_in_one);
  for (auto* column : {&steps->wall_ns, &steps->kernel_ns, &steps->copy_ns, &steps->exposed_ns})
    column->resize(entries);
  for (auto& column : steps->idle_ns) column.resize(entries);
  for (size_t i = 0; i < iterations.size(); ++i) {
    const Iteration& step = iterations[i];
    const size_t at = i / static_cast<size_t>(steps->steps_in_one);
    steps->wall_ns[at] += step.duration_ns;
    steps->kernel_ns[at] += step.parts_ns[kStepKernels];
    steps->copy_ns[at] += step.parts_ns[kStepCopies];
    steps->exposed_ns[at] += CoveredBy(kernels, step) - CoveredBy(others, step);
    for (size_t cause = 0; cause < kCauseCount; ++cause) {
      steps->idle_ns[cause][at] += step.parts_ns[kStepIdle + cause];
    }
  }
}

}  // namespace

RankSteps StepsOf(const AnalysisInput& input, const CollectiveTimes& times) {
  RankSteps steps;
  if (const std::optional<StepChoice>& choice = input.shared().step()) {
    StepTimes of_steps = TimeSteps(input, *choice);
    if (of_steps.device == kNone) return steps;
    steps.columns.path = KeptName(input.trace().Text(choice->path));
    Fill(of_steps.iterations, of_steps.device, times, &steps.columns);
    steps.times = std::move(of_steps);
    return steps;
  }
  for (uint32_t device = 0; device < input.trace().devices.size() && steps.columns.path.empty(); ++device) {
    const std::vector<Iteration> slices = TimeSlices(input, device, kTimeSlices);
    if (slices.empty()) continue;
    steps.columns.path = kTimeSlicesPath;
    Fill(slices, device, times, &steps.columns);
  }
  return steps;
}

}  // namespace gprof
