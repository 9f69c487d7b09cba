// `doctor --calibrate`: what recording costs here, by a load of our own that is recorded in windows.
#pragma once

#include <string>
#include <vector>

#include "launch/calibrate/machine_calibration.h"

namespace gprof {

// `load_command`: what of gprof-cli runs the load; a word (operations or nodes) and the file for its result follow.
// Takes seconds. Throws Error where nothing was measured.
MachineCalibration Calibrate(const std::vector<std::string>& load_command);

}  // namespace gprof
