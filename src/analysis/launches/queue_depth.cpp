#include "analysis/launches/queue_depth.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "analysis/facts/shared_facts.h"
#include "analysis/idle/gaps.h"

namespace gprof {
namespace {

struct Level {
  int64_t most;  // depth of this level at most
  std::string_view name;
};
constexpr Level kLevels[QueueDepth::kLevels] = {{0, "0"},         {1, "1"},           {2, "2"},
                                                {4, "3 to 4"},    {8, "5 to 8"},      {16, "9 to 16"},
                                                {64, "17 to 64"}, {256, "65 to 256"}, {INT64_MAX, "over 256"}};
constexpr size_t kMostCounted = 256;  // what is deeper is of the last level

// By depth.
constexpr std::array<uint8_t, kMostCounted + 1> kLevelOfDepth = [] {
  std::array<uint8_t, kMostCounted + 1> levels{};
  for (size_t depth = 0; depth < levels.size(); ++depth) {
    while (static_cast<int64_t>(depth) > kLevels[levels[depth]].most) ++levels[depth];
  }
  return levels;
}();

// From the lowest digits to the highest.
void SortByDigits(std::vector<int64_t>* times_ns) {
  constexpr int kBits = 11;
  const auto [min, max] = std::minmax_element(times_ns->begin(), times_ns->end());
  const auto low = static_cast<uint64_t>(*min), range = static_cast<uint64_t>(*max) - low;
  std::vector<int64_t> sorted(times_ns->size());
  for (int shift = 0; shift < 64 && range >> shift != 0; shift += kBits) {
    const auto digit_of = [&](int64_t ns) {
      return ((static_cast<uint64_t>(ns) - low) >> shift) & ((1u << kBits) - 1);
    };
    std::array<size_t, (size_t{1} << kBits) + 1> places{};
    for (const int64_t ns : *times_ns) ++places[digit_of(ns) + 1];
    std::partial_sum(places.begin(), places.end(), places.begin());
    for (const int64_t ns : *times_ns) sorted[places[digit_of(ns)]++] = ns;
    times_ns->swap(sorted);
  }
}

// From the entry of its call, or from its start where that is not known.
inline int64_t LaunchOf(const Trace& trace, const OpFacts& ops, uint32_t op) {
  return std::min(trace.ops[op].start_ns, ops.LaunchNs(op));
}

// When the operations of a device were launched, in order. In the order of their starts, launches are a few sequences
// that are in order by themselves, one for each stream that runs ahead of another or beside it: each operation goes
// behind the latest launch that is not later. One byte for each operation says where.
class LaunchTimes {
 public:
  LaunchTimes(const Trace& trace, const OpFacts& ops, Trace::Slice slice) : trace_(trace), ops_(ops), slice_(slice) {
    if (!SplitUp()) SortAll();
    for (size_t i = 0; i < used_; ++i) Find(i, 0);
    FindFirst();
  }

  bool IsEmpty() const { return used_ == 0 && next_sorted_ == sorted_ns_.size(); }
  int64_t front() const { return used_ > 0 ? heads_[first_].time_ns : sorted_ns_[next_sorted_]; }
  void Pop() {
    if (used_ == 0) {
      ++next_sorted_;
      return;
    }
    Find(first_, heads_[first_].at + 1);
    FindFirst();
  }

 private:
  static constexpr size_t kMost = 16;
  static constexpr int64_t kOver = INT64_MAX;
  struct Head {
    size_t at;        // counted from the first operation of the device
    int64_t time_ns;  // kOver: the sequence is at its end
  };

  size_t size() const { return slice_.last - slice_.first; }
  int64_t TimeOf(size_t i) const {
    const uint32_t op = slice_.first + static_cast<uint32_t>(i);
    trace_.ops.PrefetchAfter(op);
    return LaunchOf(trace_, ops_, op);
  }

