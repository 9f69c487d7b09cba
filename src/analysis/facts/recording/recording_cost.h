// What recording cost the program: an estimate from what the trace holds and from what one record was measured to cost.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/calls/call_facts.h"
#include "analysis/facts/operations/op_facts.h"
#include "analysis/facts/operations/range_facts.h"
#include "gprof/trace.h"

namespace gprof {

// measured_slow_down.cpp: by how much recording slowed the program down, as its own rate of work tells: the calls of
// one function in windows with recording and in those without.

struct PercentInterval {
  double middle = 0, low = 0, high = 0;
};

struct MeasuredSlowDown {
  uint32_t process = kNone;                               // the one that was slowed down most
  int64_t windows = 0;                                    // with recording, each compared with its neighbours
  double percent = 0, low_percent = 0, high_percent = 0;  // their median and its 95 % interval
  NameId function;                                        // whose calls were counted, of the last of them
  // What the base level costs, where there is one: those are windows without anything, each compared with neighbours
  // that have it. And how much of its time the process was in windows, and at the base level outside of them.
  int64_t base_windows = 0;
  PercentInterval base;
  double window_share = 0, base_share = 0;
  bool IsKnown() const { return windows > 0; }
  bool IsOfShares() const { return base_windows > 0 && window_share > 0; }
};

// Not known where no process has windows enough for an interval.
MeasuredSlowDown MeasureSlowDown(const Trace& trace);

// Where and when the costs of single records were measured.
inline constexpr std::string_view kCostsMeasuredOn = "NVIDIA H200, driver 580, libcupti 13.0, 2026-11-21 and 22";

struct ThreadCost {
  uint32_t thread = kNone;
  int64_t calls = 0;          // outermost CUDA calls
  int64_t nvtx = 0;           // ranges and marks
  int64_t calls_ns = 0;       // estimated: of calls, and of the graph nodes and allocations recorded with them
  int64_t nvtx_ns = 0;        // estimated
  int64_t cupti_ns = 0;       // recorded by CUPTI about itself, less what the estimate of the calls around it has
  int64_t active_ns = 0;      // from its first to its last event, less pauses between captures
  int64_t gpu_cost_ns = 0;    // the part between the first and the last GPU operation of its process
  int64_t gpu_window_ns = 0;  // that time
  int64_t TotalNs() const { return calls_ns + nvtx_ns + cupti_ns; }
  double ActivePercent() const;
  double RecordsPercent() const;  // without CUPTI's own, which is start-up as a rule
  double GpuPercent() const;
};

// How much longer the run took, in percent of the time without recording. The cost of a call is hidden where the GPU is
// what the program waits for, and grows with what recording does to caches and to threads that launch at one time: the
// bounds hold for 28 programs that were measured with and without (docs/overhead.md). Where the machine is calibrated,
// it is known which of the cost is hidden, and the bounds are closer.
struct SlowDown {
  double least_percent = 0, most_percent = 0;
};

struct RecordingCost {
  bool is_known = false;            // false: another tool recorded it, whose costs are not known
  int64_t calibrated_unix_s = 0;    // when the machine of slow_down was calibrated; 0: it was not
  std::vector<ThreadCost> threads;  // with any cost, the largest first
  int64_t TotalNs() const;          // summed over the threads
  // Threads run side by side: the one with the most decides how much longer the run took. 0 without threads.
  int64_t LargestNs() const { return threads.empty() ? 0 : threads.front().TotalNs(); }
  double Percent() const { return threads.empty() ? 0 : threads.front().ActivePercent(); }
  double RecordsPercent() const;  // the largest of any thread
  // The largest share of the time in which the GPU was at work, of any thread.
  double GpuPercent() const;
  SlowDown slow_down;         // of the process that was slowed down most
  MeasuredSlowDown measured;  // where the run itself tells
};

// Where and when: "the machine of the run, calibrated 2026-11-25", or kCostsMeasuredOn.
std::string WhereCostsWereMeasured(const RecordingCost& cost);

RecordingCost EstimateRecordingCost(const Trace& trace, const OpFacts& ops, const CallFacts& calls,
                                    const RangeFacts& ranges);

}  // namespace gprof
