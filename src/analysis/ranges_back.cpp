#include "analysis/ranges_back.h"

namespace gprof {

RangesBack::RangesBack(const Trace& trace) : trace_(trace), cursors_(trace.threads.size()) {
  for (size_t i = 0; i < cursors_.size(); ++i) {
    const Trace::Slice& slice = trace.thread_ranges[i];
    cursors_[i].first = slice.first;
    cursors_[i].next = cursors_[i].after_nested = slice.last;
  }
}

inline uint32_t RangesBack::FindOpen(int64_t time_ns, Cursor* cursor) const {
  const PackedRanges::Item* const ranges = trace_.ranges.items().data();
  uint32_t last = std::min(cursor->after_nested, cursor->next);
  while (last > cursor->first && !ranges[last - 1].is_push_pop) --last;
  cursor->after_nested = last;
  cursor->closed.clear();
  int64_t end_ns = std::numeric_limits<int64_t>::min();
  for (uint32_t i = last == cursor->first ? kNone : last - 1; i != kNone;) {
    const int64_t range_end_ns = trace_.ranges.EndNs(ranges[i]);
    if (range_end_ns >= time_ns) return i;
    end_ns = std::max(end_ns, range_end_ns);
    cursor->closed.push_back({i, end_ns});
    const uint32_t parent = ranges[i].parent;
    i = parent < i ? parent : kNone;  // parents come first, or the trace is damaged
  }
  return kNone;
}

void RangesBack::MoveTo(int64_t time_ns, Cursor* cursor) const {
  const PackedRanges::Item* const ranges = trace_.ranges.items().data();
  uint32_t next = cursor->next;
  while (next > cursor->first && ranges[next - 1].start_ns() >= time_ns) --next;
  cursor->next = next;
  cursor->around = FindOpen(time_ns, cursor);
  cursor->path_around = PathOf(cursor->around);
  const int64_t start_ns = next > cursor->first ? ranges[next - 1].start_ns() : std::numeric_limits<int64_t>::min();
  const bool has_closed = !cursor->closed.empty();
  cursor->piece = {has_closed ? std::max(start_ns, cursor->closed.back().end_ns) : start_ns, cursor->path_around};
}

}  // namespace gprof
