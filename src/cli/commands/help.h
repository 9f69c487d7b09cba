// Help texts, made from the options themselves.
#pragma once

#include <string>

#include "base/terminal.h"
#include "cli/commands/command.h"

namespace gprof::cli {

// Gives `app` the options of `command`, and -h.
void PrepareApp(const CommandInfo& info, Command& command, CLI::App& app);

std::string RenderHelp(const CommandInfo& info, const Terminal& terminal);

// What becomes of the options of `nsys profile`.
std::string RenderNsysOptions(const Terminal& terminal);

// All commands with a line each.
std::string RenderOverview(const Terminal& terminal);
void WriteOverview(int descriptor);

}  // namespace gprof::cli
