#include "analysis/calls.h"

#include <string_view>

#include "analysis/call_facts.h"
#include "analysis/few_of.h"
#include "analysis/names.h"
#include "analysis/op_facts.h"

namespace gprof {
namespace {

// Copies within a device and fills of device memory do not make the host wait, whatever their name.
bool TouchesHost(const GpuOp& op) {
  using trace::MemoryKind;
  const MemoryKind memory = op.destination_memory;
  if (op.kind == OpKind::kMemset) {
    return memory == MemoryKind::kPinned || memory == MemoryKind::kManaged || memory == MemoryKind::kManagedStatic;
  }
  const Direction direction = DirectionOf(op);
  return direction != Direction::kD2d && direction != Direction::kP2p;
}

bool Blocks(const GpuOp& op) {
  if (!(op.IsCopy() || op.kind == OpKind::kMemset) || op.graph != 0) return false;
  return op.IsPageable() || (!op.is_async && TouchesHost(op));
}

}  // namespace

NameId PathOfCall(const Trace& trace, uint32_t call) {
  const uint32_t outermost = OutermostCall(trace, call);
  const uint32_t range = outermost == kNone ? kNone : trace.api_calls[outermost].range;
  return range == kNone ? NameId{} : trace.ranges[range].path;
}

std::vector<uint8_t> BlockingCopies(const Trace& trace, const OpFacts& ops, const CallFacts& calls) {
  std::vector<uint8_t> blocks(trace.api_calls.size(), 0);
  ForEachOf(trace.ops, ops.transfers(), [&](uint32_t op) {
    const uint32_t call = ops.CallOf(op);
    if (call != kNone && Blocks(trace.ops[op])) blocks[call] = 1;
  });
  ForEachOf(trace.api_calls, calls.rare(), [&](uint32_t i) {
    const ApiCall& call = trace.api_calls[i];
    // Without its operation only the name tells: cudaMemcpy waits, cudaMemcpyAsync does not as a rule.
    if (call.api_class == ApiClass::kCopy && !ops.HasOp(i)) {
      blocks[i] = trace.Text(call.function).find("Async") == std::string_view::npos;
    }
  });
  return blocks;
}

}  // namespace gprof
