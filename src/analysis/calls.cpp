#include "analysis/calls.h"

#include <string_view>

namespace gprof {

uint32_t OutermostCall(const Trace& trace, uint32_t call) {
  // Parents come before their children, which also ends this loop on a trace that says otherwise.
  while (call != kNone && trace.api_calls[call].parent < call) call = trace.api_calls[call].parent;
  return call;
}

std::vector<uint8_t> BlockingCopies(const Trace& trace) {
  std::vector<uint8_t> blocks(trace.api_calls.size(), 0);
  for (const GpuOp& op : trace.ops) {
    if (op.api == kNone || !(op.IsCopy() || op.kind == OpKind::kMemset)) continue;
    if (op.graph == 0 && (!op.is_async || op.IsPageable())) blocks[OutermostCall(trace, op.api)] = 1;
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const ApiCall& call = trace.api_calls[i];
    const bool copies = call.api_class == ApiClass::kCopy || call.api_class == ApiClass::kMemset;
    // Without its operation only the name tells: cudaMemcpy waits, cudaMemcpyAsync does not as a rule.
    if (copies && call.parent == kNone && call.op_count == 0) {
      blocks[i] = trace.Text(call.function).find("Async") == std::string_view::npos;
    }
  }
  return blocks;
}

}  // namespace gprof
