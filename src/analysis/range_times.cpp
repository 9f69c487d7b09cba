#include "analysis/range_times.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "analysis/gap_list.h"
#include "analysis/idle_within.h"
#include "analysis/near.h"
#include "analysis/shared_facts.h"

namespace gprof {
namespace {

struct Sums {
  int64_t children_ns = 0, gpu_idle_ns = 0, lanes = 0;
  uint32_t thread = kNone;  // the last one that opened it
};

// Of one thread and path: when those end that are open.
using OpenEnds = std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>>;

// The idle time of a device up to times that go forward, as a rule by little each, from the first of them on.
class IdleAlong {
 public:
  IdleAlong(const Trace& trace, const GapList& gaps, int64_t from_ns)
      : ops_(trace.ops.items().data()),
        gaps_(gaps),
        end_(gaps.ops().last),
        next_(FirstAfter(gaps.ops().first, from_ns)) {
    MoveTo(from_ns);
  }

  int64_t time_ns() const { return time_ns_; }

  // `within`: idle time of the device in an interval, asked for where that is far.
  template <class F>
  int64_t Until(int64_t time_ns, F&& within) {
    constexpr uint32_t kFar = 64, kVeryFar = 2048;  // operations
    const uint32_t first = next_, far = first + std::min(kFar, end_ - first);
    uint32_t next = first;
    for (const PackedOps::Item* op = ops_ + next; next < far && op->start_ns() <= time_ns; ++op) ++next;
    if (next == far) next = FirstAfter(next, time_ns);
    next_ = next;
    if (next - first <= kVeryFar) {
      passed_ns_ += gaps_.IdleBeforeAll(first, next);
    } else {
      const int64_t idle_ns = idle_ns_ + within(time_ns_, time_ns);
      passed_ns_ = 0;
      MoveTo(time_ns);
      passed_ns_ = idle_ns - idle_ns_;
    }
    MoveTo(time_ns);
    return idle_ns_;
  }

 private:
  // The first of those from `first` on that starts later.
  uint32_t FirstAfter(uint32_t first, int64_t time_ns) const {
    return first + static_cast<uint32_t>(PartitionPointNear(
                       end_ - first, 0, [&](size_t i) { return ops_[first + i].start_ns() <= time_ns; }));
  }

  void MoveTo(int64_t time_ns) {
    time_ns_ = time_ns;
    if (next_ == end_) {
      idle_ns_ = gaps_.IdleUntil(time_ns, next_, passed_ns_);
      return;
    }
    const int64_t before_ns = gaps_.IdleBefore(next_) - (ops_[next_].start_ns() - time_ns);
    idle_ns_ = passed_ns_ + std::max<int64_t>(before_ns, 0);
  }

  const PackedOps::Item* ops_;
  const GapList& gaps_;
  uint32_t end_, next_;     // the first operation that starts later
  int64_t passed_ns_ = 0;   // the gaps before those before it
  int64_t time_ns_ = 0, idle_ns_ = 0;
};

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
    if (device != kNone) AddIdle(slice, device);
    std::unordered_map<uint32_t, OpenEnds> open;  // start/end ranges need not nest
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const NvtxRange& range = trace_.ranges[i];
      Sums& sums = sums_[range.path.value];
      if (range.is_push_pop) {
        if (sums.thread != thread) ++sums.lanes;
        AddToParent(range);
      } else {
        CountLanes(range, &open[range.path.value], &sums);
      }
      sums.thread = thread;
    }
  }

  // Ranges that nest begin and end one after the other, so that one walk along the operations serves all of them.
  void AddIdle(const Trace::Slice& slice, uint32_t device) {
    const auto within = [&](int64_t from_ns, int64_t to_ns) { return IdleOf(device, from_ns, to_ns); };
    const GapList& gaps = input_.shared().gaps(device);
    IdleAlong along(trace_, gaps, trace_.ranges[slice.first].start_ns);
    struct Open {
      int64_t start_ns, end_ns, before_ns;  // and the idle time before
      uint32_t path;
    };
    std::vector<Open> open;
    const auto close_until = [&](int64_t time_ns) {
      for (; !open.empty() && open.back().end_ns <= time_ns; open.pop_back()) {
        const Open& range = open.back();
        sums_[range.path].gpu_idle_ns += range.end_ns < along.time_ns()
                                             ? within(range.start_ns, range.end_ns)
                                             : along.Until(range.end_ns, within) - range.before_ns;
      }
    };
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const NvtxRange range = trace_.ranges[i];
      if (!range.is_push_pop || !gaps.pauses().empty()) {
        sums_[range.path.value].gpu_idle_ns += within(range.start_ns, range.end_ns);
        continue;
      }
      close_until(range.start_ns);
      open.push_back({range.start_ns, range.end_ns, along.Until(range.start_ns, within), range.path.value});
    }
    close_until(std::numeric_limits<int64_t>::max());
  }

  int64_t IdleOf(uint32_t device, int64_t from_ns, int64_t to_ns) {
    if (!idle_[device]) idle_[device].emplace(trace_, input_.shared().gaps(device));
    return idle_[device]->Of(from_ns, to_ns);
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
  std::vector<std::optional<IdleWithin>> idle_;  // by device, where it is asked for
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
