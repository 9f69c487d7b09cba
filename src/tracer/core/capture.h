// Whether the process records now: from its begin, or when a trigger says so (a range, the profiler API, steps, the
// launcher's control page). Outside captures CUPTI's work kinds and callbacks are off and handlers return at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "gprof/trace/record.h"

namespace gprof::tracer {

extern std::atomic<bool> capture_is_on;
// What NVTX handlers do with an event. Watched ones are looked at one by one, as they may start and stop captures.
enum class NvtxPath : uint32_t { kRecord, kIgnore, kWatch };
extern std::atomic<NvtxPath> nvtx_path;

// Rows are wanted. The one question that hot paths ask.
inline bool IsCapturing() { return capture_is_on.load(std::memory_order_relaxed); }

// As the settings say; before the first row.
void SetUpCapture();
void ResetCaptureAfterFork();

// Nothing happens when it is on (off) already, or captures are over. [any thread]
void BeginCapture(trace::CaptureTrigger trigger);
void EndCapture(trace::CaptureTrigger trigger);

// The process ends within a capture. [writer thread, or whoever writes the end]
void EndCaptureWithProcess();

// The program called cudaProfilerStart (its callback at exit) or cudaProfilerStop (at entry).
void OnProfilerStart();
void OnProfilerStop();

// The outermost range of the name that captures go by, as far as one thread has it open.
struct WatchedRange {
  uint32_t domain = 0;
  uint32_t nested = 0;  // ranges of the domain within it
  bool is_open = false;
};
// A range was pushed (before its row), or popped (after its row).
void OnPushSeen(WatchedRange* watched, uint32_t domain, uint32_t id, const char* text, std::size_t size);
void OnPopSeen(WatchedRange* watched, uint32_t domain);
// The same for ranges that are started and ended. Answers for the start whether OnEndSeen wants to hear of its end.
void OnStartSeen(uint64_t range, uint32_t domain, uint32_t id, const char* text, std::size_t size);
void OnEndSeen(uint64_t range);

// Whether an operation on the GPU belongs to a capture; not when it ran in the warm-up before one. [writer thread]
bool IsOfCapture(uint64_t start_ns, uint64_t end_ns);

}  // namespace gprof::tracer
