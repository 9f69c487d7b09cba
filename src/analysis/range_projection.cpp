#include "analysis/range_projection.h"

#include <algorithm>
#include <utility>

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

RangeProjection::RangeProjection(const AnalysisInput& input)
    : trace_(input.trace()),
      ops_(input.shared().ops()),
      slot_of_path_(trace_.strings.size(), kNone),
      slot_of_facts_(trace_.ranges.FactsCount(), kNone) {
  for (uint32_t i = 0; i < trace_.ops.FactsCount(); ++i) {
    const PackedOps::Facts& facts = trace_.ops.FactsAt(i);
    kinds_.push_back({facts.device, facts.node, facts.kind == OpKind::kKernel});
  }
  FindStartEndRanges();
  AddOperations();
}

inline uint32_t RangeProjection::RangeOf(uint32_t op, const PackedOps::Item& item) const {
  const uint32_t call = ops_.CallOf(op, item);
  if (call == kNone) return kNone;
  const PackedCalls::Item& launch = trace_.api_calls.items()[call];
  PrefetchForReading(&launch);
  return launch.range;
}

inline uint32_t RangeProjection::SlotOf(NameId path) {
  uint32_t& slot = slot_of_path_[path.value];
  if (slot == kNone) {
    slot = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
  }
  return slot;
}

inline uint32_t RangeProjection::SlotOfFacts(uint32_t facts) {
  uint32_t& slot = slot_of_facts_[facts];
  if (slot == kNone) slot = SlotOf(trace_.ranges.FactsAt(facts).path);
  return slot;
}

inline void RangeProjection::AddTo(uint32_t slot, const Run& run) {
  OfPath& of_path = slots_[slot];
  of_path.kernels += run.kernels;
  if (std::exchange(of_path.device, run.device) != run.device) of_path.busy.StartOver();
  BusyTime& busy = of_path.busy;
  if (busy.end_ns() <= run.start_ns) {  // as if nothing had been before
    busy = BusyTime(busy.busy_ns() + run.busy.busy_ns(), std::max(busy.end_ns(), run.busy.end_ns()));
    return;
  }
  for (uint32_t i = run.first; i < run.last; ++i) busy.Add(trace_.ops[i].start_ns, trace_.ops[i].end_ns);
}

// To the range and those around it.
inline void RangeProjection::AddToRanges(uint32_t range, const Run& run) {
  const PackedRanges::Item* const ranges = trace_.ranges.items().data();
  // Parents come before their children, which also ends this loop on a trace that says otherwise.
  while (range != kNone) {
    AddTo(SlotOfFacts(ranges[range].facts), run);
    const uint32_t parent = ranges[range].parent;
    range = parent < range ? parent : kNone;
  }
}

inline void RangeProjection::AddRun(const Run& run, uint32_t node) {
  if (start_end_paths_.empty()) {
    return AddToRanges(run.range == kNone && node != kNone ? trace_.graph_nodes[node].range : run.range, run);
  }
  const auto others = start_end_paths_.find(ops_.CallOf(run.first));
  const bool is_known = run.range != kNone || node == kNone || others != start_end_paths_.end();
  AddToRanges(is_known ? run.range : trace_.graph_nodes[node].range, run);
  if (others == start_end_paths_.end()) return;
  for (const NameId path : others->second) AddTo(SlotOf(path), run);
}

void RangeProjection::AddOperations() {
  const bool has_others = !start_end_paths_.empty();
  const auto count = static_cast<uint32_t>(trace_.ops.size());
  const PackedOps::Item* item = trace_.ops.items().data();
  uint32_t next_range = count == 0 ? kNone : RangeOf(0, *item);
  for (uint32_t i = 0; i < count;) {
    const uint32_t first = i, range = next_range;
    uint32_t facts = item->facts;
    const Kind of_first = kinds_[facts];
    const int64_t start_ns = item->start_ns();
    BusyTime busy;
    int64_t kernels = 0, is_kernel = of_first.is_kernel;
    do {
      PrefetchForReading(item);
      busy.Add(item->start_ns(), trace_.ops.EndNs(*item));
      kernels += is_kernel;
      ++item;
      if (++i == count) break;
      next_range = RangeOf(i, *item);
      if (has_others) break;
      if (item->facts == facts) continue;
      facts = item->facts;
      const Kind& kind = kinds_[facts];
      is_kernel = kind.is_kernel;
      if (kind.device != of_first.device || (range == kNone && kind.node != of_first.node)) break;
    } while (next_range == range);
    AddRun({range, of_first.device, first, i, start_ns, busy, kernels}, of_first.node);
  }
}

void RangeProjection::FindStartEndRanges() {
  for (size_t thread = 0; thread < trace_.threads.size(); ++thread) {
    const Trace::Slice ranges = trace_.thread_ranges[thread], calls = trace_.thread_api_calls[thread];
    const PackedRanges::Item* const items = trace_.ranges.items().data();
    const bool has_any = std::any_of(items + ranges.first, items + ranges.last,
                                     [](const PackedRanges::Item& range) { return !range.is_push_pop; });
    if (!has_any) continue;
    OpenRanges open(trace_, ranges);
    for (uint32_t i = calls.first; i < calls.last; ++i) {
      if (trace_.api_calls[i].parent != kNone || trace_.api_calls[i].api_class == ApiClass::kQuery) continue;
      std::vector<NameId> paths = open.PathsAt(trace_.api_calls[i].start_ns);
      if (!paths.empty()) start_end_paths_.emplace(i, std::move(paths));
    }
  }
}

RangeProjection::OfPath RangeProjection::Of(NameId path) const {
  return slot_of_path_[path.value] == kNone ? OfPath{} : slots_[slot_of_path_[path.value]];
}

}  // namespace gprof
