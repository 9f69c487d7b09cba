#include "analysis/ranges/range_projection.h"

#include <algorithm>
#include <utility>

#include "analysis/facts/shared_facts.h"

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

// What begins after all that was added has ended: as if nothing had been before.
inline void AddLater(const BusyTime& later, BusyTime* busy) {
  *busy = BusyTime(busy->busy_ns() + later.busy_ns(), std::max(busy->end_ns(), later.end_ns()));
}

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
  FindStartEndRanges(input.shared().ranges());
  AddOperations();
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
  if (slot_of_facts_[facts] == kNone) [[unlikely]]
    slot_of_facts_[facts] = SlotOf(trace_.ranges.FactsAt(facts).path);
  return slot_of_facts_[facts];
}

inline void RangeProjection::AddBusy(const Run& run, BusyTime* busy) const {
  if (busy->end_ns() <= run.start_ns) {
    AddLater(run.busy, busy);
    return;
  }
  for (uint32_t i = run.first; i < run.last; ++i) busy->Add(trace_.ops[i].start_ns, trace_.ops[i].end_ns);
}

inline void RangeProjection::AddTo(uint32_t slot, const Run& run) {
  OfPath& of_path = slots_[slot];
  of_path.kernels += run.kernels;
  if (std::exchange(of_path.device, run.device) != run.device) of_path.busy.StartOver();
  AddBusy(run, &of_path.busy);
}

// To the range and those around it.
void RangeProjection::AddToRanges(uint32_t range, const Run& run) {
  const PackedRanges::Item* const ranges = trace_.ranges.items().data();
  while (range != kNone) {
    AddTo(SlotOfFacts(ranges[range].facts), run);
    range = ParentOf(range);
  }
}

// To the range itself. What is around it gets runs in a row at once, as long as they are in the same range.
void RangeProjection::AddNested(const Run& run) {
  const uint32_t parent = run.range == kNone ? kNone : ParentOf(run.range);
  if (parent != around_.range || run.device != around_.device) {
    AddAround();
    if (parent != kNone) StartAround(parent, run);
  }
  if (run.range == kNone) return;
  const uint32_t slot = SlotOfFacts(trace_.ranges.items()[run.range].facts);
  // Of a damaged trace a range may have the path of one around it: then each run is added to all of them in turn.
  if (slots_[slot].is_around) [[unlikely]] {
    AddAround();
    return AddToRanges(run.range, run);
  }
  AddTo(slot, run);
  if (parent == kNone) return;
  AddBusy(run, &around_.busy);
  around_.kernels += run.kernels;
  around_.last = run.last;
}

// What AddNested() does for most runs: they are in the same range as the one before, and after all that was added to
// the paths of both. False, and nothing is done, for the others. By value, so that the run stays out of memory.
inline bool RangeProjection::AddAfterAll(uint32_t range, uint32_t device, uint32_t last, int64_t start_ns,
                                         BusyTime busy, int64_t kernels) {
  if (range == kNone) return false;
  const PackedRanges::Item& item = trace_.ranges.items()[range];
  if (item.parent != around_.range || item.parent >= range || device != around_.device) return false;
  const uint32_t slot = slot_of_facts_[item.facts];
  if (slot == kNone || start_ns < around_.busy.end_ns()) return false;
  OfPath& of_path = slots_[slot];
  if (of_path.is_around || of_path.device != device || start_ns < of_path.busy.end_ns()) return false;
  of_path.kernels += kernels;
  AddLater(busy, &of_path.busy);
  AddLater(busy, &around_.busy);
  around_.kernels += kernels;
  around_.last = last;
  return true;
}

void RangeProjection::StartAround(uint32_t range, const Run& run) {
  around_ = {range, run.device, run.first, run.first, run.start_ns, {}, 0};
  for (; range != kNone; range = ParentOf(range)) {
    slots_[SlotOfFacts(trace_.ranges.items()[range].facts)].is_around = true;
  }
}

