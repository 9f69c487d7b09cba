#include "analysis/topics/memory/tensors/tensor_blocks.h"

#include <algorithm>
#include <tuple>

#include "analysis/facts/places/stack_lines.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/steps/step_windows.h"
#include "analysis/facts/time/search_near.h"
#include "base/text.h"

namespace gprof {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 42;  // of a block: what is larger is damage

// They are within operators that compute something, and then are no answer to the question who needs the memory.
bool OnlyAllocates(std::string_view name) {
  constexpr std::string_view kNames[] = {"aten::empty",     "aten::empty_strided",     "aten::empty_like",
                                         "aten::new_empty", "aten::new_empty_strided", "aten::resize_"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

// "train.py(12): step" of torch.profiler, where it is a function of the program; else empty.
std::string FunctionOfProgram(std::string_view range_name) {
  const std::size_t open = range_name.find('('), close = range_name.find("): ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  const std::string_view file = range_name.substr(0, open), function = range_name.substr(close + 3);
  if (!IsOfProgram(file)) return {};
  std::string text = Utf8(file.substr(file.rfind('/') + 1));
  text += ":" + Utf8(range_name.substr(open + 1, close - open - 1));
  return function == "<module>" ? text : text + " (" + Utf8(function) + ")";
}

}  // namespace

std::vector<HeldBlock> HeldBlocks(const Trace& trace) {
  std::vector<HeldBlock> blocks;
  std::map<std::tuple<uint32_t, uint32_t, uint64_t>, std::size_t> in_use;  // by process, device and address
  for (const TensorBlock& event : trace.tensor_blocks) {
    if (event.is_host || event.address == 0 || event.process == kNone) continue;
    const auto at = in_use.find({event.process, event.device, event.address});
    if (at != in_use.end()) {
      blocks[at->second].end_ns = event.time_ns;
      in_use.erase(at);
    }
    if (event.size_bytes <= 0 || event.size_bytes > kMostBytes) continue;
    HeldBlock block;
    block.start_ns = event.time_ns;
    block.size_bytes = event.size_bytes;
    block.process = event.process, block.device = event.device;
    block.stack = event.stack;
    if (event.thread != kNone) block.range = RangeAt(trace, event.thread, event.time_ns);
    in_use.emplace(std::tuple(event.process, event.device, event.address), blocks.size());
    blocks.push_back(block);
  }
  return blocks;
}

BlockPlaces::BlockPlaces(const AnalysisInput& input)
    : input_(input), trace_(input.trace()), operators_(input), tree_(input, StepWindows()) {
  modules_ = tree_.Folded(&folded_);
}

std::string_view BlockPlaces::OperatorOf(const HeldBlock& block) const {
  if (operators_.empty()) return OperatorInStack(block.stack);
  const uint32_t innermost = operators_.OperatorAround(trace_, block.range);
  for (uint32_t range = innermost; range != kNone;) {
    const std::string_view name = operators_.sums[operators_.of_ranges[range]].name;
    if (!OnlyAllocates(name)) return name;
    range = operators_.OperatorAround(trace_, RangeAround(trace_, range));
  }
  return innermost == kNone ? std::string_view() : operators_.sums[operators_.of_ranges[innermost]].name;
}

std::string_view BlockPlaces::OperatorInStack(uint32_t stack) const {
  std::string_view found;
  for (; stack != kNone; stack = trace_.stacks[stack].parent) {
    const auto symbol = std::lower_bound(trace_.symbols.begin(), trace_.symbols.end(), trace_.stacks[stack].frame,
                                         [](const Symbol& s, uint32_t frame) { return s.frame < frame; });
    if (symbol == trace_.symbols.end() || symbol->frame != trace_.stacks[stack].frame) continue;
    const std::string_view name = trace_.Text(symbol->name);
    if (!name.starts_with("aten::")) continue;
    if (!OnlyAllocates(name)) return name;
    if (found.empty()) found = name;
  }
  return found;
}

std::string BlockPlaces::LineOf(const HeldBlock& block) {
  const PythonLines& lines = input_.shared().python_lines();
  const uint32_t line = lines.LineOf(block.stack);
  return line == kNone ? FunctionAround(block.range) : NameOf(trace_, lines.all()[line]);
}

const std::string& BlockPlaces::FunctionAround(uint32_t range) {
  const auto [known, is_new] = functions_.try_emplace(range);
  if (!is_new) return known->second;
  while (range != kNone && known->second.empty()) {
    known->second = FunctionOfProgram(trace_.Text(trace_.ranges[range].name));
    range = RangeAround(trace_, range);
  }
  return known->second;
}

uint32_t BlockPlaces::ModuleOf(const HeldBlock& block) const {
  if (block.range == kNone || block.range >= tree_.of_ranges.size()) return kNone;
  const uint32_t module = tree_.of_ranges[block.range];
  return module == kNone ? kNone : folded_[module];
}

bool BlockPlaces::IsBackward(const HeldBlock& block) const {
  return block.range != kNone && block.range < tree_.is_backward.size() && tree_.is_backward[block.range];
}

}  // namespace gprof
