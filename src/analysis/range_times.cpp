#include "analysis/range_times.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <span>
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
    constexpr uint32_t kStride = 16;  // operations
    uint32_t next = next_;
    if (IsBefore(next + uint64_t{kStride}, time_ns)) return UntilFar(time_ns, within);
    for (const PackedOps::Item* op = ops_ + next; next < end_; ++op, ++next) {
      const int64_t until_ns = op->start_ns() - time_ns, before_ns = gaps_.IdleBefore(next);
      if (until_ns > 0) {
        time_ns_ = time_ns;
        next_ = next;
        return idle_ns_ = passed_ns_ + std::max<int64_t>(before_ns - until_ns, 0);
      }
      passed_ns_ += before_ns;
    }
    next_ = end_;
    MoveTo(time_ns);
    return idle_ns_;
  }

 private:
  // Whether there is such an operation and it does not start later.
  bool IsBefore(uint64_t op, int64_t time_ns) const { return op < end_ && ops_[op].start_ns() <= time_ns; }

  template <class F>
  [[gnu::noinline]] int64_t UntilFar(int64_t time_ns, F&& within) {
    constexpr uint32_t kVeryFar = 2048, kStride = 16;  // operations
    if (IsBefore(next_ + uint64_t{kVeryFar}, time_ns)) {
      const int64_t idle_ns = idle_ns_ + within(time_ns_, time_ns);
      next_ = FirstAfter(next_, time_ns);
      passed_ns_ = 0;
      MoveTo(time_ns);
      passed_ns_ = idle_ns - idle_ns_;
    } else {
      for (; IsBefore(next_ + uint64_t{kStride}, time_ns); next_ += kStride) {
        passed_ns_ += gaps_.IdleBeforeAll(next_, next_ + kStride);
      }
      for (; IsBefore(next_, time_ns); ++next_) passed_ns_ += gaps_.IdleBefore(next_);
    }
    MoveTo(time_ns);
    return idle_ns_;
  }

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

  uint32_t PathOf(const Item& range) const { return ranges_.FactsOf(range).path.value; }

  void Add(uint32_t thread, uint32_t device, Groups* durations) {
    const Trace::Slice slice = trace_.thread_ranges[thread];
    if (slice.first == slice.last) return;
    if (device != kNone) AddIdle(slice, device);
    std::unordered_map<uint32_t, OpenEnds> open;  // start/end ranges need not nest
    const Item* const items = ranges_.items().data();
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const Item& range = items[i];
      const uint32_t path = PathOf(range);
      const int64_t duration_ns = ranges_.DurationNs(range);
      durations->Add(path, duration_ns);
      Sums& sums = sums_[path];
      if (range.is_push_pop) {
        if (sums.thread != thread) ++sums.lanes;
        if (range.parent != kNone) AddToParent(range, duration_ns, items[range.parent]);
      } else {
        CountLanes({range.start_ns(), range.start_ns() + duration_ns}, &open[path], &sums);
      }
      sums.thread = thread;
    }
  }

  // Ranges that nest begin and end one after the other, so that one walk along the operations serves all of them.
  void AddIdle(const Trace::Slice& slice, uint32_t device) {
    const auto within = [&](int64_t from_ns, int64_t to_ns) { return IdleOf(device, from_ns, to_ns); };
    const GapList& gaps = input_.shared().gaps(device);
    const Item* const items = ranges_.items().data();
    IdleAlong along(trace_, gaps, items[slice.first].start_ns());
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
    const bool has_pauses = !gaps.pauses().empty();
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const Item& range = items[i];
      const int64_t start_ns = range.start_ns(), end_ns = ranges_.EndNs(range);
      if (!range.is_push_pop || has_pauses) {
        sums_[PathOf(range)].gpu_idle_ns += within(start_ns, end_ns);
        continue;
      }
      close_until(start_ns);
      open.push_back({start_ns, end_ns, along.Until(start_ns, within), PathOf(range)});
    }
    close_until(std::numeric_limits<int64_t>::max());
  }

  int64_t IdleOf(uint32_t device, int64_t from_ns, int64_t to_ns) {
    if (!idle_[device]) idle_[device].emplace(trace_, input_.shared().gaps(device));
    return idle_[device]->Of(from_ns, to_ns);
  }

  void AddToParent(const Item& range, int64_t duration_ns, const Item& parent) {
    const int64_t start_ns = range.start_ns();
    const int64_t within_ns =
        std::min(start_ns + duration_ns, ranges_.EndNs(parent)) - std::max(start_ns, parent.start_ns());
    sums_[PathOf(parent)].children_ns += std::max<int64_t>(within_ns, 0);
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

std::vector<PathTimes> TimesByPath(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  std::vector<uint32_t> counts(trace.ranges.FactsCount());
  for (const PackedRanges::Item& range : trace.ranges.items()) ++counts[range.facts];
  Groups durations(trace.strings.size());
  for (uint32_t i = 0; i < counts.size(); ++i) durations.Count(trace.ranges.FactsAt(i).path.value, counts[i]);
  durations.Seal();
  const PathSums sums(input, &durations);
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
