#include "cli/render/render_top.h"

#include <fmt/format.h>

#include "base/table.h"
#include "base/text.h"
#include "base/units.h"

namespace gprof::cli {
namespace {

constexpr double kLeastPercent = 0.1;

double PercentOfTime(const TopReading& reading, int64_t ns) {
  return reading.time_ns <= 0 ? 0 : 100 * static_cast<double>(ns) / static_cast<double>(reading.time_ns);
}

double PerSecond(const TopReading& reading, int64_t amount) {
  return reading.time_ns <= 0 ? 0 : static_cast<double>(amount) * 1e9 / static_cast<double>(reading.time_ns);
}

std::string IdleText(const TopReading& reading, const TopGpu& gpu) {
  std::string text;
  for (const auto& [cause, ns] : gpu.idle_ns) {
    const double percent = PercentOfTime(reading, ns);
    if (percent >= kLeastPercent) text += fmt::format("{}{} {:.1f}%", text.empty() ? "" : ", ", cause, percent);
  }
  return text.empty() ? "" : "; idle: " + text;
}

std::string HeadText(const TopReading& reading, const Json& recorder, const Style& style) {
  const auto number = [&recorder](const char* key) {
    const auto found = recorder.find(key);
    return found != recorder.end() && found->is_number() ? found->get<double>() : 0.0;
  };
  const std::string program = Printable(recorder.value("program", ""));
  return style.Bold(fmt::format("{} ({:.0f})", program, number("program_pid"))) +
         fmt::format(", the last {}; recorder: {} of {}\n", FormatNs(reading.time_ns),
                     FormatBytes(number("memory_bytes")), FormatBytes(number("memory_limit_bytes")));
}

std::string StepText(const TopReading& reading) {
  if (reading.step_count == 0 || reading.step.empty()) return {};
  std::string text = fmt::format("Steps    {:.1f}/s", PerSecond(reading, reading.step_count));
  if (reading.median_step_ns) text += ", median " + FormatNs(*reading.median_step_ns);
  return text + " (" + Printable(reading.step) + ")\n";
}

}  // namespace

std::string TopText(const TopReading& reading, const Json& recorder, const Terminal& terminal) {
  const Style style(terminal.has_color);
  std::string text = HeadText(reading, recorder, style);
  for (const TopGpu& gpu : reading.gpus) {
    text +=
        fmt::format("{:<8} busy {:.1f}%{}\n", gpu.name, PercentOfTime(reading, gpu.busy_ns), IdleText(reading, gpu));
  }
  if (reading.gpus.empty()) text += "no GPU work has ended in this time\n";
  text += StepText(reading);
  if (reading.h2d_bytes > 0 || reading.d2h_bytes > 0) {
    text +=
        fmt::format("Copies   to the GPU {}, from it {}\n", FormatBytesPerSecond(PerSecond(reading, reading.h2d_bytes)),
                    FormatBytesPerSecond(PerSecond(reading, reading.d2h_bytes)));
  }
  if (reading.kernels.empty()) return text;
  TextTable table;
  table.columns = {{"Time (%)", true}, {"Count", true}, {"Kernel"}};
  for (const TopKernel& kernel : reading.kernels) {
    table.rows.push_back({fmt::format("{:.1f}", PercentOfTime(reading, kernel.total_ns)), std::to_string(kernel.count),
                          Printable(kernel.name)});
  }
  return text + "\n" + RenderTable(table, terminal.columns, style);
}

std::string TopJson(const TopReading& reading, const Json& recorder) {
  Json line = {{"schema", "gprof.top/1"},
               {"time_unix_ns", recorder.value("time_unix_ns", int64_t{0})},
               {"interval_ns", reading.time_ns},
               {"program", recorder.value("program", "")},
               {"program_pid", recorder.value("program_pid", 0)},
               {"memory_bytes", recorder.value("memory_bytes", uint64_t{0})},
               {"gpus", Json::array()},
               {"step", reading.step},
               {"steps_per_second", reading.step_count == 0 ? Json() : Json(PerSecond(reading, reading.step_count))},
               {"median_step_ns", reading.median_step_ns ? Json(*reading.median_step_ns) : Json()},
               {"h2d_bytes_per_second", PerSecond(reading, reading.h2d_bytes)},
               {"d2h_bytes_per_second", PerSecond(reading, reading.d2h_bytes)},
               {"kernels", Json::array()}};
  for (const TopGpu& gpu : reading.gpus) {
    Json idle = Json::object();
    for (const auto& [cause, ns] : gpu.idle_ns) idle[cause] = PercentOfTime(reading, ns);
    line["gpus"].push_back(
        {{"gpu", gpu.name}, {"busy_percent", PercentOfTime(reading, gpu.busy_ns)}, {"idle_percent", idle}});
  }
  for (const TopKernel& kernel : reading.kernels) {
    line["kernels"].push_back({{"name", Printable(kernel.name)},
                               {"percent", PercentOfTime(reading, kernel.total_ns)},
                               {"count", kernel.count}});
  }
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gprof::cli