  // False: there are too many sequences.
  bool SplitUp() {
    sequences_.resize(size());
    std::array<int64_t, kMost> last_ns{};
    for (size_t i = 0; i < sequences_.size(); ++i) {
      const int64_t time_ns = TimeOf(i);
      size_t sequence = 0;
      while (sequence < used_ && last_ns[sequence] > time_ns) ++sequence;  // the last times of the sequences go down
      if (sequence == kMost) return false;
      used_ = std::max(used_, sequence + 1);
      last_ns[sequence] = time_ns;
      sequences_[i] = static_cast<uint8_t>(sequence);
    }
    return true;
  }

  void SortAll() {
    used_ = 0;
    sequences_ = {};
    sorted_ns_.reserve(size());
    for (size_t i = 0; i < size(); ++i) sorted_ns_.push_back(TimeOf(i));
    SortByDigits(&sorted_ns_);
  }

  // The next operation of the sequence.
  void Find(size_t sequence, size_t from) {
    const size_t at = used_ == 1 ? from : Search(sequence, from);
    heads_[sequence] = {at, at == size() ? kOver : TimeOf(at)};
  }
  size_t Search(size_t sequence, size_t from) const {
    if (from == size()) return from;
    const void* found = std::memchr(sequences_.data() + from, static_cast<int>(sequence), size() - from);
    return found == nullptr ? size() : static_cast<size_t>(static_cast<const uint8_t*>(found) - sequences_.data());
  }

  void FindFirst() {
    first_ = 0;
    for (size_t i = 1; i < used_; ++i) first_ = heads_[i].time_ns < heads_[first_].time_ns ? i : first_;
    if (used_ > 0 && heads_[first_].time_ns == kOver) used_ = 0;
  }

  const Trace& trace_;
  const OpFacts& ops_;
  Trace::Slice slice_;
  std::vector<uint8_t> sequences_;  // by operation
  std::array<Head, kMost> heads_{};
  size_t used_ = 0, first_ = 0;
  std::vector<int64_t> sorted_ns_;  // where there are more sequences than that
  size_t next_sorted_ = 0;
};

// The same where the operations of each stream were launched in their order, as those of one thread are: the next one
// of each stream is the next in a list.
class LaunchesByStream {
 public:
  LaunchesByStream(const AnalysisInput& input, Trace::Slice slice) : trace_(input.trace()), ops_(input.shared().ops()) {
    size_t listed = 0;
    for (uint32_t stream = 0; stream < trace_.streams.size(); ++stream) {
      const std::span<const uint32_t> list = input.shared().stream_ops().Of(stream);
      if (list.empty() || list.front() < slice.first || list.back() >= slice.last) continue;
      listed += list.size();
      heads_.push_back({list.data(), list.data() + list.size(), LaunchAt(list.front())});
    }
    is_good_ = listed == slice.last - slice.first && heads_.size() <= kMost;
    if (is_good_) FindFirst();
  }

  // False: some are in the list of no stream of the device or came out of order so far, or there are too many streams.
  bool IsGood() const { return is_good_; }
  bool IsEmpty() const { return first_ns_ == kOver; }
  int64_t front() const { return first_ns_; }
  void Pop() {
    Head& head = heads_[first_];
    const int64_t time_ns = ++head.next == head.end ? kOver : LaunchAt(*head.next);
    is_good_ &= time_ns >= head.time_ns;
    head.time_ns = first_ns_ = time_ns;
    if (time_ns > second_ns_) FindFirst();
  }

 private:
  static constexpr size_t kMost = 32;
  static constexpr int64_t kOver = INT64_MAX;
  struct Head {
    const uint32_t *next, *end;
    int64_t time_ns;  // kOver: the list is at its end
  };

  int64_t LaunchAt(uint32_t op) const {
    const PackedOps::Item& item = trace_.ops.items()[op];
    PrefetchForReading(&item);
    return std::min(item.start_ns(), ops_.LaunchNs(op, item));
  }

