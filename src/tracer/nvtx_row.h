// One NVTX row into the thread's log: the hot path of every handler.
#pragma once

#include <cstring>

#include "capture.h"
#include "clock.h"
#include "nvtx.h"
#include "payload.h"
#include "strings.h"
#include "thread_log.h"

namespace gprof::tracer {

struct NvtxText {
  const char* data = nullptr;  // text, or
  std::size_t size = 0;
  uint32_t id = 0;             // a registered string
};

inline NvtxText PlainText(const char* text) {
  return text == nullptr ? NvtxText{} : NvtxText{text, strnlen(text, kMaxNameBytes), 0};
}

inline NvtxShortRow NvtxStart(trace::NvtxEvent event, uint8_t flags, uint32_t bytes, uint32_t domain, uint64_t stamp) {
  const auto all_flags = static_cast<uint8_t>(flags | static_cast<uint8_t>(event) << kNvtxEventShift);
  return {{RowType::kNvtx, all_flags, static_cast<uint16_t>(bytes / 8)}, domain, stamp};
}

// What the row says of the moment: a range begins after the tracer's own work and ends before it.
inline void WriteNvtxRow(ThreadLog* log, trace::NvtxEvent event, uint32_t domain, const NvtxText& text,
                         const NvtxAttributes* attributes, uint64_t early_stamp) {
  const auto text_room = static_cast<uint32_t>((text.size + 7) & ~std::size_t{7});
  const auto attribute_room = static_cast<uint32_t>(attributes != nullptr ? sizeof(NvtxAttributes) : 0);
  const uint32_t bytes = static_cast<uint32_t>(sizeof(NvtxRow)) + attribute_room + text_room;
  unsigned char* at = log->Reserve(bytes);
  if (at == nullptr) return;
  auto* row = reinterpret_cast<NvtxRow*>(at);
  unsigned char* rest = at + sizeof(NvtxRow);
  if (attributes != nullptr) {
    std::memcpy(rest, attributes, sizeof *attributes);
    rest += sizeof *attributes;
  }
  if (text.size != 0) std::memcpy(rest, text.data, text.size);
  row->message = text.id;
  row->text_bytes = static_cast<uint32_t>(text.size);
  const auto flags = static_cast<uint8_t>((attributes != nullptr ? kHasAttributes : 0) | (text.size != 0 ? kHasText : 0));
  const uint64_t stamp = early_stamp != 0 ? early_stamp : Stamp();
  row->start = NvtxStart(event, flags, bytes, domain, stamp);
  log->Commit(bytes);
  if (__builtin_expect(event_payloads != nullptr, 0)) {
    WritePayloads(log, event, domain, stamp, attributes != nullptr ? attributes->range : 0);
  }
}

inline void WriteNvtxPop(ThreadLog* log, uint32_t domain, uint64_t stamp) {
  unsigned char* at = log->Reserve(sizeof(NvtxShortRow));
  if (at == nullptr) return;
  *reinterpret_cast<NvtxShortRow*>(at) =
      NvtxStart(trace::NvtxEvent::kPop, kIsShort, sizeof(NvtxShortRow), domain, stamp);
  log->Commit(sizeof(NvtxShortRow));
  if (__builtin_expect(event_payloads != nullptr, 0)) WritePayloads(log, trace::NvtxEvent::kPop, domain, stamp, 0);
}

// Depths as NVTX counts them: the first push answers 0. Domains beyond the first few are not tracked.
inline int Deeper(ThreadLog* log, uint32_t domain) {
  return domain < ThreadLog::kDepthDomains ? log->depths[domain]++ : NVTX_NO_PUSH_POP_TRACKING;
}
inline int Shallower(ThreadLog* log, uint32_t domain) {
  if (domain >= ThreadLog::kDepthDomains) return NVTX_NO_PUSH_POP_TRACKING;
  int32_t& depth = log->depths[domain];
  return depth > 0 ? --depth : -1;
}

// Where ranges start and stop captures, every event goes this longer way (nvtx.cpp).
int WatchedPush(ThreadLog* log, uint32_t domain, const NvtxText& text, const NvtxAttributes* attributes);
int WatchedPop(ThreadLog* log, uint32_t domain, uint64_t stamp);
void WatchedStart(ThreadLog* log, uint32_t domain, const NvtxText& text, const NvtxAttributes& attributes);
void WatchedEnd(ThreadLog* log, uint32_t domain, const NvtxAttributes& attributes, uint64_t stamp);

inline NvtxPath PathOfNvtx() { return nvtx_path.load(std::memory_order_relaxed); }

inline int Push(uint32_t domain, const NvtxText& text, const NvtxAttributes* attributes) {
  ThreadLog* log = OwnLog();
  if (log == nullptr) return NVTX_NO_PUSH_POP_TRACKING;
  const NvtxPath path = PathOfNvtx();
  if (__builtin_expect(path == NvtxPath::kWatch, 0)) return WatchedPush(log, domain, text, attributes);
  if (path == NvtxPath::kRecord) WriteNvtxRow(log, trace::NvtxEvent::kPush, domain, text, attributes, 0);
  return Deeper(log, domain);
}

inline int Pop(uint32_t domain) {
  const NvtxPath path = PathOfNvtx();
  const uint64_t now = path == NvtxPath::kIgnore ? 0 : Stamp();
  ThreadLog* log = OwnLog();
  if (log == nullptr) return NVTX_NO_PUSH_POP_TRACKING;
  if (__builtin_expect(path == NvtxPath::kWatch, 0)) return WatchedPop(log, domain, now);
  if (path == NvtxPath::kRecord) WriteNvtxPop(log, domain, now);
  return Shallower(log, domain);
}

inline uint64_t Start(uint32_t domain, const NvtxText& text, NvtxAttributes attributes) {
  ThreadLog* log = OwnLog();
  if (log == nullptr) return 0;
  // Unique in the process without an atomic: the log's number and a count of its own.
  attributes.range = static_cast<uint64_t>(log->number) << 32 | ++log->next_range;
  const NvtxPath path = PathOfNvtx();
  if (__builtin_expect(path == NvtxPath::kWatch, 0)) {
    WatchedStart(log, domain, text, attributes);
  } else if (path == NvtxPath::kRecord) {
    WriteNvtxRow(log, trace::NvtxEvent::kStart, domain, text, &attributes, 0);
  }
  return attributes.range;
}

inline void End(uint32_t domain, uint64_t range) {
  const NvtxPath path = PathOfNvtx();
  if (path == NvtxPath::kIgnore) return;
  const uint64_t now = Stamp();
  ThreadLog* log = OwnLog();
  if (log == nullptr) return;
  NvtxAttributes attributes{};
  attributes.range = range;
  if (__builtin_expect(path == NvtxPath::kWatch, 0)) return WatchedEnd(log, domain, attributes, now);
  WriteNvtxRow(log, trace::NvtxEvent::kEnd, domain, {}, &attributes, now);
}

inline void Mark(uint32_t domain, const NvtxText& text, const NvtxAttributes* attributes) {
  ThreadLog* log = OwnLog();
  if (log != nullptr && IsCapturing()) WriteNvtxRow(log, trace::NvtxEvent::kMark, domain, text, attributes, 0);
}

}  // namespace gprof::tracer
