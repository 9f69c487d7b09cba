#include "report/time_split.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "analysis/facts/operations.h"
#include "analysis/result/kept_results.h"
#include "base/units.h"
#include "report/trace_summary.h"

namespace gprof {
namespace {

constexpr std::size_t kBarColumns = 60;

// The value for the whole trace.
std::optional<double> ValueOf(const Report& report, std::string_view id) {
  for (const Section& section : report.sections) {
    for (const Metric& metric : section.result.metrics) {
      if (metric.id == id && metric.scope.empty()) return metric.value;
    }
  }
  return std::nullopt;
}

const Table* TableOf(const Report& report, std::string_view id) {
  for (const Section& section : report.sections) {
    for (const Table& table : section.result.tables) {
      if (table.id == id) return &table;
    }
  }
  return nullptr;
}

std::string TextOf(const Table& table, const std::vector<Cell>& row, std::string_view key) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key == key) return FormatCell(row[i], table.columns[i].unit);
  }
  return "";
}

// What there is gets one column at least.
std::size_t Columns(double part, double whole, std::size_t columns) {
  if (part <= 0 || whole <= 0) return 0;
  const double share = std::floor(part / whole * static_cast<double>(columns) + 0.5);
  return std::clamp<std::size_t>(static_cast<std::size_t>(share), 1, columns);
}

// # kernels, = copies only, . idle.
std::string Bar(double kernel_ns, double copy_ns, double window_ns, std::size_t columns) {
  const std::size_t kernels = Columns(kernel_ns, window_ns, columns);
  const std::size_t copies = std::min(Columns(copy_ns, window_ns, columns), columns - kernels);
  return std::string(kernels, '#') + std::string(copies, '=') + std::string(columns - kernels - copies, '.');
}

// The metric is of an analysis that may not have run.
bool HasWholeGraphs(const Report& report) {
  if (const auto launches = ValueOf(report, "graphs.launches")) return *launches > 0;
  for (const Operation op : OperationsOf(report.trace)) {
    if (op.shared().kind == OpKind::kGraph) return true;
  }
  return false;
}

}  // namespace

std::optional<TimeSplit> TimeSplitOf(const Report& report) {
  const auto window_ns = ValueOf(report, "gpu.window_ns"), kernel_ns = ValueOf(report, "gpu.kernel_ns"),
             copy_ns = ValueOf(report, "gpu.copy_only_ns"), idle_ns = ValueOf(report, "gpu.idle_ns");
  if (!window_ns || !kernel_ns || !copy_ns || !idle_ns || *window_ns <= 0) return std::nullopt;
  return TimeSplit{*window_ns, *kernel_ns, *copy_ns, *idle_ns,
                   HasWholeGraphs(report) ? "kernels and graphs" : "kernels"};
}

std::vector<std::string> VerdictOf(const Report& report, std::size_t columns) {
  const std::optional<TimeSplit> split = TimeSplitOf(report);
  if (!split) return {};
  const auto share = [&](double ns) { return FormatPercent(100 * ns / split->window_ns); };
  const std::size_t gpus = UsedDevices(report.trace).size();
  std::string text = split->kernels + " " + share(split->kernel_ns) + ", copies (no kernel) " + share(split->copy_ns) +
                     ", idle " + share(split->idle_ns) + " of the " + FormatNs(split->window_ns) + " GPU window";
  const std::string combined = gpus > 1 ? ", " + std::to_string(gpus) + " GPUs combined" : "";
  text += combined;
  std::vector<std::string> lines = {
      text, Bar(split->kernel_ns, split->copy_ns, split->window_ns, std::min(kBarColumns, columns))};
  const auto startup_ns = ValueOf(report, "gpu.startup_ns"), teardown_ns = ValueOf(report, "gpu.teardown_ns");
  if (startup_ns && teardown_ns && *startup_ns + *teardown_ns > 0) {
    lines.push_back("Start-up " + FormatNs(*startup_ns) + ", tear-down " + FormatNs(*teardown_ns) +
                    " (outside the GPU window" + combined + ")");
  }
  return lines;
}

std::string StepsOf(const Report& report) {
  const auto count = ValueOf(report, "step.count"), median_ns = ValueOf(report, "step.median_ns"),
             idle_percent = ValueOf(report, "step.idle_percent");
  if (!count || !median_ns) return "";
  const Table* steps = TableOf(report, "steps");
  const Table* parts = TableOf(report, "step_parts");
  if (steps == nullptr || steps->rows.empty()) return "";
  std::string text = FormatCount(static_cast<int64_t>(*count)) + " \"" + TextOf(*steps, steps->rows[0], "path") +
                     "\" iterations, median " + FormatNs(*median_ns);
  if (!idle_percent || parts == nullptr || parts->rows.empty()) return text;
  text += ", GPU idle " + FormatPercent(*idle_percent) + " of step time";
  // The rows come in order of their time.
  for (const auto& row : parts->rows) {
    constexpr std::string_view kIdle = "idle: ";
    const std::string part = TextOf(*parts, row, "part");
    if (part.starts_with(kIdle)) return text + " (most: " + part.substr(kIdle.size()) + ")";
  }
  return text;
}

std::string RenderVerdict(const Report& report, const Terminal& terminal) {
  std::string out;
  const std::size_t columns = terminal.columns > 20 ? terminal.columns - 11 : 9;
  for (const std::string& line : VerdictOf(report, columns))
    out += LabeledLine(out.empty() ? "GPU" : "", line, terminal);
  const std::string steps = StepsOf(report);
  if (!steps.empty()) out += LabeledLine("Steps", steps, terminal);
  return out;
}

}  // namespace gprof
