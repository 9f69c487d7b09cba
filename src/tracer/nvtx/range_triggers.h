// Ranges that start and stop captures, as they are or as steps; and so, what handlers do with an event.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracer/store/thread_log.h"

namespace gprof::tracer {

// Watched events are looked at one by one, as they may start and stop captures.
enum class NvtxPath : uint32_t { kRecord, kIgnore, kWatch };
extern std::atomic<NvtxPath> nvtx_path;
inline NvtxPath PathOfNvtx() { return nvtx_path.load(std::memory_order_relaxed); }

// A range was pushed (before its row), or popped (after its row).
void OnPushSeen(WatchedRange* watched, uint32_t domain, uint32_t id, const char* text, std::size_t size);
void OnPopSeen(WatchedRange* watched, uint32_t domain);
// The same for ranges that are started and ended.
void OnStartSeen(uint64_t range, uint32_t domain, uint32_t id, const char* text, std::size_t size);
void OnEndSeen(uint64_t range);

// As the settings say.
void SetUpRangeTriggers();
void ChooseNvtxPath(bool is_capturing);
void ResetRangeTriggersAfterFork();

}  // namespace gprof::tracer
