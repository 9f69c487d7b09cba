// How a finding can be checked against the records of its trace, without trusting the analysis that found it.
#pragma once

#include <string>
#include <string_view>

#include "gprof/analysis.h"

namespace gprof {

struct FindingCheck {
  std::string sql;                 // for `gprof-cli query`
  std::string what;                // what its result says
  FactSet more = FactSet::None();  // what would say more about such a finding, where it is recorded
};

// `table`: the table of the report that has the facts behind the finding (FindingInfo::table).
FindingCheck CheckOf(const Finding& finding, std::string_view table);

}  // namespace gprof
