// Which kernel counters a run collects, and of what: a file that the launcher writes and GPROF_COUNTERS names. Each
// line is one of these words, a space and a value. Lines that a tracer does not know are left out.
#pragma once

#include <atomic>
#include <cstdint>

namespace gprof::trace::counter_request {

inline constexpr char kMetric[] =
    "metric";                          // its names on different chips, separated by spaces; the first known counts
inline constexpr char kSet[] = "set";  // what the metrics are called together: light
inline constexpr char kReplay[] = "replay";  // auto (kernel where one pass is not enough), none, kernel, range
inline constexpr char kKernel[] = "kernel";  // only kernels of this name
inline constexpr char kKernelExpression[] = "kernel-regex";  // an extended regular expression instead
inline constexpr char kNameBase[] = "name-base";             // what is compared: function or mangled
inline constexpr char kKernelId[] = "kernel-id";             // context:stream:[operation:]name:number
inline constexpr char kSkipBefore[] = "skip-before";         // launches of any kernel
inline constexpr char kSkip[] = "skip";                      // launches that match
inline constexpr char kCount[] = "count";                    // and how many of the next ones are collected
inline constexpr char kMode[] = "mode";  // what these two are of: global, per-gpu or per-launch-config
// Only launches in NVTX ranges of one of the filters, and not in those of another. A line begins a filter: words with
// commas between, of stack (a part of the stack of pushed ranges), bottom and top (which ends there), regex; or any
// (ranges that are open, pushed or started).
inline constexpr char kNvtxInclude[] = "nvtx-include";
inline constexpr char kNvtxExclude[] = "nvtx-exclude";
inline constexpr char kNvtxDomain[] = "nvtx-domain";  // of the filter; without it, the default one
inline constexpr char kNvtxRange[] = "nvtx-range";    // of the filter, one after the other
inline constexpr char kNvtxGap[] = "nvtx-gap";        // between two of them: one range, or any number
inline constexpr char kDevice[] = "device";           // only this ordinal; may be there several times
inline constexpr char kGraphs[] = "graphs";           // graph: a launch of a graph is measured as one
inline constexpr char kCaches[] = "caches";           // all: flushed before each pass
inline constexpr char kClocks[] = "clocks";           // none, base, boost: what they are locked to
inline constexpr char kKill[] = "kill";               // 1: the program is to end after `count` launches
inline constexpr char kHangLimit[] = "hang-limit";    // seconds after which a launch is said to hang; 0: never
inline constexpr char kSampling[] =
    "sampling";  // instructions are sampled instead, every 2^n cycles; 0: as CUPTI has it
inline constexpr char kCodeFolder[] = "code-folder";  // where the tracer leaves code that was sampled

// And what tracers tell the launcher while they measure: a page in the folder of the run, which the first of them
// makes.
inline constexpr char kMeasuringFile[] = "measuring";

// Whoever measures last has written the name, which ends with a zero whatever happens to it meanwhile.
struct MeasuringPage {
  std::atomic<uint64_t> launches;  // that are measured, of all processes
  std::atomic<uint32_t> passes;    // of each
  char kernel[244];
};
static_assert(sizeof(MeasuringPage) == 256);

}  // namespace gprof::trace::counter_request
