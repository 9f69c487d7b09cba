// What a nanosecond of launches, copies, ranges or kernels is worth, of a trace that `what-if` recorded.
#include "analysis/facts/delays/worth_table.h"
#include "analysis/topics/analyses.h"

namespace gprof {

AnalysisResult RunDelays(const AnalysisInput& input, const AnalysisOptions& options) {
  AnalysisResult result;
  if (input.trace().delay_windows.empty()) return result;
  result.tables.push_back(WorthTable(MeasureWorth(ReadDelayWindows(input, options.step))));
  return result;
}

}  // namespace gprof