void RangeProjection::AddAround() {
  const PackedRanges::Item* const ranges = trace_.ranges.items().data();
  for (uint32_t range = std::exchange(around_.range, kNone); range != kNone; range = ParentOf(range)) {
    const uint32_t slot = SlotOfFacts(ranges[range].facts);
    slots_[slot].is_around = false;
    AddTo(slot, around_);
  }
}

// Where there are start/end ranges every run is one operation.
void RangeProjection::AddWithOthers(const Run& run, uint32_t node) {
  const auto others = start_end_paths_.find(ops_.CallOf(run.first));
  const bool is_known = run.range != kNone || node == kNone || others != start_end_paths_.end();
  AddToRanges(is_known ? run.range : trace_.graph_nodes[node].range, run);
  if (others == start_end_paths_.end()) return;
  for (const NameId path : others->second) AddTo(SlotOf(path), run);
}

template <class RangeOf>
void RangeProjection::AddOperations(RangeOf&& range_of) {
  const bool has_others = !start_end_paths_.empty();
  const PackedOps::Item* const items = trace_.ops.items().data();
  const PackedOps::Item *item = items, *const end = items + trace_.ops.size();
  const Kind* const kinds = kinds_.data();
  uint32_t next_range = item == end ? kNone : range_of(*item);
  while (item != end) {
    const PackedOps::Item* const first = item;
    const uint32_t range = next_range;
    uint32_t facts = item->facts;
    const Kind of_first = kinds[facts];
    BusyTime busy;
    int64_t kernels = 0, is_kernel = of_first.is_kernel;
    do {
      PrefetchForReading(item);
      const int64_t start_ns = item->start_ns();
      int64_t end_ns = start_ns + item->duration;
      if (item->duration_high != 0) [[unlikely]]
        end_ns = trace_.ops.EndNs(*item);
      busy.Add(start_ns, end_ns);
      kernels += is_kernel;
      if (++item == end) break;
      next_range = range_of(*item);
      if (has_others) break;
      if (item->facts == facts) continue;
      facts = item->facts;
      const Kind& kind = kinds[facts];
      is_kernel = kind.is_kernel;
      if (kind.device != of_first.device || (range == kNone && kind.node != of_first.node)) break;
    } while (next_range == range);
    const auto last = static_cast<uint32_t>(item - items);
    const int64_t start_ns = first->start_ns();
    uint32_t within = range;
    if (!has_others && range == kNone && of_first.node != kNone) within = trace_.graph_nodes[of_first.node].range;
    if (!has_others && AddAfterAll(within, of_first.device, last, start_ns, busy, kernels)) continue;
    const Run run{within, of_first.device, static_cast<uint32_t>(first - items), last, start_ns, busy, kernels};
    if (has_others) {
      AddWithOthers(run, of_first.node);
    } else {
      AddNested(run);
    }
  }
  AddAround();
}

void RangeProjection::AddOperations() {
  const PackedCalls::Item* const calls = trace_.api_calls.items().data();
  if (ops_.HasInnerCalls()) {
    const PackedOps::Item* const items = trace_.ops.items().data();
    return AddOperations([&](const PackedOps::Item& item) {
      const uint32_t call = ops_.CallOf(static_cast<uint32_t>(&item - items));
      return call == kNone ? kNone : calls[call].range;
    });
  }
  AddOperations([&](const PackedOps::Item& item) {
    if (!item.HasCall()) return kNone;
    const PackedCalls::Item& call = calls[item.Call()];
    PrefetchForReading(&call);
    return call.range;
  });
}

void RangeProjection::FindStartEndRanges(const RangeFacts& facts) {
  for (uint32_t thread = 0; thread < trace_.threads.size(); ++thread) {
    const Trace::Slice ranges = trace_.thread_ranges[thread], calls = trace_.thread_api_calls[thread];
    if (!facts.HasStartEnd(thread)) continue;
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
