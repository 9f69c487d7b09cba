// The payload extension of NVTX: the layouts that programs register, and the bytes that events carry. Bytes are copied
// as they lie in the program's memory; what they mean is left to whoever reads the trace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gprof/trace/record.h"
#include "tracer/nvtx/nvtx_hooks.h"

// After nvtx_hooks.h, which knows how to include what this one wants.
#include <nvtx3/nvToolsExtPayload.h>

namespace gprof::tracer {

struct NvtxText;
class ThreadLog;

// Bytes of an event; more are cut, which a reader sees by the size of the layout.
inline constexpr std::size_t kMaxPayloadBytes = 4096;

// One thing that is told of layouts: which of the three records says `kind`.
struct LayoutEntry {
  trace::RecordKind kind;
  trace::NvtxSchemaRecord schema;
  trace::NvtxSchemaEntryRecord entry;
  trace::NvtxEnumRecord value;
};

// [any thread, rare] The number of the layout in its domain: the program's own, or one of ours.
uint64_t RegisterSchema(uint32_t domain, const nvtxPayloadSchemaAttr_t& schema);
uint64_t RegisterEnum(uint32_t domain, const nvtxPayloadEnumAttr_t& enumeration);

// [writer thread, or salvage] Entry `i` of all that was registered, null when there is none yet.
const LayoutEntry* LayoutEntryAt(uint32_t i);
void ResetLayoutsAfterFork();

struct NvtxPayloads {
  const nvtxPayloadData_t* first = nullptr;
  std::size_t count = 0;
};

// What the thread's next NVTX row carries; null for nearly all.
extern constinit thread_local const NvtxPayloads* event_payloads;

// Hands payloads to the row that is written while it lives.
class PayloadScope {
 public:
  explicit PayloadScope(const NvtxPayloads* payloads) { event_payloads = payloads; }
  ~PayloadScope() { event_payloads = nullptr; }
  PayloadScope(const PayloadScope&) = delete;
  PayloadScope& operator=(const PayloadScope&) = delete;
};

// Rows for `event_payloads`, after the row of their event.
void WritePayloads(ThreadLog* log, trace::NvtxEvent event, uint32_t domain, uint64_t stamp, uint64_t range);

// The text of an event that has no other: that of the entry which its layout says is the message, else the layout's
// name.
NvtxText MessageOf(uint32_t domain, const NvtxPayloads& payloads);

}  // namespace gprof::tracer
