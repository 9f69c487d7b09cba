#include "cli/render/render_monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/json_style.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "report/live/live_totals.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kHistory = 30;

// What is exported, by one name everywhere.
struct Quantity {
  const char *name, *help;
  std::optional<double> GpuReading::*value;
  const char* type = "gauge";
};
constexpr Quantity kQuantities[] = {
    {"power_watts", "power", &GpuReading::power_w},
    {"power_limit_watts", "enforced power limit", &GpuReading::power_limit_w},
    {"energy_joules_total", "energy since the driver was loaded", &GpuReading::energy_j, "counter"},
    {"sm_clock_mhz", "SM clock", &GpuReading::sm_clock_mhz},
    {"memory_clock_mhz", "memory clock", &GpuReading::memory_clock_mhz},
    {"temperature_celsius", "temperature", &GpuReading::temperature_c},
    {"utilization_percent", "time with any kernel running, as in nvidia-smi", &GpuReading::utilization_percent},
    {"sm_active_percent", "share of SMs with work", &GpuReading::sm_active_percent},
    {"tensor_active_percent", "share of cycles with tensor cores active", &GpuReading::tensor_active_percent},
    {"dram_percent", "device memory bandwidth in use", &GpuReading::dram_percent},
    {"pcie_rx_bytes_per_second", "PCIe traffic to the GPU", &GpuReading::pcie_rx_bytes_s},
    {"pcie_tx_bytes_per_second", "PCIe traffic from the GPU", &GpuReading::pcie_tx_bytes_s},
    {"memory_used_bytes", "device memory in use", &GpuReading::memory_used_bytes},
    {"memory_total_bytes", "device memory", &GpuReading::memory_total_bytes},
};

std::string Number(const std::optional<double>& value, const char* unit) {
  return value ? fmt::format("{:.0f}{}", *value, unit) : "-";
}

std::string Bytes(const std::optional<double>& value) { return value ? FormatBytes(*value) : "-"; }

std::string Rate(const std::optional<double>& value) { return value ? FormatBytes(*value) + "/s" : "-"; }

std::string LabelsOf(const GpuReading& reading) {
  std::string runs;
  for (const GpuProcess& process : reading.processes) {
    if (!process.run.empty()) runs = process.run;
  }
  return fmt::format("gpu=\"{}\",uuid=\"{}\",name=\"{}\",run=\"{}\"", reading.index, LabelValue(reading.uuid),
                     LabelValue(reading.name), LabelValue(runs));
}

}  // namespace

void MonitorHistory::Add(const std::vector<GpuReading>& readings) {
  for (const GpuReading& reading : readings) {
    std::deque<double>& percents = percents_[reading.uuid];
    const std::optional<double>& value =
        reading.sm_active_percent ? reading.sm_active_percent : reading.utilization_percent;
    percents.push_back(value.value_or(0));
    if (percents.size() > kHistory) percents.pop_front();
  }
}

std::string MonitorHistory::Line(const std::string& uuid) const {
  constexpr std::string_view kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto found = percents_.find(uuid);
  std::string line;
  for (std::size_t i = 0; found != percents_.end() && i < found->second.size(); ++i) {
    const double height = std::clamp(found->second[i] / 100 * std::size(kBlocks), 0.0, std::size(kBlocks) - 1.0);
    line += kBlocks[static_cast<std::size_t>(height)];
  }
  return line;
}

std::string MonitorText(const std::vector<GpuReading>& readings, const MonitorHistory& history,
                        const Terminal& terminal) {
  const Style style(terminal.has_color);
  std::string text;
  TextTable processes;
  processes.columns = {{"GPU", true}, {"PID", true}, {"Memory", true}, {"Program"}, {"Recorded into"}};
  for (const GpuReading& r : readings) {
    text += style.Bold(fmt::format("GPU {}  {}", r.index, Printable(r.name))) + "  " + history.Line(r.uuid) + "\n";
    text +=
        fmt::format("  SM active {}, tensor {}, DRAM {}, busy {}; PCIe in {}, out {}\n",
                    Number(r.sm_active_percent, "%"), Number(r.tensor_active_percent, "%"), Number(r.dram_percent, "%"),
                    Number(r.utilization_percent, "%"), Rate(r.pcie_rx_bytes_s), Rate(r.pcie_tx_bytes_s));
    text += fmt::format("  {} of {}, {}, {}, memory {} of {}\n", Number(r.power_w, " W"), Number(r.power_limit_w, " W"),
                        Number(r.sm_clock_mhz, " MHz"), Number(r.temperature_c, " C"), Bytes(r.memory_used_bytes),
                        Bytes(r.memory_total_bytes));
    if (!r.limits.empty()) text += "  " + style.Yellow("clocks throttled by " + Joined(r.limits)) + "\n";
    for (const GpuProcess& p : r.processes) {
      processes.rows.push_back({std::to_string(r.index), std::to_string(p.pid), FormatBytes(p.memory_bytes),
                                p.name.empty() ? "-" : p.name, p.run});
    }
  }
  if (!processes.rows.empty()) text += "\n" + RenderTable(processes, terminal.columns, style);
  return text;
}

std::string MonitorJson(const std::vector<GpuReading>& readings, int64_t unix_ns) {
  Json line = {{"schema", "gprof.monitor/1"}, {"time_unix_ns", unix_ns}, {"gpus", Json::array()}};
  for (const GpuReading& r : readings) {
    Json gpu = {{"gpu", r.index}, {"uuid", r.uuid}, {"name", r.name}};
    for (const Quantity& quantity : kQuantities) {
      if (r.*quantity.value) gpu[quantity.name] = *(r.*quantity.value);
    }
    gpu["held_down_by"] = r.limits;
    gpu["processes"] = Json::array();
    for (const GpuProcess& p : r.processes) {
      Json process = {{"pid", p.pid}, {"memory_bytes", p.memory_bytes}};
      if (!p.name.empty()) process["name"] = p.name;
      if (!p.run.empty()) process["run"] = p.run;
      gpu["processes"].push_back(std::move(process));
    }
    line["gpus"].push_back(std::move(gpu));
  }
  return CompactText(line) + "\n";
}

std::string MonitorPrometheus(const std::vector<GpuReading>& readings) {
  std::string text;
  for (const Quantity& quantity : kQuantities) {
    std::string values;
    for (const GpuReading& r : readings) {
      if (r.*quantity.value)
        values += fmt::format("gprof_gpu_{}{{{}}} {}\n", quantity.name, LabelsOf(r), *(r.*quantity.value));
    }
    if (values.empty()) continue;
    text += fmt::format("# HELP gprof_gpu_{} {}\n# TYPE gprof_gpu_{} {}\n{}", quantity.name, quantity.help,
                        quantity.name, quantity.type, values);
  }
  return text;
}

}  // namespace gprof::cli
