#include "analysis/topics/memory/tensors/block_origins.h"

#include <string_view>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/operators/module_tree.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/time/search_near.h"
#include "base/text.h"

namespace gprof {
namespace {

// The name of a function may have that of its class before it.
bool IsOfModules(std::string_view file, std::string_view function) {
  const std::string_view name = function.substr(function.rfind('.') + 1);
  return Contains(file, "torch/nn/modules/") && (name == "_apply" || name == "__init__");
}

bool IsOfModules(const Trace& trace, uint32_t frame) {
  const uint32_t module = frame == kNone ? kNone : trace.frames[frame].module;
  return module != kNone && IsOfModules(trace.Text(trace.modules[module].path), trace.Text(trace.modules[module].name));
}

// "torch/nn/modules/module.py(927): _apply" of torch.profiler.
bool IsOfModules(std::string_view range_name) {
  const std::size_t end = range_name.find("): ");
  return end != std::string_view::npos && IsOfModules(range_name.substr(0, end), range_name.substr(end + 3));
}

template <class F>
void ForEachAround(const Trace& trace, uint32_t range, F&& f) {
  for (; range != kNone; range = RangeAround(trace, range)) f(range);
}

}  // namespace

// Callers come before what they call.
BlockOrigins::BlockOrigins(const AnalysisInput& input, const Operators& operators)
    : trace_(input.trace()), operators_(operators) {
  for (const StackNode& node : trace_.stacks) {
    const bool is_around = node.parent != kNone && stacks_of_modules_[node.parent];
    stacks_of_modules_.push_back(is_around || IsOfModules(trace_, node.frame));
  }
  for (uint32_t i = 0; i < trace_.ranges.TraitsCount(); ++i) {
    const std::string_view name = trace_.Text(trace_.ranges.TraitsAt(i).name);
    is_of_module_.push_back(IsOfModules(name));
    is_work_.push_back(!ReadModuleName(name).label.empty());
  }
  if (!operators.empty()) FindCopies(input);
}

void BlockOrigins::FindCopies(const AnalysisInput& input) {
  has_copy_.resize(trace_.ranges.size());
  for (const Operation op : OperationsOf(trace_)) {
    if (op.shared().kind != OpKind::kMemcpy || op.shared().copy_kind != trace::CopyKind::kHostToDevice) continue;
    const uint32_t call = input.shared().ops().CallOf(op);
    const uint32_t range = call == kNone ? kNone : OutermostOperator(Call(trace_.api_calls, call).range());
    if (range != kNone) has_copy_[range] = true;
  }
}

uint32_t BlockOrigins::OutermostOperator(uint32_t range) const {
  uint32_t outermost = kNone;
  ForEachAround(trace_, range, [&](uint32_t around) {
    if (operators_.of_ranges[around] != kNone) outermost = around;
  });
  return outermost;
}

bool BlockOrigins::IsOfModule(const HeldBlock& block) const {
  if (block.stack < stacks_of_modules_.size()) return stacks_of_modules_[block.stack];
  bool is_of_module = false;
  ForEachAround(trace_, block.range, [&](uint32_t around) {
    is_of_module = is_of_module || is_of_module_[trace_.ranges.items()[around].traits];
  });
  return is_of_module;
}

bool BlockOrigins::IsCopiedFromHost(const HeldBlock& block) const {
  const uint32_t range = has_copy_.empty() ? kNone : OutermostOperator(block.range);
  return range != kNone && has_copy_[range];
}

int64_t BlockOrigins::WorkEnd(const HeldBlock& block) const {
  int64_t end_ns = block.start_ns;
  ForEachAround(trace_, block.range, [&](uint32_t around) {
    const bool is_operator = !operators_.empty() && operators_.of_ranges[around] != kNone;
    if (is_operator || is_work_[trace_.ranges.items()[around].traits]) end_ns = trace_.ranges[around].end_ns;
  });
  return end_ns;
}

}  // namespace gprof
