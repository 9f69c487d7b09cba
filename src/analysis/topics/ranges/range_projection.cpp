#include "analysis/topics/ranges/range_projection.h"

#include <algorithm>
#include <utility>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/time/interval_set.h"
#include "analysis/facts/time/search_near.h"

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
      slot_of_traits_(trace_.ranges.TraitsCount(), kNone) {
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

inline uint32_t RangeProjection::SlotOfTraits(uint32_t traits) {
  if (slot_of_traits_[traits] == kNone) [[unlikely]]
    slot_of_traits_[traits] = SlotOf(trace_.ranges.TraitsAt(traits).path);
  return slot_of_traits_[traits];
}

inline void RangeProjection::AddBusy(const Run& run, BusyTime* busy) const {
  if (busy->end_ns() <= run.start_ns) {
    *busy = BusyTime(busy->busy_ns() + run.busy.busy_ns(), std::max(busy->end_ns(), run.busy.end_ns()));
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
    AddTo(SlotOfTraits(ranges[range].traits), run);
    range = RangeAround(trace_, range);
  }
}

// To the range itself. What is around it gets runs in a row at once, as long as they are in the same range.
void RangeProjection::AddNested(const Run& run) {
  const uint32_t parent = run.range == kNone ? kNone : RangeAround(trace_, run.range);
  if (parent != around_.range || run.device != around_.device) {
    AddAround();
    if (parent != kNone) StartAround(parent, run);
  }
  if (run.range == kNone) return;
  const uint32_t slot = SlotOfTraits(trace_.ranges.items()[run.range].traits);
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

void RangeProjection::StartAround(uint32_t range, const Run& run) {
  around_ = {range, run.device, kNone, run.first, run.first, run.start_ns, {}, 0};
  for (; range != kNone; range = RangeAround(trace_, range)) {
    slots_[SlotOfTraits(trace_.ranges.items()[range].traits)].is_around = true;
  }
}

void RangeProjection::AddAround() {
  const PackedRanges::Item* const ranges = trace_.ranges.items().data();
  for (uint32_t range = std::exchange(around_.range, kNone); range != kNone; range = RangeAround(trace_, range)) {
    const uint32_t slot = SlotOfTraits(ranges[range].traits);
    slots_[slot].is_around = false;
    AddTo(slot, around_);
  }
}

// Where there are start/end ranges every run is one operation.
void RangeProjection::AddWithOthers(const Run& run) {
  const auto others = start_end_paths_.find(ops_.CallOf(run.first));
  const bool is_known = run.range != kNone || run.node == kNone || others != start_end_paths_.end();
  AddToRanges(is_known ? run.range : trace_.graph_nodes[run.node].range, run);
  if (others == start_end_paths_.end()) return;
  for (const NameId path : others->second) AddTo(SlotOf(path), run);
}

void RangeProjection::AddOperations() {
  Run run;
  for (const Operation op : OperationsOf(trace_)) {
    const uint32_t call = ops_.CallOf(op), range = call == kNone ? kNone : Call(trace_.api_calls, call).range();
    const PackedOps::Traits& shared = op.shared();
    const bool is_alike =
        range == run.range && shared.device == run.device && (range != kNone || shared.node == run.node);
    if (run.first == run.last || !is_alike || !start_end_paths_.empty()) {
      AddRun(run);
      run = {range, shared.device, shared.node, op.index(), op.index(), op.start_ns(), {}, 0};
    }
    run.busy.Add(op.start_ns(), op.end_ns());
    run.kernels += shared.kind == OpKind::kKernel;
    run.last = op.index() + 1;
  }
  AddRun(run);
  AddAround();
}

void RangeProjection::AddRun(Run run) {
  if (run.first == run.last) return;
  if (!start_end_paths_.empty()) return AddWithOthers(run);
  if (run.range == kNone && run.node != kNone) run.range = trace_.graph_nodes[run.node].range;
  AddNested(run);
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
