#include "analysis/trust/hidden_cost.h"

#include <algorithm>
#include <limits>

namespace gprof {
namespace {

// A kernel starts some 3 us after its launch has returned (H200): work that ends before that leaves the GPU idle. Work
// that goes on for several times as long keeps it busy, whatever the launch costs.
constexpr int64_t kStarvedNs = 3'000, kQueuedNs = 10'000;

}  // namespace

std::vector<HiddenCost> FindHiddenCost(const Trace& trace, const OpFacts& ops, const std::vector<RecordCosts>& costs) {
  const auto is_calibrated = [](const RecordCosts& of_process) { return of_process.IsCalibrated(); };
  if (std::none_of(costs.begin(), costs.end(), is_calibrated)) return {};
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
