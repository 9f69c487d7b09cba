#include "analysis/result/kept_results.h"

#include <algorithm>

#include "analysis/result/tables.h"

namespace gprof {

bool HasGpuWork(const Trace& trace) {
  if (trace.kept == nullptr) return !trace.ops.empty();
  const auto& is_used = trace.kept->is_used;
  return std::find(is_used.begin(), is_used.end(), true) != is_used.end();
}

bool HasGpuWork(const Trace& trace, size_t device) {
  if (trace.kept != nullptr) return device < trace.kept->is_used.size() && trace.kept->is_used[device];
  return device < trace.device_ops.size() && trace.device_ops[device].first != trace.device_ops[device].last;
}

std::vector<uint32_t> UsedDevices(const Trace& trace) {
  std::vector<uint32_t> used;
  for (uint32_t device = 0; device < trace.devices.size(); ++device) {
    if (HasGpuWork(trace, device)) used.push_back(device);
  }
  return used;
}

AnalysisResult ResultOf(const Analysis& analysis, const AnalysisInput& input, const AnalysisOptions& options) {
  const KeptResults* const kept = input.trace().kept.get();
  if (kept == nullptr) return analysis.run(input, options);
  const auto found = std::find_if(kept->analyses.begin(), kept->analyses.end(),
                                  [&](const KeptAnalysis& a) { return a.name == analysis.name; });
  if (found == kept->analyses.end()) return {};
  AnalysisResult result = found->result;
  for (Table& table : result.tables) CutRows(&table, options.max_rows);
  return result;
}

}  // namespace gprof
