// The list of commands. A new one is a file cmd_<name>.cpp, a line in commands.h, an entry here and a page in
// docs/commands.
#include "cli/commands.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/command.h"

namespace gprof::cli {
namespace {

constexpr std::array kCommands = {
    CommandInfo{"profile", "run a program and record what it does on the GPU", "[options] [--] APP [ARGS...]",
                "gprof-cli profile ./app --size 100\n"
                "gprof-cli profile -o 'run-%h-%p.trace' python train.py\n"
                "gprof-cli profile -t nvtx -f -o cpu.trace ./app",
                true, MakeProfile},
    CommandInfo{"help", "explain a command", "[COMMAND]", "gprof-cli help profile", false, MakeHelp},
    CommandInfo{"version", "print the version", "", "", false, MakeVersion},
};

}  // namespace

std::span<const CommandInfo> AllCommands() { return kCommands; }

const CommandInfo* FindCommand(std::string_view name) {
  const auto found = std::find_if(kCommands.begin(), kCommands.end(), [name](const auto& c) { return c.name == name; });
  return found == kCommands.end() ? nullptr : &*found;
}

std::string_view NearestCommand(std::string_view word) {
  std::vector<std::string> names;
  for (const CommandInfo& command : kCommands) names.emplace_back(command.name);
  const std::string_view nearest = Nearest(word, names);
  // Into the list, which outlives `names`.
  return nearest.empty() ? nearest : FindCommand(nearest)->name;
}

}  // namespace gprof::cli
