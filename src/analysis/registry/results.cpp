#include "analysis/registry/results.h"

#include <algorithm>

#include "analysis/facts/operations/used_devices.h"
#include "analysis/facts/recording/unknown_facts.h"
#include "analysis/result/tables.h"

namespace gprof {

std::vector<uint32_t> UsedDevices(const Results& results) {
  std::vector<uint32_t> used;
  for (uint32_t device = 0; device < results.is_used.size(); ++device) {
    if (results.is_used[device]) used.push_back(device);
  }
  return used;
}

AnalysisResult ResultOf(const Analysis& analysis, const Results& results, const AnalysisOptions& options) {
  const auto found =
      std::ranges::find_if(results.analyses, [&](const KeptAnalysis& a) { return a.name == analysis.name; });
  if (found == results.analyses.end()) return {};
  AnalysisResult result = found->result;
  for (Table& table : result.tables) CutRows(&table, options.max_rows);
  return result;
}

std::vector<AnalysisResult> ResultsOf(std::span<const Analysis* const> analyses, const Results& results,
                                      const AnalysisOptions& options) {
  std::vector<AnalysisResult> all;
  for (const Analysis* const analysis : analyses) all.push_back(ResultOf(*analysis, results, options));
  DropUnknownMetrics(results.unknown, all);
  return all;
}

}  // namespace gprof
