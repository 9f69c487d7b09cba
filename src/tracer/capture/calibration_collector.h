// What `doctor --calibrate` measured on this machine goes into the trace, as reports are made elsewhere.
#pragma once

#include "tracer/core/collectors.h"

namespace gprof::tracer {

// [writer thread] Once for each file; a file that is not there, or whose lines make no sense, says nothing.
void TellCalibration(DrainRound* round);
void RetellCalibration();

inline constexpr Collector kCalibrationCollector = {
    .retell = RetellCalibration,
    .drain = TellCalibration,
    .reset = RetellCalibration,
};

}  // namespace gprof::tracer
