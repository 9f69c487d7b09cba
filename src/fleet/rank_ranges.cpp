#include "fleet/rank_ranges.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/facts/shared_facts.h"
#include "analysis/ranges/range_projection.h"
#include "base/saturate.h"

namespace gprof {
namespace {

std::vector<int64_t> TimesByTraits(const Trace& trace) {
  std::vector<int64_t> times_ns(trace.ranges.TraitsCount());
  for (const PackedRanges::Item& range : trace.ranges.items()) {
    AddWrapping(&times_ns[range.traits], trace.ranges.DurationNs(range));
  }
  return times_ns;
}

}  // namespace

std::vector<RankRange> RangesOf(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  if (trace.ranges.size() == 0) return {};
  std::map<NameId, RankRange> by_path;
  const std::vector<int64_t> times_ns = TimesByTraits(trace);
  const std::vector<RangeFacts::Sum>& sums = input.shared().ranges().sums();
  for (uint32_t traits = 0; traits < sums.size(); ++traits) {
    if (sums[traits].count == 0) continue;
    RankRange& range = by_path[trace.ranges.TraitsAt(traits).path];
    range.count += sums[traits].count;
    AddWrapping(&range.total_ns, times_ns[traits]);
  }
  const RangeProjection projection(input);
  std::vector<RankRange> ranges;
  for (auto& [path, range] : by_path) {
    const RangeProjection::OfPath projected = projection.Of(path);
    range.path = KeptName(trace.Text(path));
    range.gpu_busy_ns = projected.busy.busy_ns();
    range.kernels = projected.kernels;
    ranges.push_back(std::move(range));
  }
  std::sort(ranges.begin(), ranges.end(), [](const RankRange& a, const RankRange& b) {
    return std::tie(b.gpu_busy_ns, b.total_ns, a.path) < std::tie(a.gpu_busy_ns, a.total_ns, b.path);
  });
  if (ranges.size() > kKeptRanges) ranges.resize(kKeptRanges);
  return ranges;
}

}  // namespace gprof
