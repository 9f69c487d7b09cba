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
      if (to_ns <= cursor.begin_ns) MoveTo(to_ns, &cursor);
      const int64_t begin_ns = std::max(from_ns, cursor.begin_ns);
      f(cursor.path, to_ns - begin_ns);
      to_ns = begin_ns;
    }
  }

 private:
  // A range that has ended, the one that began last or one around that; so have those between.
  struct Closed {
    uint32_t range;
    int64_t end_ns;  // the last end of them
  };
  struct Cursor {
    uint32_t first = 0, next = 0;       // ranges of the thread; those from `next` on begin later
    uint32_t after_nested = 0;          // the push/pop range before it is the last one before `next`
    int64_t begin_ns = std::numeric_limits<int64_t>::max();  // since then it is the innermost one
    NameId path;
    bool is_placed = false;
    std::vector<Closed> closed;
  };

  void MoveTo(int64_t time_ns, Cursor* cursor) const;
  // The innermost one just before that time; kNone for none.
  uint32_t FindOpen(int64_t time_ns, Cursor* cursor) const;

  const Trace& trace_;
  std::vector<Cursor> cursors_;  // one for each thread
};

}  // namespace gprof
