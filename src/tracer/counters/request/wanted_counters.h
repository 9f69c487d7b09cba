// What the launcher wants to have counted (include/gprof/trace/counter_request.h).
#pragma once

#include <cstdint>

#include "gprof/trace/record.h"
#include "tracer/counters/request/nvtx_filter.h"

namespace gprof::tracer {

enum class Replay : uint8_t { kAuto, kNone, kKernel, kRange };
enum class CountMode : uint8_t { kGlobal, kPerGpu, kPerLaunchConfig };

struct CounterRequest {
  static constexpr uint32_t kMaxMetrics = 4096;
  const char* metrics[kMaxMetrics] = {};  // each its names on different chips, separated by spaces
  uint32_t metric_count = 0;
  const char* set = "";
  Replay replay = Replay::kAuto;
  const char* kernel = nullptr;             // null: all
  const char* kernel_expression = nullptr;  // instead of the name
  bool compares_mangled = false;
  const char* kernel_id = nullptr;
  uint32_t skip_before = 0, skip = 0, count = 0;  // a count of 0: all
  CountMode mode = CountMode::kGlobal;
  NvtxFilters nvtx;
  uint64_t devices = 0;          // a bit each; 0: all
  bool measures_graphs = false;  // each launch of one as a whole
  bool flushes_caches = false;   // before each pass
  trace::ClockControl clocks = trace::ClockControl::kNone;
  bool ends_program = false;          // after `count` launches
  bool samples_instructions = false;  // instead of counting
  uint32_t sampling_period = 0;       // 2^n cycles; 0: as CUPTI has it
  const char* code_folder = nullptr;  // where code that was sampled is left for the launcher
  uint64_t hang_limit_ns = 20'000'000'000;
};

// Read once. Null: nobody asked for counters, or the file cannot be read. [starting thread]
CounterRequest* ReadCounterRequest();
// Null before it was read.
const CounterRequest* TheCounterRequest();

}  // namespace gprof::tracer
