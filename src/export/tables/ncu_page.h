// Kernel counters as CSV in the layouts of Nsight Compute: a row for each launch, or for each metric of several.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "export/output/output_stream.h"
#include "gprof/trace.h"

namespace gprof {

enum class NcuRows : uint8_t { kLaunches, kMetrics, kKernels, kGpus, kNvtxRanges };

struct NcuPage {
  NcuRows rows = NcuRows::kLaunches;  // of each launch, of its metrics, or of the metrics of groups of launches
  bool scales_units = false;          // ms instead of ns, by the largest value of a metric
};

void WriteNcuPage(const Trace& trace, const NcuPage& page, OutputStream& out);

// ---- what both layouts are made of ----

struct ScaledUnit {
  double divisor = 1;
  std::string unit;
};
ScaledUnit ScaleOf(std::string_view unit, double largest);

// "9.0"
std::string ComputeCapability(const Trace& trace, const CounterRange& range);
// "(256, 1, 1)": of launch__block_dim_x and the like; empty where that is not known.
std::string SizeText(const Trace& trace, uint32_t range, std::string_view what);

class CsvRow {
 public:
  explicit CsvRow(OutputStream& out) : out_(out) {}
  void Field(std::string_view text);
  void End();

 private:
  OutputStream& out_;
  std::string line_;
};

// A row for each metric of a group: how many launches it has, the least, the most and the mean.
void WriteNcuSummary(const Trace& trace, const NcuPage& page, OutputStream& out);

}  // namespace gprof
