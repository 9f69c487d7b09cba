#include "analysis/topics/path/enclosing_ranges.h"

namespace gprof {

EnclosingRanges::EnclosingRanges(const Trace& trace) : trace_(trace), cursors_(trace.threads.size()) {
  for (size_t i = 0; i < cursors_.size(); ++i) {
    const Trace::Slice& slice = trace.thread_ranges[i];
    cursors_[i].first = trace.ranges.items().data() + slice.first;
    cursors_[i].at.next = cursors_[i].after_nested = trace.ranges.items().data() + slice.last;
  }
}

inline const PackedRanges::Item* EnclosingRanges::FindOpen(int64_t time_ns, Cursor* cursor) const {
  const Item* last = std::min(cursor->after_nested, cursor->at.next);
  while (last > cursor->first && !last[-1].is_push_pop) --last;
  cursor->after_nested = last;
  cursor->at.closed_count = 0;
  int64_t end_ns = std::numeric_limits<int64_t>::min();
  for (const Item* range = last == cursor->first ? nullptr : last - 1; range != nullptr;) {
    const int64_t range_end_ns = trace_.ranges.EndNs(*range);
    if (range_end_ns >= time_ns) return range;
    end_ns = std::max(end_ns, range_end_ns);
    if (cursor->at.closed_count == cursor->closed.size()) cursor->closed.resize(2 * cursor->closed.size());
    cursor->closed[cursor->at.closed_count++] = {range, end_ns};
    // Parents come first, or the trace is damaged.
    range = range->parent < IndexOf(range) ? &trace_.ranges.items()[range->parent] : nullptr;
  }
  return nullptr;
}

void EnclosingRanges::MoveTo(int64_t time_ns, Cursor* cursor) const {
  Position& at = cursor->at;
  while (at.next > cursor->first && at.next[-1].start_ns() >= time_ns) --at.next;
  SetAround(FindOpen(time_ns, cursor), cursor);
  at.path = cursor->path_around;
  at.begin_ns = at.next > cursor->first ? at.next[-1].start_ns() : std::numeric_limits<int64_t>::min();
  if (at.closed_count != 0) at.begin_ns = std::max(at.begin_ns, cursor->closed[at.closed_count - 1].end_ns);
}

}  // namespace gprof
