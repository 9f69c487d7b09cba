// Where in the source findings are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/answers/evidence.h"
#include "report/report.h"

namespace gprof {

struct PlacedFinding {
  NamedFinding named;
  std::string file;  // as the trace has it
  uint32_t line = 0;
};

struct PlacedFindings {
  std::vector<PlacedFinding> placed;  // in the order of the report
  std::size_t without_line = 0;
};

PlacedFindings PlacesOfFindings(const Report& report);

// "train.py:12: warning: message [idle.host]" for each: what editors look for in the output of compilers. A file
// within `root` has the path from there.
std::string RenderProblems(const Report& report, const std::string& root);

// sarif.cpp: SARIF 2.1.0, which code hosts and editors read.
std::string RenderSarif(const Report& report, const std::string& root);

// `path` from `root` on where it lies within, else as it is.
std::string PathWithin(const std::string& root, const std::string& path);

}  // namespace gprof
