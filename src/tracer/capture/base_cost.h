// What the base level costs the program, as a share of its time: by the rows that it writes, and as windows without it
// tell, in turn with such that have it. [writer thread]
#pragma once

#include <cstdint>

#include "tracer/capture/work_count.h"

namespace gprof::tracer {

class BaseCost {
 public:
  // Forgets all. `budget` is the share that recording may cost.
  void Start(double budget);

  // Rows are counted from now on; what they have cost since. Of those in a window only the ones of NVTX count: the base
  // level has few of the others.
  void CountFrom(uint64_t now_ns, bool is_window);
  double SinceThen(uint64_t now_ns) const;
  // That is taken for what it will cost.
  void Expect(double share) { expected_ = share; }

  // A call took so long on average with the base level, beside windows without it.
  void Measure(double with_ns, double without_ns);
  bool IsDue() const { return measured_ < kMeasured || rounds_ % kRare == 0; }
  void CountRound() { ++rounds_; }

  // Less than the whole budget, or there would be none left for windows.
  bool Fits(double share) const { return share <= kMost * budget_; }
  bool Fits() const { return Fits(Share()); }
  // What it costs: at least what is certain by what was measured, with a quarter of the values to spare.
  double Share() const;

 private:
  static constexpr uint32_t kMeasured = 9, kEnough = 5, kRare = 8;
  static constexpr double kMost = 0.75;

  double LowerQuartile() const;

  double budget_ = 0, expected_ = 0;
  double values_[kMeasured] = {};  // the last ones
  uint32_t measured_ = 0, rounds_ = 0;
  uint64_t since_ns_ = 0;
  RowCount before_;
  bool is_window_ = false;
};

}  // namespace gprof::tracer
