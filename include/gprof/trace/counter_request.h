// Which kernel counters a run collects, and of what: a file that the launcher writes and GPROF_COUNTERS names. Each
// line is one of these words, a space and a value. Lines that a tracer does not know are left out.
#pragma once

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
inline constexpr char kMode[] = "mode";             // what these two are of: global, per-gpu or per-launch-config
inline constexpr char kDevice[] = "device";         // only this ordinal; may be there several times
inline constexpr char kHangLimit[] = "hang-limit";  // seconds after which a launch is said to hang; 0: never
inline constexpr char kBudget[] =
    "budget";  // thousandths of the run that measuring may take: a few launches now and then
inline constexpr char kSampling[] =
    "sampling";  // instructions are sampled instead, every 2^n cycles; 0: as CUPTI has it
inline constexpr char kCodeFolder[] = "code-folder";  // where the tracer leaves code that was sampled

}  // namespace gprof::trace::counter_request
