// The innermost NVTX ranges of threads, for those who go back in time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

class EnclosingRanges {
 public:
  explicit EnclosingRanges(const Trace& trace);

  // Calls f(path, length_ns) for the pieces of [from_ns, to_ns), the last one first: in each the innermost push/pop
  // range of the thread has that path, which may be empty, and no range begins. For each thread the times must go back,
  // so that all of them together cost no more than the thread has ranges.
  template <class F>
  void ForEach(uint32_t thread, int64_t from_ns, int64_t to_ns, F&& f) {
    Cursor& cursor = cursors_[thread];
    Position at = cursor.at;
    while (from_ns < to_ns) {
      if (to_ns <= at.begin_ns && !Step(to_ns, &at, &cursor)) {
        cursor.at = at;
        MoveTo(to_ns, &cursor);
        at = cursor.at;
      }
      const int64_t begin_ns = std::max(from_ns, at.begin_ns);
      f(at.path, to_ns - begin_ns);
      to_ns = begin_ns;
    }
    cursor.at = at;
  }

 private:
  using Item = PackedRanges::Item;
  // A range that has ended, the one that began last or one around that; so have those between.
  struct Closed {
    const Item* range;
    int64_t end_ns;  // the last end of them
  };
  struct Position {
    const Item* next;                                        // ranges from there on begin later
    size_t closed_count = 0;                                 // of Cursor::closed
    int64_t begin_ns = std::numeric_limits<int64_t>::max();  // since then the same range is the innermost one
    NameId path;
  };
  struct Cursor {
    const Item* first;         // range of the thread
    const Item* after_nested;  // no push/pop range is between it and Position::next, where it is the first of the two
    Position at;
    // The last one that was found to be open with others in it that have ended, which is open until it begins, or none.
    const Item* around = nullptr;
    uint32_t index_around = kNone;
    NameId path_around;
    std::vector<Closed> closed = std::vector<Closed>(1);
  };

  uint32_t IndexOf(const Item* range) const { return static_cast<uint32_t>(range - trace_.ranges.items().data()); }

  // Goes to just before that time if it is near, as nearly all are: the time is where a range ended, or where one began
  // that follows another within the same one, or is the first there.
  [[gnu::always_inline]] bool Step(int64_t time_ns, Position* at, Cursor* cursor) const {
    if (at->next == cursor->first) return false;
    const Item* const last = at->next - 1;
    const int64_t last_start_ns = last->start_ns();
    if (last_start_ns < time_ns) return Reopen(time_ns, last_start_ns, at, cursor);
    if (last == cursor->first || last == cursor->around) return false;
    const Item* const before = last - 1;
    const int64_t start_ns = before->start_ns(), end_ns = start_ns + before->duration;
    if (!before->is_push_pop || start_ns >= time_ns) return false;
    if (before == cursor->around) {
      at->closed_count = 0;
      at->begin_ns = start_ns;
    } else {
      if (before->parent != cursor->index_around || before->duration_high != 0 || end_ns >= time_ns) return false;
      Closed& closed = cursor->closed.front();
      closed.range = before;
      closed.end_ns = end_ns;
      at->closed_count = 1;
      at->begin_ns = end_ns;
    }
    at->path = cursor->path_around;
    at->next = last;
    return true;
  }

  // No range began since the time before: it is one of those that ended. `start_ns`: of the last one that began.
  [[gnu::always_inline]] bool Reopen(int64_t time_ns, int64_t start_ns, Position* at, Cursor* cursor) const {
    const Closed* closed = cursor->closed.data() + at->closed_count;
    if (at->closed_count == 0 || closed[-1].end_ns < time_ns) return false;
    do {
      --closed;
    } while (closed != cursor->closed.data() && closed[-1].end_ns >= time_ns);
    at->closed_count = static_cast<size_t>(closed - cursor->closed.data());
    at->begin_ns = start_ns;
    at->path = trace_.ranges.TraitsOf(*closed->range).path;
    if (at->closed_count == 0) return true;
    at->begin_ns = std::max(start_ns, closed[-1].end_ns);
    SetAround(closed->range, cursor);
    return true;
  }

  void SetAround(const Item* open, Cursor* cursor) const {
    cursor->around = open;
    cursor->index_around = open == nullptr ? kNone : IndexOf(open);
    cursor->path_around = open == nullptr ? NameId{} : trace_.ranges.TraitsOf(*open).path;
  }

  void MoveTo(int64_t time_ns, Cursor* cursor) const;
  // The innermost one just before that time; null for none.
  const Item* FindOpen(int64_t time_ns, Cursor* cursor) const;

  const Trace& trace_;
  std::vector<Cursor> cursors_;  // one for each thread
};

}  // namespace gprof
