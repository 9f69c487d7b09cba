#include "analysis/topics/launches/queue_depth.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <queue>
#include <vector>

#include "analysis/facts/gaps/gaps.h"
#include "analysis/facts/shared_facts.h"

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
  const auto [min, max] = std::ranges::minmax_element(*times_ns);
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

// When the operations of a device were launched, in order: from the entry of the call, or from the start where that is
// not known.
std::vector<int64_t> LaunchTimes(const Trace& trace, const OpFacts& ops, Trace::Slice slice) {
  std::vector<int64_t> times_ns;
  times_ns.reserve(slice.last - slice.first);
  for (const Operation op : OperationsOf(trace, slice)) {
    times_ns.push_back(std::min(op.start_ns(), ops.LaunchNs(op)));
  }
  if (!std::ranges::is_sorted(times_ns)) SortByDigits(&times_ns);
  return times_ns;
}

// When the operations of a device ended, in order. They come in order of their starts: what ends before the next one
// starts has nothing left before it.
class EndTimes {
 public:
  EndTimes(const Trace& trace, Trace::Slice slice) : trace_(trace), next_(slice.first), last_(slice.last) {}

  bool IsEmpty() const { return next_ == last_ && running_.empty(); }
  int64_t Pop() {
    for (; next_ != last_ && (running_.empty() || running_.top() >= trace_.ops[next_].start_ns); ++next_) {
      running_.push(trace_.ops[next_].end_ns);
    }
    const int64_t end_ns = running_.top();
    running_.pop();
    return end_ns;
  }

 private:
  const Trace& trace_;
  uint32_t next_, last_;
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
  const std::vector<int64_t> launches_ns = LaunchTimes(trace, ops, slice);
  RecordedDepths times(gaps.pauses(), gaps.window());
  auto launch_ns = launches_ns.begin();
  int64_t depth = 0, max = 0;
  for (EndTimes ends(trace, slice); !ends.IsEmpty(); --depth) {
    const int64_t end_ns = ends.Pop();
    // What is launched when another ends is counted after it; an operation of no length is launched before it ends.
    for (; launch_ns != launches_ns.end() && (*launch_ns < end_ns || depth == 0); ++launch_ns) {
      times.AdvanceTo(*launch_ns, depth);
      max = std::max(max, ++depth);
    }
    times.AdvanceTo(end_ns, depth);
  }
  return times.Finish(max);
}

}  // namespace gprof
