#include "analysis/topics/idle/idle_summary.h"

#include <algorithm>
#include <functional>

#include "analysis/facts/operations/transfers.h"
#include "analysis/facts/shared_facts.h"

namespace gprof {
namespace {

// A launch that keeps the GPU waiting for as long loads code, with or without a wait before it.
constexpr int64_t kLongLaunchNs = 100'000;
// Other calls that take as long are work of the host, as making streams is.
constexpr int64_t kLongCallNs = 20'000;

bool IsLonger(const GapStory& a, const GapStory& b) {
  if (a.gap.DurationNs() != b.gap.DurationNs()) return a.gap.DurationNs() > b.gap.DurationNs();
  if (a.gap.start_ns != b.gap.start_ns) return a.gap.start_ns < b.gap.start_ns;
  return a.device < b.device;
}

}  // namespace

IdleSummary::IdleSummary(const AnalysisInput& input, uint32_t longest_kept, int64_t min_gap_ns,
                         const Interval& steady_time)
    : input_(input),
      trace_(input.trace()),
      shared_(input.shared()),
      ops_(input.shared().ops()),
      longest_kept_(longest_kept),
      min_gap_ns_(min_gap_ns),
      steady_time_(steady_time.DurationNs() > 0 ? steady_time : Interval{INT64_MIN, INT64_MAX}),
      gaps_with_causes_(size_t{1} << kCauseCount),
      host_ns_(trace_.strings.size()),
      call_slot_(trace_.strings.size(), kNone) {}

void IdleSummary::Add(const IdleRun& run) {
  DeviceIdle& idle = devices_.back();
  idle.gaps += run.gaps;
  idle.longest_ns = std::max(idle.longest_ns, run.longest_ns);
  AddParts(run, &idle);
  if (min_gap_ns_ == 0 && !IsToldByLength(run.longest_ns)) return;
  ForEachGapOf(input_, run, [&](const Gap& gap, std::span<const Part> parts) { AddByLength(gap, parts); });
}

// Not shorter than the shortest of the gaps kept.
bool IdleSummary::IsToldByLength(int64_t gap_ns) const {
  return !IsFull() || gap_ns >= longest_.front().gap.DurationNs();
}

void IdleSummary::AddByLength(const Gap& gap, std::span<const Part> parts) {
  const int64_t gap_ns = gap.DurationNs();
  if (gap_ns >= min_gap_ns_) {
    if (IsToldByLength(gap_ns)) Keep(gap, parts);
    return;
  }
  ++shorter_.gaps;
  for (const Part& part : parts) shorter_.split[part.cause] += part.duration_ns;
}

void IdleSummary::AddParts(const IdleRun& run, DeviceIdle* idle) {
  size_t causes = 0;
  for (const Part& part : run.parts) {
    idle->split[part.cause] += part.duration_ns;
    causes |= size_t{part.duration_ns > 0} << static_cast<size_t>(part.cause);
    if (part.cause == Cause::kUnknown) unknown_ns_[static_cast<size_t>(part.reason)] += part.duration_ns;
    if (part.cause == Cause::kHost) {
      host_ns_[part.path().value] += part.duration_ns;
      if (run.longest_ns < kShortHostGapNs) short_host_ns_ += part.duration_ns;
    }
    if (part.call() != kNone) SplitOf(FunctionOf(part.call()))[part.cause] += part.duration_ns;
  }
  gaps_with_causes_[causes] += run.gaps;
  AddPatterns(run);
}

void IdleSummary::Add(const IdleSummary& more) {
  DeviceIdle& idle = devices_.back();
  const DeviceIdle& more_idle = more.devices_.back();
  idle.gaps += more_idle.gaps;
  idle.longest_ns = std::max(idle.longest_ns, more_idle.longest_ns);
  idle.split.Add(more_idle.split);
  const auto add = [](const auto& from, auto* to) {
    std::transform(from.begin(), from.end(), to->begin(), to->begin(), std::plus<>());
  };
  add(more.gaps_with_causes_, &gaps_with_causes_);
  add(more.unknown_ns_, &unknown_ns_);
  add(more.host_ns_, &host_ns_);
  short_host_ns_ += more.short_host_ns_;
  for (const auto& [function, split] : more.by_call_) SplitOf(function).Add(split);
  for (const GapStory& story : more.longest_) {
    if (!MakeRoomFor(story)) continue;
    longest_.push_back(story);
    std::push_heap(longest_.begin(), longest_.end(), IsLonger);
  }
  shorter_.gaps += more.shorter_.gaps;
  shorter_.split.Add(more.shorter_.split);
  drained_by_sync_.gaps += more.drained_by_sync_.gaps;
  drained_by_sync_.idle_ns += more.drained_by_sync_.idle_ns;
  drained_by_sync_.host_ns += more.drained_by_sync_.host_ns;
  drained_by_sync_.waited_ns += more.drained_by_sync_.waited_ns;
}

int64_t IdleSummary::GapsWith(Cause cause) const {
  int64_t gaps = 0;
  for (size_t causes = 0; causes < gaps_with_causes_.size(); ++causes) {
    if ((causes >> static_cast<size_t>(cause) & 1) != 0) gaps += gaps_with_causes_[causes];
  }
  return gaps;
}

CauseSplit& IdleSummary::SplitOf(NameId function) {
  uint32_t& slot = call_slot_[function.value];
  if (slot == kNone) {
    slot = static_cast<uint32_t>(by_call_.size());
    by_call_.emplace_back(function, CauseSplit{});
  }
  return by_call_[slot].second;
}

NameId IdleSummary::MainPath(const Gap& gap, std::span<const Part> parts) {
  paths_of_gap_.clear();
  for (const Part& part : parts) {
    if (!IsOwnCode(part.cause)) continue;
    paths_of_gap_.emplace_back(part.path().value, part.duration_ns);
  }
  std::ranges::sort(paths_of_gap_);
  NameId main;
  int64_t main_ns = 0;
  for (size_t i = 0; i < paths_of_gap_.size();) {
    const uint32_t path = paths_of_gap_[i].first;
    int64_t sum_ns = 0;
    for (; i < paths_of_gap_.size() && paths_of_gap_[i].first == path; ++i) sum_ns += paths_of_gap_[i].second;
    if (sum_ns > main_ns) main = NameId{path}, main_ns = sum_ns;
  }
  const uint32_t call = gap.after == kNone ? kNone : ops_.CallOf(gap.after);
  if (main.value == 0 && call != kNone && trace_.api_calls[call].range != kNone) {
    main = trace_.ranges[trace_.api_calls[call].range].path;
  }
  return main;
}

void IdleSummary::AddPatterns(const IdleRun& run) {
  if (run.gaps > 1 || run.first.is_cut_after) return;  // it is not known what would have ended it
  if (run.first.start_ns < steady_time_.start_ns || run.first.start_ns >= steady_time_.end_ns) return;
  const Cause wait = run.parts.front().cause;
  const int64_t waited_ns = WaitBefore(run.first, run.parts.front());
  if (waited_ns == kNoWait) return;
  ++drained_by_sync_.gaps;
  int64_t host_ns = 0;
  for (const Part& part : run.parts) {
    const bool is_launch = part.cause == Cause::kLaunch && part.duration_ns < kLongLaunchNs;
    const bool is_short_call = part.cause == Cause::kApi && part.duration_ns < kLongCallNs;
    const bool is_its_fault = part.cause == wait || is_launch || is_short_call;
    if (is_its_fault) drained_by_sync_.idle_ns += part.duration_ns;
    if (part.cause == Cause::kHost || (part.cause == Cause::kApi && !is_short_call)) host_ns += part.duration_ns;
  }
  // The host could have computed meanwhile what it computed after the wait. What takes it longer than one wait and than
  // a step between launches is work of its own, without which the GPU would run dry as well.
  if (host_ns > waited_ns && run.longest_ns >= kShortHostGapNs) return;
  drained_by_sync_.host_ns += host_ns;
  drained_by_sync_.waited_ns += waited_ns;
}

int64_t IdleSummary::WaitBefore(const Gap& gap, const Part& first) const {
  if (first.call() == kNone) return kNoWait;
  const int64_t call_start_ns = trace_.api_calls[first.call()].start_ns;
  if (first.cause == Cause::kSync) return std::max<int64_t>(0, gap.start_ns - call_start_ns);
  if (first.cause != Cause::kCopy) return kNoWait;
  const uint32_t before = input_.shared().gaps(gap.device).OpBefore(gap);
  if (before == kNone || ops_.CallOf(before) != first.call()) return kNoWait;
  const GpuOp op = trace_.ops[before];
  const bool is_readback = IsSmallTransfer(op) && DirectionOf(op) == Direction::kD2h;
  return is_readback ? std::max<int64_t>(0, op.start_ns - call_start_ns) : kNoWait;
}

// IsLonger as the order of a heap puts the shortest one kept in front.
bool IdleSummary::MakeRoomFor(const GapStory& story) {
  if (!IsFull()) return true;
  if (!IsLonger(story, longest_.front())) return false;
  std::pop_heap(longest_.begin(), longest_.end(), IsLonger);
  longest_.pop_back();
  return true;
}

void IdleSummary::Keep(const Gap& gap, std::span<const Part> parts) {
  GapStory story{gap, devices_.back().device, {}, {}, kNone};
  if (!MakeRoomFor(story)) return;
  for (const Part& part : parts) story.split[part.cause] += part.duration_ns;
  story.path = MainPath(gap, parts);
  longest_.push_back(story);
  std::push_heap(longest_.begin(), longest_.end(), IsLonger);
}

void IdleSummary::Finish() {
  std::ranges::sort(longest_, IsLonger);
  for (GapStory& story : longest_) story.op_before = shared_.gaps(story.device).OpBefore(story.gap);
}

DeviceIdle IdleSummary::Sum() const {
  DeviceIdle sum;
  for (const DeviceIdle& idle : devices_) {
    sum.window_ns += idle.window_ns;
    sum.gaps += idle.gaps;
    sum.longest_ns = std::max(sum.longest_ns, idle.longest_ns);
    sum.split.Add(idle.split);
  }
  return sum;
}

}  // namespace gprof
