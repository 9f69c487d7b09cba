// A subcommand: options bound to members, and a Run() that is short. The list of all is commands.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "gprof/error.h"

namespace CLI {
class App;
}

namespace gprof::cli {

class Command {
 public:
  virtual ~Command() = default;
  virtual void AddOptions(CLI::App& app) = 0;
  // The exit code. What goes wrong is thrown as Error.
  virtual int Run() = 0;
};

// What commands are for, in the order of the overview.
enum class CommandGroup : uint8_t { kRecord, kRead, kCompare, kMany, kMore };

struct CommandInfo {
  std::string_view name;
  std::string_view summary;   // one line for the list of commands
  std::string_view synopsis;  // what follows "gprof-cli name"
  std::string_view examples;  // lines for the end of the help text
  bool runs_program = false;  // what follows the first positional belongs to a program
  std::unique_ptr<Command> (*make)();
  bool has_code_of_program = false;          // its exit code is that of the program, so our failures are 125
  CommandGroup group = CommandGroup::kMore;  // those of kMore are shown with --help-all alone
  // The options that its help shows, as in "-o -t --stats"; --help-all has the rest. Empty: all of them.
  std::string_view main_options{};
};

// In the order in which help lists them.
std::span<const CommandInfo> AllCommands();
const CommandInfo* FindCommand(std::string_view name);
// What `word` is probably a slip of, or empty.
std::string_view NearestCommand(std::string_view word);

inline int CodeOf(ExitCode code) { return static_cast<int>(code); }

}  // namespace gprof::cli
