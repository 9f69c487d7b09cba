#include "cli/render/render_baseline.h"

#include <algorithm>

#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "gate/budget/value_text.h"
#include "report/json_values.h"
#include "report/trace_words.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kShownCommit = 12;

constexpr std::string_view kShown[] = {
    "run.wall_ns",          "gpu.window_ns",    "gpu.busy_percent",      "gpu.idle_percent",
    "kernels.count",        "kernels.total_ns", "launches.count",        "memcpy.total_ns",
    "memcpy.h2d_bytes",     "memcpy.d2h_bytes", "memcpy.pageable_bytes", "sync.count",
    "sync.host_blocked_ns", "step.count",       "step.median_ns",        "step.p95_ns"};

std::string Made(const BaselineChange& change) {
  std::string text = change.time;
  if (!change.who.empty()) text += " by " + change.who;
  if (!change.commit.empty()) text += ", commit " + change.commit.substr(0, kShownCommit);
  return text + ", " + CountOf(static_cast<int64_t>(change.run_count), "run");
}

std::vector<std::string> FigureRow(const RunSet& set, const MetricInfo& info) {
  std::vector<double> values;
  for (const Measurement& run : set.runs) {
    if (const Metric* metric = FindIn(run, info.id)) values.push_back(metric->value);
  }
  if (values.empty()) return {};
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double median = MediansOf(set).at(std::string(info.id));
  const std::string least = *low == *high ? "" : FormatValue(*low, info.unit);
  const std::string most = *low == *high ? "" : FormatValue(*high, info.unit);
  return {std::string(info.id), FormatValue(median, info.unit), least, most};
}

std::string FigureTable(const RunSet& set, const Terminal& terminal, const Style& style) {
  TextTable table;
  table.columns = {{"Metric", false, false}, {"Median", true, false}, {"Min", true, false}, {"Max", true, false}};
  for (const std::string_view id : kShown) {
    std::vector<std::string> row = FigureRow(set, *FindMetric(id));
    if (!row.empty()) table.rows.push_back(std::move(row));
  }
  return table.rows.empty() ? "" : "\n" + RenderTable(table, terminal.columns, style, 2);
}

}  // namespace

std::span<const std::string_view> MainFigures() { return kShown; }

std::string RenderBaseline(const Baseline& baseline, const Terminal& terminal) {
  const Style style(terminal.has_color);
  const Fingerprint& made_with = baseline.set.runs.front().fingerprint;
  std::string out;
  const auto add = [&](const char* label, const std::string& text) {
    if (!text.empty()) out += LabeledLine(label, text, terminal);
  };
  add("Baseline", baseline.name);
  add("Created", Made(baseline.made));
  add("Reason", baseline.made.reason);
  add("Program", made_with.program);
  add("GPU", Joined(made_with.gpus) + (made_with.clocks.empty() ? "" : ", " + made_with.clocks));
  add("Software", Joined({"CUDA driver " + (made_with.driver_version.empty() ? "?" : made_with.driver_version),
                          "CUPTI " + (made_with.cupti_version.empty() ? "?" : made_with.cupti_version),
                          "tracer " + (made_with.tool_version.empty() ? "?" : made_with.tool_version)}));
  add("Recorded", made_with.capture_mode);
  add("Host", made_with.host);
  out += FigureTable(baseline.set, terminal, style);
  if (baseline.history.empty()) return out;
  out += "\n" + style.Bold("Earlier versions") + "\n";
  for (auto change = baseline.history.rbegin(); change != baseline.history.rend(); ++change) {
    const std::string text = Made(*change) + (change->reason.empty() ? "" : ": " + change->reason);
    for (const std::string& line : Wrap(Printable(text), terminal.columns - 2)) out += "  " + line + "\n";
  }
  return out;
}

std::string RenderBaselines(const std::vector<Baseline>& baselines, const Terminal& terminal) {
  if (baselines.empty()) return "";
  TextTable table;
  table.columns = {{"Name", false, false},
                   {"Runs", true, false},
                   {"Created", false, false},
                   {"GPU", false, false},
                   {"Reason", false, false}};
  for (const Baseline& baseline : baselines) {
    table.rows.push_back({baseline.name, std::to_string(baseline.set.runs.size()), baseline.made.time,
                          Joined(baseline.set.runs.front().fingerprint.gpus), baseline.made.reason});
  }
  return RenderTable(table, terminal.columns, Style(terminal.has_color), 0);
}

std::string RenderBaselinesJson(const std::vector<Baseline>& baselines) {
  Json json = {{"schema", "gprof.baselines/1"}, {"baselines", Json::array()}};
  for (const Baseline& baseline : baselines) {
    json["baselines"].push_back({{"name", baseline.name},
                                 {"runs", baseline.set.runs.size()},
                                 {"time", baseline.made.time},
                                 {"who", baseline.made.who},
                                 {"reason", baseline.made.reason},
                                 {"commit", baseline.made.commit},
                                 {"gpus", baseline.set.runs.front().fingerprint.gpus},
                                 {"changes", baseline.history.size()}});
  }
  return ToText(json);
}

}  // namespace gprof::cli
