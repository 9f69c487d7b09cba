// Which findings speak of a row of a tree of time.
#pragma once

#include <string>
#include <vector>

#include "report/answers/evidence.h"

namespace gprof {

// Those whose subject is the row come first, then those about time of its kind, then those about what is above it; of
// each, in the order of the report. `path`: from below the root; of the root itself, all findings.
std::vector<const NamedFinding*> FindingsAbout(const std::vector<NamedFinding>& findings, bool is_idle,
                                               const std::vector<std::string>& path);

}  // namespace gprof
