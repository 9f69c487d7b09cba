// Help texts, made from the options themselves.
#pragma once

#include <cstdint>
#include <string>

#include "base/terminal.h"
#include "cli/commands/command.h"

namespace gprof::cli {

// Gives `app` the options of `command`, and -h.
void PrepareApp(const CommandInfo& info, Command& command, CLI::App& app);

enum class HelpLength : uint8_t { kShort, kAll };

// Short: the options that the command names first, where it does so.
std::string RenderHelp(const CommandInfo& info, HelpLength length, const Terminal& terminal);

// What becomes of the options of `nsys profile`.
std::string RenderNsysOptions(const Terminal& terminal);

// Commands with a line each: those that matter first, or all.
std::string RenderOverview(HelpLength length, const Terminal& terminal);
void WriteOverview(int descriptor);

}  // namespace gprof::cli
