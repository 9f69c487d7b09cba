#include "analysis/trust/recording_cost.h"

#include <algorithm>
#include <limits>

#include "analysis/calls/call_kinds.h"
#include "analysis/facts/statistics.h"
#include "analysis/trust/overhead_kinds.h"
#include "analysis/trust/recorded_time.h"

namespace gprof {
namespace {

// Nanoseconds that recording adds: the differences between traced and plain in docs/overhead.md and docs/capture.md.
constexpr int64_t kLaunchNs = 678, kCopyNs = 1308, kMemsetNs = 1236, kSyncNs = 576, kMemoryCallNs = 301;
constexpr int64_t kOtherCallNs = 307;     // mean of cudaStreamQuery and cudaGetDevice
constexpr int64_t kGraphLaunchNs = 2100;  // 21 for each node, measured with 100
constexpr int64_t kGraphNodeNs = 351;     // more, where nodes are recorded
constexpr int64_t kMemoryRecordNs = 747;  // more, where allocations are recorded
constexpr int64_t kRangeNs = 46, kMarkNs = 26;

// What of the cost of records shows in the run: at least this much where the GPU has no work, and nothing where it has;
// at most twice as much, as caches suffer, too, or that of all threads where they wait for each other.
constexpr double kLeastShown = 0.25, kMostShown = 2, kMostOfLargest = 3;
constexpr double kMostOfTheRun = 0.6;  // more than that was never seen

int64_t CostOf(ApiClass api_class) {
  switch (api_class) {
    case ApiClass::kLaunch:
      return kLaunchNs;
    case ApiClass::kMemset:
      return kMemsetNs;
    case ApiClass::kGraphLaunch:
      return kGraphLaunchNs;
    case ApiClass::kCopy:
      return kCopyNs;
    case ApiClass::kSync:
      return kSyncNs;
    case ApiClass::kMemory:
      return kMemoryCallNs;
    default:
      return kOtherCallNs;
  }
}

int64_t Common(const Interval& a, const Interval& b) {
  return std::max<int64_t>(0, std::min(a.end_ns, b.end_ns) - std::max(a.start_ns, b.start_ns));
}

class Estimate {
 public:
  Estimate(const Trace& trace, const OpFacts& ops, const CallFacts& calls, const RangeFacts& ranges)
      : trace_(trace),
        ops_(ops),
        calls_(calls),
        ranges_(ranges),
        recorded_(trace),
        costs_(trace.threads.size()),
        active_(trace.threads.size(), Nothing()),
        cupti_(trace.threads.size()) {}

  RecordingCost Run() {
    GatherCupti();
    AddCalls();
    AddNvtx();
    AddNodesAndAllocations();
    return Finish();
  }

 private:
  static Interval Nothing() { return {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}; }

  static void Widen(Interval* interval, int64_t start_ns, int64_t end_ns) {
    interval->start_ns = std::min(interval->start_ns, start_ns);
    interval->end_ns = std::max(interval->end_ns, end_ns);
  }

  const Interval& Window(uint32_t thread) const { return ops_.WindowOf(trace_.threads[thread].process); }

  void Charge(uint32_t thread, int64_t at_ns, int64_t cost_ns, int64_t ThreadCost::*sort) {
    costs_[thread].*sort += cost_ns;
    const Interval& window = Window(thread);
    if (at_ns >= window.start_ns && at_ns < window.end_ns) costs_[thread].gpu_cost_ns += cost_ns;
  }

  // They come in order of their start. Of intervals that overlap on a thread each moment counts once.
  void GatherCupti() {
    for (const Overhead& o : trace_.overheads) {
      if (o.thread == kNone || !IsRecording(o.kind)) continue;
      std::vector<Interval>& all = cupti_[o.thread];
      const int64_t start_ns = all.empty() ? o.start_ns : std::max(o.start_ns, all.back().end_ns);
      if (start_ns < o.end_ns) all.push_back({start_ns, o.end_ns});
    }
  }

