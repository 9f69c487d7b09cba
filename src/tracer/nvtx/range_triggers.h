// Ranges that start and stop captures, as they are or as steps, and ranges that are kept while they are open; and so,
// what handlers do with an event.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tracer/store/open_ranges.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {

// A range was pushed (before its row), or popped (after its row).
void OnPushSeen(ThreadLog* log, uint32_t domain, uint32_t id, const char* text, std::size_t size);
void OnPopSeen(ThreadLog* log, uint32_t domain);
// The same for ranges that are started and ended.
void OnStartSeen(uint64_t range, uint32_t domain, uint32_t id, const char* text, std::size_t size);
void OnEndSeen(uint64_t range);

// As the settings say.
void SetUpRangeTriggers();
void ChooseNvtxPath(bool is_capturing);
void ResetRangeTriggersAfterFork();

}  // namespace gprof::tracer
