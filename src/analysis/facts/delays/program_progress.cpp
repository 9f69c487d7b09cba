#include "analysis/facts/delays/program_progress.h"

#include <algorithm>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"

namespace gprof {
namespace {

constexpr size_t kFewestSteps = 5;
// Launches of a kernel are no steps: of few nobody knows whether the program was at the same all the while.
constexpr int64_t kFewestLaunches = 20;

// The unit that was begun last by then; kNone before the first.
size_t UnitAt(const std::vector<int64_t>& begin_ns, int64_t time_ns) {
  const auto after = std::ranges::upper_bound(begin_ns, time_ns);
  return after == begin_ns.begin() ? kNone : static_cast<size_t>(after - begin_ns.begin()) - 1;
}

// Launches of any thread count, as those of a backward pass are another thread's.
void FindEnds(const AnalysisInput& input, ProgramProgress* progress) {
  const Trace& trace = input.trace();
  std::vector<int64_t> ends(progress->size(), INT64_MIN);
  for (const Operation op : OperationsOf(trace)) {
    if (op.shared().process != progress->process) continue;
    const size_t unit = UnitAt(progress->begin_ns, input.shared().ops().LaunchNs(op));
    if (unit != kNone) ends[unit] = std::max(ends[unit], op.end_ns());
  }
  const auto idle = std::ranges::count(ends, INT64_MIN);
  if (idle * 10 > static_cast<int64_t>(ends.size())) {
    // Most do nothing on the GPU: a unit is done when the next begins, and of the last nobody knows.
    progress->done_ns.assign(progress->begin_ns.begin() + 1, progress->begin_ns.end());
    progress->begin_ns.pop_back();
    return;
  }
  for (size_t unit = 1; unit < ends.size(); ++unit) ends[unit] = std::max(ends[unit], ends[unit - 1]);
  progress->done_ns = std::move(ends);
}

std::optional<ProgramProgress> OfSteps(const AnalysisInput& input, const std::string& wanted) {
  const Trace& trace = input.trace();
  const std::optional<StepChoice> step = wanted.empty() ? input.shared().step() : FindStep(input, wanted);
  if (!step || step->ranges.size() < kFewestSteps) return std::nullopt;
  ProgramProgress progress;
  progress.process = trace.threads[step->thread].process;
  progress.step = trace.ranges[step->ranges.front()].name;
  progress.name = trace.Text(progress.step);
  for (const uint32_t range : step->ranges) progress.begin_ns.push_back(trace.ranges[range].start_ns);
  FindEnds(input, &progress);
  return progress;
}

// The kernel that takes most of the time of the GPU.
std::optional<ProgramProgress> OfKernel(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  const KernelGroups& kernels = input.shared().kernels();
  const std::vector<Statistics>& times = input.shared().kernel_times();
  uint32_t most = kNone;
  for (uint32_t group = 0; group < kernels.size(); ++group) {
    if (kernels.Count(group) < kFewestLaunches) continue;
    if (most == kNone || times[group].total > times[most].total) most = group;
  }
  if (most == kNone) return std::nullopt;
  ProgramProgress progress;
  progress.name = kernels.Name(most);
  progress.is_kernel = true;
  std::vector<Interval> units;
  for (const Operation op : OperationsOf(trace)) {
    if (kernels.of_traits()[op.kind_number()] != most) continue;
    if (progress.process == kNone) progress.process = op.shared().process;
    if (op.shared().process == progress.process) units.push_back({input.shared().ops().LaunchNs(op), op.end_ns()});
  }
  if (units.size() < static_cast<size_t>(kFewestLaunches)) return std::nullopt;
  std::ranges::sort(units, {}, &Interval::start_ns);
  for (const Interval& unit : units) {
    progress.begin_ns.push_back(unit.start_ns);
    progress.done_ns.push_back(progress.done_ns.empty() ? unit.end_ns : std::max(unit.end_ns, progress.done_ns.back()));
  }
  return progress;
}

}  // namespace

double ProgramProgress::MeanNs() const {
  if (size() < 2) return 0;
  return static_cast<double>(done_ns.back() - done_ns.front()) / static_cast<double>(size() - 1);
}

std::optional<ProgramProgress> FindProgress(const AnalysisInput& input, const std::string& wanted) {
  std::optional<ProgramProgress> progress = OfSteps(input, wanted);
  return progress || !wanted.empty() ? progress : OfKernel(input);
}

}  // namespace gprof
