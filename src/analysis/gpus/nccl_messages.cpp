#include "analysis/gpus/nccl_messages.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "analysis/calls/call_kinds.h"

namespace gprof {

NcclMessages::NcclMessages(const Trace& trace, const std::function<bool(const GpuOp&)>& is_collective) : trace_(trace) {
  for (const NvtxPayload& payload : trace.payloads) Read(payload);
  if (messages_.empty()) return;
  for (const GpuOp& op : trace.ops) {
    if (is_collective(op)) AddKernel(op);
  }
}

void NcclMessages::Read(const NvtxPayload& payload) {
  if (payload.range == kNone || payload.domain == kNone) return;
  if (trace_.Text(trace_.domains[payload.domain].name) != "NCCL") return;
  NcclMessage message;
  int64_t ranks = 0;
  for (uint32_t i = payload.first_value; i < payload.last_value; ++i) {
    const PayloadValue& value = trace_.payload_values[i];
    const std::string_view key = trace_.Text(value.key);
    if (key.find("communicator ID") != std::string_view::npos) {
      message.communicator = value.is_integer ? std::to_string(value.integer) : std::string(trace_.Text(value.text));
    }
    if (!value.is_integer) continue;
    if (key.find("size [bytes]") != std::string_view::npos) message.bytes = value.integer;
    if (key == "No. of ranks") ranks = value.integer;
  }
  if (ranks > 0 && !message.communicator.empty()) ranks_[message.communicator] = ranks;
  if (message.bytes >= 0) messages_.try_emplace(payload.range, message);
}

void NcclMessages::AddKernel(const GpuOp& op) {
  const uint32_t call = OutermostCall(trace_, op.api);
  uint32_t range = call == kNone ? kNone : trace_.api_calls[call].range;
  while (range != kNone) {
    const auto found = messages_.find(range);
    if (found != messages_.end()) {
      std::optional<Interval>& kernels = found->second.kernels;
      if (!kernels) kernels = Interval{op.start_ns, op.end_ns};
      kernels->start_ns = std::min(kernels->start_ns, op.start_ns);
      kernels->end_ns = std::max(kernels->end_ns, op.end_ns);
      found->second.device = op.device;
      return;
    }
    const uint32_t parent = trace_.ranges[range].parent;
    range = parent < range ? parent : kNone;
  }
}

int64_t NcclMessages::RanksOf(uint32_t range, const NcclMessage& message) const {
  const auto found = ranks_.find(message.communicator);
  if (found != ranks_.end()) return found->second;
  const uint32_t thread = trace_.ranges[range].thread;
  const uint32_t process = thread == kNone ? kNone : trace_.threads[thread].process;
  return process == kNone ? 0 : trace_.processes[process].world_size;
}

}  // namespace gprof
