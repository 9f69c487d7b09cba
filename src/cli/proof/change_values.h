// What a change of the catalogue comes to on this machine: variables and words before the program.
#pragma once

#include <string>
#include <vector>

#include "analysis/findings/change_catalogue.h"
#include "cli/proof/shell.h"

namespace gprof::cli {

struct AppliedChange {
  std::string name, what, risk, permanent;
  Variables variables;
  Variables added;  // of these, what was put behind the value of a variable
  std::vector<std::string> wrapper;
  std::string how;      // "OMP_NUM_THREADS=8", as a shell takes it
  std::string why_not;  // it does not apply here; empty: it does
};

// `variables` are those that the user sets for the program anyway, `cache_folder` is for what the change keeps from run
// to run.
AppliedChange ApplyChange(const ChangeInfo& change, const Variables& variables, const std::string& cache_folder);

// One of the user's own: "NAME=VALUE".
AppliedChange ChangeOfVariable(const std::string& text);

// All of them in one; of changes that set one variable, or with words before the program, the first one counts. What
// they add to one variable is added by all.
AppliedChange Combined(const std::vector<const AppliedChange*>& changes);

}  // namespace gprof::cli
