#pragma once

#include <string>
#include <vector>

#include "cli/commands/command.h"

namespace gprof::cli {

// Does what the command line says, tells errors on stderr and returns the exit code of the process.
int RunCommandLine(const std::vector<std::string>& arguments);

// Reads options into `command` and runs it. `--help` prints help instead.
int RunCommand(const CommandInfo& info, const std::vector<std::string>& arguments);

}  // namespace gprof::cli