  // Sums of calls are known; those at the edges of the window, and those that CUPTI recorded something in, are few.
  void AddCalls() {
    for (uint32_t i = 0; i < calls_.sums().size(); ++i) {
      const PackedCalls::Traits& traits = trace_.api_calls.TraitsAt(i);
      const CallFacts::Sum& sum = calls_.sums()[i];
      cost_of_traits_.push_back(CostOf(traits.api_class));
      if (traits.thread == kNone || sum.count == 0) continue;
      costs_[traits.thread].calls += sum.count;
      costs_[traits.thread].calls_ns += sum.count * cost_of_traits_.back();
      Widen(&active_[traits.thread], sum.start_ns, sum.end_ns);
    }
    for (uint32_t thread = 0; thread < trace_.threads.size(); ++thread) {
      // CUPTI has threads of its own, which hold up nobody.
      if (costs_[thread].calls == 0) continue;
      costs_[thread].gpu_cost_ns +=
          costs_[thread].calls_ns - CostOutside(trace_.thread_api_calls[thread], Window(thread));
      TakeOffCupti(thread);
      for (const Interval& o : cupti_[thread]) AddCupti(thread, o);
    }
  }

  uint32_t FirstFrom(const Trace::Slice& calls, int64_t start_ns) const {
    const auto begin = trace_.api_calls.begin();
    return static_cast<uint32_t>(std::partition_point(begin + calls.first, begin + calls.last,
                                                      [&](const ApiCall& call) { return call.start_ns < start_ns; }) -
                                 begin);
  }

  // Of the calls that did not begin within the window.
  int64_t CostOutside(const Trace::Slice& calls, const Interval& window) const {
    const uint32_t first = FirstFrom(calls, window.start_ns), last = std::max(first, FirstFrom(calls, window.end_ns));
    int64_t cost_ns = 0;
    const auto add = [&](uint32_t from, uint32_t to) {
      for (uint32_t i = from; i < to; ++i) {
        if (trace_.api_calls[i].parent == kNone) cost_ns += cost_of_traits_[trace_.api_calls.TraitsIndex(i)];
      }
    };
    add(calls.first, first);
    add(last, calls.last);
    return cost_ns;
  }

  // What CUPTI recorded within a call counts as such; the estimate has only what is more than that.
  void TakeOffCupti(uint32_t thread) {
    const std::vector<Interval>& cupti = cupti_[thread];
    const Trace::Slice calls = trace_.thread_api_calls[thread];
    const Interval window = Window(thread);
    uint32_t call = calls.first;
    for (size_t i = 0; i < cupti.size(); ++i) {
      // From the call that was running then: calls of a thread do not overlap but where clocks are not exact.
      const uint32_t next = FirstFrom({call, calls.last}, cupti[i].start_ns);
      if (next > call) call = std::max(call, OutermostCall(trace_, next - 1));
      for (; call < calls.last && trace_.api_calls[call].start_ns < cupti[i].end_ns; ++call) {
        if (trace_.api_calls[call].parent != kNone || trace_.api_calls[call].end_ns <= cupti[i].start_ns) continue;
        const int64_t of_class_ns = cost_of_traits_[trace_.api_calls.TraitsIndex(call)];
        const int64_t start_ns = trace_.api_calls[call].start_ns, end_ns = trace_.api_calls[call].end_ns;
        const int64_t off_ns = of_class_ns - BeyondCupti(of_class_ns, {start_ns, end_ns}, cupti, i);
        costs_[thread].calls_ns -= off_ns;
        if (start_ns >= window.start_ns && start_ns < window.end_ns) costs_[thread].gpu_cost_ns -= off_ns;
      }
    }
  }

  // `cupti`: in order, those before `first` are over.
  static int64_t BeyondCupti(int64_t cost_ns, const Interval& call, const std::vector<Interval>& cupti, size_t first) {
    int64_t recorded_ns = 0;
    for (size_t i = first; i < cupti.size() && cupti[i].start_ns < call.end_ns; ++i)
      recorded_ns += Common(cupti[i], call);
    return std::max<int64_t>(0, cost_ns - recorded_ns);
  }

