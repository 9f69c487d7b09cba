#include "analysis/result/run_analyses.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string_view>

#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_lines.h"
#include "analysis/result/kept_results.h"
#include "analysis/trust/unknown_facts.h"
#include "base/machine/parallel.h"

namespace gprof {
namespace {

// These take longest, so that no core is left alone with one of them at the end. The first of them makes what most
// need; `api` needs the least of it, and does not wait for it meanwhile.
constexpr std::array<std::string_view, 8> kFirst = {"idle", "api",     "launches",      "critical_path",
                                                    "nvtx", "streams", "small_kernels", "steps"};

std::vector<std::size_t> OrderOf(std::span<const Analysis* const> analyses) {
  std::vector<std::size_t> order(analyses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto rank = [&](std::size_t i) {
    return std::find(kFirst.begin(), kFirst.end(), analyses[i]->name) - kFirst.begin();
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return order;
}

std::vector<AnalysisResult> KeptOf(const AnalysisInput& input, std::span<const Analysis* const> analyses,
                                   const AnalysisOptions& options) {
  std::vector<AnalysisResult> results;
  for (const Analysis* const analysis : analyses) results.push_back(ResultOf(*analysis, input, options));
  DropUnknownMetrics(input.trace(), results);
  return results;
}

}  // namespace

// Analyses are pure functions of the same input, so a large one keeps as many cores busy as there are.
std::vector<AnalysisResult> RunAll(const AnalysisInput& input, std::span<const Analysis* const> analyses,
                                   const AnalysisOptions& options) {
  if (input.trace().kept != nullptr) return KeptOf(input, analyses, options);
  const std::vector<std::size_t> order = OrderOf(analyses);
  std::vector<AnalysisResult> results(analyses.size());
  ForEachSideBySide(analyses.size(), input.shared().threads(), [&](std::size_t at) {
    const std::size_t i = order[at];
    results[i] = analyses[i]->run(input, options);
  });
  NameLines(input, &results);
  DropUnknownMetrics(input.trace(), results);
  return results;
}

}  // namespace gprof
