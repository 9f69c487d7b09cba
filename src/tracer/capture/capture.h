// Whether the process records now: from its begin, or when a trigger says so (a range, the profiler API, steps, the
// launcher's control page). Outside captures CUPTI's work kinds and callbacks are off and handlers return at once.
// Between windows that keep a budget the base level may stay on: ranges, waits, launches of graphs, long calls,
// samples.
#pragma once

#include <atomic>
#include <cstdint>

#include "gprof/trace/record.h"
#include "tracer/core/collectors.h"
#include "tracer/store/log_rows.h"

namespace gprof::tracer {

extern std::atomic<bool> capture_is_on, base_is_on;

// Rows are wanted: of everything, and of what is part of the base level. The one question that hot paths ask.
inline bool IsCapturing() { return capture_is_on.load(std::memory_order_relaxed); }
inline bool IsBaseRecorded() { return base_is_on.load(std::memory_order_relaxed); }
// No trigger starts another capture.
bool CapturesAreOver();
// How many captures a trigger or a command has ended. Not those that end only to go on: windows, and pauses for another
// profiler.
uint32_t CapturesEnded();

// Nothing happens when it is on (off) already, or captures are over. `is_last`: the trigger knows that it was its last.
// [any thread]
void BeginCapture(trace::CaptureTrigger trigger);
void EndCapture(trace::CaptureTrigger trigger, bool is_last = false);
// Whether the base level stays on when a window ends, and whether it is on now, outside of windows. [writer thread]
void KeepBaseAfterWindows(bool keeps);
void SwitchBase(bool on);

// A capture begins soon: collectors that take their time are switched on. [any thread]
void WarmUpForCapture();

// The process ends within a capture. [writer thread, or whoever writes the end]
void EndCaptureWithProcess();

// Whether an operation on the GPU belongs to a capture; not when it ran in the warm-up before one. [writer thread]
bool IsOfCapture(uint64_t start_ns, uint64_t end_ns);

// As the settings say.
void SetUpCapture();
void ResetCaptureAfterFork();
void ConvertCaptureRow(const RowHeader* row, const RowSource& source);
// The time at the base level since it was told last. [writer thread, or whoever writes the end]
void TellBaseTime(DrainRound* round);

// When captures begin and end is recorded, too.
inline constexpr Collector kCaptureCollector = {
    .start = SetUpCapture,
    .drain = TellBaseTime,
    .reset = ResetCaptureAfterFork,
    .row_types = SetOf(RowType::kCapture),
    .convert = ConvertCaptureRow,
};

}  // namespace gprof::tracer
