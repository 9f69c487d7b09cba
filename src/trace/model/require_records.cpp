#include "trace/model/require_records.h"

#include "gprof/error.h"

namespace gprof {

void RequireRecords(const Trace& trace, const char* what, const std::string& instead) {
  if (trace.kept == nullptr) return;
  throw Error(ExitCode::kUsage, std::string(what) + " needs the records of a trace; a partial does not have them",
              "use the trace that '" + trace.path + "' was made from" + instead);
}

}  // namespace gprof
