// Chunks that a traced process could not add to the trace, as it has no right to open the file, or may write to none: a
// ring in its arena, from which the launcher adds them. Who takes them trusts nothing in it but what it has checked.
#pragma once

#include <atomic>
#include <cstdint>

namespace gprof::trace {

inline constexpr uint32_t kOutboxPageBytes = 4096;  // it begins at a page of the arena (ArenaHeader::outbox_page)

// Byte `n` of the chunks is at n % capacity behind this.
struct Outbox {
  std::atomic<uint64_t> added;  // bytes of whole chunks, since the beginning [target]
  std::atomic<uint64_t> taken;  // of those that are in the trace [launcher]
  uint64_t capacity;
  uint64_t reserved[5];
};
static_assert(sizeof(Outbox) == 64);

}  // namespace gprof::trace
