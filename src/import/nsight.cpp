#include "import/nsight.h"

#include "gprof/error.h"

namespace gprof {

Trace ReadNsight(const std::string& path) {
  throw Error(ExitCode::kUnreadable, "cannot read '" + path + "': SQLite exports are not read yet");
}

}  // namespace gprof
