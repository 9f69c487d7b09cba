// Kernel counters as the raw page of Nsight Compute has them: a row of names, a row of units, a row for each launch.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "analysis/facts/counters/counter_sections.h"
#include "analysis/result/display_names.h"
#include "base/csv_text.h"
#include "export/exporters.h"
#include "export/tables/clean_names.h"
#include "export/tables/ncu_page.h"
#include "gprof/error.h"

namespace gprof {

ScaledUnit ScaleOf(std::string_view unit, double largest) {
  constexpr double kStep = 1000;
  constexpr std::array<const char*, 4> kTimes = {"ns", "us", "ms", "s"};
  constexpr std::array<const char*, 5> kPrefixes = {"", "K", "M", "G", "T"};
  const bool is_time = unit == kTimes[0], is_scaled = is_time || unit.starts_with("byte") || unit == "hz";
  const std::size_t most = is_time ? kTimes.size() : kPrefixes.size();
  std::size_t steps = 0;
  double divisor = 1;
  while (is_scaled && steps + 1 < most && std::abs(largest) / divisor >= kStep) {
    divisor *= kStep;
    ++steps;
  }
  return {divisor, is_time ? kTimes[steps] : kPrefixes[steps] + std::string(unit)};
}

std::string ComputeCapability(const Trace& trace, const CounterRange& range) {
  const Device device = range.device == kNone ? Device{} : trace.devices[range.device];
  return fmt::format("{}.{}", device.properties.compute_major, device.properties.compute_minor);
}

std::string SizeText(const Trace& trace, uint32_t range, std::string_view what) {
  std::map<char, double> sizes;
  const std::string name = fmt::format("launch__{}_dim_", what);
  for (const CounterValue& value : trace.CountersOf(range)) {
    const std::string_view metric = trace.Text(value.metric);
    if (metric.starts_with(name)) sizes[metric.back()] = NumberOf(value);
  }
  return sizes.empty() ? "" : fmt::format("({}, {}, {})", sizes['x'], sizes['y'], sizes['z']);
}

void CsvRow::Field(std::string_view text) {
  if (!line_.empty()) line_ += ',';
  AppendCsvText(text, ',', CsvQuotes::kAlways, &line_);
}

void CsvRow::End() {
  out_.Write(line_ + "\n");
  line_.clear();
}

namespace {

constexpr std::array kLaunchColumns = {"ID",     "Process ID", "Process Name", "Host Name", "Kernel Name", "Context",
                                       "Stream", "Block Size", "Grid Size",    "Device",    "CC"};

class RawPage {
 public:
  RawPage(const Trace& trace, bool scales_units, OutputStream& out) : trace_(trace), clean_(trace), row_(out) {
    std::map<std::string_view, double> largest;
    for (const CounterValue& value : trace.counter_values) {
      double& most = largest[trace.Text(value.metric)];
      if (scales_units && value.text == NameId{}) most = std::max(most, std::abs(NumberOf(value)));
    }
    for (const CounterValue& value : trace.counter_values) {
      const std::string_view metric = trace.Text(value.metric);
      units_.try_emplace(std::string(metric), ScaleOf(trace.Text(value.unit), largest[metric]));
    }
  }

  void Write() {
    for (const char* const name : kLaunchColumns) row_.Field(name);
    for (const auto& [metric, unit] : units_) row_.Field(metric);
    row_.End();
    for (std::size_t i = 0; i < kLaunchColumns.size(); ++i) row_.Field("");
    for (const auto& [metric, unit] : units_) row_.Field(unit.unit);
    row_.End();
    for (uint32_t i = 0; i < trace_.counter_ranges.size(); ++i) {
      WriteLaunch(i);
      const std::map<std::string_view, std::string> values = ValuesOf(i);
      for (const auto& [metric, unit] : units_) row_.Field(values.contains(metric) ? values.at(metric) : "");
      row_.End();
    }
  }

  // A row for each metric, in the sections that it is in.
  void WriteDetails() {
    for (const char* const name : kLaunchColumns) row_.Field(name);
    for (const char* const name : {"Section Name", "Metric Name", "Metric Unit", "Metric Value"}) row_.Field(name);
    row_.End();
    for (uint32_t i = 0; i < trace_.counter_ranges.size(); ++i) {
      std::map<std::string_view, std::string> values = ValuesOf(i);
      std::set<std::string_view> written;
      for (const CounterSection& section : CounterSections()) {
        for (const std::string_view metric : MetricsIn(section)) {
          if (!values.contains(metric)) continue;
          WriteMetric(i, section.title, metric, values.at(metric));
          written.insert(metric);
        }
      }
      for (const auto& [metric, value] : values) {
        if (!written.contains(metric)) WriteMetric(i, "Other metrics", metric, value);
      }
    }
  }

 private:
  static std::set<std::string_view> MetricsIn(const CounterSection& section) {
    std::set<std::string_view> metrics;
    for (const CounterColumn& column : section.columns) metrics.insert(column.metrics.begin(), column.metrics.end());
    for (const auto& names : MetricsOf(section)) metrics.insert(names.begin(), names.end());
    return metrics;
  }

  void WriteMetric(uint32_t index, std::string_view section, std::string_view metric, std::string_view value) {
    WriteLaunch(index);
    row_.Field(section);
    row_.Field(metric);
    row_.Field(units_.at(std::string(metric)).unit);
    row_.Field(value);
    row_.End();
  }

  void WriteLaunch(uint32_t index) {
    const CounterRange& range = trace_.counter_ranges[index];
    row_.Field(std::to_string(index));
    const Process process = range.process == kNone ? Process{} : trace_.processes[range.process];
    row_.Field(std::to_string(process.pid));
    row_.Field(clean_(process.name));
    row_.Field(clean_(process.host));
    row_.Field(KernelName(trace_, range.name));
    row_.Field(std::to_string(range.context));
    row_.Field(std::to_string(range.stream));
    row_.Field(SizeText(trace_, index, "block"));
    row_.Field(SizeText(trace_, index, "grid"));
    row_.Field(std::to_string(range.device == kNone ? 0 : trace_.devices[range.device].ordinal));
    row_.Field(ComputeCapability(trace_, range));
  }

  std::map<std::string_view, std::string> ValuesOf(uint32_t index) {
    std::map<std::string_view, std::string> values;
    for (const CounterValue& value : trace_.CountersOf(index)) {
      const std::string metric(trace_.Text(value.metric));
      values[trace_.Text(value.metric)] = value.text == NameId{}
                                              ? fmt::format("{}", NumberOf(value) / units_.at(metric).divisor)
                                              : std::string(trace_.Text(value.text));
    }
    return values;
  }

  const Trace& trace_;
  CleanNames clean_;
  CsvRow row_;
  std::map<std::string, ScaledUnit> units_;  // of each metric
};

}  // namespace

void WriteNcuPage(const Trace& trace, const NcuPage& page, OutputStream& out) {
  if (trace.counter_ranges.empty())
    throw Error(ExitCode::kUsage, "there are no kernel counters to export",
                "read what ncu --csv --page raw --print-units base printed");
  if (page.rows == NcuRows::kLaunches) return RawPage(trace, page.scales_units, out).Write();
  if (page.rows == NcuRows::kMetrics) return RawPage(trace, page.scales_units, out).WriteDetails();
  WriteNcuSummary(trace, page, out);
}

void WriteNcu(const Trace& trace, const ExportOptions&, OutputStream& out) { WriteNcuPage(trace, {}, out); }

}  // namespace gprof
