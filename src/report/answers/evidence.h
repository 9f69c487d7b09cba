// The names that findings of one trace go by, so that a reader can ask for one of them again.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace gprof {

// A finding in the order of the report, with a name of its own: a trace may have several with the same id.
struct NamedFinding {
  RankedFinding ranked;
  std::string evidence;  // "memcpy.pageable#2": the second with that id
};

// Those about the program, as text shows them.
std::vector<NamedFinding> NamedFindings(const Report& report);

// What a reader calls it: "memcpy.pageable#2", "memcpy.pageable" for the first of them, or "3" for the third of all.
// nullptr where there is none.
const NamedFinding* FindNamed(const std::vector<NamedFinding>& findings, std::string_view word);

// A command line with the trace of the report in it: "gprof-cli explain run.trace memcpy.pageable#2". Long paths are
// named TRACE.
std::string CommandWithTrace(const Report& report, std::string_view command, std::string_view rest);

// At most `most` bytes, cut between characters, with "..." at the end where that cuts something.
std::string CutText(std::string_view text, std::size_t most);

}  // namespace gprof
