#include <algorithm>
#include <utility>

#include "analysis/result/run_analyses.h"
#include "analysis/trust/unknown_metrics.h"
#include "base/units.h"
#include "gate/fingerprint.h"
#include "gate/measurement.h"

namespace gprof {
namespace {

constexpr std::string_view kNoOperation = "the trace has no GPU operation";
constexpr std::string_view kNoCall = "the trace has no CUDA call";

// What is left of these without GPU operations would be zeros that mean nothing.
// clang-format off
constexpr std::string_view kNeedOperations[] = {
    "gpu.",     "idle.",     "gaps.",     "kernels.",           "launches.",        "chains.",      "occupancy.",
    "graphs.",  "memcpy.",   "memset.",   "streams.",           "balance.",         "nccl.",        "critical.",
    "startup.", "sync.idle", "sync.copy", "nvtx.gpu_idle_ns",   "nvtx.gpu_busy_ns", "nvtx.kernels", "step.idle_percent",
    "sync.implied_idle_ns"};
// clang-format on
constexpr std::string_view kNeedCalls[] = {"api.",
                                           "sync.",
                                           "launches.",
                                           "startup.",
                                           "jit.",
                                           "critical.",
                                           "idle.",
                                           "graphs.instantia",
                                           "memcpy.pageable_blocked_ns"};
constexpr std::string_view kNeedMemoryEvents[] = {"memory.peak_bytes", "memory.allocations", "memory.frees",
                                                  "memory.leaked_bytes"};
constexpr std::string_view kNeedManagedMemory[] = {"memory.managed_", "memory.gpu_", "memory.cpu_"};
constexpr std::string_view kNeedRanges[] = {"nvtx.", "step."};

template <std::size_t N>
void Add(const std::string_view (&prefixes)[N], std::string_view why, std::vector<NotRecorded>* list) {
  for (const std::string_view prefix : prefixes) list->push_back({std::string(prefix), std::string(why)});
}

// What was asked to be recorded stands before the semicolon.
bool WasAskedFor(const std::string& mode, std::string_view what) {
  return mode.substr(0, mode.find(';')).find(what) != std::string::npos;
}

RecordedKinds KindsOf(const Trace& trace, const std::string& capture_mode) {
  return {!trace.ops.empty(),           !trace.api_calls.empty(),      !trace.ranges.empty(),
          !trace.memory_events.empty(), !trace.managed_memory.empty(), capture_mode};
}

void AddMissing(const TraceHealth& health, Measurement* out) {
  const auto add = [&](uint64_t count, const char* noun, const char* plural) {
    if (count > 0) out->missing.push_back(CountOf(static_cast<int64_t>(count), noun, plural));
  };
  add(health.lost_records, "record lost while recording", "records lost while recording");
  add(health.damaged_chunks, "damaged part of the file", "damaged parts of the file");
  add(health.missing_chunks, "part that is not in the file", "parts that are not in the file");
  add(health.unknown_chunks, "part that this version does not know", "parts that this version does not know");
  add(health.skipped_bytes, "byte that belongs to nothing", "bytes that belong to nothing");
  add(health.bad_times, "operation without usable times", "operations without usable times");
  add(health.unfinished_processes, "process that did not end cleanly", "processes that did not end cleanly");
  if (health.is_truncated) out->missing.emplace_back("the file ends in the middle of a part");
  out->is_host_complete = out->missing.empty();
  add(health.unfinished_gpu_work, "process whose last GPU work may be missing",
      "processes whose last GPU work may be missing");
  out->is_complete = health.IsComplete();
}

// A command, a signal or a clock begins and ends a capture at a moment of its own in every run.
bool IsByTime(trace::CaptureTrigger trigger) {
  return trigger == trace::CaptureTrigger::kDelay || trigger == trace::CaptureTrigger::kCommand ||
         trigger == trace::CaptureTrigger::kSignal;
}

bool CountsExactly(const Trace& trace) {
  return std::none_of(trace.captures.begin(), trace.captures.end(), [](const Capture& capture) {
    return IsByTime(capture.trigger) || (!capture.is_open && IsByTime(capture.end_trigger));
  });
}

bool Begins(std::string_view id, const NotRecorded& entry) { return id.starts_with(entry.prefix); }

}  // namespace

std::vector<NotRecorded> NotRecordedOf(const RecordedKinds& kinds) {
  std::vector<NotRecorded> list;
  const std::string& mode = kinds.capture_mode;
  if (!kinds.has_operations) Add(kNeedOperations, kNoOperation, &list);
  if (!kinds.has_calls) Add(kNeedCalls, kNoCall, &list);
  if (!kinds.has_memory_events && !WasAskedFor(mode, "memory usage")) {
    Add(kNeedMemoryEvents, "memory usage was not recorded (profile --cuda-memory-usage)", &list);
  }
  if (!kinds.has_managed_memory && !WasAskedFor(mode, "managed memory")) {
    Add(kNeedManagedMemory, "managed memory was not recorded (profile --cuda-um-gpu-page-faults)", &list);
  }
  if (!kinds.has_ranges && !WasAskedFor(mode, "NVTX")) Add(kNeedRanges, "the trace has no NVTX range", &list);
  return list;
}

void DropNotRecorded(Measurement* measurement) {
  std::erase_if(measurement->metrics,
                [&](const Metric& metric) { return !WhyNotRecorded(*measurement, metric.id).empty(); });
}

Measurement Measure(const Trace& trace, const AnalysisOptions& options) {
  Measurement out;
  out.source = trace.path;
  out.fingerprint = FingerprintOf(trace);
  std::vector<const Analysis*> analyses;
  for (const Analysis& analysis : AllAnalyses()) analyses.push_back(&analysis);
  AnalysisOptions without_tables = options;
  without_tables.max_rows = 1;
  const AnalysisInput input(trace);
  for (AnalysisResult& result : RunAll(input, analyses, without_tables)) {
    std::move(result.metrics.begin(), result.metrics.end(), std::back_inserter(out.metrics));
  }
  out.breakdown = BreakDown(input, options.step);
  for (UnknownMetrics& unknown : UnknownMetricsOf(trace)) {
    out.not_recorded.push_back({std::string(unknown.prefix), std::move(unknown.why)});
  }
  for (NotRecorded& entry : NotRecordedOf(KindsOf(trace, out.fingerprint.capture_mode))) {
    out.not_recorded.push_back(std::move(entry));
  }
  DropNotRecorded(&out);
  AddMissing(trace.health, &out);
  out.is_exact = CountsExactly(trace);
  return out;
}

const Metric* FindIn(const Measurement& measurement, std::string_view id, std::string_view scope) {
  const auto found = std::find_if(measurement.metrics.begin(), measurement.metrics.end(),
                                  [&](const Metric& metric) { return metric.id == id && metric.scope == scope; });
  return found == measurement.metrics.end() ? nullptr : &*found;
}

std::string WhyNotRecorded(const Measurement& measurement, std::string_view id) {
  for (const NotRecorded& entry : measurement.not_recorded) {
    if (Begins(id, entry)) return entry.why;
  }
  return "";
}

}  // namespace gprof
