// Where the time of a run went, in parts that sum to the whole: what a comparison takes apart. All sums are exact, in
// integers:
//
//   wall        = before + window + after + unrecorded                        for every GPU
//   window      = operations - hidden + idle
//   operations  = sum over kernels and transfers = sum over paths; hidden and idle are sums over paths, too
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/causes/step_times.h"
#include "analysis/result/idle_causes.h"
#include "gprof/analysis.h"

namespace gprof {

// Name of what ran as a graph recorded as a whole: nobody knows which kernels.
inline constexpr std::string_view kWholeGraph = "(CUDA graph)";

// A kernel by its name and launch shape.
struct KernelTime {
  std::string name;   // demangled
  std::string shape;  // "1024x1x1 of 256x1x1": blocks of threads; empty where it was not recorded
  std::string path;   // innermost NVTX range that its first launch was made in
  int64_t place = 0;  // by first start among the rows of its GPU, from 0
  int64_t count = 0, total_ns = 0;
  bool IsGraph() const { return name == kWholeGraph; }
};

// Copies and fills by direction and memory.
struct TransferTime {
  std::string direction;  // "host to device", "fill"
  std::string memory;     // "pageable to device"
  int64_t count = 0, total_ns = 0, size_bytes = 0;
  bool IsFill() const { return direction == "fill"; }
};

// What the innermost push/pop range of a launching call, or of the host's own code, has of a GPU. The empty path is
// what lies in no range, and idle time of which nobody knows where the host was.
struct PathTime {
  std::string path;
  int64_t operations = 0, operation_ns = 0;
  int64_t hidden_ns = 0;  // part of operation_ns in which operations that began earlier were still running
  int64_t idle_ns = 0;
  int64_t WindowNs() const { return operation_ns - hidden_ns + idle_ns; }
};

struct DeviceTime {
  std::string device;     // "gpu0"
  int64_t before_ns = 0;  // recorded before its first operation, and after its last one
  int64_t window_ns = 0;
  int64_t after_ns = 0;
  int64_t unrecorded_ns = 0;                   // pauses between captures, and what was not selected
  int64_t hidden_ns = 0;                       // sum of all operations' times less the time with at least one running
  std::array<int64_t, kCauseCount> idle_ns{};  // by cause
  std::vector<KernelTime> kernels;             // sorted by name, then shape
  std::vector<TransferTime> transfers;         // sorted by direction, then memory
  std::vector<PathTime> paths;                 // sorted by path

  int64_t IdleNs() const;
  int64_t KernelNs() const;  // without whole graphs
  int64_t GraphNs() const;
  int64_t CopyNs() const;
  int64_t FillNs() const;
  int64_t WallNs() const { return before_ns + window_ns + after_ns + unrecorded_ns; }
};

// NVTX ranges with this path, of all threads.
struct RangeTime {
  std::string path;
  int64_t count = 0, host_ns = 0;
};

// The iterations of the range that stands for a step, without the warm-up.
struct StepSums {
  std::string path;
  int64_t count = 0, total_ns = 0;
  double median_ns = 0;
  std::array<int64_t, kStepPartCount> parts_ns{};  // of all iterations; sum to total_ns
  // Of iterations in a row: neighbours resemble each other, blocks of them hardly. Empty where there are too few, or
  // where nobody kept them.
  std::vector<double> block_medians_ns{};
};

// With fewer iterations a run does not show how much they vary.
inline constexpr int64_t kStepsToJudgeBy = 20;

struct Breakdown {
  bool is_known = false;            // false: nobody took the run apart, as of one that only a report is left of
  int64_t wall_ns = 0;              // from the first to the last record, of the selected time where one was selected
  int64_t launches = 0;             // calls that launch kernels or graphs
  std::vector<DeviceTime> devices;  // those that were used
  std::vector<RangeTime> ranges;    // sorted by path
  std::optional<StepSums> steps;    // where there is a step
};

// `step` is the name or path of the range that is a step; empty: it is looked for.
Breakdown BreakDown(const AnalysisInput& input, const std::string& step = {});

}  // namespace gprof
