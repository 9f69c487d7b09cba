#include "analysis/range_projection.h"

#include <algorithm>

#include "analysis/shared_facts.h"

namespace gprof {
namespace {

// The start/end ranges of one thread that are open at a time that only goes forward.
class OpenRanges {
 public:
  OpenRanges(const Trace& trace, Trace::Slice slice) : trace_(trace), next_(slice.first), last_(slice.last) {}

  std::vector<NameId> PathsAt(int64_t time_ns) {
    for (; next_ < last_ && trace_.ranges[next_].start_ns <= time_ns; ++next_) {
      if (!trace_.ranges[next_].is_push_pop) open_.push_back(next_);
    }
    std::erase_if(open_, [&](uint32_t range) { return trace_.ranges[range].end_ns <= time_ns; });
    std::vector<NameId> paths;
    for (uint32_t range : open_) paths.push_back(trace_.ranges[range].path);
    std::sort(paths.begin(), paths.end());
    paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
    return paths;
  }

 private:
  const Trace& trace_;
  uint32_t next_, last_;
  std::vector<uint32_t> open_;
};

}  // namespace

RangeProjection::RangeProjection(const AnalysisInput& input) : slot_of_path_(input.trace().strings.size(), kNone) {
  const Trace& trace = input.trace();
  const OpFacts& ops = input.shared().ops();
  FindStartEndRanges(trace);
  struct Kind {
    uint32_t device, node;
    bool is_kernel;
  };
  std::vector<Kind> kinds;  // by the facts of operations
  for (uint32_t i = 0; i < trace.ops.FactsCount(); ++i) {
    const PackedOps::Facts& facts = trace.ops.FactsAt(i);
    kinds.push_back({facts.device, facts.node, facts.kind == OpKind::kKernel});
  }
  for (uint32_t i = 0; i < trace.ops.size(); ++i) {
    trace.ops.PrefetchAfter(i);
    const Kind& kind = kinds[trace.ops.FactsIndex(i)];
    const Work work{trace.ops[i].start_ns, trace.ops[i].end_ns, kind.device, kind.is_kernel};
    const uint32_t call = ops.CallOf(i);
    if (call != kNone) trace.api_calls.PrefetchAfter(call);
    const auto open = start_end_paths_.empty() ? start_end_paths_.end() : start_end_paths_.find(call);
    uint32_t range = call == kNone ? kNone : trace.api_calls[call].range;
    if (range == kNone && open == start_end_paths_.end() && kind.node != kNone) range = trace.graph_nodes[kind.node].range;
    for (const uint32_t slot : SlotsOf(trace, range)) Add(slot, work);
    if (open == start_end_paths_.end()) continue;
    for (NameId path : open->second) Add(SlotOf(path), work);
  }
}

// Many operations are launched in one range before the next, by several threads at a time.
const std::vector<uint32_t>& RangeProjection::SlotsOf(const Trace& trace, uint32_t range) {
  Slots& slots = recent_[range % recent_.size()];
  if (slots.range == range) return slots.list;
  slots.range = range;
  slots.list.clear();
  // Parents come before their children, which also ends this loop on a trace that says otherwise.
  while (range != kNone) {
    slots.list.push_back(SlotOf(trace.ranges[range].path));
    const uint32_t parent = trace.ranges[range].parent;
    range = parent < range ? parent : kNone;
  }
  return slots.list;
}

void RangeProjection::FindStartEndRanges(const Trace& trace) {
  for (size_t thread = 0; thread < trace.threads.size(); ++thread) {
    const Trace::Slice ranges = trace.thread_ranges[thread], calls = trace.thread_api_calls[thread];
    const bool has_any = std::any_of(trace.ranges.begin() + ranges.first, trace.ranges.begin() + ranges.last,
                                     [](const NvtxRange& range) { return !range.is_push_pop; });
    if (!has_any) continue;
    OpenRanges open(trace, ranges);
    for (uint32_t i = calls.first; i < calls.last; ++i) {
      if (trace.api_calls[i].parent != kNone || trace.api_calls[i].api_class == ApiClass::kQuery) continue;
      std::vector<NameId> paths = open.PathsAt(trace.api_calls[i].start_ns);
      if (!paths.empty()) start_end_paths_.emplace(i, std::move(paths));
    }
  }
}

uint32_t RangeProjection::SlotOf(NameId path) {
  uint32_t& slot = slot_of_path_[path.value];
  if (slot == kNone) {
    slot = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
  }
  return slot;
}

RangeProjection::OfPath RangeProjection::Of(NameId path) const {
  return slot_of_path_[path.value] == kNone ? OfPath{} : slots_[slot_of_path_[path.value]];
}

}  // namespace gprof
