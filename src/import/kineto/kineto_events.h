// What the categories and arguments of torch.profiler (Kineto) mean.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "gprof/trace/record.h"
#include "import/shared/json_scanner.h"

namespace gprof {

enum class KinetoCategory : uint8_t {
  kKernel,
  kMemcpy,
  kMemset,
  kGraph,  // a CUDA graph as a whole: gprof-cli exports them
  kRuntime,
  kDriver,
  kSync,
  kOverhead,
  kRange,       // on the host
  kProjection,  // what is computed from ranges of the host, or not in the time of the program
  kOther,
};

KinetoCategory CategoryOf(std::string_view category);
// A kernel, copy, memset or graph.
bool IsGpuWork(KinetoCategory category);

// Arguments of GPU work, calls and synchronisation. -1: not there.
struct KinetoArgs {
  int64_t device = -1, context = -1, stream = -1, correlation = -1;
  int64_t bytes = -1, registers = -1, shared_bytes = -1, result = 0;
  int64_t from_device = -1, to_device = -1, peer_device = -1;
  int64_t event = -1, waited_stream = -1, record_correlation = -1;
  int64_t is_async = -1, process = -1;
  bool has_result = false;
  uint64_t graph = 0, graph_node = 0;
  std::array<uint32_t, 3> grid{}, block{}, cluster{};
  std::string_view copy_kind, sync_kind;
  // Where the name does not say them.
  trace::MemoryKind source_memory = trace::MemoryKind::kUnknown, destination_memory = trace::MemoryKind::kUnknown;
};

// `args` may be anything.
KinetoArgs ReadKinetoArgs(const JsonPiece& args);

struct CopyEnds {
  trace::CopyKind kind = trace::CopyKind::kUnknown;
  trace::MemoryKind source = trace::MemoryKind::kUnknown, destination = trace::MemoryKind::kUnknown;
};
// "Memcpy HtoD (Pageable -> Device)"; `kind` is the argument of that name ("HtoD"), which AMD's captures have.
CopyEnds ReadCopyName(std::string_view name, std::string_view kind);
// "Memset (Device)"
trace::MemoryKind ReadMemsetName(std::string_view name);
// "Stream Wait Event"
trace::SyncKind ReadSyncKind(std::string_view kind);
// "Buffer Flush": CUpti_ActivityOverheadKind
uint32_t ReadOverheadName(std::string_view name);

}  // namespace gprof
