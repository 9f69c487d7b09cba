#include "analysis/thread_devices.h"

#include <algorithm>

namespace gprof {
namespace {

// Time by device; there are few devices.
using Shares = std::vector<int64_t>;

uint32_t Largest(const Shares& shares) {
  const auto at = std::max_element(shares.begin(), shares.end());
  return at == shares.end() || *at == 0 ? kNone : static_cast<uint32_t>(at - shares.begin());
}

void Add(std::vector<Shares>* shares, uint32_t owner, const GpuOp& op, size_t devices) {
  if (owner == kNone) return;
  Shares& of_owner = (*shares)[owner];
  if (of_owner.empty()) of_owner.resize(devices);
  of_owner[op.device] += std::max<int64_t>(op.DurationNs(), 1);
}

}  // namespace

std::vector<uint32_t> DevicesOfThreads(const Trace& trace) {
  std::vector<Shares> of_thread(trace.threads.size()), of_process(trace.processes.size());
  for (const GpuOp& op : trace.ops) {
    if (op.device == kNone) continue;
    Add(&of_process, op.process, op, trace.device_ops.size());
    if (op.api != kNone) Add(&of_thread, trace.api_calls[op.api].thread, op, trace.device_ops.size());
  }
  std::vector<uint32_t> devices(trace.threads.size(), kNone);
  for (size_t thread = 0; thread < devices.size(); ++thread) {
    devices[thread] = Largest(of_thread[thread]);
    const uint32_t process = trace.threads[thread].process;
    if (devices[thread] == kNone && process != kNone) devices[thread] = Largest(of_process[process]);
  }
  return devices;
}

}  // namespace gprof
