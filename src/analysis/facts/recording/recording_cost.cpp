#include "analysis/facts/recording/recording_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/recording/overhead_kinds.h"
#include "analysis/facts/recording/record_costs.h"
#include "analysis/facts/time/recorded_time.h"
#include "analysis/result/statistics.h"

namespace gprof {
namespace {

// What of the cost of records shows in the run: at least this much where the GPU has no work, and nothing where it has;
// at most twice as much, as caches suffer, too, or that of all threads where they wait for each other.
constexpr double kLeastShown = 0.25, kMostShown = 2, kMostOfLargest = 3;
// The same where the machine is calibrated: of what is not hidden behind work of the GPU, which is known then. Several
// threads hold each other up with and without recording, so that less of the cost of each may show.
constexpr double kLeastCalibrated = 0.4, kLeastOfThreads = 0.2, kMostCalibrated = 1.5;
constexpr double kSeveralThreads = 1.25;  // the cost of all is that many times the cost of the largest
constexpr double kMostOfTheRun = 0.6;     // more than that was never seen
// Where a thread does other things between its records for that long on average, what records them has left the
// caches: in between, as large a part of the records. A program of CuPy has 10 us from call to call, where the cost is
// that of cold caches (record_costs.cpp).
constexpr double kColdFromNs = 10'000;

class Estimate {
 public:
  Estimate(const Trace& trace, const OpFacts& ops, const CallFacts& calls, const RangeFacts& ranges)
      : trace_(trace),
        ops_(ops),
        calls_(calls),
        ranges_(ranges),
        recorded_(trace),
        record_costs_(CostsOfProcesses(trace)),
        hidden_(FindHiddenCost(trace, ops, record_costs_)),
        costs_(trace.threads.size()),
        cold_ns_(trace.threads.size()),
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

  // Of a thread without a known process: as it was measured elsewhere.
  const RecordCosts& CostsOf(uint32_t thread) const {
    static const RecordCosts kElsewhere = MeasuredElsewhere();
    const uint32_t process = trace_.threads[thread].process;
    return process == kNone ? kElsewhere : record_costs_[process];
  }

  void Charge(uint32_t thread, int64_t at_ns, const OperationCosts& costs, int64_t ThreadCost::*sort) {
    const int64_t cost_ns = costs.call_ns;
    costs_[thread].*sort += cost_ns;
    cold_ns_[thread] += costs.cold_call_ns;
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
      const OperationCosts costs =
          traits.thread == kNone ? OperationCosts{} : CostsOf(traits.thread).Of(traits.api_class);
      cost_of_traits_.push_back(costs.call_ns);
      if (traits.thread == kNone || sum.count == 0) continue;
      costs_[traits.thread].calls += sum.count;
      costs_[traits.thread].calls_ns += sum.count * costs.call_ns;
      cold_ns_[traits.thread] += sum.count * costs.cold_call_ns;
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
      recorded_ns += OverlapNs(cupti[i], call);
    return std::max<int64_t>(0, cost_ns - recorded_ns);
  }

  // What happened between captures held up what is not in the trace either.
  void AddCupti(uint32_t thread, const Interval& overhead) {
    const uint32_t process = trace_.threads[thread].process;
    const Interval window = Window(thread);
    recorded_.ForEachOfProcess(process, overhead.start_ns, overhead.end_ns, [&](int64_t from_ns, int64_t to_ns) {
      costs_[thread].cupti_ns += to_ns - from_ns;
      Widen(&active_[thread], from_ns, to_ns);
      if (window.start_ns < window.end_ns) costs_[thread].gpu_cost_ns += OverlapNs(Interval{from_ns, to_ns}, window);
    });
  }

