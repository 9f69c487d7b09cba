// Stacks of calls as the page carries them: a node is a frame and the node that called it, those that events need
// alone.
#pragma once

#include <cstdint>
#include <vector>

#include "gprof/trace.h"
#include "html/timeline/event_names.h"

namespace gprof {

// In the order of FRAME_KINDS in src/web/shared/data.ts.
enum class FrameKind : uint8_t { kUnknown, kNative, kPython, kKernel, kCut };

class PageStacks {
 public:
  struct Node {
    uint32_t parent = 0;  // 1 + index of the node, 0 for none
    uint32_t name = 0;    // in the names of the page
    FrameKind kind = FrameKind::kUnknown;
  };

  PageStacks(const Trace& trace, EventNames* names) : trace_(trace), names_(names) {}

  // 1 + index of the node of a stack, which is added with those that called it; 0 for kNone.
  uint32_t Of(uint32_t stack);
  // Of the innermost frame; empty for kNone.
  uint32_t InnermostName(uint32_t stack);
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  uint32_t Add(Node node);
  uint32_t FrameNameOf(uint32_t frame);
  FrameKind KindOf(uint32_t frame) const;

  const Trace& trace_;
  EventNames* names_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> numbers_;      // by stack, 0 for one that was not asked for
  std::vector<uint32_t> frame_names_;  // by frame, kNone for one that was not asked for
};

}  // namespace gprof
