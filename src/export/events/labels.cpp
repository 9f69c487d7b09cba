#include "export/events/labels.h"

#include <fmt/format.h>

#include <utility>

#include "analysis/result/display_names.h"
#include "base/text.h"

namespace gprof {
namespace {

using trace::CopyKind;
using trace::MemoryKind;

std::string_view MemoryWord(MemoryKind memory) {
  switch (memory) {
    case MemoryKind::kPageable:
      return "Pageable";
    case MemoryKind::kPinned:
      return "Pinned";
    case MemoryKind::kDevice:
      return "Device";
    case MemoryKind::kArray:
      return "Array";
    case MemoryKind::kManaged:
      return "Managed";
    case MemoryKind::kDeviceStatic:
      return "Device Static";
    case MemoryKind::kManagedStatic:
      return "Managed Static";
    case MemoryKind::kUnknown:
      break;
  }
  return "Unknown";
}

std::string_view CopyWord(const GpuOp& op) {
  if (op.kind == OpKind::kPeerCopy) return "PtoP";
  switch (op.copy_kind) {
    case CopyKind::kHostToDevice:
      return "HtoD";
    case CopyKind::kDeviceToHost:
      return "DtoH";
    case CopyKind::kHostToArray:
      return "HtoA";
    case CopyKind::kArrayToHost:
      return "AtoH";
    case CopyKind::kArrayToArray:
      return "AtoA";
    case CopyKind::kArrayToDevice:
      return "AtoD";
    case CopyKind::kDeviceToArray:
      return "DtoA";
    case CopyKind::kDeviceToDevice:
      return "DtoD";
    case CopyKind::kHostToHost:
      return "HtoH";
    case CopyKind::kPeerToPeer:
      return "PtoP";
    case CopyKind::kUnknown:
      break;
  }
  return "Unknown";
}

std::string OtherName(const GpuOp& op) {
  if (op.kind == OpKind::kGraph) return fmt::format("graph {}", op.graph);
  if (op.kind == OpKind::kMemset) return fmt::format("Memset ({})", MemoryWord(op.destination_memory));
  return fmt::format("Memcpy {} ({} -> {})", CopyWord(op), MemoryWord(op.source_memory),
                     MemoryWord(op.destination_memory));
}

}  // namespace

Labels::Labels(const Trace& trace)
    : trace_(trace), names_(trace.strings.size(), kNone), kernels_(trace.strings.size(), kNone) {}

uint32_t Labels::Add(std::string text) {
  texts_.push_back(std::move(text));
  return static_cast<uint32_t>(texts_.size() - 1);
}

uint32_t Labels::Of(NameId name) {
  uint32_t& label = names_[name.value];
  if (label == kNone) label = Add(Utf8(trace_.Text(name)));
  return label;
}

uint32_t Labels::OfKernel(NameId name) {
  uint32_t& label = kernels_[name.value];
  if (label == kNone) label = Add(Utf8(KernelName(trace_, name)));
  return label;
}

uint32_t Labels::Of(const GpuOp& op) {
  if (op.kind == OpKind::kKernel) return OfKernel(op.name);
  const bool is_graph = op.kind == OpKind::kGraph;
  const CopyKey key{op.kind, is_graph ? op.graph : static_cast<uint32_t>(op.copy_kind), op.source_memory,
                    op.destination_memory};
  const auto [found, is_new] = others_.try_emplace(key, 0);
  if (is_new) found->second = Add(OtherName(op));
  return found->second;
}

uint32_t Labels::Of(std::string_view text) {
  const auto found = literals_.find(text);
  if (found != literals_.end()) return found->second;
  const uint32_t label = Add(Utf8(text));
  literals_.emplace(text, label);
  return label;
}

}  // namespace gprof
