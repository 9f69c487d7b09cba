// What programs did since somebody began to look, as counters that a monitoring system reads again and again.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/live/top_reading.h"

namespace gprof {

// From a millisecond to 100 seconds; the last of the histogram has all that is longer.
inline constexpr std::array<double, 16> kStepSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                        0.5,   1,      2.5,   5,    10,    25,   50,  100};

// Sums of one program.
class LiveTotals {
 public:
  void Add(const TopReading& reading);
  void Add(const StepDurations& steps);

  struct Kernel {
    int64_t count = 0, total_ns = 0;
  };
  struct Steps {
    std::array<int64_t, kStepSeconds.size() + 1> counts{};
    int64_t total_ns = 0;
  };
  int64_t time_ns = 0;
  std::map<std::string, int64_t> busy_ns;                          // by GPU
  std::map<std::pair<std::string, std::string>, int64_t> idle_ns;  // by GPU and cause
  std::map<std::string, Kernel> kernels;                           // the first so many; all others are "other"
  std::map<std::string, Steps> steps;                              // by the range that is a step
  int64_t h2d_bytes = 0, d2h_bytes = 0;
};

struct LiveProgram {
  std::string recorder, program;
  int64_t pid = 0;
  uint64_t recorder_bytes = 0, snapshots = 0;
  LiveTotals totals;
};

// A value of a label: backslash, quote and line end are escaped.
std::string LabelValue(std::string_view text);

// In the text format of Prometheus, or that of OpenMetrics.
enum class MetricsFormat : uint8_t { kPrometheus, kOpenMetrics };
std::string MetricsText(const std::vector<const LiveProgram*>& programs, MetricsFormat format);

}  // namespace gprof