  void FindFirst() {
    first_ns_ = second_ns_ = kOver;
    for (size_t i = 0; i < heads_.size(); ++i) {
      const int64_t time_ns = heads_[i].time_ns;
      second_ns_ = std::min(second_ns_, std::max(first_ns_, time_ns));
      first_ = time_ns < first_ns_ ? i : first_;
      first_ns_ = std::min(first_ns_, time_ns);
    }
  }

  const Trace& trace_;
  const OpFacts& ops_;
  std::vector<Head> heads_;
  size_t first_ = 0;
  int64_t first_ns_ = kOver, second_ns_ = kOver;  // of the heads, the least times
  bool is_good_ = false;
};

// When the operations of a device ended, in order. They come in order of their starts: what ends before the next one
// starts has nothing left before it.
class EndTimes {
 public:
  EndTimes(const Trace& trace, Trace::Slice slice)
      : ops_(trace.ops), next_(trace.ops.items().data() + slice.first), end_(trace.ops.items().data() + slice.last) {}

  bool IsEmpty() const { return next_ == end_ && running_.empty(); }
  int64_t Pop() {
    if (running_.empty() && next_ + 1 < end_) {
      const int64_t end_ns = ops_.EndNs(*next_);
      if (end_ns < next_[1].start_ns()) return ++next_, end_ns;  // it ran alone
    }
    for (; next_ != end_ && (running_.empty() || running_.top() >= next_->start_ns()); ++next_) {
      running_.push(ops_.EndNs(*next_));
    }
    const int64_t end_ns = running_.top();
    running_.pop();
    return end_ns;
  }

 private:
  const PackedOps& ops_;
  const PackedOps::Item *next_, *end_;
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> running_;
};

// Time by depth, which is summed up to levels at the end.
class DepthTimes {
 public:
  void Add(size_t depth, int64_t ns) { time_ns_[std::min(depth, kMostCounted + 1)] += ns; }
  void AddTo(QueueDepth* result) const {
    for (size_t depth = 0; depth < time_ns_.size(); ++depth) {
      result->time_ns[QueueDepth::LevelOf(static_cast<int64_t>(depth))] += time_ns_[depth];
    }
  }

 private:
  std::array<int64_t, kMostCounted + 2> time_ns_{};
};

// Of operations that were launched in order and ended in order, as those of one stream are; nothing for others.
std::optional<QueueDepth> DepthInOrder(const Trace& trace, const OpFacts& ops, Trace::Slice slice, Interval window) {
  DepthTimes times;
  const PackedOps::Item *item = trace.ops.items().data() + slice.first, *launched = item;
  uint32_t next = slice.first;  // to be launched
  const auto launch_of_next = [&] { return std::min(launched->start_ns(), ops.LaunchNs(next, *launched)); };
  int64_t now_ns = window.start_ns, ended_ns = INT64_MIN, launch_ns = launch_of_next();
  size_t depth = 0, max = 0;
  for (const PackedOps::Item* const end = item + (slice.last - slice.first); item != end; ++item, --depth) {
    PrefetchForReading(item);
    const int64_t end_ns = item->duration_high == 0 ? item->start_ns() + item->duration : trace.ops.EndNs(*item);
    if (end_ns < ended_ns) return std::nullopt;
    ended_ns = end_ns;
    // What is launched when another ends is counted after it; an operation of no length is launched before it ends.
    while (launch_ns < end_ns || depth == 0) {
      if (launch_ns > now_ns) {
        times.Add(depth, launch_ns - now_ns);
        now_ns = launch_ns;
      }
      max = std::max(max, ++depth);
      const int64_t before_ns = launch_ns;
      ++launched;
      launch_ns = ++next == slice.last ? INT64_MAX : launch_of_next();
      if (launch_ns < before_ns) return std::nullopt;
    }
    if (end_ns > now_ns) {
      times.Add(depth, end_ns - now_ns);
      now_ns = end_ns;
    }
  }
  if (window.end_ns > now_ns) times.Add(0, window.end_ns - now_ns);
  QueueDepth result;
  result.max = static_cast<int64_t>(max);
  times.AddTo(&result);
  return result;
}

// The same, in fewer instructions, where none has to wait for more than a few others. For each one it is added up how
// long it waits for the one before, and for those before that: so long so many are launched and not finished at least.
class ShallowDepth {
 public:
  ShallowDepth(const Trace& trace, const OpFacts& ops, Trace::Slice slice, Interval window)
      : trace_(trace), ops_(ops), slice_(slice), window_(window), items_(trace.ops.items().data()) {}

