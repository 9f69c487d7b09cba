// When a program that is recorded in windows had which level: of what lies between them less is known.
#pragma once

#include <cstdint>
#include <deque>

#include "gprof/trace/record.h"

namespace gprof {

// Of one process. Records come late, and those of different kinds in any order.
class SeenWindows {
 public:
  void Take(const trace::CaptureRecord& row);
  void Take(const trace::BaseTimeRecord& row);

  // It is recorded in windows, and one has ended.
  bool HasPauses() const { return has_pauses_; }
  bool IsInPause() const { return has_pauses_ && !is_open_; }
  // Since when everything is recorded, in a window.
  uint64_t window_since_ns() const { return since_ns_; }

  // Whether NVTX ranges were recorded for all of the time. What has not been told yet may still be.
  enum class Covered : uint8_t { kYes, kNo, kNotYet };
  Covered Covers(uint64_t from_ns, uint64_t until_ns) const;

  // Up to `now_ns`, of the time since the first window.
  struct Sums {
    uint64_t windows = 0, window_ns = 0, base_ns = 0, all_ns = 0;
  };
  Sums Until(uint64_t now_ns) const;

 private:
  struct Span {
    uint64_t from_ns, until_ns;
  };
  void Add(Span span);

  std::deque<Span> spans_;  // the last ones, in order, none touch
  bool has_pauses_ = false, is_open_ = false;
  uint64_t since_ns_ = 0, first_ns_ = 0;
  Sums sums_;
};

}  // namespace gprof
