#include "analysis/causes/launch_split.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "analysis/causes/idle_parts.h"
#include "analysis/facts/calls/call_kinds.h"
#include "analysis/facts/calls/code_loads.h"
#include "analysis/facts/shared_facts.h"

namespace gprof {
namespace {

constexpr int64_t kLongCallNs = 20'000;    // a launch of what is loaded takes a few microseconds
constexpr int64_t kLatencyNs = 20'000;     // from the return of a launch to the start on an idle GPU, at most
constexpr int64_t kLongGapNs = 5'000'000;  // compiling a kernel takes at least as long

constexpr int64_t kTimesOfTheLoad = 4;  // looking code up and reading it takes no longer, compiling it does
constexpr uint32_t kSoon = 64;          // operations, such as what prepares the buffers of a new kernel

// Adds what the host did, within the time.
void AddHost(const Gap& gap, std::span<const Part> parts, const Interval& time, Preparation* sum) {
  Preparation more;
  ForEachPartOf(gap, parts, [&](int64_t start_ns, int64_t end_ns, const Part& part) {
    const int64_t ns = OverlapNs(time, Interval{start_ns, end_ns});
    if (part.cause == Cause::kHost) more.host_ns += ns;
    if (part.cause == Cause::kOs) more.os_ns += ns;
    if (part.cause == Cause::kLoad) more.load_ns += ns;
  });
  more.gaps = more.OwnNs() + more.load_ns > 0;
  sum->Add(more);
}

bool HasLoad(std::span<const Part> parts) {
  return std::ranges::any_of(parts, [](const Part& part) { return part.cause == Cause::kLoad; });
}

// By the process that ended the gap, as an interpreter does where a program first needs what the modules have.
int64_t ImportedNs(const Trace& trace, const CodeLoads& loads, const Gap& gap) {
  if (gap.after == kNone || gap.DurationNs() < kLongGapNs) return gap.start_ns;
  return loads.ImportedNs(trace.ops[gap.after].process, {gap.start_ns, gap.end_ns});
}

}  // namespace

FirstKernels::FirstKernels(const AnalysisInput& input)
    : input_(input), loads_(input.shared().code_loads()), compilers_(input.trace()) {
  const Trace& trace = input.trace();
  const std::vector<OpFacts::Sum>& sums = input.shared().ops().sums();
  std::map<std::pair<uint32_t, NameId>, uint32_t> first_of;
  for (uint32_t i = 0; i < sums.size(); ++i) {
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    if (traits.kind != OpKind::kKernel || sums[i].count == 0) continue;
    const auto [at, is_new] = first_of.try_emplace({traits.process, traits.name}, sums[i].first);
    if (!is_new) at->second = std::min(at->second, sums[i].first);
  }
  for (const auto& [kernel, op] : first_of) ops_.push_back(op);
  std::set<std::pair<uint32_t, uint64_t>> graphs;
  for (const uint32_t i : input.shared().ops().graph_ops()) {
    const GpuOp op = trace.ops[i];
    if (op.kind == OpKind::kGraph && graphs.insert({op.process, op.graph}).second) ops_.push_back(i);
  }
  std::ranges::sort(ops_);
}

bool FirstKernels::AreAfter(const Gap& gap) const { return gap.DurationNs() >= kLongGapNs && RunAfter(gap); }

uint32_t FirstKernels::FirstAfter(const Gap& gap) const {
  if (gap.after == kNone) return kNone;
  const GapList& gaps = input_.shared().gaps(gap.device);
  const uint32_t last = std::min(gap.after + kSoon, input_.trace().device_ops[gap.device].last);
  const auto first = std::lower_bound(ops_.begin(), ops_.end(), gap.after);
  if (first == ops_.end() || *first >= last) return kNone;
  for (uint32_t op = gap.after + 1; op <= *first; ++op) {
    if (gaps.GapBefore(op) >= kLongGapNs) return kNone;
  }
  return *first;
}

Interval FirstKernels::UntilFirst(const Gap& gap) const {
  const uint32_t first = FirstAfter(gap);
  return {gap.start_ns, first == kNone ? gap.end_ns : input_.trace().ops[first].start_ns};
}

int64_t FirstKernels::LoadedNs(const Gap& gap, std::span<const Part> parts) const {
  const Trace& trace = input_.trace();
  const Interval time{gap.start_ns, gap.end_ns};
  const bool is_long = time.DurationNs() >= kLongGapNs;
  if (!is_long && !HasLoad(parts)) return gap.start_ns;
  const int64_t compiled_ns =
      is_long && gap.after != kNone ? compilers_.DoneNs(trace.ops[gap.after].process, time) : gap.start_ns;
  if (loads_.AreAside(time)) return compiled_ns;
  int64_t loaded_ns = gap.start_ns, load_ns = 0;
  ForEachPartOf(gap, parts, [&](int64_t start_ns, int64_t end_ns, const Part& part) {
    if (part.cause != Cause::kLoad || part.call() == kNone) return;
    load_ns += end_ns - start_ns;
    if (LoadsCode(trace.Text(trace.api_calls[part.call()].function))) loaded_ns = end_ns;
  });
  // Code that is read again takes about as long as loading it: what took much longer compiled it.
  const bool is_compiled = is_long && loaded_ns - gap.start_ns > (kTimesOfTheLoad + 1) * load_ns;
  return is_compiled || RunAfter(gap) ? std::max(loaded_ns, compiled_ns) : compiled_ns;
}

Preparation LaunchSplit::OfFirsts() const {
  Preparation sum = before_loading;
  if (before_firsts.gaps >= kFirstLaunchesOfAPattern) sum.Add(before_firsts);
  return sum;
}

namespace {

// Goes over the idle time of all devices within a time, and adds up what it consists of.
class Splitter {
 public:
  Splitter(const AnalysisInput& input, const Interval& time)
      : input_(input), time_(time), firsts_(input), loads_(input.shared().code_loads()) {}

