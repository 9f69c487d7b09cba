#include "analysis/ranges/range_times.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <span>
#include <unordered_map>
#include <utility>

#include "analysis/facts/search_near.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/idle/gap_list.h"
#include "analysis/idle/idle_within.h"
#include "base/saturate.h"

namespace gprof {
namespace {

struct Sums {
  int64_t children_ns = 0, gpu_idle_ns = 0, lanes = 0;
  uint32_t thread = kNone;  // the last one that opened it
};

// Of one thread and path: when those end that are open.
using OpenEnds = std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>>;

// Idle time of a device in an interval.
using IdleIn = std::function<int64_t(int64_t from_ns, int64_t to_ns)>;

// The idle time of a device up to times that go forward, as a rule by little each, from the first of them on.
class IdleAlong {
 public:
  // `idle_in` is asked for what is far.
  IdleAlong(const Trace& trace, const GapList& gaps, int64_t from_ns, IdleIn idle_in)
      : ops_(trace.ops.items().data()),
        gaps_(gaps),
        idle_in_(std::move(idle_in)),
        end_(gaps.ops().last),
        time_ns_(from_ns) {
    MoveTo(FirstAfter(gaps.ops().first, from_ns));
    idle_ns_ = IdleAt(from_ns);
  }

  int64_t time_ns() const { return time_ns_; }
  int64_t In(int64_t from_ns, int64_t to_ns) const { return idle_in_(from_ns, to_ns); }

  int64_t Until(int64_t time_ns) {
    if (time_ns >= next_start_ns_) GoOn(time_ns);
    time_ns_ = time_ns;
    return idle_ns_ = IdleAt(time_ns);
  }

 private:
  // Whether there is such an operation and it does not start later.
  bool IsBefore(uint64_t op, int64_t time_ns) const { return op < end_ && ops_[op].start_ns() <= time_ns; }

  // To the first operation that starts later.
  void GoOn(int64_t time_ns) {
    constexpr uint32_t kStride = 16;  // operations
    uint32_t next = next_;
    if (IsBefore(next + uint64_t{kStride}, time_ns)) return GoFar(time_ns);
    int64_t passed_ns = passed_ns_;
    for (const PackedOps::Item* op = ops_ + next; next < end_ && op->start_ns() <= time_ns; ++op, ++next) {
      PrefetchForReading(op);
      passed_ns += gaps_.IdleBefore(next);
    }
    passed_ns_ = passed_ns;
    MoveTo(next);
  }

  [[gnu::noinline]] void GoFar(int64_t time_ns) {
    constexpr uint32_t kVeryFar = 2048, kStride = 16;  // operations
    uint32_t next = next_;
    if (IsBefore(next + uint64_t{kVeryFar}, time_ns)) {
      const int64_t idle_ns = idle_ns_ + idle_in_(time_ns_, time_ns);
      passed_ns_ = 0;
      MoveTo(FirstAfter(next, time_ns));
      passed_ns_ = idle_ns - IdleAt(time_ns);
      return;
    }
    for (; IsBefore(next + uint64_t{kStride}, time_ns); next += kStride) {
      passed_ns_ += gaps_.IdleBeforeAll(next, next + kStride);
    }
    for (; IsBefore(next, time_ns); ++next) passed_ns_ += gaps_.IdleBefore(next);
    MoveTo(next);
  }

  // The first of those from `first` on that starts later.
  uint32_t FirstAfter(uint32_t first, int64_t time_ns) const {
    return first + static_cast<uint32_t>(PartitionPointNear(
                       end_ - first, 0, [&](size_t i) { return ops_[first + i].start_ns() <= time_ns; }));
  }

  void MoveTo(uint32_t next) {
    next_ = next;
    next_start_ns_ = next == end_ ? std::numeric_limits<int64_t>::max() : ops_[next].start_ns();
    if (next != end_) idle_since_ns_ = next_start_ns_ - gaps_.IdleBefore(next);
  }

  int64_t IdleAt(int64_t time_ns) const {
    if (next_ == end_) [[unlikely]]
      return gaps_.IdleUntil(time_ns, next_, passed_ns_);
    return passed_ns_ + std::max<int64_t>(time_ns - idle_since_ns_, 0);
  }

