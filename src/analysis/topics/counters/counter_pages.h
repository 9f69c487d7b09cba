// The counters of a trace kernel by kernel: all that there is of one, without a limit of columns.
#pragma once

#include <string>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

struct CounterPage {
  std::string kernel;
  std::string launch;    // "grid 4,096 x 1 x 1, block 256 x 1 x 1, GPU 0"
  std::string measured;  // "3 launches, 9 passes (kernel replay), caches not flushed, clocks not locked"
  struct Section {
    Table figures;             // of one row, or none
    std::vector<Table> parts;  // of several rows
  };
  std::vector<Section> sections;  // without a column for the kernel
  std::vector<Finding> findings;
};

// Kernels that took longest first.
std::vector<CounterPage> CounterPagesOf(const Trace& trace);
// The same with all metrics by their names instead of sections and findings: of a run that was asked for some of them.
std::vector<CounterPage> MetricPagesOf(const Trace& trace);

}  // namespace gprof
