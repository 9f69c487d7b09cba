#include "report/time_split.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/units.h"
#include "report/trace_words.h"

namespace gprof {
namespace {

constexpr std::size_t kBarColumns = 60;

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
  const auto launches = TotalOf(report, "graphs.launches");
  return launches ? *launches > 0 : report.has_whole_graphs;
}

}  // namespace

std::optional<TimeSplit> TimeSplitOf(const Report& report) {
  const auto window_ns = TotalOf(report, "gpu.window_ns"), kernel_ns = TotalOf(report, "gpu.kernel_ns"),
             copy_ns = TotalOf(report, "gpu.copy_only_ns"), idle_ns = TotalOf(report, "gpu.idle_ns");
  if (!window_ns || !kernel_ns || !copy_ns || !idle_ns || *window_ns <= 0) return std::nullopt;
  return TimeSplit{*window_ns, *kernel_ns, *copy_ns, *idle_ns,
                   HasWholeGraphs(report) ? "kernels and graphs" : "kernels"};
}

std::vector<std::string> VerdictOf(const Report& report, std::size_t columns) {
  const std::optional<TimeSplit> split = TimeSplitOf(report);
  if (!split) return {};
  const auto share = [&](double ns) { return FormatPercent(100 * ns / split->window_ns); };
  const std::size_t gpus = report.run.used_devices.size();
  std::string text = split->kernels + " " + share(split->kernel_ns) + ", copies (no kernel) " + share(split->copy_ns) +
                     ", idle " + share(split->idle_ns) + " of the " + FormatNs(split->window_ns) + " GPU window";
  const std::string combined = gpus > 1 ? ", " + std::to_string(gpus) + " GPUs combined" : "";
  text += combined;
  std::vector<std::string> lines = {
      text, Bar(split->kernel_ns, split->copy_ns, split->window_ns, std::min(kBarColumns, columns))};
  const auto startup_ns = TotalOf(report, "gpu.startup_ns"), teardown_ns = TotalOf(report, "gpu.teardown_ns");
  if (startup_ns && teardown_ns && *startup_ns + *teardown_ns > 0) {
    lines.push_back("Start-up " + FormatNs(*startup_ns) + ", tear-down " + FormatNs(*teardown_ns) +
                    " (outside the GPU window" + combined + ")");
  }
  return lines;
}

std::string StepsOf(const Report& report) {
  if (!TotalOf(report, "step.count")) return "";
  for (const Section& section : report.sections) {
    if (section.analysis->name == "steps") return section.result.headline;
  }
  return "";
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