  // What happened between captures held up what is not in the trace either.
  void AddCupti(uint32_t thread, const Interval& overhead) {
    const uint32_t process = trace_.threads[thread].process;
    const Interval window = Window(thread);
    recorded_.ForEachOfProcess(process, overhead.start_ns, overhead.end_ns, [&](int64_t from_ns, int64_t to_ns) {
      costs_[thread].cupti_ns += to_ns - from_ns;
      Widen(&active_[thread], from_ns, to_ns);
      if (window.start_ns < window.end_ns) costs_[thread].gpu_cost_ns += Common({from_ns, to_ns}, window);
    });
  }

  void AddNvtx() {
    for (uint32_t thread = 0; thread < trace_.threads.size(); ++thread) AddRanges(thread);
    for (const NvtxMark& mark : trace_.marks) {
      if (mark.thread == kNone) continue;
      ++costs_[mark.thread].nvtx;
      Widen(&active_[mark.thread], mark.time_ns, mark.time_ns);
      Charge(mark.thread, mark.time_ns, kMarkNs, &ThreadCost::nvtx_ns);
    }
  }

  void AddRanges(uint32_t thread) {
    const Trace::Slice slice = trace_.thread_ranges[thread];
    if (slice.first == slice.last) return;
    const PackedRanges::Item *const items = trace_.ranges.items().data(), *const end = items + slice.last;
    const auto first_from = [&](int64_t time_ns) {
      return std::partition_point(items + slice.first, end,
                                  [&](const PackedRanges::Item& range) { return range.start_ns() < time_ns; });
    };
    ThreadCost& cost = costs_[thread];
    const int64_t count = slice.last - slice.first;
    const Interval& window = Window(thread);
    cost.nvtx += count;
    cost.nvtx_ns += count * kRangeNs;
    cost.gpu_cost_ns += std::max<int64_t>(0, first_from(window.end_ns) - first_from(window.start_ns)) * kRangeNs;
    Widen(&active_[thread], items[slice.first].start_ns(), ranges_.LastOf(thread));
  }

  void AddNodesAndAllocations() {
    for (const uint32_t i : ops_.graph_ops()) {
      const GpuOp& op = trace_.ops[i];
      if (op.graph_node != 0 && op.kind != OpKind::kGraph) ChargeCall(op.api, kGraphNodeNs);
    }
    for (const MemoryEvent& event : trace_.memory_events) ChargeCall(event.api, kMemoryRecordNs);
  }

  void ChargeCall(uint32_t api, int64_t cost_ns) {
    if (api == kNone) return;
    const ApiCall& call = trace_.api_calls[api];
    if (call.thread != kNone) Charge(call.thread, call.start_ns, cost_ns, &ThreadCost::calls_ns);
  }

  int64_t RecordedNs(uint32_t process, const Interval& interval) const {
    if (interval.start_ns >= interval.end_ns) return 0;
    return recorded_.ForEachOfProcess(process, interval.start_ns, interval.end_ns, [](int64_t, int64_t) {});
  }

  // The share of its time in which the GPU worked for the process; operations that overlap count twice.
  double BusyShare(uint32_t process, int64_t run_ns) const {
    int64_t busy_ns = 0;
    for (uint32_t i = 0; i < ops_.sums().size(); ++i) {
      if (trace_.ops.TraitsAt(i).process == process) busy_ns += ops_.sums()[i].time_ns;
    }
    return std::min(1.0, PercentOf(busy_ns, run_ns) / 100);
  }

