// Sets of runs from files, told apart by what is in them: traces, folders of traces, run files (gprof.runs/1),
// baselines (gprof.baseline/1) and reports in JSON (gprof.report/1).
#pragma once

#include <string>
#include <vector>

#include "gate/runs/measurement.h"
#include "trace/reshape/select.h"

namespace gprof {

struct RunSetOptions {
  Selection selection;   // the part of each trace that is measured
  std::string selected;  // the same in words; documents that were measured otherwise are refused
  AnalysisOptions analysis;
  std::string commit;   // of the program, for runs that do not know it
  bool merges = false;  // the traces are those of the ranks of one run, not runs
};

// Runs that do not count (warm-up, failed) are left out, with a note. Throws Error where a path cannot be read, is
// named twice, or where nothing is left.
RunSet LoadRunSet(const std::vector<std::string>& paths, const RunSetOptions& options = {});

}  // namespace gprof
