#include "gate/runs/judged_figure.h"

#include <string_view>
#include <vector>

#include "base/text.h"
#include "gprof/error.h"

namespace gprof {
namespace {

constexpr std::string_view kStepTime = "step time", kGpuWindow = "GPU window", kWallTime = "wall time";

// Of a single step the window of the GPU says more.
bool HasSeveralSteps(const Measurement& run) { return run.breakdown.steps && run.breakdown.steps->count > 1; }

int64_t WindowOfAllNs(const Measurement& run) {
  int64_t window_ns = 0;
  for (const DeviceTime& device : run.breakdown.devices) window_ns += device.window_ns;
  return window_ns;
}

}  // namespace

JudgedFigure FigureOf(const Measurement& run) {
  JudgedFigure figure;
  figure.name = HasSeveralSteps(run) ? kStepTime : WindowOfAllNs(run) > 0 ? kGpuWindow : kWallTime;
  return figure;
}

JudgedFigure FigureOfMetric(const std::string& text) {
  const std::size_t at = text.find('@');
  JudgedFigure figure;
  figure.name = text;
  figure.id = text.substr(0, at);
  if (at != std::string::npos) figure.scope = text.substr(at + 1);
  const MetricInfo* const info = FindMetric(figure.id);
  if (info == nullptr) {
    std::vector<std::string> known;
    for (const MetricInfo& metric : MetricCatalogue()) known.emplace_back(metric.id);
    throw Error(ExitCode::kUsage, "unknown metric '" + figure.id + "'",
                NearestHint(figure.id, known, "docs/metrics.md lists them"));
  }
  figure.unit = info->unit;
  figure.better = info->better;
  figure.is_deterministic = info->is_deterministic;
  return figure;
}

std::optional<double> ValueOf(const Measurement& run, const JudgedFigure& figure) {
  if (!figure.id.empty()) {
    const Metric* const metric = FindIn(run, figure.id, figure.scope);
    return metric == nullptr ? std::nullopt : std::optional<double>(metric->value);
  }
  if (figure.name == kStepTime) {
    return HasSeveralSteps(run) ? std::optional<double>(run.breakdown.steps->median_ns) : std::nullopt;
  }
  const int64_t time_ns = figure.name == kGpuWindow ? WindowOfAllNs(run) : run.breakdown.wall_ns;
  return time_ns > 0 ? std::optional<double>(static_cast<double>(time_ns)) : std::nullopt;
}

}  // namespace gprof
