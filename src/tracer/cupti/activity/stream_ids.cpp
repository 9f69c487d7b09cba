#include "tracer/cupti/activity/stream_ids.h"

#include <atomic>

#include "tracer/store/memory/arena.h"

namespace gprof::tracer {
namespace {

struct StreamSlot {
  std::atomic<uint64_t> key;
  std::atomic<uint32_t> stream;
};
constexpr uint32_t kStreamSlots = 8192;
StreamSlot stream_slots[kStreamSlots] GPROF_IN_ARENA = {};
constexpr uint32_t kContexts = 1024;
uint32_t null_streams[kContexts] GPROF_IN_ARENA = {};  // writer thread

uint64_t StreamKey(uint32_t context, uint64_t handle) { return handle ^ (static_cast<uint64_t>(context) << 48); }

}  // namespace

uint32_t StreamOfHandle(uint32_t context, uint64_t handle) {
  constexpr uint64_t kLegacy = 1;
  if (handle <= kLegacy) return context < kContexts ? null_streams[context] : 0;
  const uint64_t key = StreamKey(context, handle);
  for (uint32_t i = 0; i < 16; ++i) {
    const StreamSlot& slot = stream_slots[((key >> 4) + i) % kStreamSlots];
    if (slot.key.load(std::memory_order_acquire) == key) return slot.stream.load(std::memory_order_relaxed);
  }
  return 0;
}

void NoteStream(uint32_t context, uint64_t handle, uint32_t stream) {
  const uint64_t key = StreamKey(context, handle);
  for (uint32_t i = 0; i < 16; ++i) {
    StreamSlot& slot = stream_slots[((key >> 4) + i) % kStreamSlots];
    uint64_t owner = slot.key.load(std::memory_order_relaxed);
    // A full neighbourhood gives up its last place.
    if (owner != key && owner != 0 && i != 15) continue;
    slot.stream.store(stream, std::memory_order_relaxed);
    slot.key.store(key, std::memory_order_release);
    return;
  }
}

void NoteNullStream(uint32_t context, uint32_t stream) {
  if (context < kContexts) null_streams[context] = stream;
}

}  // namespace gprof::tracer
