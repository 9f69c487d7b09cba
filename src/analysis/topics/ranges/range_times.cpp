#include "analysis/topics/ranges/range_times.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <span>
#include <unordered_map>
#include <utility>

#include "analysis/facts/gaps/gap_list.h"
#include "analysis/facts/shared_facts.h"
#include "base/saturate.h"

namespace gprof {
namespace {

struct Sums {
  int64_t children_ns = 0, gpu_idle_ns = 0, known_ns = 0, lanes = 0;
  uint32_t thread = kNone;  // the last one that opened it
};

// Of one thread and path: when those end that are open.
using OpenEnds = std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>>;

class PathSums {
 public:
  // Adds the lengths of all ranges to those of their paths.
  PathSums(const AnalysisInput& input, Groups* durations)
      : input_(input),
        trace_(input.trace()),
        ranges_(trace_.ranges),
        idle_(trace_.device_ops.size()),
        sums_(trace_.strings.size()) {
    const std::vector<uint32_t>& devices = input.shared().ops().devices_of_threads();
    uint32_t end = 0;
    for (uint32_t thread = 0; thread < trace_.threads.size(); ++thread) {
      Add(thread, devices[thread], durations);
      end = std::max(end, trace_.thread_ranges[thread].last);
    }
    for (const Item& range : std::span(ranges_.items()).subspan(end)) {  // those of no thread
      durations->Add(PathOf(range), ranges_.DurationNs(range));
    }
  }

  const Sums& Of(NameId path) const { return sums_[path.value]; }

 private:
  using Item = PackedRanges::Item;

  // The range around those looked at last.
  struct Parent {
    uint32_t range = kNone;
    int64_t start_ns = 0, end_ns = 0;
    Sums* sums = nullptr;
  };

  uint32_t PathOf(const Item& range) const { return ranges_.TraitsOf(range).path.value; }

  void Add(uint32_t thread, uint32_t device, Groups* durations) {
    const Trace::Slice slice = trace_.thread_ranges[thread];
    if (slice.first == slice.last) return;
    const Item* const items = ranges_.items().data();
    std::unordered_map<uint32_t, OpenEnds> open;  // start/end ranges need not nest
    Parent parent;
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const Item& range = items[i];
      PrefetchForReading(&range);
      const uint32_t path = PathOf(range);
      const int64_t start_ns = range.start_ns(), duration_ns = ranges_.DurationNs(range);
      const int64_t end_ns = start_ns + duration_ns;
      durations->Add(path, duration_ns);
      Sums& sums = sums_[path];
      if (range.is_push_pop) {
        if (sums.thread != thread) ++sums.lanes;
        if (range.parent != kNone) {
          if (range.parent != parent.range) parent = ParentOf(range);
          AddToParent(start_ns, end_ns, parent);
        }
      } else {
        CountLanes({start_ns, end_ns}, &open[path], &sums);
      }
      sums.thread = thread;
      if (device != kNone) sums.gpu_idle_ns += IdleOf(device, start_ns, end_ns);
      if (!trace_.base_times.empty()) AddWrapping(&sums.known_ns, InWindowsNs(thread, start_ns, end_ns));
    }
  }

  int64_t InWindowsNs(uint32_t thread, int64_t from_ns, int64_t to_ns) const {
    const uint32_t process = trace_.threads[thread].process;
    return input_.shared().recorded().ForEachOfProcess(process, from_ns, to_ns, [](int64_t, int64_t) {});
  }

  int64_t IdleOf(uint32_t device, int64_t from_ns, int64_t to_ns) {
    if (!idle_[device]) idle_[device].emplace(trace_, input_.shared().gaps(device));
    return idle_[device]->IdleNs(from_ns, to_ns);
  }

  Parent ParentOf(const Item& range) {
    const Item& parent = ranges_.items()[range.parent];
    return {range.parent, parent.start_ns(), ranges_.EndNs(parent), &sums_[PathOf(parent)]};
  }

  static void AddToParent(int64_t start_ns, int64_t end_ns, const Parent& parent) {
    AddWrapping(&parent.sums->children_ns, OverlapNs(Interval{start_ns, end_ns}, parent));
  }

  static void CountLanes(const Interval& range, OpenEnds* open, Sums* sums) {
    if (!open->empty() && open->top() <= range.start_ns) {
      open->pop();  // takes over its lane
    } else {
      ++sums->lanes;
    }
    open->push(range.end_ns);
  }

  const AnalysisInput& input_;
  const Trace& trace_;
  const PackedRanges& ranges_;
  std::vector<std::optional<IdleWithin>> idle_;  // by device, where it is asked for
  std::vector<Sums> sums_;                       // by NameId of the path
};

}  // namespace

std::vector<PathTimes> TimesByPath(const AnalysisInput& input, Spread spread) {
  const Trace& trace = input.trace();
  const std::vector<RangeFacts::Sum>& sums_of_traits = input.shared().ranges().sums();
  Groups durations(trace.strings.size());
  for (uint32_t i = 0; i < sums_of_traits.size(); ++i) {
    durations.Count(trace.ranges.TraitsAt(i).path.value, sums_of_traits[i].count);
  }
  durations.Seal();
  const PathSums sums(input, &durations);
  std::vector<PathTimes> paths;
  for (uint32_t i = 0; i < durations.size(); ++i) {
    if (durations.Of(i).empty()) continue;
    const NameId path{i};
    const Statistics times = durations.Of(i).Summary(spread);
    paths.push_back({path, times, std::max<int64_t>(0, SubtractWrapping(times.total, sums.Of(path).children_ns)),
                     sums.Of(path).gpu_idle_ns, trace.base_times.empty() ? times.total : sums.Of(path).known_ns,
                     std::max<int64_t>(sums.Of(path).lanes, 1)});
  }
  std::ranges::sort(paths, [&](const PathTimes& a, const PathTimes& b) {
    if (a.times.total != b.times.total) return a.times.total > b.times.total;
    return trace.Text(a.path) < trace.Text(b.path);
  });
  return paths;
}

}  // namespace gprof
