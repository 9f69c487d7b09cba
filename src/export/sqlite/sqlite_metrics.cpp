// Counter tracks. Those of GPUs are in the tables of Nsight Systems, which have no place for others: these are in two
// tables of ours.
#include <string>

#include "analysis/topics/tracks/metric_samples.h"
#include "export/sqlite/sqlite_export.h"

namespace gprof {
namespace {

constexpr std::string_view kGpuMetricColumns =
    "timestamp INTEGER, typeId INTEGER NOT NULL, metricId INTEGER NOT NULL, value INTEGER NOT NULL";

constexpr std::string_view kGpuMetricNameColumns =
    "typeId INTEGER NOT NULL, sourceId INTEGER NOT NULL, typeName TEXT NOT NULL, metricId INTEGER NOT NULL, "
    "metricName TEXT NOT NULL";

constexpr std::string_view kMetricSourceColumns =
    "id INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, unit TEXT NOT NULL, origin TEXT NOT NULL, subject TEXT NOT "
    "NULL, globalPid INTEGER, globalTid INTEGER, pid INTEGER, period INTEGER";

constexpr std::string_view kMetricSampleColumns =
    "sourceId INTEGER NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL, value REAL NOT NULL";

// "SMs Active [Throughput %]", as Nsight Systems names them.
std::string GpuMetricName(SqliteExport& out, const MetricSource& source) {
  const std::string name(out.clean(source.name)), unit(out.clean(source.unit));
  if (unit.empty()) return name;
  return name + (unit == "%" ? " [Throughput %]" : " [" + unit + "]");
}

void WriteGpuMetrics(SqliteExport& out) {
  SqliteTable names(out.database, "TARGET_INFO_GPU_METRICS", kGpuMetricNameColumns);
  SqliteTable values(out.database, "GPU_METRICS", kGpuMetricColumns);
  const Trace& trace = out.trace;
  for (uint32_t i = 0; i < trace.metric_sources.size(); ++i) {
    const MetricSource& source = trace.metric_sources[i];
    if (source.device == kNone) continue;
    // The lowest byte is the number of the GPU.
    const int64_t type = out.MachineId(trace.devices[source.device].process) | (out.DeviceId(source.device) & 0xFF);
    constexpr int kNoEventSource = 0;
    names.Add(type, kNoEventSource, "GPU Metrics", i, GpuMetricName(out, source));
    for (const MetricSample& sample : trace.SamplesOf(i)) {
      out.progress.Add();
      values.Add(out.Time(sample.end_ns), type, i, ScaledValue(source, sample.value));
    }
  }
}

void WriteOtherMetrics(SqliteExport& out) {
  SqliteTable sources(out.database, "TARGET_INFO_HOST_METRICS", kMetricSourceColumns);
  SqliteTable samples(out.database, "HOST_METRICS", kMetricSampleColumns);
  const Trace& trace = out.trace;
  for (uint32_t i = 0; i < trace.metric_sources.size(); ++i) {
    const MetricSource& source = trace.metric_sources[i];
    if (source.device != kNone) continue;
    const auto process = source.process == kNone ? std::nullopt : std::optional(out.ProcessId(source.process));
    const auto thread =
        source.thread == kNone ? std::nullopt : std::optional(out.ThreadId(source.process, source.thread));
    sources.Add(i, out.clean(source.name), out.clean(source.unit), out.clean(source.origin),
                SampledThing(trace, source), process, thread, UnlessZero(source.pid), UnlessZero(source.period_ns));
    for (const MetricSample& sample : trace.SamplesOf(i)) {
      out.progress.Add();
      samples.Add(i, out.Time(sample.start_ns), out.Time(sample.end_ns), ScaledValue(source, sample.value));
    }
  }
}

}  // namespace

void WriteSqliteMetrics(SqliteExport& out) {
  WriteGpuMetrics(out);
  WriteOtherMetrics(out);
}

}  // namespace gprof
