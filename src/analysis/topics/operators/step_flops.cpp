#include "analysis/topics/operators/step_flops.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/steps/step_windows.h"

namespace gprof {
namespace {

class FlopCounter {
 public:
  FlopCounter(const AnalysisInput& input, const Operators& operators, const StepWindows& steps, StepFlops* counted)
      : trace_(input.trace()), ops_(input.shared().ops()), operators_(operators), steps_(steps), counted_(*counted) {}

  void Run() {
    if (operators_.sums.empty()) return;
    for (uint32_t i = 0; i < trace_.ranges.size(); ++i) AddRange(i);
    for (const Operation op : OperationsOf(trace_)) AddOperation(op);
    counted_.devices = static_cast<int64_t>(devices_.size());
    for (const auto& [name, sum] : by_name_) counted_.uncounted.push_back(sum);
    std::ranges::stable_sort(counted_.uncounted, std::greater(), &UncountedOperator::gpu_ns);
  }

 private:
  bool IsMeant(uint32_t thread, int64_t time_ns) const {
    return steps_.count() == 0 || steps_.Contains(trace_.threads[thread].process, time_ns);
  }

  void AddRange(uint32_t index) {
    const int64_t flops = operators_.FlopsOfRange(index);
    if (flops == 0) return;
    const NvtxRange range = trace_.ranges[index];
    if (!IsMeant(range.thread, range.start_ns)) return;
    const double least_ns = operators_.sums[operators_.of_ranges[index]].LeastNs(trace_, flops);
    counted_.flops += flops, counted_.least_ns += least_ns;
    counted_.has_unknown_peak = counted_.has_unknown_peak || least_ns == 0;
  }

  void AddOperation(const Operation& op) {
    const uint32_t number = ops_.CallOf(op);
    if (number == kNone) return;
    const Call call(trace_.api_calls, number);
    if (!IsMeant(call.thread(), call.start_ns())) return;
    counted_.gpu_ns += op.duration_ns();
    if (op.stream() != kNone) devices_.insert(trace_.streams[op.stream()].device);
    const uint32_t range = operators_.OperatorAround(trace_, call.range());
    if (range != kNone && IsCounted(range)) {
      counted_.counted_ns += op.duration_ns();
      return;
    }
    const std::string_view name =
        range == kNone ? std::string_view() : std::string_view(operators_.sums[operators_.of_ranges[range]].name);
    UncountedOperator& sum = by_name_[name];
    sum.name = name, sum.gpu_ns += op.duration_ns(), ++sum.kernels;
  }

  bool IsCounted(uint32_t range) const {
    return operators_.is_counted_around[range] || operators_.flops_of_call[operators_.of_ranges[range]] > 0;
  }

  const Trace& trace_;
  const OpFacts& ops_;
  const Operators& operators_;
  const StepWindows& steps_;
  StepFlops& counted_;
  std::set<uint32_t> devices_;
  std::map<std::string_view, UncountedOperator> by_name_;
};

}  // namespace

StepFlops::StepFlops(const AnalysisInput& input, const Operators& operators, const StepWindows& steps) {
  FlopCounter(input, operators, steps, this).Run();
}

double StepFlops::UtilisationPercent(const StepWindows& steps) const {
  if (has_unknown_peak || steps.total_ns() <= 0 || devices == 0) return 0;
  return 100 * least_ns / static_cast<double>(steps.total_ns() * devices);
}

}  // namespace gprof