  std::optional<QueueDepth> Run() {
    uint32_t op = slice_.first;
    int64_t before_ns = window_.start_ns;                      // when the one before the last one had ended
    int64_t launched_ns = LaunchOf(op), ended_ns = EndOf(op);  // of the last one
    if (ended_ns < before_ns || ended_ns < launched_ns) return std::nullopt;
    int64_t idle_ns = 0, second_ns = 0;  // nothing is launched, one waits for one other
    while (++op < slice_.last) {
      PrefetchForReading(&items_[op]);
      const int64_t launch_ns = LaunchOf(op), end_ns = EndOf(op);
      if (end_ns < ended_ns) return std::nullopt;
      if (launch_ns >= ended_ns) {
        if (end_ns < launch_ns) return std::nullopt;
        idle_ns += launch_ns - ended_ns;
      } else if (launch_ns < launched_ns) {
        return std::nullopt;
      } else if (launch_ns >= before_ns) {
        second_ns += ended_ns - launch_ns;
      } else if (!AddWait(op, launch_ns)) {
        return std::nullopt;
      }
      before_ns = ended_ns, ended_ns = end_ns, launched_ns = launch_ns;
    }
    return Finish(ended_ns, idle_ns, second_ns);
  }

 private:
  static constexpr size_t kMost = 4;

  int64_t LaunchOf(uint32_t op) const { return std::min(items_[op].start_ns(), ops_.LaunchNs(op, items_[op])); }
  int64_t EndOf(uint32_t op) const {
    const PackedOps::Item& item = items_[op];
    return item.duration_high == 0 ? item.start_ns() + item.duration : trace_.ops.EndNs(item);
  }

  // False: it waits for too many. It is rare, and would take the loop's registers.
  [[gnu::noinline]] bool AddWait(uint32_t op, int64_t launch_ns) {
    for (size_t depth = 2; depth <= kMost; ++depth) {
      const uint32_t other = op + 1 - static_cast<uint32_t>(depth);
      const bool is_first = other == slice_.first;
      const int64_t before_ns = is_first ? window_.start_ns : EndOf(other - 1);
      at_least_ns_[depth] += EndOf(other) - std::max(before_ns, launch_ns);
      max_ = std::max(max_, depth);
      if (is_first || launch_ns >= before_ns) return true;
    }
    return false;
  }

  QueueDepth Finish(int64_t ended_ns, int64_t idle_ns, int64_t second_ns) {
    at_least_ns_[1] = ended_ns - window_.start_ns - idle_ns;
    at_least_ns_[2] += second_ns;
    QueueDepth result;
    result.max = static_cast<int64_t>(std::max(max_, size_t{second_ns > 0 ? 2u : 1u}));
    result.time_ns[0] = idle_ns + std::max<int64_t>(window_.end_ns - ended_ns, 0);
    for (size_t depth = 1; depth <= kMost; ++depth) {
      result.time_ns[QueueDepth::LevelOf(static_cast<int64_t>(depth))] += at_least_ns_[depth] - at_least_ns_[depth + 1];
    }
    return result;
  }

  const Trace& trace_;
  const OpFacts& ops_;
  const Trace::Slice slice_;
  const Interval window_;
  const PackedOps::Item* items_;
  std::array<int64_t, kMost + 2> at_least_ns_{};  // by depth
  size_t max_ = 0;
};

// Time by depth within the window, but for pauses.
class RecordedDepths {
 public:
  RecordedDepths(const std::vector<Interval>& pauses, Interval window)
      : pauses_(pauses), now_ns_(window.start_ns), end_ns_(window.end_ns) {}