  void AddNvtx() {
    for (uint32_t thread = 0; thread < trace_.threads.size(); ++thread) AddRanges(thread);
    for (const NvtxMark& mark : trace_.marks) {
      if (mark.thread == kNone) continue;
      ++costs_[mark.thread].nvtx;
      Widen(&active_[mark.thread], mark.time_ns, mark.time_ns);
      const int64_t mark_ns = CostsOf(mark.thread).mark_ns;
      Charge(mark.thread, mark.time_ns, {mark_ns, mark_ns, 0}, &ThreadCost::nvtx_ns);
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
    const OperationCosts& range = CostsOf(thread).Of(trace::RecordedOperation::kRange);
    cost.nvtx_ns += count * range.call_ns;
    cold_ns_[thread] += count * range.cold_call_ns;
    cost.gpu_cost_ns += std::max<int64_t>(0, first_from(window.end_ns) - first_from(window.start_ns)) * range.call_ns;
    Widen(&active_[thread], items[slice.first].start_ns(), ranges_.LastOf(thread));
  }

  void AddNodesAndAllocations() {
    for (const uint32_t i : ops_.graph_ops()) {
      const GpuOp& op = trace_.ops[i];
      if (op.graph_node == 0 || op.kind == OpKind::kGraph) continue;
      ChargeCall(op.api, [](const RecordCosts& costs) { return costs.Of(trace::RecordedOperation::kGraphNode); });
    }
    for (const MemoryEvent& event : trace_.memory_events) {
      ChargeCall(event.api, [](const RecordCosts& costs) {
        return OperationCosts{costs.memory_record_ns, costs.memory_record_ns, 0};
      });
    }
  }

  template <class Cost>
  void ChargeCall(uint32_t api, Cost cost) {
    if (api == kNone) return;
    const ApiCall& call = trace_.api_calls[api];
    if (call.thread != kNone) Charge(call.thread, call.start_ns, cost(CostsOf(call.thread)), &ThreadCost::calls_ns);
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

  // What the threads of a process took, and the one with the most of it.
  struct ProcessCost {
    double all_records_ns = 0, all_cold_ns = 0, all_likely_ns = 0;
    const ThreadCost* largest = nullptr;
    double RecordsNs() const { return static_cast<double>(largest->calls_ns + largest->nvtx_ns); }
    double CuptiNs() const { return static_cast<double>(largest->cupti_ns); }
  };

  ProcessCost CostOfProcess(uint32_t process, const std::vector<ThreadCost>& threads) const {
    ProcessCost result;
    for (const ThreadCost& cost : threads) {
      if (trace_.threads[cost.thread].process != process) continue;
      result.all_records_ns += static_cast<double>(cost.calls_ns + cost.nvtx_ns);
      result.all_likely_ns += LikelyNs(cost);
      result.all_cold_ns += static_cast<double>(cold_ns_[cost.thread]);
      if (result.largest == nullptr || cost.TotalNs() > result.largest->TotalNs()) result.largest = &cost;
    }
    return result;
  }

  // Between that of a tight loop and that of cold caches, as far as the thread had time for other things.
  double LikelyNs(const ThreadCost& cost) const {
    const auto records_ns = static_cast<double>(cost.calls_ns + cost.nvtx_ns);
    const auto cold_ns = std::max(static_cast<double>(cold_ns_[cost.thread]), records_ns);
    const double records = std::max<double>(1, static_cast<double>(cost.calls + cost.nvtx));
    const double cold = std::min(1.0, static_cast<double>(cost.active_ns) / records / kColdFromNs);
    return records_ns + cold * (cold_ns - records_ns);
  }

  SlowDown SlowDownOf(uint32_t process, const std::vector<ThreadCost>& threads) const {
    const ProcessCost cost = CostOfProcess(process, threads);
    const Process& whole = trace_.processes[process];
    const int64_t run_ns = RecordedNs(process, {whole.start_ns, whole.end_ns});
    if (cost.largest == nullptr || run_ns == 0) return {};
    const bool is_calibrated = record_costs_[process].IsCalibrated();
    const auto [least_ns, most_ns] =
        is_calibrated ? CalibratedBounds(process, cost) : BoundsElsewhere(cost, BusyShare(process, run_ns));
    const auto percent = [run_ns = static_cast<double>(run_ns)](double cost_ns) {
      const double taken_ns = std::min(cost_ns, kMostOfTheRun * run_ns);
      return 100 * taken_ns / (run_ns - taken_ns);
    };
    return {percent(least_ns), percent(most_ns)};
  }

  std::pair<double, double> BoundsElsewhere(const ProcessCost& cost, double busy_share) const {
    const double records_ns = cost.RecordsNs(), cupti_ns = cost.CuptiNs(), likely_ns = LikelyNs(*cost.largest);
    const double most_ns = std::min(kMostShown * cost.all_likely_ns, kMostOfLargest * likely_ns) + cupti_ns;
    return {kLeastShown * records_ns * (1 - busy_share) + cupti_ns, std::max(most_ns, cost.all_likely_ns)};
  }

  std::pair<double, double> CalibratedBounds(uint32_t process, const ProcessCost& cost) const {
    const RecordCosts& costs = record_costs_[process];
    const HiddenCost& hidden = hidden_[process];
    const double cold_ns = std::max(static_cast<double>(cold_ns_[cost.largest->thread]), cost.RecordsNs());
    const bool has_threads = cost.all_records_ns > kSeveralThreads * cost.RecordsNs();
    const double least = has_threads ? kLeastOfThreads : kLeastCalibrated;
    const double least_ns = least * (hidden.StarvedShare() * cost.RecordsNs() + hidden.queued_gpu_ns);
    double shown_ns = cold_ns;
    if (has_threads) {
      const auto alone_ns = static_cast<double>(costs.Of(trace::RecordedOperation::kLaunch).call_ns);
      const double contended = alone_ns == 0 ? 1 : static_cast<double>(costs.launch_on_threads_ns) / alone_ns;
      shown_ns = std::max(shown_ns, cost.all_cold_ns * contended);
    }
    const double most_ns = kMostCalibrated * (hidden.NotQueuedShare() * shown_ns + hidden.gpu_ns);
    return {least_ns + cost.CuptiNs(), most_ns + cost.CuptiNs()};
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
      if (slow_down.most_percent <= result.slow_down.most_percent) continue;
      result.slow_down = slow_down;
      result.calibrated_unix_s = record_costs_[process].calibrated_unix_s;
    }
    std::ranges::stable_sort(result.threads,
                             [](const ThreadCost& a, const ThreadCost& b) { return a.TotalNs() > b.TotalNs(); });
    return result;
  }

  const Trace& trace_;
  const OpFacts& ops_;
  const CallFacts& calls_;
  const RangeFacts& ranges_;
  RecordedTime recorded_;
  std::vector<RecordCosts> record_costs_;     // by process
  std::vector<HiddenCost> hidden_;            // by process; empty where none is calibrated
  std::vector<int64_t> cost_of_traits_;       // by the traits of calls
  std::vector<ThreadCost> costs_;             // by thread
  std::vector<int64_t> cold_ns_;              // by thread: of its records, where caches are cold
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

std::string WhereCostsWereMeasured(const RecordingCost& cost) {
  if (cost.calibrated_unix_s == 0) return std::string(kCostsMeasuredOn);
  const std::chrono::sys_seconds time{std::chrono::seconds{cost.calibrated_unix_s}};
  const std::chrono::year_month_day date{std::chrono::floor<std::chrono::days>(time)};
  return fmt::format("the machine of the run, calibrated {:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

RecordingCost EstimateRecordingCost(const Trace& trace, const OpFacts& ops, const CallFacts& calls,
                                    const RangeFacts& ranges) {
  return Estimate(trace, ops, calls, ranges).Run();
}

}  // namespace gprof