  const PackedOps::Item* ops_;
  const GapList& gaps_;
  IdleIn idle_in_;
  uint32_t end_, next_ = 0;                        // the first operation that starts later
  int64_t next_start_ns_ = 0, idle_since_ns_ = 0;  // of that operation, and of the gap before it
  int64_t passed_ns_ = 0;                          // the gaps before those before it
  int64_t time_ns_, idle_ns_ = 0;
};

// The idle time of a device while ranges were open that nest: they begin and end one after the other, so that one walk
// along the operations serves all of them.
class NestedIdle {
 public:
  explicit NestedIdle(IdleAlong along) : along_(std::move(along)) {}

  // In order of their start.
  void Enter(int64_t start_ns, int64_t end_ns, Sums* sums) {
    CloseUntil(start_ns);
    open_.push_back({start_ns, end_ns, along_.Until(start_ns), sums});
  }

  void CloseUntil(int64_t time_ns) {
    for (; !open_.empty() && open_.back().end_ns <= time_ns; open_.pop_back()) {
      const Open& range = open_.back();
      range.sums->gpu_idle_ns += range.end_ns < along_.time_ns() ? along_.In(range.start_ns, range.end_ns)
                                                                 : along_.Until(range.end_ns) - range.before_ns;
    }
  }

 private:
  struct Open {
    int64_t start_ns, end_ns, before_ns;  // and the idle time before
    Sums* sums;
  };

  IdleAlong along_;
  std::vector<Open> open_;
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

  // The range around those looked at last.
  struct Parent {
    uint32_t range = kNone;
    int64_t start_ns = 0, end_ns = 0;
    Sums* sums = nullptr;
  };

  uint32_t PathOf(const Item& range) const { return ranges_.FactsOf(range).path.value; }

  void Add(uint32_t thread, uint32_t device, Groups* durations) {
    const Trace::Slice slice = trace_.thread_ranges[thread];
    if (slice.first == slice.last) return;
    const Item* const items = ranges_.items().data();
    const IdleIn idle_in = [&](int64_t from_ns, int64_t to_ns) { return IdleOf(device, from_ns, to_ns); };
    const GapList* const gaps = device == kNone ? nullptr : &input_.shared().gaps(device);
    std::optional<NestedIdle> nested;
    if (gaps != nullptr && gaps->pauses().empty()) {
      nested.emplace(IdleAlong(trace_, *gaps, items[slice.first].start_ns(), idle_in));
    }
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
      if (nested && range.is_push_pop) {
        nested->Enter(start_ns, end_ns, &sums);
      } else if (gaps != nullptr) {
        sums.gpu_idle_ns += idle_in(start_ns, end_ns);
      }
    }
    if (nested) nested->CloseUntil(std::numeric_limits<int64_t>::max());
  }

  int64_t IdleOf(uint32_t device, int64_t from_ns, int64_t to_ns) {
    if (!idle_[device]) idle_[device].emplace(trace_, input_.shared().gaps(device));
    return idle_[device]->Of(from_ns, to_ns);
  }

  Parent ParentOf(const Item& range) {
    const Item& parent = ranges_.items()[range.parent];
    return {range.parent, parent.start_ns(), ranges_.EndNs(parent), &sums_[PathOf(parent)]};
  }

  static void AddToParent(int64_t start_ns, int64_t end_ns, const Parent& parent) {
    const int64_t within_ns = std::min(end_ns, parent.end_ns) - std::max(start_ns, parent.start_ns);
    AddWrapping(&parent.sums->children_ns, std::max<int64_t>(within_ns, 0));
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
  const std::vector<RangeFacts::Sum>& sums_of_facts = input.shared().ranges().sums();
  Groups durations(trace.strings.size());
  for (uint32_t i = 0; i < sums_of_facts.size(); ++i) {
    durations.Count(trace.ranges.FactsAt(i).path.value, sums_of_facts[i].count);
  }
  durations.Seal();
  const PathSums sums(input, &durations);
  std::vector<PathTimes> paths;
  for (uint32_t i = 0; i < durations.size(); ++i) {
    if (durations.Of(i).empty()) continue;
    const NameId path{i};
    const Statistics times = durations.Of(i).Summary();
    paths.push_back({path, times, std::max<int64_t>(0, SubtractWrapping(times.total, sums.Of(path).children_ns)),
                     sums.Of(path).gpu_idle_ns, std::max<int64_t>(sums.Of(path).lanes, 1)});
  }
  std::sort(paths.begin(), paths.end(), [&](const PathTimes& a, const PathTimes& b) {
    if (a.times.total != b.times.total) return a.times.total > b.times.total;
    return trace.Text(a.path) < trace.Text(b.path);
  });
  return paths;
}

}  // namespace gprof