  LaunchSplit Run() {
    for (uint32_t device = 0; device < input_.trace().device_ops.size(); ++device) {
      ForEachIdleRun(input_, device, [&](const IdleRun& run) { AddRun(run); });
    }
    return std::move(split_);
  }

 private:
  void AddRun(const IdleRun& run) {
    const bool is_long = run.longest_ns >= kLongGapNs;
    const auto counts = [&](const Part& part) {
      return part.cause == Cause::kLaunch || part.cause == Cause::kLoad || (is_long && IsOwnCode(part.cause));
    };
    if (std::ranges::none_of(run.parts, counts)) return;
    ForEachGapOf(input_, run, [&](const Gap& gap, std::span<const Part> parts) {
      ForEachPartOf(gap, parts, [&](int64_t start_ns, int64_t end_ns, const Part& part) {
        if (part.cause == Cause::kLaunch) AddLaunch(gap, start_ns, end_ns, part.call());
      });
      AddOwnCode(gap, parts);
    });
  }

  // Time from the entry of the launching call `index` to the start on the GPU.
  void AddLaunch(const Gap& gap, int64_t start_ns, int64_t end_ns, uint32_t index) {
    start_ns = std::max(start_ns, time_.start_ns), end_ns = std::min(end_ns, time_.end_ns);
    if (start_ns >= end_ns) return;
    if (index == kNone) {
      split_.call_ns += end_ns - start_ns;
      return;
    }
    const Trace& trace = input_.trace();
    const ApiCall& call = trace.api_calls[index];
    const int64_t in_call_ns = std::clamp<int64_t>(call.end_ns - start_ns, 0, end_ns - start_ns);
    // Launching a graph for the first time takes as long as well, and graphs.instantiate says so.
    const bool is_kernel = gap.after != kNone && trace.ops[gap.after].kind == OpKind::kKernel;
    const bool is_first = is_kernel && call.DurationNs() >= kLongCallNs && firsts_.Has(gap.after);
    (is_first ? split_.first_ns : split_.call_ns) += in_call_ns;
    split_.firsts += is_first;
    const int64_t after_ns = end_ns - start_ns - in_call_ns;
    split_.after_ns += after_ns;
    if (after_ns > kLatencyNs) split_.late_ns += after_ns;
  }

  // What the host did before kernels that ran for the first time.
  void AddOwnCode(const Gap& gap, std::span<const Part> parts) {
    if (gap.DurationNs() < kLongGapNs && !HasLoad(parts)) return;  // as nearly all gaps: nothing was loaded in it
    const bool is_before_first = firsts_.AreAfter(gap);
    const int64_t loaded_ns = std::max(firsts_.LoadedNs(gap, parts), ImportedNs(input_.trace(), loads_, gap));
    if (loaded_ns > gap.start_ns) {
      const int64_t until_ns = is_before_first ? time_.end_ns : std::min(loaded_ns, time_.end_ns);
      AddHost(gap, parts, {time_.start_ns, until_ns}, &split_.before_loading);
    } else if (loads_.MayBeIn(firsts_.UntilFirst(gap))) {
      if (is_before_first) AddHost(gap, parts, time_, &split_.before_firsts);
    } else if (gap.DurationNs() >= kLongGapNs) {
      const int64_t before_ns = split_.without_loading.host_ns;
      AddHost(gap, parts, time_, &split_.without_loading);
      split_.own_gaps.push_back({{gap.start_ns, gap.end_ns}, split_.without_loading.host_ns - before_ns});
    }
  }

  const AnalysisInput& input_;
  const Interval time_;
  const FirstKernels firsts_;
  const CodeLoads& loads_;
  LaunchSplit split_;
};

}  // namespace

LaunchSplit SplitLaunches(const AnalysisInput& input, const Interval& time) { return Splitter(input, time).Run(); }

}  // namespace gprof
