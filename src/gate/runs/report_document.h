// A report in JSON (gprof.report/1) as a run: its figures, without a breakdown.
#pragma once

#include <string>

#include "gate/runs/measurement.h"

namespace gprof {

// Throws Error in the name of `path` where it is no such report.
Measurement MeasurementOfReport(const std::string& text, const std::string& path);

}  // namespace gprof
