#include <algorithm>
#include <utility>

#include "analysis/facts/operations/used_devices.h"
#include "analysis/facts/recording/unknown_facts.h"
#include "analysis/registry/results.h"
#include "analysis/registry/run_analyses.h"
#include "base/units.h"
#include "gate/runs/fingerprint.h"
#include "gate/runs/measurement.h"

namespace gprof {
namespace {

void AddMissing(const TraceHealth& health, Measurement* out) {
  const auto add = [&](uint64_t count, const char* noun, const char* plural) {
    if (count > 0) out->missing.push_back(CountOf(static_cast<int64_t>(count), noun, plural));
  };
  add(health.lost_records, "record lost while recording", "records lost while recording");
  add(health.damaged_chunks, "damaged chunk", "damaged chunks");
  add(health.missing_chunks, "missing chunk", "missing chunks");
  add(health.unknown_chunks, "chunk unknown to this version", "chunks unknown to this version");
  add(health.skipped_bytes, "unreadable byte", "unreadable bytes");
  add(health.bad_times, "operation without valid times", "operations without valid times");
  add(health.unfinished_processes, "process that did not end cleanly", "processes that did not end cleanly");
  if (health.is_truncated) out->missing.emplace_back("the file ends in the middle of a chunk");
  out->is_host_complete = out->missing.empty();
  add(health.unfinished_gpu_work, "process whose last GPU work may be missing",
      "processes whose last GPU work may be missing");
  add(health.gpu_pauses, "time in which the program's own profiler recorded GPU work",
      "times in which the program's own profiler recorded GPU work");
  out->is_complete = health.IsComplete();
}

// A command, a signal or a clock begins and ends a capture at a moment of its own in every run.
bool IsByTime(trace::CaptureTrigger trigger) {
  return trigger == trace::CaptureTrigger::kDelay || trigger == trace::CaptureTrigger::kCommand ||
         trigger == trace::CaptureTrigger::kSignal || trigger == trace::CaptureTrigger::kWindow;
}

bool CountsExactly(const TraceHead& trace) {
  return std::none_of(trace.captures.begin(), trace.captures.end(), [](const Capture& capture) {
    return IsByTime(capture.trigger) || (!capture.is_open && IsByTime(capture.end_trigger));
  });
}

}  // namespace

void SetUnknown(FactSet unknown, const std::function<std::string(Fact)>& why, Measurement* measurement) {
  for (const MetricInfo& info : MetricCatalogue()) {
    bool is_said = false;
    ForEachFact(info.needs & unknown, [&](Fact fact) {
      if (!std::exchange(is_said, true)) measurement->not_recorded.push_back({std::string(info.id), why(fact)});
    });
  }
  std::erase_if(measurement->metrics,
                [&](const Metric& metric) { return !WhyNotRecorded(*measurement, metric.id).empty(); });
}

namespace {

std::vector<const Analysis*> All() {
  std::vector<const Analysis*> all;
  for (const Analysis& analysis : AllAnalyses()) all.push_back(&analysis);
  return all;
}

AnalysisOptions WithoutTables(AnalysisOptions options) {
  options.max_rows = 1;
  return options;
}

// Without what differs between a trace and results.
Measurement MeasurementOf(const TraceHead& trace, FactSet unknown, std::vector<AnalysisResult> results) {
  Measurement out;
  out.source = trace.path;
  for (AnalysisResult& result : results) {
    std::move(result.metrics.begin(), result.metrics.end(), std::back_inserter(out.metrics));
  }
  SetUnknown(
      unknown, [&](Fact fact) { return WhyUnknown(trace, fact); }, &out);
  AddMissing(trace.health, &out);
  out.is_exact = CountsExactly(trace);
  return out;
}

}  // namespace

Measurement Measure(const Trace& trace, const AnalysisOptions& options) {
  const AnalysisInput input(trace);
  Measurement out = MeasurementOf(trace, UnknownFacts(trace), RunAll(input, All(), WithoutTables(options)));
  out.fingerprint = FingerprintOf(trace, UsedDevices(trace));
  out.breakdown = BreakDown(input, options.step);
  return out;
}

Measurement Measure(const Results& results, const AnalysisOptions& options) {
  Measurement out = MeasurementOf(results.head, results.unknown, ResultsOf(All(), results, WithoutTables(options)));
  out.fingerprint = FingerprintOf(results.head, UsedDevices(results));
  out.breakdown = results.breakdown;
  return out;
}

const Metric* FindIn(const Measurement& measurement, std::string_view id, std::string_view scope) {
  const auto found = std::find_if(measurement.metrics.begin(), measurement.metrics.end(),
                                  [&](const Metric& metric) { return metric.id == id && metric.scope == scope; });
  return found == measurement.metrics.end() ? nullptr : &*found;
}

std::string WhyNotRecorded(const Measurement& measurement, std::string_view id) {
  for (const NotRecorded& entry : measurement.not_recorded) {
    if (id.starts_with(entry.prefix)) return entry.why;
  }
  return "";
}

}  // namespace gprof
