// The gaps of a device, found once and gone over by many.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/gaps.h"

namespace gprof {

class GapList {
 public:
  GapList(const Trace& trace, const RecordedTime& recorded, uint32_t device);

  int64_t window_ns() const { return window_ns_; }
  size_t size() const { return gaps_.size() + cut_gaps_.size(); }

  // Calls f(gap) for every gap, in order. Returns the length of the window.
  template <class F>
  int64_t ForEach(F&& f) const {
    for (const Entry& entry : gaps_) {
      f(Gap{entry.start_ns, entry.end_ns, entry.before, entry.after, false, false, device_});
    }
    for (const Gap& gap : cut_gaps_) f(gap);
    return window_ns_;
  }

  // The same, and seen(op) for every operation of the device once the gaps before it are done with.
  template <class F, class G>
  int64_t ForEach(F&& f, G&& seen) const {
    uint32_t next = ops_.first;
    const auto see_until = [&](uint32_t last) {
      for (; next < last; ++next) seen(next);
    };
    ForEach([&](const Gap& gap) {
      see_until(gap.after == kNone ? ops_.last : gap.after);
      f(gap);
    });
    see_until(ops_.last);
    return window_ns_;
  }

 private:
  // What is recorded throughout has no gap that a capture cuts.
  struct Entry {
    int64_t start_ns, end_ns;
    uint32_t before, after;
  };
  std::vector<Entry> gaps_;
  std::vector<Gap> cut_gaps_;  // all gaps, where the device was not recorded throughout
  Trace::Slice ops_;
  uint32_t device_;
  int64_t window_ns_;
};

}  // namespace gprof
