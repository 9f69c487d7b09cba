#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/facts/delays/worth.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/registry/run_analyses.h"
#include "base/units.h"

namespace gprof {
namespace {

// As `what-if` calls it; empty where nothing of the finding can be delayed.
std::string DelayedOf(const Finding& finding) {
  const FindingInfo* const info = FindFinding(finding.id);
  if (info == nullptr || info->delayed.empty()) return "";
  if (info->delayed != "kernel") return std::string(info->delayed);
  return finding.subject.kernel.empty() ? "" : std::string(kKernelThing) + finding.subject.kernel;
}

// The time is what it was. How much of it counts was presumed, and is now known.
void Measure(const Worth& worth, Finding* finding) {
  const auto of = [gain_ns = finding->gain_ns](double slope) {
    return static_cast<int64_t>(std::clamp(slope, 0.0, 1.0) * static_cast<double>(gain_ns));
  };
  finding->basis =
      fmt::format("{} to {}: 1 ns of it costs {:.2f} ns of a step, {:.2f} to {:.2f}; estimated without delays: {}",
                  FormatNs(of(worth.slope.low)), FormatNs(of(worth.slope.high)), worth.slope.value, worth.slope.low,
                  worth.slope.high, FormatNs(finding->gain_ns));
  finding->gain_ns = of(worth.slope.value);
  finding->is_measured = true;
}

}  // namespace

void MeasureSavings(const AnalysisInput& input, const AnalysisOptions& options, std::vector<AnalysisResult>* results) {
  if (input.trace().delay_windows.empty()) return;
  const std::vector<Worth> worths = MeasureWorth(ReadDelayWindows(input, options.step));
  for (AnalysisResult& result : *results) {
    for (Finding& finding : result.findings) {
      const auto worth = std::ranges::find(worths, DelayedOf(finding), &Worth::thing);
      const bool is_known = worth != worths.end() && worth->verdict != WorthVerdict::kCannotTell;
      if (is_known && finding.gain_ns > 0) Measure(*worth, &finding);
    }
  }
}

}  // namespace gprof
