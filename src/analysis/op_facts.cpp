#include "analysis/op_facts.h"

#include <algorithm>
#include <limits>

#include "analysis/calls.h"

namespace gprof {
namespace {

Interval Nothing() { return {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}; }

void Widen(Interval* interval, int64_t start_ns, int64_t end_ns) {
  interval->start_ns = std::min(interval->start_ns, start_ns);
  interval->end_ns = std::max(interval->end_ns, end_ns);
}

// GPU time by owner and device, in one array, as owners and devices are few.
class Shares {
 public:
  Shares(size_t owners, size_t devices) : devices_(devices), shares_ns_(owners * devices, 0) {}

  void Add(uint32_t owner, uint32_t device, int64_t ns) {
    if (owner != kNone) shares_ns_[owner * devices_ + device] += ns;
  }

  uint32_t LargestOf(uint32_t owner) const {
    const auto begin = shares_ns_.begin() + static_cast<std::ptrdiff_t>(owner * devices_);
    const auto at = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(devices_));
    return devices_ == 0 || *at == 0 ? kNone : static_cast<uint32_t>(at - begin);
  }

 private:
  size_t devices_;
  std::vector<int64_t> shares_ns_;
};

}  // namespace

OpFacts::OpFacts(const Trace& trace)
    : calls_(trace.ops.size()),
      launches_ns_(trace.ops.size()),
      has_op_(trace.api_calls.size(), 0),
      kernels_of_name_(trace.strings.size(), 0),
      counts_of_streams_(trace.streams.size(), 0),
      windows_(trace.processes.size(), Nothing()),
      window_(Nothing()),
      first_ops_(trace.processes.size(), kNone),
      first_starts_ns_(trace.processes.size(), 0),
      devices_of_threads_(trace.threads.size(), kNone) {
  const size_t devices = trace.device_ops.size();
  Shares of_thread(trace.threads.size(), devices), of_process(trace.processes.size(), devices);
  for (uint32_t i = 0; i < trace.ops.size(); ++i) {
    const GpuOp& op = trace.ops[i];
    uint32_t thread = kNone, call = op.api;
    launches_ns_[i] = op.start_ns;
    if (call != kNone) {
      thread = trace.api_calls[call].thread;
      call = OutermostCall(trace, call);
      launches_ns_[i] = trace.api_calls[call].start_ns;
      has_op_[call] = 1;
    }
    calls_[i] = call;
    ++counts_[static_cast<size_t>(op.kind)];
    if (op.kind == OpKind::kKernel) ++kernels_of_name_[op.name.value];
    if (op.IsCopy() || op.kind == OpKind::kMemset) transfers_.push_back(i);
    if (op.kind == OpKind::kGraph || op.graph != 0 || op.graph_node != 0 || op.node != kNone) graph_ops_.push_back(i);
    if (op.stream != kNone) ++counts_of_streams_[op.stream];
    AddToProcess(op.process, i, op.start_ns, op.end_ns);
    if (op.device == kNone) continue;
    const int64_t share_ns = std::max<int64_t>(op.DurationNs(), 1);
    of_process.Add(op.process, op.device, share_ns);
    of_thread.Add(thread, op.device, share_ns);
  }
  for (uint32_t thread = 0; thread < devices_of_threads_.size(); ++thread) {
    uint32_t& device = devices_of_threads_[thread];
    device = of_thread.LargestOf(thread);
    const uint32_t process = trace.threads[thread].process;
    if (device == kNone && process != kNone) device = of_process.LargestOf(process);
  }
}

void OpFacts::AddToProcess(uint32_t process, uint32_t index, int64_t start_ns, int64_t end_ns) {
  Widen(&window_, start_ns, end_ns);
  if (process == kNone) return;
  Widen(&windows_[process], start_ns, end_ns);
  if (first_ops_[process] != kNone && start_ns >= first_starts_ns_[process]) return;
  first_ops_[process] = index;
  first_starts_ns_[process] = start_ns;
}

}  // namespace gprof