  void AdvanceTo(int64_t to_ns, int64_t depth_now) {
    if (to_ns <= now_ns_) return;
    const auto depth = static_cast<size_t>(depth_now);
    times_.Add(depth, to_ns - now_ns_);
    for (; pause_ < pauses_.size() && pauses_[pause_].start_ns < to_ns; ++pause_) {
      const Interval& pause = pauses_[pause_];
      times_.Add(depth, std::max(pause.start_ns, now_ns_) - std::min(pause.end_ns, to_ns));
      if (pause.end_ns > to_ns) break;
    }
    now_ns_ = to_ns;
  }
  QueueDepth Finish(int64_t max) {
    AdvanceTo(end_ns_, 0);
    QueueDepth result;
    result.max = max;
    times_.AddTo(&result);
    return result;
  }

 private:
  const std::vector<Interval>& pauses_;
  size_t pause_ = 0;  // the next one that is not over
  int64_t now_ns_, end_ns_;
  DepthTimes times_;
};

template <class Launches>
QueueDepth DepthOf(const Trace& trace, Trace::Slice slice, RecordedDepths times, Launches* launches) {
  int64_t depth = 0, max = 0;
  for (EndTimes ends(trace, slice); !ends.IsEmpty();) {
    const int64_t end_ns = ends.Pop();
    // As in DepthInOrder.
    for (; !launches->IsEmpty() && (launches->front() < end_ns || depth == 0); launches->Pop()) {
      times.AdvanceTo(launches->front(), depth);
      max = std::max(max, ++depth);
    }
    times.AdvanceTo(end_ns, depth);
    --depth;
  }
  return times.Finish(max);
}

}  // namespace

std::string_view QueueDepth::LevelName(size_t level) { return gprof::kLevels[level].name; }

size_t QueueDepth::LevelOf(int64_t depth) {
  if (depth > static_cast<int64_t>(kMostCounted)) return kLevels - 1;
  return kLevelOfDepth[static_cast<size_t>(std::max<int64_t>(depth, 0))];
}

int64_t QueueDepth::TotalNs() const { return std::accumulate(time_ns.begin(), time_ns.end(), int64_t{0}); }

void QueueDepth::Add(const QueueDepth& other) {
  for (size_t i = 0; i < kLevels; ++i) time_ns[i] += other.time_ns[i];
  max = std::max(max, other.max);
}

QueueDepth QueueDepthOf(const AnalysisInput& input, uint32_t device) {
  const Trace& trace = input.trace();
  const OpFacts& ops = input.shared().ops();
  const Trace::Slice slice = trace.device_ops[device];
  if (!HasWindow(trace, device)) return {};
  const GapList& gaps = input.shared().gaps(device);
  const bool is_selected = !trace.device_windows.empty();
  const Interval window = is_selected ? trace.device_windows[device].time
                                      : Interval{trace.ops[slice.first].start_ns, trace.ops[gaps.last_ended()].end_ns};
  const std::vector<Interval>& pauses = gaps.pauses();
  if (pauses.empty() && slice.first < slice.last) {
    if (!is_selected) {
      if (const std::optional<QueueDepth> depth = ShallowDepth(trace, ops, slice, window).Run()) return *depth;
    }
    if (const std::optional<QueueDepth> depth = DepthInOrder(trace, ops, slice, window)) return *depth;
  }
  const RecordedDepths times(pauses, window);
  if (LaunchesByStream by_stream(input, slice); by_stream.IsGood()) {
    const QueueDepth depth = DepthOf(trace, slice, times, &by_stream);
    if (by_stream.IsGood()) return depth;
  }
  LaunchTimes launches(trace, ops, slice);
  return DepthOf(trace, slice, times, &launches);
}

}  // namespace gprof
