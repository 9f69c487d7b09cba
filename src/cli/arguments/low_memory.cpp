#include "cli/arguments/low_memory.h"

#include <cstddef>

#include "base/machine/spill.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

// Of the model, what is derived from it, and the input.
constexpr std::size_t kResidentBytes = std::size_t{256} << 20;

}  // namespace

void LowMemory::AddOptions(CLI::App& app, const std::string& flag_help) {
  app.add_flag("--low-memory", is_wanted_, flag_help)->group("Memory");
  app.add_option("--temp-dir", temp_dir_, "folder for the --low-memory file (default: $TMPDIR or /var/tmp)")
      ->type_name("FOLDER")
      ->group("Memory");
}

void LowMemory::Start() const {
  if (!temp_dir_.empty() && !is_wanted_)
    throw Error(ExitCode::kUsage, "--temp-dir requires --low-memory",
                "add --low-memory; without it nothing is written to disk");
  if (is_wanted_) StartSpilling(temp_dir_, kResidentBytes);
}

}  // namespace gprof::cli
