// Kernel counters as the raw page of Nsight Compute has them: a row of names, a row of units, a row for each launch.
#include <fmt/format.h>

#include <array>
#include <map>
#include <string>

#include "analysis/result/display_names.h"
#include "export/exporters.h"
#include "export/tables/clean_names.h"
#include "gprof/error.h"

namespace gprof {
namespace {

class NcuCsv {
 public:
  NcuCsv(const Trace& trace, OutputStream& out) : trace_(trace), clean_(trace), out_(out) {
    for (const CounterValue& value : trace.counter_values) {
      units_.try_emplace(std::string(trace.Text(value.metric)), trace.Text(value.unit));
    }
  }

  void Write() {
    for (const char* const name : {"ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
                                   "Block Size", "Grid Size", "Device", "CC"}) {
      Field(name);
    }
    for (const auto& [metric, unit] : units_) Field(metric);
    EndRow();
    constexpr int kNamedColumns = 11;
    for (int i = 0; i < kNamedColumns; ++i) Field("");
    for (const auto& [metric, unit] : units_) Field(unit);
    EndRow();
    for (uint32_t i = 0; i < trace_.counter_ranges.size(); ++i) WriteRange(i);
  }

 private:
  void WriteRange(uint32_t index) {
    const CounterRange& range = trace_.counter_ranges[index];
    std::map<std::string_view, std::string> values;
    for (const CounterValue& value : trace_.CountersOf(index)) {
      values[trace_.Text(value.metric)] =
          value.text == NameId{} ? fmt::format("{}", NumberOf(value)) : std::string(trace_.Text(value.text));
    }
    Field(std::to_string(index));
    const Process process = range.process == kNone ? Process{} : trace_.processes[range.process];
    Field(std::to_string(process.pid));
    Field(clean_(process.name));
    Field(clean_(process.host));
    Field(KernelName(trace_, range.name));
    Field(std::to_string(range.context));
    Field(std::to_string(range.stream));
    Field(SizeText(values, "block"));
    Field(SizeText(values, "grid"));
    const Device device = range.device == kNone ? Device{} : trace_.devices[range.device];
    Field(std::to_string(device.ordinal));
    Field(fmt::format("{}.{}", device.facts.compute_major, device.facts.compute_minor));
    for (const auto& [metric, unit] : units_) Field(values[metric]);
    EndRow();
  }

  static std::string SizeText(std::map<std::string_view, std::string>& values, std::string_view what) {
    const auto size = [&](char axis) -> const std::string& {
      return values[fmt::format("launch__{}_dim_{}", what, axis)];
    };
    if (size('x').empty()) return "";
    return fmt::format("({}, {}, {})", size('x'), size('y'), size('z'));
  }

  void Field(std::string_view text) {
    line_ += line_.empty() ? "\"" : ",\"";
    for (const char c : text) {
      if (c == '"') line_ += '"';
      line_ += c;
    }
    line_ += '"';
  }

  void EndRow() {
    out_.Write(line_ + "\n");
    line_.clear();
  }

  const Trace& trace_;
  CleanNames clean_;
  OutputStream& out_;
  std::map<std::string, std::string> units_;  // of each metric
  std::string line_;
};

}  // namespace

void WriteNcu(const Trace& trace, const ExportOptions&, OutputStream& out) {
  if (trace.counter_ranges.empty())
    throw Error(ExitCode::kUsage, "there are no kernel counters to export",
                "read what ncu --csv --page raw --print-units base printed");
  NcuCsv(trace, out).Write();
}

}  // namespace gprof
