// One NVTX row into the thread's log: the hot path of every handler.
#pragma once

#include <cstring>

#include "tracer/capture/capture.h"
#include "tracer/nvtx/nvtx_hooks.h"
#include "tracer/nvtx/nvtx_row_layout.h"
#include "tracer/nvtx/payload_capture.h"
#include "tracer/nvtx/range_triggers.h"
#include "tracer/store/clock.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {

// A registered string, a text of known length, or one that ends with a zero and nobody has measured yet.
struct NvtxText {
  static constexpr std::size_t kUnmeasured = ~std::size_t{0};
  const char* data = nullptr;
  std::size_t size = 0;
  uint32_t id = 0;

  NvtxText Measured() const { return size != kUnmeasured ? *this : NvtxText{data, strnlen(data, kMaxNameBytes), 0}; }
};

inline NvtxText PlainText(const char* text) {
  return text == nullptr ? NvtxText{} : NvtxText{text, NvtxText::kUnmeasured, 0};
}

// What an event says beside its name.
struct NvtxAttributes {
  uint64_t range = 0, payload = 0;
  uint32_t category = 0, color = 0;
  uint32_t payload_type = 0;
};

// Stamp 0: now, at the last moment. A range begins after the tracer's own work and ends before it.
void WriteNvtxRow(ThreadLog* log, trace::NvtxEvent event, uint32_t domain, const NvtxText& text,
                  const NvtxAttributes* attributes, uint64_t stamp);

// The same as one word, where that can hold it. False: it cannot, or nothing is recorded now. Stamp 0 as above.
[[gnu::always_inline]] inline bool WriteNvtxWord(ThreadLog* log, RowType type, uint32_t domain, uint32_t message,
                                                 uint64_t stamp) {
  if (__builtin_expect((domain > kMostWordDomain) | (message > kMostWordMessage), 0)) return false;
  unsigned char* at = log->ReserveHere(sizeof(NvtxWord));
  if (__builtin_expect(at == nullptr, 0)) return false;
  if (stamp == 0) stamp = Stamp();
  const uint64_t since = stamp - log->nvtx_base;
  const bool fits = since >> 32 == 0;
  if (__builtin_expect(fits, 1)) *reinterpret_cast<uint64_t*>(at) = Packed(type, domain, message, since);
  log->Commit(fits ? sizeof(NvtxWord) : 0);
  return fits;
}

inline void WriteNvtxNamed(ThreadLog* log, RowType type, trace::NvtxEvent event, uint32_t domain, const NvtxText& text,
                           const NvtxAttributes* attributes) {
  const uint32_t known = text.size == NvtxText::kUnmeasured ? log->names.Find(text.data) : text.id;
  const bool is_word = attributes == nullptr && event_payloads == nullptr && (known != 0 || text.data == nullptr);
  if (is_word && WriteNvtxWord(log, type, domain, known, 0)) return;
  if (known != 0) return WriteNvtxRow(log, event, domain, {nullptr, 0, known}, attributes, 0);
  WriteNvtxRow(log, event, domain, text, attributes, 0);
}

inline void WriteNvtxPop(ThreadLog* log, uint32_t domain, uint64_t stamp) {
  if (event_payloads == nullptr && WriteNvtxWord(log, RowType::kNvtxPop, domain, 0, stamp)) return;
  WriteNvtxRow(log, trace::NvtxEvent::kPop, domain, {}, nullptr, stamp);
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

// Where ranges start and stop captures, every event goes this longer way (range_triggers.h).
int WatchedPush(ThreadLog* log, uint32_t domain, const NvtxText& text, const NvtxAttributes* attributes);
int WatchedPop(ThreadLog* log, uint32_t domain, uint64_t stamp);
void WatchedStart(ThreadLog* log, uint32_t domain, const NvtxText& text, const NvtxAttributes& attributes);
void WatchedEnd(ThreadLog* log, uint32_t domain, const NvtxAttributes& attributes, uint64_t stamp);

// All ways a push can go, and a pop.
int Push(uint32_t domain, const NvtxText& text, const NvtxAttributes* attributes);
int Pop(uint32_t domain);

// The short ways, which nearly all take: a row of one word, and nothing else to be done. The numbers of names and
// domains stay in registers here.
inline int PushKnown(uint32_t domain, uint32_t message) {
  ThreadLog* log = own_log;
  const bool is_short = (log != nullptr) & (PathOfNvtx() == NvtxPath::kRecord);
  if (__builtin_expect(is_short, 1) && WriteNvtxWord(log, RowType::kNvtxPush, domain, message, 0)) {
    return Deeper(log, domain);
  }
  return Push(domain, {nullptr, 0, message}, nullptr);
}

inline int PushNamed(uint32_t domain, const char* text) {
  ThreadLog* log = own_log;
  const bool is_short = (log != nullptr) & (PathOfNvtx() == NvtxPath::kRecord) & (text != nullptr);
  if (__builtin_expect(is_short, 1)) {
    const uint32_t known = log->names.Find(text);
    if (known != 0 && WriteNvtxWord(log, RowType::kNvtxPush, domain, known, 0)) return Deeper(log, domain);
  }
  return Push(domain, PlainText(text), nullptr);
}

inline int PopShort(uint32_t domain) {
  ThreadLog* log = own_log;
  const bool is_short = (log != nullptr) & (PathOfNvtx() == NvtxPath::kRecord);
  if (__builtin_expect(is_short, 1) && WriteNvtxWord(log, RowType::kNvtxPop, domain, 0, Stamp())) {
    return Shallower(log, domain);
  }
  return Pop(domain);
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

void Mark(uint32_t domain, const NvtxText& text, const NvtxAttributes* attributes);

inline void MarkNamed(uint32_t domain, const char* text) {
  ThreadLog* log = own_log;
  if (__builtin_expect((log != nullptr) & IsBaseRecorded() & (text != nullptr), 1)) {
    const uint32_t known = log->names.Find(text);
    if (known != 0 && WriteNvtxWord(log, RowType::kNvtxMark, domain, known, 0)) return;
  }
  Mark(domain, PlainText(text), nullptr);
}

}  // namespace gprof::tracer
