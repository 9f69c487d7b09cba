#include "analysis/idle_summary.h"

#include <algorithm>

#include "analysis/calls.h"

namespace gprof {
namespace {

bool IsLonger(const GapStory& a, const GapStory& b) {
  if (a.gap.DurationNs() != b.gap.DurationNs()) return a.gap.DurationNs() > b.gap.DurationNs();
  if (a.gap.start_ns != b.gap.start_ns) return a.gap.start_ns < b.gap.start_ns;
  return a.device < b.device;
}

}  // namespace

IdleSummary::IdleSummary(const Trace& trace, uint32_t longest_kept, int64_t min_gap_ns)
    : trace_(trace),
      longest_kept_(longest_kept),
      min_gap_ns_(min_gap_ns),
      host_ns_(trace.strings.size()),
      call_slot_(trace.strings.size(), kNone) {}

void IdleSummary::Add(const Gap& gap, std::span<const Part> parts) {
  DeviceIdle& idle = devices_.back();
  ++idle.gaps;
  idle.longest_ns = std::max(idle.longest_ns, gap.DurationNs());
  GapStory story{gap, idle.device, {}, MainPath(gap, parts)};
  for (const Part& part : parts) {
    story.split[part.cause] += part.duration_ns;
    if (part.cause == Cause::kUnknown) unknown_ns_[static_cast<size_t>(part.reason)] += part.duration_ns;
    if (part.call != kNone) SplitOf(trace_.api_calls[part.call].function)[part.cause] += part.duration_ns;
  }
  idle.split.Add(story.split);
  ForEachCause([&](Cause cause) { gaps_with_[static_cast<size_t>(cause)] += story.split[cause] > 0; });
  AddPatterns(gap, parts, story.split);
  if (gap.DurationNs() >= min_gap_ns_) return Keep(story);
  ++shorter_.gaps;
  shorter_.split.Add(story.split);
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
    if (part.cause != Cause::kHost) continue;
    host_ns_[part.path.value] += part.duration_ns;
    paths_of_gap_.emplace_back(part.path.value, part.duration_ns);
  }
  std::sort(paths_of_gap_.begin(), paths_of_gap_.end());
  NameId main;
  int64_t main_ns = 0;
  for (size_t i = 0; i < paths_of_gap_.size();) {
    const uint32_t path = paths_of_gap_[i].first;
    int64_t sum_ns = 0;
    for (; i < paths_of_gap_.size() && paths_of_gap_[i].first == path; ++i) sum_ns += paths_of_gap_[i].second;
    if (sum_ns > main_ns) main = NameId{path}, main_ns = sum_ns;
  }
  const uint32_t call = gap.after == kNone ? kNone : OutermostCall(trace_, trace_.ops[gap.after].api);
  if (main.value == 0 && call != kNone && trace_.api_calls[call].range != kNone) {
    main = trace_.ranges[trace_.api_calls[call].range].path;
  }
  return main;
}

void IdleSummary::AddPatterns(const Gap& gap, std::span<const Part> parts, const CauseSplit& split) {
  if (gap.is_cut_after) return;  // it is not known what would have ended it
  if (parts.empty() || parts.front().cause != Cause::kSync) return;
  ++drained_by_sync_.gaps;
  // What the host computed after the wait is not the wait's fault.
  drained_by_sync_.idle_ns += split[Cause::kSync] + split[Cause::kLaunch] + split[Cause::kApi];
}

// IsLonger as the order of a heap puts the shortest one kept in front.
void IdleSummary::Keep(const GapStory& story) {
  if (longest_kept_ > 0 && longest_.size() == longest_kept_) {
    if (!IsLonger(story, longest_.front())) return;
    std::pop_heap(longest_.begin(), longest_.end(), IsLonger);
    longest_.pop_back();
  }
  longest_.push_back(story);
  std::push_heap(longest_.begin(), longest_.end(), IsLonger);
}

void IdleSummary::Finish() { std::sort(longest_.begin(), longest_.end(), IsLonger); }

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
