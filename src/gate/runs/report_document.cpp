#include "gate/runs/report_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "analysis/facts/recording/unknown_facts.h"
#include "base/units.h"
#include "gate/runs/fingerprint.h"
#include "gate/runs/measurement_json.h"
#include "gprof/error.h"

namespace gprof {
namespace {

std::string VersionText(const Json& version) {
  const auto number = version.get<uint32_t>();
  return number == 0 ? "" : fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

Fingerprint FingerprintOfReport(const Json& json) {
  Fingerprint out;
  for (const Json& device : json.at("devices")) {
    out.gpus.push_back(device.at("name").get<std::string>());
    const uint32_t khz = device.value("sm_clock_khz", 0u), memory_khz = device.value("memory_clock_khz", 0u);
    if (khz == 0) continue;
    SetIfEmpty(&out.clocks, fmt::format("{} MHz", khz / 1000) +
                                (memory_khz == 0 ? "" : fmt::format(", memory {} MHz", memory_khz / 1000)));
  }
  for (const Json& process : json.at("processes")) {
    SetIfEmpty(&out.driver_version, VersionText(process.at("driver_version")));
    SetIfEmpty(&out.cuda_version, VersionText(process.at("runtime_version")));
    const auto cupti = process.at("cupti_version").get<uint32_t>();
    SetIfEmpty(&out.cupti_version, cupti == 0 ? "" : std::to_string(cupti));
    SetIfEmpty(&out.tool_version, process.at("tracer_version").get<std::string>());
    SetIfEmpty(&out.host, process.at("host").get<std::string>());
    SetIfEmpty(&out.program, process.at("command_line").get<std::string>());
    SetIfEmpty(&out.capture_mode, process.value("capture_mode", ""));
  }
  return out;
}

// 0 where the report, of some analyses only, does not say.
bool Has(const Measurement& run, std::string_view id, bool otherwise) {
  const Metric* metric = FindIn(run, id);
  return metric == nullptr ? otherwise : metric->value > 0;
}

// Reports of versions up to 0.2 do not say what is not known: it is told by the figures of nothing.
FactSet UnknownByFigures(const Measurement& run) {
  const auto was_asked_for = [&](std::string_view what) {
    const std::string& mode = run.fingerprint.capture_mode;
    return mode.substr(0, mode.find(';')).find(what) != std::string::npos;
  };
  const bool has_gpu = std::any_of(run.metrics.begin(), run.metrics.end(), [](const Metric& metric) {
    return metric.id.starts_with("gpu.") || metric.id.starts_with("idle.");
  });
  const bool is_whole = FindIn(run, "kernels.count") != nullptr && FindIn(run, "api.calls") != nullptr;
  const bool has_managed = Has(run, "memory.managed_h2d_count", false) || Has(run, "memory.gpu_page_faults", false);
  FactSet unknown = FactSet::None();
  if (!has_gpu && is_whole) unknown |= Fact::kOperations;
  if (!Has(run, "api.calls", true)) unknown |= Fact::kApiCalls;
  if (!Has(run, "memory.allocations", false) && !was_asked_for("memory usage")) unknown |= Fact::kMemory;
  if (!has_managed && !was_asked_for("managed memory"))
    unknown |= Fact::kManagedMemory | Fact::kGpuPageFaults | Fact::kCpuPageFaults;
  if (!Has(run, "nvtx.ranges", true) && !was_asked_for("NVTX")) unknown |= Fact::kNvtx;
  return unknown;
}

void SetUnknownOf(const Json& json, Measurement* run) {
  if (!json.contains("not_recorded")) {
    return SetUnknown(
        UnknownByFigures(*run), [](Fact fact) { return std::string(InfoOf(fact).why); }, run);
  }
  FactSet unknown = FactSet::None();
  std::map<Fact, std::string> why;
  for (const Json& entry : json["not_recorded"]) {
    const FactInfo* info = FindFact(entry.at("fact").get<std::string>());
    if (info == nullptr) continue;
    unknown |= info->fact;
    why[info->fact] = entry.at("why").get<std::string>();
  }
  SetUnknown(
      unknown, [&](Fact fact) { return why[fact]; }, run);
}

Measurement FromJson(const Json& json) {
  Measurement run;
  run.selected = json.value("selected", "");
  run.fingerprint = FingerprintOfReport(json);
  for (const Json& metric : json.at("metrics")) {
    const MetricInfo* info = FindMetric(metric.at("id").get<std::string>());
    if (info == nullptr || metric.at("value").is_null()) continue;
    run.metrics.push_back({info->id, metric.at("scope").get<std::string>(), metric.at("value").get<double>()});
  }
  const Json& health = json.at("health");
  run.is_complete = health.at("complete").get<bool>();
  run.is_host_complete = run.is_complete;
  if (!run.is_complete) run.missing.emplace_back("the trace behind the report was incomplete");
  SetUnknownOf(json, &run);
  return run;
}

}  // namespace

Measurement MeasurementOfReport(const std::string& text, const std::string& path) {
  const Json json = ReadDocument(text, path, "gprof.report/1");
  try {
    Measurement run = FromJson(json);
    run.source = path;
    return run;
  } catch (const Json::exception& error) {
    throw Error(ExitCode::kUnreadable, path + " is not a complete report: " + error.what(),
                "create it again with gprof-cli report --format json");
  }
}

}  // namespace gprof
