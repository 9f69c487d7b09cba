#include "analysis/causes/idle_groups.h"

#include "analysis/facts/shared_facts.h"
#include "analysis/result/display_names.h"

namespace gprof {
namespace {

// Keys of what comes next without a name of its own, counted from the number of strings; copies by direction follow.
constexpr uint32_t kNextEnd = 0, kNextFill = 1, kNextGraph = 2, kNextNone = 3, kNextCopy = 4;
constexpr uint32_t kNextKeys = kNextCopy + kDirectionCount;
constexpr uint32_t kLaunchUnknown = 0, kLaunchEnd = 1, kLaunchKeys = 2;
constexpr uint32_t kPathUnknown = 0, kPathKeys = 1;

}  // namespace

IdleShare& IdleShares::AddShare(uint32_t key) {
  slot_[key] = static_cast<uint32_t>(all_.size());
  return all_.emplace_back(key, IdleShare{}).second;
}

inline void IdleShares::Add(uint32_t key, Cause cause, int64_t duration_ns, int64_t gaps, int64_t gap_number) {
  IdleShare& share = ShareOf(key);
  share.idle_ns += duration_ns;
  share.split[cause] += duration_ns;
  if (share.last_gap != gap_number) share.gaps += gaps;
  share.last_gap = gap_number;
}

void IdleShares::Add(const IdleShares& more) {
  for (const auto& [key, of_key] : more.all_) {
    IdleShare& share = ShareOf(key);
    share.idle_ns += of_key.idle_ns;
    share.gaps += of_key.gaps;
    share.split.Add(of_key.split);
  }
}

IdleGroups::IdleGroups(const AnalysisInput& input, bool has_details)
    : input_(input),
      trace_(input.trace()),
      ops_(input.shared().ops()),
      has_details_(has_details),
      unnamed_(static_cast<uint32_t>(trace_.strings.size())),
      by_path_(unnamed_ + kPathKeys),
      by_launch_(unnamed_ + kLaunchKeys),
      by_next_(unnamed_ + kNextKeys) {
  for (const OpFacts::Sum& sum : ops_.sums())
    next_of_traits_.push_back(sum.count == 0 ? 0 : KeyOf(trace_.ops[sum.first]));
}

// The outermost call that launched what ended the gap; kNone where a capture ended it.
inline uint32_t IdleGroups::LaunchOf(const Gap& gap) const {
  return gap.is_cut_after || gap.after == kNone ? kNone : ops_.CallOf(gap.after);
}

// The host's own code knows its range at that time; a call belongs to the range that it was made in.
inline uint32_t IdleGroups::PathKey(const Part& part, const Gap& gap) const {
  if (IsOwnCode(part.cause)) return part.path().value;
  if (part.cause == Cause::kUnknown) return unnamed_ + kPathUnknown;
  const uint32_t call = part.call() != kNone ? part.call() : LaunchOf(gap);
  const uint32_t range = call == kNone ? kNone : trace_.api_calls[call].range;
  return range == kNone ? 0 : trace_.ranges[range].path.value;
}

void IdleGroups::Add(const IdleRun& run) {
  for (const Part& part : run.parts) {
    by_path_.Add(PathKey(part, run.first), part.cause, part.duration_ns, run.gaps, gap_number_);
  }
  if (has_details_) AddDetails(run);
  gap_number_ += run.gaps;
}

void IdleGroups::Add(const IdleGroups& more) {
  by_path_.Add(more.by_path_);
  by_launch_.Add(more.by_launch_);
  by_next_.Add(more.by_next_);
  for (size_t i = 0; i < kGapDecades; ++i) {
    lengths_[i].gaps += more.lengths_[i].gaps;
    lengths_[i].idle_ns += more.lengths_[i].idle_ns;
  }
  gap_number_ += more.gap_number_;
}

void IdleGroups::AddDetails(const IdleRun& run) {
  const uint32_t launch_key = LaunchKey(run.first);
  for (const Part& part : run.parts) {
    by_launch_.Add(launch_key, part.cause, part.duration_ns, run.gaps, gap_number_);
  }
  int64_t number = gap_number_;
  ForEachGapOf(input_, run, [&](const Gap& gap, std::span<const Part> parts) {
    const uint32_t next_key = NextKey(gap);
    for (const Part& part : parts) by_next_.Add(next_key, part.cause, part.duration_ns, 1, number);
    AddLength(gap.DurationNs());
    ++number;
  });
}

uint32_t IdleGroups::LaunchKey(const Gap& gap) const {
  const uint32_t launch = LaunchOf(gap);
  if (launch != kNone) return trace_.api_calls[launch].function.value;
  if (gap.is_cut_after) return unnamed_ + kLaunchEnd;
  const std::optional<ApiCall> beyond = gap.after == kNone ? CallAfter(trace_, gap) : std::nullopt;
  return !beyond ? unnamed_ + kLaunchUnknown : beyond->function.value;
}

uint32_t IdleGroups::NextKey(const Gap& gap) const {
  if (gap.is_cut_after) return unnamed_ + kNextEnd;
  if (gap.after == kNone && !trace_.device_windows[gap.device].has_next) return unnamed_ + kNextNone;
  return gap.after != kNone ? next_of_traits_[trace_.ops.TraitsIndex(gap.after)] : KeyOf(OpAfter(trace_, gap));
}

uint32_t IdleGroups::KeyOf(const GpuOp& op) const {
  switch (op.kind) {
    case OpKind::kKernel:
      return op.name.value;
    case OpKind::kMemset:
      return unnamed_ + kNextFill;
    case OpKind::kGraph:
      return unnamed_ + kNextGraph;
    case OpKind::kMemcpy:
    case OpKind::kPeerCopy:
      break;
  }
  return unnamed_ + kNextCopy + static_cast<uint32_t>(DirectionOf(op));
}

std::string IdleGroups::NextName(uint32_t key) const {
  if (key < unnamed_) return KernelName(trace_, NameId{key});
  switch (key - unnamed_) {
    case kNextEnd:
      return "(end of the capture)";
    case kNextFill:
      return "memset";
    case kNextGraph:
      return "graph";
    case kNextNone:
      return "(outside the selection)";
    default:
      return "copy " + std::string(DirectionName(static_cast<Direction>(key - unnamed_ - kNextCopy)));
  }
}

std::string IdleGroups::LaunchName(uint32_t key) const {
  if (key < unnamed_) return std::string(trace_.Text(NameId{key}));
  return key - unnamed_ == kLaunchEnd ? "(end of the capture)" : "(unknown)";
}

std::string IdleGroups::PathOfKey(uint32_t key) const {
  return key < unnamed_ ? PathName(trace_, NameId{key}) : "(unknown)";
}

}  // namespace gprof
