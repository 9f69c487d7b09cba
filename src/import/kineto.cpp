#include "import/kineto.h"

#include "gprof/error.h"

namespace gprof {

Trace ReadKineto(std::string_view, const std::string& path) {
  throw Error(ExitCode::kUnreadable, "cannot read '" + path + "': JSON of Kineto or Chrome is not read yet",
              "give a trace of 'gprof-cli profile', or an SQLite export of Nsight Systems");
}

}  // namespace gprof
