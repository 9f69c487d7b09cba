#include "analysis/range_times.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <unordered_map>

#include "analysis/idle_within.h"
#include "analysis/shared_facts.h"

namespace gprof {
namespace {

struct Sums {
  int64_t children_ns = 0, gpu_idle_ns = 0, lanes = 0;
  uint32_t thread = kNone;  // the last one that opened it
};

// Of one thread and path: when those end that are open.
using OpenEnds = std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>>;

class PathSums {
 public:
  explicit PathSums(const AnalysisInput& input)
      : input_(input),
        trace_(input.trace()),
        idle_(trace_.device_ops.size()),
        sums_(trace_.strings.size()) {
    const std::vector<uint32_t>& devices = input.shared().ops().devices_of_threads();
    for (uint32_t thread = 0; thread < trace_.threads.size(); ++thread) Add(thread, devices[thread]);
  }

  const Sums& Of(NameId path) const { return sums_[path.value]; }

 private:
  void Add(uint32_t thread, uint32_t device) {
    const Trace::Slice slice = trace_.thread_ranges[thread];
    if (slice.first == slice.last) return;
    if (device != kNone && !idle_[device]) idle_[device].emplace(trace_, input_.shared().gaps(device));
    std::unordered_map<uint32_t, OpenEnds> open;  // start/end ranges need not nest
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const NvtxRange& range = trace_.ranges[i];
      Sums& sums = sums_[range.path.value];
      if (device != kNone) sums.gpu_idle_ns += idle_[device]->Of(range.start_ns, range.end_ns);
      if (range.is_push_pop) {
        if (sums.thread != thread) ++sums.lanes;
        AddToParent(range);
      } else {
        CountLanes(range, &open[range.path.value], &sums);
      }
      sums.thread = thread;
    }
  }

  void AddToParent(const NvtxRange& range) {
    if (range.parent == kNone) return;
    const NvtxRange& parent = trace_.ranges[range.parent];
    const int64_t within_ns = std::min(range.end_ns, parent.end_ns) - std::max(range.start_ns, parent.start_ns);
    sums_[parent.path.value].children_ns += std::max<int64_t>(within_ns, 0);
  }

  static void CountLanes(const NvtxRange& range, OpenEnds* open, Sums* sums) {
    if (!open->empty() && open->top() <= range.start_ns) {
      open->pop();  // takes over its lane
    } else {
      ++sums->lanes;
    }
    open->push(range.end_ns);
  }

  const AnalysisInput& input_;
  const Trace& trace_;
  std::vector<std::optional<IdleWithin>> idle_;  // by device, where a thread with ranges uses it
  std::vector<Sums> sums_;                       // by NameId of the path
};

}  // namespace

std::vector<PathTimes> TimesByPath(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  Groups durations(trace.strings.size());
  for (const NvtxRange& range : trace.ranges) durations.Count(range.path.value);
  durations.Seal();
  for (const NvtxRange& range : trace.ranges) durations.Add(range.path.value, range.DurationNs());
  const PathSums sums(input);
  std::vector<PathTimes> paths;
  for (uint32_t i = 0; i < durations.size(); ++i) {
    if (durations.Of(i).empty()) continue;
    const NameId path{i};
    const Statistics times = durations.Of(i).Summary();
    paths.push_back({path, times, times.total - sums.Of(path).children_ns, sums.Of(path).gpu_idle_ns,
                     std::max<int64_t>(sums.Of(path).lanes, 1)});
  }
  std::sort(paths.begin(), paths.end(), [&](const PathTimes& a, const PathTimes& b) {
    if (a.times.total != b.times.total) return a.times.total > b.times.total;
    return trace.Text(a.path) < trace.Text(b.path);
  });
  return paths;
}

}  // namespace gprof
