#include "html/timeline/page_stacks.h"

#include <vector>

#include "analysis/facts/places/stack_names.h"

namespace gprof {

uint32_t PageStacks::Of(uint32_t stack) {
  if (stack == kNone) return 0;
  numbers_.resize(trace_.stacks.size(), 0);
  std::vector<uint32_t> way;  // from this stack to one that has a number
  for (uint32_t at = stack; at != kNone && numbers_[at] == 0; at = trace_.stacks[at].parent) way.push_back(at);
  for (; !way.empty(); way.pop_back()) {
    const StackNode& node = trace_.stacks[way.back()];
    uint32_t parent = node.parent == kNone ? 0 : numbers_[node.parent];
    if (node.parent == kNone && node.is_cut) parent = Add({0, names_->Of("frames are missing"), FrameKind::kCut});
    numbers_[way.back()] = Add({parent, FrameNameOf(node.frame), KindOf(node.frame)});
  }
  return numbers_[stack];
}

uint32_t PageStacks::InnermostName(uint32_t stack) {
  return stack == kNone ? names_->Of("") : FrameNameOf(trace_.stacks[stack].frame);
}

uint32_t PageStacks::Add(Node node) {
  nodes_.push_back(node);
  return static_cast<uint32_t>(nodes_.size());
}

uint32_t PageStacks::FrameNameOf(uint32_t frame) {
  if (frame == kNone) return names_->Of("?");
  frame_names_.resize(trace_.frames.size(), kNone);
  uint32_t& name = frame_names_[frame];
  if (name == kNone) name = names_->Of(FrameName(trace_, frame));
  return name;
}

FrameKind PageStacks::KindOf(uint32_t frame) const {
  if (frame == kNone || trace_.frames[frame].module == kNone) return FrameKind::kUnknown;
  switch (trace_.modules[trace_.frames[frame].module].module_kind) {
    case trace::ModuleKind::kFile:
    case trace::ModuleKind::kVdso:
      return FrameKind::kNative;
    case trace::ModuleKind::kPythonCode:
      return FrameKind::kPython;
    case trace::ModuleKind::kKernel:
      return FrameKind::kKernel;
    case trace::ModuleKind::kGenerated:
    case trace::ModuleKind::kUnknown:
      break;
  }
  return FrameKind::kUnknown;
}

}  // namespace gprof
