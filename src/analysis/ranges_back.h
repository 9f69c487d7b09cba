// The innermost NVTX ranges of threads, for those who go back in time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

class RangesBack {
 public:
  explicit RangesBack(const Trace& trace);

  // Calls f(path, length_ns) for the pieces of [from_ns, to_ns), the last one first: in each the innermost push/pop
  // range of the thread has that path, which may be empty, and no range begins. For each thread the times must go back,
  // so that all of them together cost no more than the thread has ranges.
  template <class F>
  void ForEach(uint32_t thread, int64_t from_ns, int64_t to_ns, F&& f) {
    Cursor& cursor = cursors_[thread];
    while (from_ns < to_ns) {
      if (to_ns <= cursor.piece.begin_ns && !Step(to_ns, &cursor)) MoveTo(to_ns, &cursor);
      const int64_t begin_ns = std::max(from_ns, cursor.piece.begin_ns);
      f(cursor.piece.path, to_ns - begin_ns);
      to_ns = begin_ns;
    }
  }

  // The piece that the last time asked for of the thread began in: earlier times from its begin on are in it as well.
  struct Piece {
    int64_t begin_ns = std::numeric_limits<int64_t>::max();
    NameId path;
  };
  const Piece& LastPiece(uint32_t thread) const { return cursors_[thread].piece; }

 private:
  // A range that has ended, the one that began last or one around that; so have those between.
  struct Closed {
    uint32_t range;
    int64_t end_ns;  // the last end of them
  };
  struct Cursor {
    uint32_t first = 0, next = 0;  // ranges of the thread; those from `next` on begin later
    uint32_t after_nested = 0;     // the push/pop range before it is the last one before `next`
    // The last one that was found to be open with others in it that have ended, which is open until it begins, or none.
    uint32_t around = kNone;
    NameId path_around;
    Piece piece;
    std::vector<Closed> closed;
  };

  NameId PathOf(uint32_t range) const {
    return range == kNone ? NameId{} : trace_.ranges.FactsOf(trace_.ranges.items()[range]).path;
  }

  // Goes to the piece just before that time if it is near, as nearly all are: the time is where a range ended, or where
  // one began that follows another within the same one, or is the first there.
  [[gnu::always_inline]] bool Step(int64_t time_ns, Cursor* cursor) const {
    if (cursor->next == cursor->first) return false;
    const PackedRanges::Item* const last = trace_.ranges.items().data() + cursor->next - 1;
    if (last->start_ns() < time_ns) return Reopen(time_ns, last->start_ns(), cursor);
    const uint32_t before = cursor->next - 2;  // a range of the thread if the next line lets it pass
    if (cursor->next - 1 == cursor->first || cursor->next - 1 == cursor->around) return false;
    const PackedRanges::Item& item = last[-1];
    const int64_t start_ns = item.start_ns(), end_ns = start_ns + item.duration;
    if (!item.is_push_pop || start_ns >= time_ns) return false;
    if (before == cursor->around) {
      cursor->closed.clear();
      cursor->piece.begin_ns = start_ns;
    } else {
      if (item.parent != cursor->around || item.duration_high != 0 || end_ns >= time_ns) return false;
      cursor->closed.assign(1, {before, end_ns});
      cursor->piece.begin_ns = end_ns;
    }
    cursor->piece.path = cursor->path_around;
    cursor->next = cursor->after_nested = before + 1;
    return true;
  }

  // No range began since the time before, so that it is one of those that ended. `start_ns`: of the last one that began.
  [[gnu::always_inline]] bool Reopen(int64_t time_ns, int64_t start_ns, Cursor* cursor) const {
    std::vector<Closed>& closed = cursor->closed;
    if (closed.empty() || closed.back().end_ns < time_ns) return false;
    uint32_t open = kNone;
    do {
      open = closed.back().range;
      closed.pop_back();
    } while (!closed.empty() && closed.back().end_ns >= time_ns);
    cursor->piece = {start_ns, trace_.ranges.FactsOf(trace_.ranges.items()[open]).path};
    if (closed.empty()) return true;
    cursor->piece.begin_ns = std::max(start_ns, closed.back().end_ns);
    cursor->around = open;
    cursor->path_around = cursor->piece.path;
    return true;
  }

  void MoveTo(int64_t time_ns, Cursor* cursor) const;
  // The innermost one just before that time; kNone for none.
  uint32_t FindOpen(int64_t time_ns, Cursor* cursor) const;

  const Trace& trace_;
  std::vector<Cursor> cursors_;  // one for each thread
};

}  // namespace gprof