  SlowDown SlowDownOf(uint32_t process, const std::vector<ThreadCost>& threads) const {
    Interval run = Nothing();
    int64_t all_records_ns = 0;
    const ThreadCost* largest = nullptr;
    for (const ThreadCost& cost : threads) {
      if (trace_.threads[cost.thread].process != process) continue;
      Widen(&run, active_[cost.thread].start_ns, active_[cost.thread].end_ns);
      all_records_ns += cost.calls_ns + cost.nvtx_ns;
      if (largest == nullptr || cost.TotalNs() > largest->TotalNs()) largest = &cost;
    }
    const int64_t run_ns = RecordedNs(process, run);
    if (largest == nullptr || run_ns == 0) return {};
    const auto records_ns = static_cast<double>(largest->calls_ns + largest->nvtx_ns);
    const auto cupti_ns = static_cast<double>(largest->cupti_ns);
    const double least_ns = kLeastShown * records_ns * (1 - BusyShare(process, run_ns)) + cupti_ns;
    const double most_ns =
        std::max(std::min(kMostShown * static_cast<double>(all_records_ns), kMostOfLargest * records_ns) + cupti_ns,
                 static_cast<double>(all_records_ns));
    const auto percent = [run_ns = static_cast<double>(run_ns)](double cost_ns) {
      const double taken_ns = std::min(cost_ns, kMostOfTheRun * run_ns);
      return 100 * taken_ns / (run_ns - taken_ns);
    };
    return {percent(least_ns), percent(most_ns)};
  }

  RecordingCost Finish() {
    RecordingCost result;
    result.measured = MeasureSlowDown(trace_);
    for (uint32_t thread = 0; thread < costs_.size(); ++thread) {
      const uint32_t process = trace_.threads[thread].process;
      if (process == kNone || trace_.Text(trace_.processes[process].tracer_version).empty()) continue;
      result.is_known = true;
      ThreadCost& cost = costs_[thread];
      if (cost.TotalNs() == 0) continue;
      cost.thread = thread;
      cost.active_ns = RecordedNs(process, active_[thread]);
      cost.gpu_window_ns = RecordedNs(process, ops_.WindowOf(process));
      result.threads.push_back(cost);
    }
    for (uint32_t process = 0; process < trace_.processes.size(); ++process) {
      const SlowDown slow_down = SlowDownOf(process, result.threads);
      if (slow_down.most_percent > result.slow_down.most_percent) result.slow_down = slow_down;
    }
    std::stable_sort(result.threads.begin(), result.threads.end(),
                     [](const ThreadCost& a, const ThreadCost& b) { return a.TotalNs() > b.TotalNs(); });
    return result;
  }

  const Trace& trace_;
  const OpFacts& ops_;
  const CallFacts& calls_;
  const RangeFacts& ranges_;
  RecordedTime recorded_;
  std::vector<int64_t> cost_of_traits_;       // by the traits of calls
  std::vector<ThreadCost> costs_;             // by thread
  std::vector<Interval> active_;              // by thread
  std::vector<std::vector<Interval>> cupti_;  // by thread, in order, none overlap
};

}  // namespace

double ThreadCost::ActivePercent() const { return std::min(100.0, PercentOf(TotalNs(), active_ns)); }
double ThreadCost::RecordsPercent() const { return std::min(100.0, PercentOf(calls_ns + nvtx_ns, active_ns)); }
double ThreadCost::GpuPercent() const { return std::min(100.0, PercentOf(gpu_cost_ns, gpu_window_ns)); }

int64_t RecordingCost::TotalNs() const {
  int64_t total_ns = 0;
  for (const ThreadCost& cost : threads) total_ns += cost.TotalNs();
  return total_ns;
}

double RecordingCost::RecordsPercent() const {
  double largest = 0;
  for (const ThreadCost& cost : threads) largest = std::max(largest, cost.RecordsPercent());
  return largest;
}

double RecordingCost::GpuPercent() const {
  double largest = 0;
  for (const ThreadCost& cost : threads) largest = std::max(largest, cost.GpuPercent());
  return largest;
}

RecordingCost EstimateRecordingCost(const Trace& trace, const OpFacts& ops, const CallFacts& calls,
                                    const RangeFacts& ranges) {
  return Estimate(trace, ops, calls, ranges).Run();
}

}  // namespace gprof
