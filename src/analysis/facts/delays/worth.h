// What a nanosecond of a thing is worth: the slope of the program's progress against the delays of the thing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/facts/delays/delay_samples.h"

namespace gprof {

struct SlopeEstimate {
  double value = 0, low = 0, high = 0;  // 95 % interval
};

enum class WorthVerdict : uint8_t {
  kCannotTell,  // the interval is too wide
  kHidden,      // behind other work: it costs nothing
  kPartlyHidden,
  kOnThePath,     // a nanosecond is a nanosecond
  kHoldsUpOthers  // more than that
};

struct Worth {
  std::string thing;
  int64_t windows = 0;                                  // with a delay, that count
  SlopeEstimate slope;                                  // ns of a unit of progress for each ns of the thing
  double unit_ns = 0;                                   // of progress, without delays
  double instances_per_unit = 0, time_per_unit_ns = 0;  // of the thing, without delays
  WorthVerdict verdict = WorthVerdict::kCannotTell;

  // What halving its time would save of a unit, should the slope hold that far, in percent. Nobody can halve a wait by
  // itself.
  bool HasSaving() const { return verdict != WorthVerdict::kCannotTell && time_per_unit_ns > 0 && thing != "sync"; }
  SlopeEstimate SavingPercent() const;
};

// The most that a unit would gain first.
std::vector<Worth> MeasureWorth(const DelaySamples& samples);

}  // namespace gprof
