#include "analysis/facts/calls/call_kinds.h"

#include <algorithm>
#include <string_view>

#include "analysis/facts/calls/call_facts.h"
#include "analysis/facts/operations/op_facts.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/result/display_names.h"

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

bool Any(const std::vector<uint8_t>& flags) { return std::ranges::find(flags, 1) != flags.end(); }

}  // namespace

NameId PathOfCall(const Trace& trace, uint32_t call) {
  const uint32_t outermost = OutermostCall(trace, call);
  const uint32_t range = outermost == kNone ? kNone : trace.api_calls[outermost].range;
  return range == kNone ? NameId{} : trace.ranges[range].path;
}

std::vector<uint8_t> BlockingCopies(const Trace& trace, const OpFacts& ops, const CallFacts& calls) {
  std::vector<uint8_t> blocks(trace.api_calls.size(), 0);
  std::vector<uint8_t> of_ops, of_calls;  // by their traits
  for (const OpFacts::Sum& sum : ops.sums()) of_ops.push_back(sum.count > 0 && Blocks(trace.ops[sum.first]));
  for (uint32_t i = 0; i < trace.api_calls.TraitsCount(); ++i) {
    // Without its operation only the name tells: cudaMemcpy waits, cudaMemcpyAsync does not as a rule.
    const PackedCalls::Traits& traits = trace.api_calls.TraitsAt(i);
    const bool is_copy = traits.api_class == ApiClass::kCopy && calls.sums()[i].count > 0;
    of_calls.push_back(is_copy && trace.Text(traits.function).find("Async") == std::string_view::npos);
  }
  if (Any(of_ops)) {
    for (const uint32_t op : ops.transfers()) {
      const uint32_t call = of_ops[trace.ops.TraitsIndex(op)] != 0 ? ops.CallOf(op) : kNone;
      if (call != kNone) blocks[call] = 1;
    }
  }
  if (Any(of_calls)) {
    for (const uint32_t i : calls.rare()) {
      if (of_calls[trace.api_calls.TraitsIndex(i)] != 0 && !ops.HasOp(i)) blocks[i] = 1;
    }
  }
  return blocks;
}

bool IsAboutContexts(std::string_view function) {
  const auto has = [&](std::string_view part) { return function.find(part) != std::string_view::npos; };
  return function == "cuInit" || has("Ctx") || has("SetDevice") || has("DeviceReset");
}

bool LoadsCode(std::string_view function) {
  return function.find("ModuleLoad") != std::string_view::npos ||
         function.find("LibraryLoad") != std::string_view::npos;
}

std::vector<uint32_t> CallsAfterReset(const Trace& trace, const CallFacts& calls) {
  const auto resets = [&](NameId function) {
    const std::string_view name = trace.Text(function);
    return name.find("DeviceReset") != std::string_view::npos || name.find("PrimaryCtxReset") != std::string_view::npos;
  };
  bool has_reset = false;
  for (uint32_t i = 0; i < calls.sums().size(); ++i) {
    has_reset |= calls.sums()[i].count > 0 && resets(trace.api_calls.TraitsAt(i).function);
  }
  std::vector<uint32_t> found;
  std::vector<uint8_t> is_reset(trace.processes.size(), 0);
  for (uint32_t i = 0; has_reset && i < trace.api_calls.size(); ++i) {
    const ApiCall& call = trace.api_calls[i];
    if (call.parent != kNone || call.process == kNone || call.api_class == ApiClass::kQuery) continue;
    if (is_reset[call.process] != 0) found.push_back(i);
    is_reset[call.process] = resets(call.function);
  }
  return found;
}

}  // namespace gprof
