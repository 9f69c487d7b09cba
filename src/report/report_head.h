// What a report begins with: which trace, which program, which machine.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/report.h"

namespace gprof {

struct HeadLine {
  std::string label, text;
};

// Command lines are shortened to what `columns` have room for.
std::vector<HeadLine> HeadOf(const Report& report, std::size_t columns);

// What stands at "Program" there; without one, the path of the trace.
std::string ProgramOf(const Report& report, std::size_t columns);

}  // namespace gprof
