#include "analysis/facts/recording/record_costs.h"

#include <algorithm>
#include <limits>

namespace gprof {
namespace {

using trace::RecordedOperation;

// Nanoseconds that recording adds: the differences between traced and plain in docs/overhead.md and docs/capture.md.
constexpr int64_t kLaunchNs = 678, kCopyNs = 1308, kFillNs = 1236, kWaitNs = 576, kAllocationNs = 301;
constexpr int64_t kOtherCallNs = 307;     // mean of cudaStreamQuery and cudaGetDevice
constexpr int64_t kGraphLaunchNs = 2100;  // 21 for each node, measured with 100
constexpr int64_t kGraphNodeNs = 351;     // more, where nodes are recorded
constexpr int64_t kMemoryRecordNs = 747;
constexpr int64_t kRangeNs = 46, kMarkNs = 26;
// What a call takes more where the program has used its caches in between: the four operations of the CuPy loop in
// docs/overhead.md took 2.2 us more each, not 0.65.
constexpr int64_t kColdCallNs = 1530;
constexpr int64_t kColdRangeNs = 136;  // ranges of 26 us took 0.7 % more

void Apply(const Calibration& measured, RecordCosts* costs) {
  costs->calibrated_unix_s = measured.measured_unix_s;
  if (measured.threads > 1) {
    if (measured.operation == RecordedOperation::kLaunch) costs->launch_on_threads_ns = measured.call_ns;
    return;
  }
  // A cold cache does not make recording cheaper: where it seems so, the measurement was not steady.
  costs->of_operation[static_cast<std::size_t>(measured.operation)] = {
      measured.call_ns, std::max(measured.call_ns, measured.cold_call_ns), measured.gpu_ns};
  if (measured.operation == RecordedOperation::kRange) costs->mark_ns = measured.call_ns / 2;  // one event of the two
}

// A kernel starts some 3 us after its launch has returned (H200): work that ends before that leaves the GPU idle. Work
// that goes on for several times as long keeps it busy, whatever the launch costs.
constexpr int64_t kStarvedNs = 3'000, kQueuedNs = 10'000;

}  // namespace

const OperationCosts& RecordCosts::Of(ApiClass api_class) const {
  switch (api_class) {
    case ApiClass::kLaunch:
      return Of(RecordedOperation::kLaunch);
    case ApiClass::kMemset:
      return Of(RecordedOperation::kFill);
    case ApiClass::kGraphLaunch:
      return Of(RecordedOperation::kGraphLaunch);
    case ApiClass::kCopy:
      return Of(RecordedOperation::kCopy);
    case ApiClass::kSync:
      return Of(RecordedOperation::kWait);
    case ApiClass::kMemory:
      return Of(RecordedOperation::kAllocation);
    default:
      return Of(RecordedOperation::kCall);
  }
}

const OperationCosts& RecordCosts::Of(OpKind kind, bool is_graph_node) const {
  if (kind == OpKind::kGraph) return Of(RecordedOperation::kGraphLaunch);
  if (is_graph_node) return Of(RecordedOperation::kGraphNode);
  if (kind == OpKind::kMemcpy || kind == OpKind::kPeerCopy) return Of(RecordedOperation::kCopy);
  return Of(kind == OpKind::kMemset ? RecordedOperation::kFill : RecordedOperation::kLaunch);
}

RecordCosts MeasuredElsewhere() {
  RecordCosts costs;
  const auto set = [&](RecordedOperation operation, int64_t call_ns, int64_t cold_ns = kColdCallNs) {
    costs.of_operation[static_cast<std::size_t>(operation)] = {call_ns, call_ns + cold_ns, 0};
  };
  set(RecordedOperation::kLaunch, kLaunchNs);
  set(RecordedOperation::kCopy, kCopyNs);
  set(RecordedOperation::kFill, kFillNs);
  set(RecordedOperation::kWait, kWaitNs);
  set(RecordedOperation::kAllocation, kAllocationNs);
  set(RecordedOperation::kGraphLaunch, kGraphLaunchNs);
  set(RecordedOperation::kGraphNode, kGraphNodeNs, 0);
  set(RecordedOperation::kCall, kOtherCallNs);
  set(RecordedOperation::kRange, kRangeNs, kColdRangeNs);
  costs.mark_ns = kMarkNs;
  costs.memory_record_ns = kMemoryRecordNs;
  return costs;
}

std::vector<RecordCosts> CostsOfProcesses(const Trace& trace) {
  std::vector<RecordCosts> costs(trace.processes.size(), MeasuredElsewhere());
  for (const Calibration& measured : trace.calibrations) {
    if (measured.process < costs.size()) Apply(measured, &costs[measured.process]);
  }
  return costs;
}

std::vector<HiddenCost> FindHiddenCost(const Trace& trace, const OpFacts& ops, const std::vector<RecordCosts>& costs) {
  const auto is_calibrated = [](const RecordCosts& of_process) { return of_process.IsCalibrated(); };
  if (std::ranges::none_of(costs, is_calibrated)) return {};
  std::vector<HiddenCost> hidden(costs.size());
  std::vector<int64_t> stream_end_ns(trace.streams.size(), std::numeric_limits<int64_t>::min());
  for (const Trace::Slice& of_device : trace.device_ops) {
    for (const Operation op : OperationsOf(trace, of_device)) {
      const PackedOps::Traits& shared = op.shared();
      if (shared.process >= costs.size() || shared.stream >= stream_end_ns.size()) continue;
      HiddenCost& of_process = hidden[shared.process];
      int64_t& end_ns = stream_end_ns[shared.stream];
      const auto gpu_ns = static_cast<double>(costs[shared.process].Of(shared.kind, shared.graph_node != 0).gpu_ns);
      const uint32_t call = ops.CallOf(op);
      const int64_t launched_ns = call == kNone ? op.start_ns() : Call(trace.api_calls, call).end_ns();
      ++of_process.operations;
      of_process.gpu_ns += gpu_ns;
      if (end_ns < launched_ns + kStarvedNs) ++of_process.starved;
      if (end_ns > launched_ns + kQueuedNs) {
        ++of_process.queued;
        of_process.queued_gpu_ns += gpu_ns;
      }
      end_ns = std::max(end_ns, op.end_ns());
    }
  }
  return hidden;
}

}  // namespace gprof
