#include "analysis/ranges_back.h"

namespace gprof {

RangesBack::RangesBack(const Trace& trace) : trace_(trace), cursors_(trace.threads.size()) {
  for (size_t i = 0; i < cursors_.size(); ++i) {
    const Trace::Slice& slice = trace.thread_ranges[i];
    cursors_[i].first = slice.first;
    cursors_[i].next = cursors_[i].after_nested = slice.last;
  }
}

void RangesBack::MoveTo(int64_t time_ns, Cursor* cursor) const {
  const uint32_t open = OpenBefore(time_ns, cursor);
  cursor->path = open == kNone ? NameId{} : trace_.ranges[open].path;
  cursor->begin_ns = std::numeric_limits<int64_t>::min();
  if (cursor->next > cursor->first) cursor->begin_ns = trace_.ranges[cursor->next - 1].start_ns;
  if (!cursor->closed.empty()) cursor->begin_ns = std::max(cursor->begin_ns, cursor->closed.back().end_ns);
}

uint32_t RangesBack::OpenBefore(int64_t time_ns, Cursor* cursor) const {
  const std::vector<NvtxRange>& ranges = trace_.ranges;
  const uint32_t next = cursor->next;
  while (cursor->next > cursor->first && ranges[cursor->next - 1].start_ns >= time_ns) --cursor->next;
  if (cursor->is_placed && cursor->next == next) return Reopen(time_ns, cursor);
  cursor->is_placed = true;
  uint32_t& last = cursor->after_nested;
  last = std::min(last, cursor->next);
  while (last > cursor->first && !ranges[last - 1].is_push_pop) --last;
  cursor->closed.clear();
  int64_t end_ns = std::numeric_limits<int64_t>::min();
  for (uint32_t i = last == cursor->first ? kNone : last - 1; i != kNone;) {
    if (ranges[i].end_ns >= time_ns) return i;
    end_ns = std::max(end_ns, ranges[i].end_ns);
    cursor->closed.push_back({i, end_ns});
    const uint32_t parent = ranges[i].parent;
    i = parent < i ? parent : kNone;  // parents come first, or the trace is damaged
  }
  return kNone;
}

// No range began since the time before, so that it is one of those that ended.
uint32_t RangesBack::Reopen(int64_t time_ns, Cursor* cursor) {
  uint32_t open = kNone;
  for (; !cursor->closed.empty() && cursor->closed.back().end_ns >= time_ns; cursor->closed.pop_back()) {
    open = cursor->closed.back().range;
  }
  return open;
}

}  // namespace gprof
