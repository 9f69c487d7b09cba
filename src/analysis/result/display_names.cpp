#include "analysis/result/display_names.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/demangle.h"

namespace gprof {
namespace {

std::string WithNumber(std::string_view name, std::string_view kind, uint64_t number) {
  if (name.empty()) return std::string(kind) + " " + std::to_string(number);
  return std::string(name) + " (" + std::to_string(number) + ")";
}

}  // namespace

std::string KernelName(const Trace& trace, NameId mangled) {
  const std::string_view name = trace.Text(mangled);
  return name.empty() ? "(unnamed kernel)" : Demangle(name);
}

bool IsNcclKernel(std::string_view name) {
  // RCCL has the names of NCCL, and kernels of its own.
  constexpr std::string_view kBeginnings[] = {"nccl", "rccl", "oneccl"};
  constexpr std::string_view kParts[] = {"ncclDevKernel", "ncclKernel", "mscclKernel", "mscclpp"};
  return std::ranges::any_of(kBeginnings, [&](std::string_view beginning) { return name.starts_with(beginning); }) ||
         std::ranges::any_of(kParts, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

bool IsWaitingKernel(std::string_view name) {
  if (IsNcclKernel(name)) return true;
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::string_view kWords[] = {"spin", "sleep", "wait", "poll", "barrier"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

bool IsLibraryKernel(std::string_view name) {
  constexpr std::string_view kWords[] = {"cublas", "cutlass",    "cudnn",      "xmma",  "gemm", "implicit_convolve",
                                         "nvjet",  "at::native", "2at6native", "cub::", "3cub"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

std::string OpName(const Trace& trace, const GpuOp& op) {
  switch (op.kind) {
    case OpKind::kKernel:
      return KernelName(trace, op.name);
    case OpKind::kMemset:
      return "memset";
    case OpKind::kGraph:
      return "graph " + std::to_string(op.graph);
    case OpKind::kMemcpy:
    case OpKind::kPeerCopy:
      break;
  }
  return "copy " + std::string(DirectionName(DirectionOf(op)));
}

std::string DeviceScope(const Trace& trace, uint32_t device) {
  return "gpu" + std::to_string(trace.devices[device].ordinal);
}

std::string StreamName(const Trace& trace, uint32_t stream) {
  if (stream == kNone) return "(unknown)";
  const Stream& s = trace.streams[stream];
  const std::string_view name = trace.Text(s.name);
  if (name.empty() && s.is_default) return "default stream";
  return WithNumber(name, "stream", s.id);
}

std::string ThreadName(const TraceHead& trace, uint32_t thread) {
  if (thread == kNone) return "(unknown)";
  return WithNumber(trace.Text(trace.threads[thread].name), "thread", trace.threads[thread].tid);
}

std::string FunctionName(const Trace& trace, uint32_t api_call) {
  return api_call == kNone ? "(unknown)" : std::string(trace.Text(trace.api_calls[api_call].function));
}

std::string PathName(const Trace& trace, NameId path) {
  const std::string_view name = trace.Text(path);
  return name.empty() ? "(no range)" : std::string(name);
}

Direction DirectionOf(const GpuOp& op) {
  using trace::CopyKind;
  if (op.kind == OpKind::kPeerCopy) return Direction::kP2p;
  switch (op.copy_kind) {
    case CopyKind::kHostToDevice:
    case CopyKind::kHostToArray:
      return Direction::kH2d;
    case CopyKind::kDeviceToHost:
    case CopyKind::kArrayToHost:
      return Direction::kD2h;
    case CopyKind::kDeviceToDevice:
    case CopyKind::kArrayToArray:
    case CopyKind::kArrayToDevice:
    case CopyKind::kDeviceToArray:
      return Direction::kD2d;
    case CopyKind::kPeerToPeer:
      return Direction::kP2p;
    case CopyKind::kHostToHost:
      return Direction::kH2h;
    case CopyKind::kUnknown:
      break;
  }
  return Direction::kOther;
}

std::string_view DirectionName(Direction direction) {
  constexpr std::string_view kNames[kDirectionCount] = {"host to device", "device to host", "device to device",
                                                        "peer to peer",   "host to host",   "unknown"};
  return kNames[static_cast<size_t>(direction)];
}

std::string_view ShortDirectionName(Direction direction) {
  constexpr std::string_view kNames[kDirectionCount] = {"H2D", "D2H", "D2D", "P2P", "H2H", "other"};
  return kNames[static_cast<size_t>(direction)];
}

std::string_view MemoryName(trace::MemoryKind memory) {
  using trace::MemoryKind;
  switch (memory) {
    case MemoryKind::kPageable:
      return "pageable";
    case MemoryKind::kPinned:
      return "pinned";
    case MemoryKind::kDevice:
    case MemoryKind::kDeviceStatic:
      return "device";
    case MemoryKind::kArray:
      return "array";
    case MemoryKind::kManaged:
    case MemoryKind::kManagedStatic:
      return "managed";
    case MemoryKind::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace gprof
