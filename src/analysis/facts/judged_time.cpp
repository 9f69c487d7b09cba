#include "analysis/facts/judged_time.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <utility>

#include "analysis/facts/calls/code_loads.h"
#include "analysis/facts/gaps/gaps.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/operations/transfers.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/steps/step_windows.h"
#include "analysis/facts/time/interval_set.h"
#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"

namespace gprof {
namespace {

// Loading a kernel takes about as long at least; shorter gaps are not worth cutting the run for.
constexpr int64_t kLongGapNs = 100'000;
// What a host does between two parts of a program takes its time as well: longer gaps are for loading code only where
// code was loaded in them.
constexpr int64_t kLongestLazyLoadNs = 20'000'000;

constexpr Interval kAllTime{INT64_MIN, INT64_MAX};

// When the device was done with what comes once; the start of its window where nothing does.
int64_t EndOfStartup(const AnalysisInput& input, uint32_t device) {
  const Trace& trace = input.trace();
  const CodeLoads& loads = input.shared().code_loads();
  const Trace::Slice ops = trace.device_ops[device];
  std::map<NameId, uint32_t> first_of;  // by kernel, the first operation
  const std::vector<OpFacts::Sum>& sums = input.shared().ops().sums();
  for (uint32_t i = 0; i < sums.size(); ++i) {
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    if (traits.kind != OpKind::kKernel || sums[i].count == 0 || traits.device != device) continue;
    const auto [at, is_new] = first_of.try_emplace(traits.name, sums[i].first);
    if (!is_new) at->second = std::min(at->second, sums[i].first);
  }
  const uint32_t middle = ops.first + (ops.last - ops.first) / 2;
  int64_t end_ns = input.shared().gaps(device).start_ns();
  for (const auto& [name, op] : first_of) {
    const int64_t gap_ns = input.shared().gaps(device).GapBefore(op), start_ns = trace.ops[op].start_ns;
    if (op >= middle || gap_ns < kLongGapNs) continue;
    const Interval gap{start_ns - gap_ns, start_ns};
    if (loads.AreAside(gap) || (gap_ns > kLongestLazyLoadNs && !loads.MayBeIn(gap))) continue;
    end_ns = std::max(end_ns, start_ns);
  }
  return end_ns;
}

// Half of the kernel time is of kernels that were launched so often, or more often.
size_t LaunchesOfMostKernels(const AnalysisInput& input) {
  std::map<size_t, int64_t, std::greater<>> time_of;  // by launches
  int64_t left_ns = 0;
  for (const Statistics& times : input.shared().kernel_times()) {
    time_of[times.count] += times.total;
    left_ns += times.total;
  }
  left_ns /= 2;
  for (const auto& [launches, time_ns] : time_of) {
    left_ns -= time_ns;
    if (left_ns <= 0) return launches;
  }
  return 0;
}

// Whether the few operations there are have no kernel twice.
bool NoKernelRunsTwice(const AnalysisInput& input) {
  constexpr size_t kFewOperations = 32;
  const Trace& trace = input.trace();
  if (trace.ops.size() > kFewOperations) return false;
  std::map<NameId, int64_t> launches_of;
  const std::vector<OpFacts::Sum>& sums = input.shared().ops().sums();
  for (uint32_t i = 0; i < sums.size(); ++i) {
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    if (traits.kind == OpKind::kGraph) return false;
    if (traits.kind == OpKind::kKernel) launches_of[traits.name] += sums[i].count;
  }
  const auto is_one = [](const auto& of) { return of.second == 1; };
  return !launches_of.empty() && std::ranges::all_of(launches_of, is_one);
}

// Operations that are long over by the time add nothing; one that reaches into it is cut.
DeviceTimes TimesUntil(const AnalysisInput& input, uint32_t device, int64_t until_ns) {
  const GapList& gaps = input.shared().gaps(device);
  if (until_ns >= gaps.end_ns()) {
    return {gaps.window_ns(), gaps.busy().any.busy_ns(), gaps.busy().kernels.busy_ns()};
  }
  DeviceTimes times;
  if (until_ns <= gaps.start_ns()) return times;
  times.window_ns =
      input.shared().recorded().ForEachOfDevice(device, gaps.start_ns(), until_ns, [](int64_t, int64_t) {});
  BusyTime any(0, gaps.start_ns()), kernels = any;  // what was before does not count
  for (const Operation op : OperationsOf(input.trace(), input.trace().device_ops[device])) {
    if (op.start_ns() >= until_ns) break;
    const int64_t start_ns = op.start_ns(), end_ns = std::min(op.end_ns(), until_ns);
    any.Add(start_ns, end_ns);
    if (op.is_kernel()) kernels.Add(start_ns, end_ns);
  }
  times.busy_ns = any.busy_ns();
  times.kernel_ns = kernels.busy_ns();
  return times;
}

// When the last kernel of the device was done; nothing of it where there is none.
int64_t LastKernelNs(const Trace& trace, uint32_t device) {
  int64_t done_ns = INT64_MIN;
  for (const Operation op : OperationsOf(trace, trace.device_ops[device])) {
    if (op.is_kernel()) done_ns = std::max(done_ns, op.end_ns());
  }
  return done_ns;
}

// How long devices copied in the time once their kernels were done: results, as a rule.
int64_t CopiedAfterKernelsNs(const AnalysisInput& input, const Interval& time) {
  int64_t copied_ns = 0;
  for (uint32_t device = 0; device < input.trace().device_ops.size(); ++device) {
    if (!HasWindow(input.trace(), device)) continue;
    const int64_t done_ns = LastKernelNs(input.trace(), device);
    if (done_ns == INT64_MIN || done_ns >= time.end_ns) continue;
    copied_ns += TimesUntil(input, device, time.end_ns).busy_ns -
                 TimesUntil(input, device, std::max(done_ns, time.start_ns)).busy_ns;
  }
  return copied_ns;
}

// What keeps the GPUs busy for most of the time that they work is what the program does, also where it comes once. So
// are copies before and after the kernels that take longer than all kernels.
bool IsMostOfTheWork(const AnalysisInput& input, int64_t until_ns) {
  const DeviceTimes before = TimesOfDevices(input, {INT64_MIN, until_ns});
  if (before.busy_ns <= before.window_ns / 2) return false;
  const int64_t copied_ns = before.busy_ns - before.kernel_ns + CopiedAfterKernelsNs(input, kAllTime);
  return before.busy_ns > input.shared().busy_ns() / 2 || copied_ns > input.shared().kernel_busy_ns();
}

std::optional<SteadyTime> AfterFirstLaunches(const AnalysisInput& input) {
  Interval window{INT64_MAX, INT64_MIN};
  int64_t from_ns = INT64_MIN;
  for (uint32_t device = 0; device < input.trace().device_ops.size(); ++device) {
    if (!HasWindow(input.trace(), device)) continue;
    const GapList& gaps = input.shared().gaps(device);
    window.start_ns = std::min(window.start_ns, gaps.start_ns());
    window.end_ns = std::max(window.end_ns, gaps.end_ns());
    from_ns = std::max(from_ns, EndOfStartup(input, device));
  }
  if (from_ns <= window.start_ns || from_ns >= window.end_ns) return std::nullopt;
  if (IsMostOfTheWork(input, from_ns)) return std::nullopt;
  return SteadyTime{"", {from_ns, window.end_ns}, LaunchesOfMostKernels(input)};
}

// When the GPUs were done with what had been launched until then: the host may be far ahead of them.
int64_t DoneWithNs(const AnalysisInput& input, int64_t launched_until_ns) {
  const Trace& trace = input.trace();
  int64_t done_ns = INT64_MIN;
  for (const Trace::Slice& slice : trace.device_ops) {
    for (uint32_t i = slice.last; i > slice.first; --i) {
      const Operation op(trace.ops, i - 1);
      if (input.shared().ops().LaunchNs(op) >= launched_until_ns) continue;
      done_ns = std::max(done_ns, op.end_ns());
      break;
    }
  }
  return done_ns;
}

// Copies that come a few times, among kernels that are launched ten times as often and take longer, as where a
// benchmark reads the result of each of its parts.
bool AreCopiesFew(const AnalysisInput& input) {
  constexpr int64_t kFewCopies = 10, kTimesAsOften = 10, kTimesAsLong = 4;
  struct Copies {
    int64_t count = 0, time_ns = 0;
  };
  std::map<std::pair<Direction, int>, Copies> copies_of;  // by direction and magnitude
  for (const GpuOp& op : TransfersOf(input.trace(), input.shared().ops())) {
    if (!op.IsCopy()) continue;
    Copies& copies = copies_of[{DirectionOf(op), std::bit_width(op.size_bytes)}];
    ++copies.count;
    copies.time_ns += op.DurationNs();
  }
  const auto launches = static_cast<int64_t>(LaunchesOfMostKernels(input));
  int64_t few_ns = 0, many_ns = 0;
  for (const auto& [kind, copies] : copies_of) {
    const bool are_few = copies.count < kFewCopies && kTimesAsOften * copies.count <= launches;
    (are_few ? few_ns : many_ns) += copies.time_ns;
  }
  return few_ns > 0 && kTimesAsLong * many_ns <= few_ns && few_ns + many_ns <= input.shared().kernel_busy_ns();
}

// Where more of the run is copying before the first kernel, that is what the program does, not what it does first.
constexpr double kMostUploadPercent = 10;

int64_t FirstKernelNs(const Trace& trace, uint32_t device) {
  for (const Operation op : OperationsOf(trace, trace.device_ops[device])) {
    if (op.is_kernel()) return op.start_ns();
  }
  return INT64_MAX;
}

}  // namespace

std::optional<SteadyTime> FindSteadyTime(const AnalysisInput& input, const std::string& step) {
  // Two iterations do not tell whether the first was slow.
  constexpr size_t kFewestToTell = 3;
  const std::optional<StepChoice> choice = FindStep(input, step);
  if (choice && (choice->ranges.size() >= kFewestToTell || !step.empty())) {
    std::optional<Interval> time = SteadyTimeOf(input.trace(), *choice);
    if (time) {
      const auto iterations = std::ranges::count_if(
          choice->ranges, [&](uint32_t range) { return input.trace().ranges[range].start_ns >= time->start_ns; });
      time->end_ns = std::max(time->end_ns, DoneWithNs(input, time->end_ns));
      return SteadyTime{PathName(input.trace(), choice->path), *time, static_cast<size_t>(iterations)};
    }
  }
  return NoKernelRunsTwice(input) ? std::nullopt : AfterFirstLaunches(input);
}

DeviceTimes TimesOfDevices(const AnalysisInput& input) {
  const SharedFacts& shared = input.shared();
  return {shared.window_ns(), shared.busy_ns(), shared.kernel_busy_ns()};
}

DeviceTimes TimesOfDevices(const AnalysisInput& input, const Interval& time) {
  DeviceTimes sum;
  for (uint32_t device = 0; device < input.trace().device_ops.size(); ++device) {
    if (!HasWindow(input.trace(), device)) continue;
    const DeviceTimes before = TimesUntil(input, device, time.start_ns), all = TimesUntil(input, device, time.end_ns);
    sum.window_ns += all.window_ns - before.window_ns;
    sum.busy_ns += all.busy_ns - before.busy_ns;
    sum.kernel_ns += all.kernel_ns - before.kernel_ns;
  }
  return sum;
}

JudgedTime::JudgedTime(const AnalysisInput& input, const std::string& step)
    : steady(FindSteadyTime(input, step)),
      devices(steady ? TimesOfDevices(input, steady->time) : TimesOfDevices(input)),
      download_ns(CopiedAfterKernelsNs(input, steady ? steady->time : kAllTime)) {
  if (steady) {
    copies_from_ns = steady->time.start_ns;
    const DeviceTimes before = TimesOfDevices(input, {INT64_MIN, copies_from_ns});
    JudgeCopies(input, before.busy_ns - before.kernel_ns, 0);
    return;
  }
  comes_once = NoKernelRunsTwice(input);
  const Trace& trace = input.trace();
  int64_t first_kernel_ns = INT64_MAX, copied_ns = 0;
  for (uint32_t device = 0; device < trace.device_ops.size(); ++device) {
    if (!HasWindow(trace, device)) continue;
    const int64_t kernel_ns = FirstKernelNs(trace, device);
    first_kernel_ns = std::min(first_kernel_ns, kernel_ns);
    if (kernel_ns != INT64_MAX) copied_ns += TimesUntil(input, device, kernel_ns).busy_ns;
  }
  JudgeCopies(input, copied_ns, copied_ns);
  if (100 * static_cast<double>(copied_ns) >= kMostUploadPercent * static_cast<double>(devices.window_ns)) return;
  copies_from_ns = first_kernel_ns == INT64_MAX ? INT64_MIN : first_kernel_ns;
  upload_ns = copied_ns;
}

void JudgedTime::JudgeCopies(const AnalysisInput& input, int64_t before_ns, int64_t before_in_window_ns) {
  const int64_t once_ns = before_ns + download_ns;
  const int64_t between_ns = devices.busy_ns - devices.kernel_ns - before_in_window_ns - download_ns;
  are_copies_once = (4 * between_ns <= once_ns && once_ns <= devices.kernel_ns) || AreCopiesFew(input);
}

JudgedTime JudgedBy(const AnalysisInput& input, const std::string& step) {
  return step.empty() ? input.shared().judged(input) : JudgedTime(input, step);
}

}  // namespace gprof
