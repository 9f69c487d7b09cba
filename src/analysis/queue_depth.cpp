#include "analysis/queue_depth.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <vector>

#include "analysis/gaps.h"
#include "analysis/shared_facts.h"

namespace gprof {
namespace {

struct Level {
  int64_t most;  // depth of this level at most
  std::string_view name;
};
constexpr Level kLevels[QueueDepth::kLevels] = {
    {0, "0"},       {1, "1"},         {2, "2"},           {4, "3 to 4"},            {8, "5 to 8"},
    {16, "9 to 16"}, {64, "17 to 64"}, {256, "65 to 256"}, {INT64_MAX, "over 256"}};
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
    const auto digit_of = [&](int64_t ns) { return ((static_cast<uint64_t>(ns) - low) >> shift) & ((1u << kBits) - 1); };
    std::array<size_t, (size_t{1} << kBits) + 1> places{};
    for (const int64_t ns : *times_ns) ++places[digit_of(ns) + 1];
    std::partial_sum(places.begin(), places.end(), places.begin());
    for (const int64_t ns : *times_ns) sorted[places[digit_of(ns)]++] = ns;
    times_ns->swap(sorted);
  }
}

// Times of operations are a few sequences that are in order, one for each stream that runs ahead of another or beside it.
// Splits them up again: each time goes behind the latest one that is not later.
class Sequences {
 public:
  // Sorts the times. False: there are too many sequences.
  bool Sort(std::vector<int64_t>* times_ns) {
    std::vector<uint8_t> of_time(times_ns->size());
    for (size_t i = 0; i < of_time.size(); ++i) {
      const size_t sequence = Next((*times_ns)[i]);
      if (sequence == kMost) return false;
      of_time[i] = static_cast<uint8_t>(sequence);
    }
    if (used_ > 1) Merge(Split(*times_ns, of_time), times_ns);
    return true;
  }

 private:
  static constexpr size_t kMost = 16;

  size_t Next(int64_t time_ns) {
    size_t i = 0;
    while (i < used_ && last_ns_[i] > time_ns) ++i;  // the last times of the sequences go down
    if (i == kMost) return i;
    used_ = std::max(used_, i + 1);
    last_ns_[i] = time_ns;
    ++counts_[i];
    return i;
  }

  // One sequence after the other.
  std::vector<int64_t> Split(const std::vector<int64_t>& times_ns, const std::vector<uint8_t>& of_time) const {
    std::array<size_t, kMost> places{};
    for (size_t i = 1; i < used_; ++i) places[i] = places[i - 1] + counts_[i - 1];
    std::vector<int64_t> split(times_ns.size());
    for (size_t i = 0; i < times_ns.size(); ++i) split[places[of_time[i]]++] = times_ns[i];
    return split;
  }

  void Merge(const std::vector<int64_t>& split, std::vector<int64_t>* merged) const {
    std::array<std::span<const int64_t>, kMost> left;
    for (size_t i = 0, first = 0; i < used_; first += counts_[i++]) left[i] = std::span(split).subspan(first, counts_[i]);
    size_t count = used_, next = 0;
    while (count > 0) {
      size_t first = 0;
      for (size_t i = 1; i < count; ++i) first = left[i].front() < left[first].front() ? i : first;
      (*merged)[next++] = left[first].front();
      left[first] = left[first].subspan(1);
      if (left[first].empty()) left[first] = left[--count];
    }
  }

  std::array<int64_t, kMost> last_ns_{};
  std::array<size_t, kMost> counts_{};
  size_t used_ = 0;
};

void Sort(std::vector<int64_t>* times_ns) {
  if (!Sequences().Sort(times_ns)) SortByDigits(times_ns);
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
  QueueDepth result;
  const Trace::Slice slice = trace.device_ops[device];
  std::vector<int64_t> launches_ns, ends_ns;
  launches_ns.reserve(slice.last - slice.first);
  ends_ns.reserve(slice.last - slice.first);
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    const GpuOp& op = trace.ops[i];
    launches_ns.push_back(std::min(op.start_ns, ops.LaunchNs(i)));
    ends_ns.push_back(op.end_ns);
  }
  if (!HasWindow(trace, device)) return result;
  Sort(&launches_ns);
  Sort(&ends_ns);

  const bool is_selected = !trace.device_windows.empty();
  const Interval window =
      is_selected ? trace.device_windows[device].time : Interval{trace.ops[slice.first].start_ns, ends_ns.back()};
  const std::vector<Interval>& pauses = input.shared().gaps(device).pauses();
  size_t pause = 0;  // the next one that is not over
  int64_t from_ns = window.start_ns, depth = 0;
  const auto advance = [&](int64_t to_ns) {
    if (to_ns <= from_ns) return;
    int64_t& time_ns = result.time_ns[QueueDepth::LevelOf(depth)];
    time_ns += to_ns - from_ns;
    for (; pause < pauses.size() && pauses[pause].start_ns < to_ns; ++pause) {
      time_ns -= std::min(pauses[pause].end_ns, to_ns) - std::max(pauses[pause].start_ns, from_ns);
      if (pauses[pause].end_ns > to_ns) break;
    }
    from_ns = to_ns;
  };
  size_t launched = 0;
  for (const int64_t end_ns : ends_ns) {
    // What is launched when another ends is counted after it; an operation of no length is launched before it ends.
    for (; launched < launches_ns.size() && (launches_ns[launched] < end_ns || depth == 0); ++launched) {
      advance(launches_ns[launched]);
      result.max = std::max(result.max, ++depth);
    }
    advance(end_ns);
    --depth;
  }
  if (is_selected) advance(trace.device_windows[device].time.end_ns);
  return result;
}

}  // namespace gprof
