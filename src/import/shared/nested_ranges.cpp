#include "import/shared/nested_ranges.h"

#include <algorithm>
#include <tuple>

namespace gprof {
namespace {

auto GroupOf(const ClosedRange& r) { return std::tie(r.process, r.tid, r.domain); }

// Outer ranges before those within them.
bool ComesBefore(const ClosedRange& a, const ClosedRange& b) {
  if (GroupOf(a) != GroupOf(b)) return GroupOf(a) < GroupOf(b);
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  return a.end_ns > b.end_ns;
}

trace::NvtxRecord RecordOf(const ClosedRange& range, trace::NvtxEvent event, int64_t time_ns) {
  trace::NvtxRecord r;
  r.time_ns = static_cast<uint64_t>(time_ns);
  r.tid = range.tid;
  r.event = static_cast<uint8_t>(event);
  r.domain = range.domain;
  return r;
}

trace::NvtxRecord BeginOf(const ClosedRange& range, trace::NvtxEvent event, ForeignBuilder* builder) {
  trace::NvtxRecord r = RecordOf(range, event, range.start_ns);
  r.message = builder->Name(range.text);
  r.category = range.category;
  r.color = range.color;
  r.payload_type = static_cast<uint8_t>(range.payload_type);
  r.payload = range.payload;
  return r;
}

}  // namespace

void NestedRanges::AddBegin(const ClosedRange& range, trace::NvtxEvent event, uint64_t id, ForeignBuilder* builder) {
  trace::NvtxRecord begin = BeginOf(range, event, builder);
  begin.range = id;
  builder->Add(begin);
  if (range.attached != kNone) builder->Add(PayloadRecordOf(begin, attached_[range.attached]));
}

void NestedRanges::AddStartEnd(const ClosedRange& range, ForeignBuilder* builder) {
  AddBegin(range, trace::NvtxEvent::kStart, next_id_, builder);
  if (range.end_ns != ClosedRange::kOpen) {
    trace::NvtxRecord end = RecordOf(range, trace::NvtxEvent::kEnd, range.end_ns);
    end.tid = range.end_tid == 0 ? range.tid : range.end_tid;
    end.range = next_id_;
    builder->Add(end);
  }
  ++next_id_;
}

void NestedRanges::AddGroup(std::size_t first, std::size_t last, ForeignBuilder* builder) {
  std::vector<const ClosedRange*> open;
  const auto pop = [&] {
    builder->Add(RecordOf(*open.back(), trace::NvtxEvent::kPop, open.back()->end_ns));
    open.pop_back();
  };
  for (std::size_t i = first; i < last; ++i) {
    const ClosedRange& range = ranges_[i];
    while (!open.empty() && open.back()->end_ns <= range.start_ns) pop();
    if (!range.is_push_pop || (!open.empty() && range.end_ns > open.back()->end_ns)) {
      AddStartEnd(range, builder);
      continue;
    }
    AddBegin(range, trace::NvtxEvent::kPush, 0, builder);
    open.push_back(&range);
  }
  while (!open.empty() && open.back()->end_ns != ClosedRange::kOpen) pop();
}

void NestedRanges::Finish(ForeignBuilder* builder) {
  // Most sources have them in order already.
  if (!std::is_sorted(ranges_.begin(), ranges_.end(), ComesBefore)) {
    std::stable_sort(ranges_.begin(), ranges_.end(), ComesBefore);
  }
  for (std::size_t first = 0; first < ranges_.size();) {
    std::size_t last = first;
    while (last < ranges_.size() && GroupOf(ranges_[last]) == GroupOf(ranges_[first])) ++last;
    builder->Enter(ranges_[first].process);
    AddGroup(first, last, builder);
    first = last;
  }
  ranges_ = {};
  attached_ = {};
}

}  // namespace gprof
