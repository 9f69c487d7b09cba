#include "gate/runs/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>

#include "base/text.h"
#include "base/units.h"
#include "gate/statistics/rank_test.h"

namespace gprof {
namespace {

std::string ClocksOf(const Device& device) {
  if (device.properties.sm_clock_khz == 0) return "";
  std::string text = fmt::format("{} MHz", device.properties.sm_clock_khz / 1000);
  if (device.properties.memory_clock_khz != 0)
    text += fmt::format(", memory {} MHz", device.properties.memory_clock_khz / 1000);
  return text;
}

// All of them where none was used.
void AddDevices(const TraceHead& trace, std::vector<uint32_t> used, Fingerprint* out) {
  if (used.empty()) {
    used.resize(trace.devices.size());
    std::iota(used.begin(), used.end(), 0u);
  }
  for (const uint32_t i : used) {
    const std::string_view name = trace.Text(trace.devices[i].name);
    out->gpus.emplace_back(name.empty() ? "unknown GPU" : name);
    if (out->clocks.empty()) out->clocks = ClocksOf(trace.devices[i]);
  }
}

// Of the runs that have it.
std::vector<double> ValuesOf(std::span<const Measurement> runs, const char* id) {
  std::vector<double> values;
  for (const Measurement& run : runs) {
    if (const Metric* const metric = FindIn(run, id)) values.push_back(metric->value);
  }
  return values;
}

void Compare(const char* what, const std::string& base, const std::string& now, std::vector<std::string>* differences) {
  if (base.empty() || now.empty() || base == now) return;
  differences->push_back(std::string(what) + ": " + now + " instead of " + base);
}

}  // namespace

void SetIfEmpty(std::string* fact, std::string text) {
  if (fact->empty()) *fact = std::move(text);
}

Fingerprint FingerprintOf(const TraceHead& trace, const std::vector<uint32_t>& used_devices) {
  Fingerprint out;
  AddDevices(trace, used_devices, &out);
  std::set<NameId> modes;
  for (const Process& process : trace.processes) {
    SetIfEmpty(&out.driver_version, FormatCudaVersion(process.driver_version));
    SetIfEmpty(&out.cuda_version, FormatCudaVersion(process.runtime_version));
    SetIfEmpty(&out.cupti_version, process.cupti_version == 0 ? "" : std::to_string(process.cupti_version));
    SetIfEmpty(&out.tool_version, std::string(trace.Text(process.tracer_version)));
    SetIfEmpty(&out.host, std::string(trace.Text(process.host)));
    SetIfEmpty(&out.program, std::string(trace.Text(process.command_line)));
    if (process.capture_mode == NameId{} || !modes.insert(process.capture_mode).second) continue;
    out.capture_mode += (out.capture_mode.empty() ? "" : " | ") + std::string(trace.Text(process.capture_mode));
  }
  SetIfEmpty(&out.tool_version, trace.recorder);
  return out;
}

std::vector<std::string> TimingDifferences(const Fingerprint& base, const Fingerprint& now) {
  std::vector<std::string> differences, base_gpus = base.gpus, now_gpus = now.gpus;
  std::sort(base_gpus.begin(), base_gpus.end());
  std::sort(now_gpus.begin(), now_gpus.end());
  Compare("GPU", Joined(base_gpus), Joined(now_gpus), &differences);
  Compare("CUDA driver", base.driver_version, now.driver_version, &differences);
  Compare("CUDA", base.cuda_version, now.cuda_version, &differences);
  Compare("CUPTI", base.cupti_version, now.cupti_version, &differences);
  Compare("clocks", base.clocks, now.clocks, &differences);
  Compare("tracer", base.tool_version, now.tool_version, &differences);
  Compare("recorded", base.capture_mode, now.capture_mode, &differences);
  return differences;
}

std::vector<std::string> OtherDifferences(const Fingerprint& base, const Fingerprint& now) {
  std::vector<std::string> differences;
  Compare("host", base.host, now.host, &differences);
  Compare("program", base.program, now.program, &differences);
  return differences;
}

std::vector<std::string> StateDifferences(std::span<const Measurement> base, std::span<const Measurement> now) {
  constexpr double kMostApart = 0.05;
  std::vector<std::string> differences;
  const std::vector<double> base_clocks = ValuesOf(base, "gpu.clock_sm_mhz_p50");
  const std::vector<double> clocks = ValuesOf(now, "gpu.clock_sm_mhz_p50");
  if (!base_clocks.empty() && !clocks.empty()) {
    const double base_mhz = MedianOf(base_clocks), mhz = MedianOf(clocks);
    if (std::abs(mhz - base_mhz) > kMostApart * base_mhz)
      differences.push_back(fmt::format("SM clock: {:.0f} MHz instead of {:.0f} MHz (medians)", mhz, base_mhz));
  }
  const std::vector<double> base_others = ValuesOf(base, "gpu.other_processes");
  const std::vector<double> others = ValuesOf(now, "gpu.other_processes");
  if (!base_others.empty() && !others.empty()) {
    const double base_most = std::ranges::max(base_others), most = std::ranges::max(others);
    if ((base_most > 0) != (most > 0))
      differences.push_back(fmt::format("other processes on the GPU: {:.0f} instead of {:.0f}", most, base_most));
  }
  return differences;
}

std::string MixedRuns(const RunSet& set) {
  for (const Measurement& run : set.runs) {
    const std::vector<std::string> differences = TimingDifferences(set.runs.front().fingerprint, run.fingerprint);
    if (!differences.empty()) return Joined(differences) + " in " + run.source;
  }
  return "";
}

}  // namespace gprof
