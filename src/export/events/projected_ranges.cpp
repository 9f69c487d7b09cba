#include "export/events/projected_ranges.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/facts/operations/operations.h"

namespace gprof {
namespace {

using StreamKey = std::pair<uint32_t, uint32_t>;  // device and stream

void Widen(const ProjectedRange& by, ProjectedRange* range) {
  if (range->op_count == 0) range->time = by.time;
  range->time.start_ns = std::min(range->time.start_ns, by.time.start_ns);
  range->time.end_ns = std::max(range->time.end_ns, by.time.end_ns);
  range->op_count += by.op_count;
}

// What one stream ran, by range. The operations of a range mostly follow each other.
class StreamRanges {
 public:
  void Add(uint32_t range, const GpuOp& op) {
    if (last_ == nullptr || last_range_ != range) last_ = &ranges_[range];
    last_range_ = range;
    Widen({{op.start_ns, op.end_ns}, range, op.device, op.stream, 1}, last_);
  }

  // Ranges around others cover what these launched, too. Parents come before their children.
  void AddParents(const Trace& trace) {
    for (auto at = ranges_.rbegin(); at != ranges_.rend(); ++at) {
      const uint32_t parent = trace.ranges[at->first].parent;
      if (parent < at->first) Widen(at->second, &ranges_[parent]);
    }
  }

  void MoveTo(StreamKey key, std::vector<ProjectedRange>* out) const {
    for (const auto& [range, projected] : ranges_)
      out->push_back({projected.time, range, key.first, key.second, projected.op_count});
  }

 private:
  std::map<uint32_t, ProjectedRange> ranges_;
  ProjectedRange* last_ = nullptr;
  uint32_t last_range_ = kNone;
};

}  // namespace

std::vector<ProjectedRange> ProjectRanges(const Trace& trace) {
  std::map<StreamKey, StreamRanges> streams;
  for (const GpuOp& op : trace.ops) {
    const uint32_t call = OutermostCall(trace, op.api);
    if (call == kNone || trace.api_calls[call].range == kNone) continue;
    streams[{op.device, op.stream}].Add(trace.api_calls[call].range, op);
  }
  std::vector<ProjectedRange> projected;
  for (auto& [key, ranges] : streams) {
    ranges.AddParents(trace);
    ranges.MoveTo(key, &projected);
  }
  const auto order = [](const ProjectedRange& r) {
    return std::tuple(r.device, r.stream, r.time.start_ns, -r.time.end_ns, r.range);
  };
  std::sort(projected.begin(), projected.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  return projected;
}

}  // namespace gprof
