// Structs of results as JSON, each by its members.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "analysis/registry/results.h"

// Where nlohmann_json looks for an optional.
namespace nlohmann {
template <class T>
struct adl_serializer<std::optional<T>> {
  static void to_json(json& json, const std::optional<T>& value) {
    if (value) {
      json = *value;
    } else {
      json = nullptr;
    }
  }
  static void from_json(const json& json, std::optional<T>& value) {
    if (!json.is_null()) value = json.get<T>();
  }
};
}  // namespace nlohmann

namespace gprof {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Interval, start_ns, end_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(KeptAmount, key, count)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Subject, device, stream, thread, process, kernel, range, function,
                                                direction, trace, line, causes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Finding, id, severity, message, evidence, advice, gain_ns, about_ns,
                                                basis, is_measured, subject)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ThreadCost, thread, calls, nvtx, calls_ns, nvtx_ns, cupti_ns, active_ns,
                                                gpu_cost_ns, gpu_window_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(SlowDown, least_percent, most_percent)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(PercentInterval, middle, low, high)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(MeasuredSlowDown, process, windows, percent, low_percent, high_percent,
                                                base_windows, base, window_share, base_share)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RecordingCost, is_known, calibrated_unix_s, threads, slow_down,
                                                measured)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ClockQuality, host_readings, cupti_readings, read_within_ns,
                                                tsc_residual_ns, cupti_residual_ns, cupti_drift_ppm, early_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(SteadyTime, step, time, iterations)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(DeviceTimes, window_ns, busy_ns, kernel_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(JudgedTime, steady, comes_once, devices, download_ns, are_copies_once,
                                                copies_from_ns, upload_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(KernelTime, name, shape, path, place, count, total_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(TransferTime, direction, memory, count, total_ns, size_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(PathTime, path, operations, operation_ns, hidden_ns, idle_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(DeviceTime, device, before_ns, window_ns, after_ns, unrecorded_ns,
                                                hidden_ns, idle_ns, kernels, transfers, paths)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RangeTime, path, count, host_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(StepSums, path, count, total_ns, median_ns, parts_ns, block_medians_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Breakdown, is_known, wall_ns, launches, devices, ranges, steps)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(TraceHealth, file_bytes, chunks, damaged_chunks, skipped_bytes,
                                                missing_chunks, unknown_chunks, unknown_records, lost_records,
                                                unmatched_launches, unmatched_ops, bad_times, early_ops, worst_early_ns,
                                                unmatched_nvtx_ends, open_ranges, unfinished_processes,
                                                salvaged_processes, unfinished_gpu_work, gpu_pauses, ops_from_before,
                                                missing_strings, duplicate_chunks, is_truncated)

// Its cause is one of the catalogue, whatever a file says.
inline void to_json(nlohmann::json& json, const TraceSummary& t) {
  json = {
      {"path", t.path},           {"ranks", t.ranks},         {"host", t.host},        {"wall_ns", t.wall_ns},
      {"window_ns", t.window_ns}, {"busy_ns", t.busy_ns},     {"cause", t.idle_cause}, {"cause_ns", t.idle_cause_ns},
      {"kernels", t.kernels},     {"complete", t.is_complete}};
}

inline void from_json(const nlohmann::json& json, TraceSummary& t) {
  json.at("path").get_to(t.path);
  json.at("ranks").get_to(t.ranks);
  json.at("host").get_to(t.host);
  json.at("wall_ns").get_to(t.wall_ns);
  json.at("window_ns").get_to(t.window_ns);
  json.at("busy_ns").get_to(t.busy_ns);
  json.at("cause_ns").get_to(t.idle_cause_ns);
  json.at("kernels").get_to(t.kernels);
  json.at("complete").get_to(t.is_complete);
  const auto cause = json.at("cause").get<std::string>();
  ForEachCause([&](Cause c) {
    if (InfoOf(c).name == cause) t.idle_cause = InfoOf(c).name;
  });
}

}  // namespace gprof
