#include "analysis/topics/tracks/metric_samples.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/result/display_names.h"

namespace gprof {

int64_t EndOfSample(const MetricSource& source, const MetricSample& sample) {
  if (sample.end_ns > sample.start_ns) return sample.end_ns;
  if (source.period_ns <= 0) return INT64_MAX;
  return sample.start_ns + 2 * source.period_ns;  // neither is beyond 2^60
}

std::string SampledThing(const Trace& trace, const MetricSource& source) {
  switch (source.scope) {
    case trace::MetricScope::kDevice:
      return source.device == kNone ? "GPU " + std::string(trace.Text(source.device_uuid))
                                    : DeviceScope(trace, source.device);
    case trace::MetricScope::kThread:
      return source.thread == kNone ? fmt::format("a thread of {}", source.pid) : ThreadName(trace, source.thread);
    case trace::MetricScope::kProcess:
      if (source.process == kNone) return fmt::format("process {}", source.pid);
      return fmt::format("{} ({})", trace.Text(trace.processes[source.process].name), source.pid);
    case trace::MetricScope::kHost:
    case trace::MetricScope::kNone:
      break;
  }
  return "host";
}

SampleStatistics StatisticsOf(const MetricSource& source, std::span<const MetricSample> samples) {
  SampleStatistics out;
  if (samples.empty()) return out;
  std::vector<int64_t> values;
  values.reserve(samples.size());
  double weighted = 0, weights = 0;
  for (const MetricSample& sample : samples) {
    const double weight = static_cast<double>(std::max<int64_t>(sample.end_ns - sample.start_ns, 1));
    weighted += weight * ScaledValue(source, sample.value);
    weights += weight;
    values.push_back(sample.value);
  }
  std::ranges::sort(values);
  const auto at = [&](std::size_t percent) {
    return ScaledValue(source, values[(values.size() * percent + 99) / 100 - 1]);
  };
  out.count = static_cast<int64_t>(values.size());
  out.min = ScaledValue(source, values.front());
  out.mean = weighted / weights;
  out.p50 = at(50);
  out.p95 = at(95);
  out.max = ScaledValue(source, values.back());
  return out;
}

void AddStatisticsColumns(Unit unit, Table* table) {
  table->columns.push_back({"samples", "Samples", Unit::kCount, true});
  table->columns.push_back({"min", "Min", unit, false});
  table->columns.push_back({"mean", "Mean", unit, false});
  table->columns.push_back({"p50", "p50", unit, false});
  table->columns.push_back({"p95", "p95", unit, false});
  table->columns.push_back({"max", "Max", unit, false});
}

void AddStatisticsCells(const SampleStatistics& statistics, std::vector<Cell>* row) {
  row->emplace_back(statistics.count);
  for (const double value : {statistics.min, statistics.mean, statistics.p50, statistics.p95, statistics.max})
    row->emplace_back(value);
}

}  // namespace gprof
