#include "analysis/registry/run_analyses.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string_view>

#include "analysis/facts/recording/unknown_facts.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/registry/advice_words.h"
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
  const auto rank = [&](std::size_t i) { return std::ranges::find(kFirst, analyses[i]->name) - kFirst.begin(); };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return order;
}

}  // namespace

// Analyses are pure functions of the same input, so a large one keeps as many cores busy as there are.
std::vector<AnalysisResult> RunAll(const AnalysisInput& input, std::span<const Analysis* const> analyses,
                                   const AnalysisOptions& options) {
  const std::vector<std::size_t> order = OrderOf(analyses);
  std::vector<AnalysisResult> results(analyses.size());
  ForEachSideBySide(analyses.size(), input.shared().threads(), [&](std::size_t at) {
    const std::size_t i = order[at];
    results[i] = analyses[i]->run(input, options);
  });
  NameLines(input, &results);
  AdviseInItsWords(input, &results);
  MeasureSavings(input, options, &results);
  DropUnknownMetrics(UnknownFacts(input.trace()), results);
  return results;
}

}  // namespace gprof
