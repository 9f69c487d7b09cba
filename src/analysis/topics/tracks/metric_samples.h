// What the samples of counter tracks stand for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

// A sample with a length is a mean over it. One without holds until the next one, at most for twice the time between
// samples, as one may be late. INT64_MAX: until the next one, whenever that is.
int64_t EndOfSample(const MetricSource& source, const MetricSample& sample);

// Who is measured: "gpu0", "train (4711)", "loader (4712)", "host".
std::string SampledThing(const Trace& trace, const MetricSource& source);

// In the unit of the source. The mean is by time where samples have a length; p50 and p95 are the values that half of
// the samples and 95 % of them do not exceed.
struct SampleStatistics {
  int64_t count = 0;
  double min = 0, mean = 0, p50 = 0, p95 = 0, max = 0;
};
SampleStatistics StatisticsOf(const MetricSource& source, std::span<const MetricSample> samples);

// Columns samples, min, mean, p50, p95, max, and their cells.
void AddStatisticsColumns(Unit unit, Table* table);
void AddStatisticsCells(const SampleStatistics& statistics, std::vector<Cell>* row);

}  // namespace gprof
