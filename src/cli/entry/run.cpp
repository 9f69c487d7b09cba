#include "cli/entry/run.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <new>

#include "base/terminal.h"
#include "base/text.h"
#include "cli/arguments/options.h"
#include "cli/entry/help.h"
#include "cli/pager.h"
#include "cli/recording/leftovers.h"
#include "cli/talk.h"
#include "import/nsight/nsight_report.h"

namespace gprof::cli {
namespace {

[[noreturn]] void FailUsage(const std::string& what, const std::string& hint) {
  throw Error(ExitCode::kUsage, what, hint);
}

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string SeeHelp(const CommandInfo& info) { return "see gprof-cli help " + std::string(info.name); }

[[noreturn]] void FailOnExtra(const CommandInfo& info, const CLI::App& app, const std::string& extra) {
  if (!extra.starts_with('-') || extra == "-") {
    FailUsage("'" + extra + "': unexpected argument for " + std::string(info.name), SeeHelp(info));
  }
  const std::string option = extra.substr(0, extra.find('='));
  FailUsage(std::string(info.name) + " has no option " + option, NearestHint(option, OptionNames(app), SeeHelp(info)));
}

// `--init -o budget.json` has forgotten a name: without this, a file of the name "-o" would be written.
void RefuseOptionsAsFiles(const CommandInfo& info, const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type != "FILE" && type != "FOLDER") continue;
    for (const std::string& name : option->results()) {
      if (name.size() > 1 && name.starts_with('-')) {
        FailUsage("--" + option->get_lnames().front() + " needs the name of a " + (type == "FILE" ? "file" : "folder") +
                      ", not " + name,
                  "a name that begins with a dash is ./" + name + "; " + SeeHelp(info));
      }
    }
  }
}

void Parse(const CommandInfo& info, CLI::App& app, std::vector<std::string> arguments) {
  arguments = WithFlagValuesJoined(app, arguments, info.runs_program);
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    throw;
  } catch (const CLI::CallForAllHelp&) {
    throw;
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> extras = app.remaining();
    FailOnExtra(info, app, extras.empty() ? "" : extras.front());
  } catch (const CLI::RequiredError& error) {
    FailUsage(error.what(), "usage: gprof-cli " + std::string(info.name) + " " + std::string(info.synopsis));
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string what = error.what();
    FailUsage(what.substr(0, what.find(':')) + " needs a value", SeeHelp(info));
  } catch (const CLI::ConversionError& error) {
    // "Could not convert: --interval = often"
    const std::string what = error.what();
    const std::size_t option = what.find("--"), equals = what.find(" = ");
    if (option == std::string::npos || equals == std::string::npos) FailUsage(what, SeeHelp(info));
    FailUsage(what.substr(option, equals - option) + " needs a number, not '" + what.substr(equals + 3) + "'",
              SeeHelp(info));
  } catch (const CLI::ParseError& error) {
    // CLI11 puts a colon between the option and what we say of it.
    std::string what = error.what();
    if (const std::size_t at = what.find(": must be "); at != std::string::npos) what.erase(at, 1);
    FailUsage(what, SeeHelp(info));
  }
  RefuseOptionsAsFiles(info, app);
  // CLI11 lets an unknown option pass as the start of the program's command line.
  if (!info.runs_program) return;
  const std::vector<std::string> rest = app.remaining();
  if (!rest.empty() && rest.front().size() > 1 && rest.front().front() == '-' && rest.front() != "--") {
    FailOnExtra(info, app, rest.front());
  }
}

int ShowHelp(const CommandInfo& info, HelpLength length) {
  WritePaged(RenderHelp(info, length, DetectTerminal(STDOUT_FILENO)));
  return CodeOf(ExitCode::kGood);
}

// `trace info` is `info`, and so on.
bool IsOfTrace(std::string_view word) { return word == "info" || word == "dump" || word == "symbolize"; }

int Dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    WriteOverview(STDERR_FILENO);
    return CodeOf(ExitCode::kUsage);
  }
  const std::string& first = arguments.front();
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (first == "-h" || first == "--help") return RunCommand(*FindCommand("help"), rest);
  if (first == "--help-all") return RunCommand(*FindCommand("help"), {"--all"});
  if (first == "trace" && !rest.empty() && IsOfTrace(rest.front())) return Dispatch(rest);
  if (first == "-V" || first == "--version") return RunCommand(*FindCommand("version"), rest);
  if (const CommandInfo* info = FindCommand(first)) return RunCommand(*info, rest);
  if (first.starts_with('-')) FailUsage("unknown option " + first, "run gprof-cli help for a list of commands");

  if (first == "recipe") {
    FailUsage("'recipe' is not a command",
              "recipes of nsys: gprof-cli stats -r NAME TRACE, or for many ranks gprof-cli ranks --recipe NAME FOLDER");
  }
  const std::string nearest(NearestCommand(first));
  std::error_code ignored;
  if (nearest.empty() && std::filesystem::exists(first, ignored)) {
    FailUsage("'" + first + "' is not a command",
              "to show a trace: gprof-cli report " + first + "; to run a program: gprof-cli profile " + first);
  }
  if (nearest.empty() && (!rest.empty() || first.find('/') != std::string::npos)) {
    FailUsage("'" + first + "' is not a command",
              "to record a program: gprof-cli profile " + first + "; for the commands: gprof-cli help");
  }
  FailUsage("'" + first + "' is not a command",
            nearest.empty() ? "run gprof-cli help for a list of commands" : "did you mean " + nearest + "?");
}

// The code for an Error of a command line that starts with `name`.
int CodeFor(ExitCode code, const std::string& name) {
  const CommandInfo* const info = FindCommand(name);
  const bool says_itself = code == ExitCode::kNotExecutable || code == ExitCode::kNotFound;
  if (info != nullptr && info->has_code_of_program && !says_itself) return CodeOf(ExitCode::kLaunchFailed);
  return CodeOf(code);
}

Error NoMemory() {
  return Error(
      ExitCode::kUnreadable, "not enough memory",
      "use a machine with more memory, or record a shorter range (profile --delay, --duration); of many ranks, "
      "gprof-cli ranks reads one trace at a time");
}

}  // namespace

int RunCommand(const CommandInfo& info, const std::vector<std::string>& arguments) {
  const std::unique_ptr<Command> command = info.make();
  CLI::App app;
  PrepareApp(info, *command, app);
  try {
    Parse(info, app, arguments);
  } catch (const CLI::CallForHelp&) {
    return ShowHelp(info, HelpLength::kShort);
  } catch (const CLI::CallForAllHelp&) {
    return ShowHelp(info, HelpLength::kAll);
  }
  return command->Run();
}

int RunCommandLine(const std::vector<std::string>& arguments) {
  const std::string name = arguments.empty() ? "" : arguments.front();
  AllowNsysExport(Say);
  try {
    return Dispatch(arguments);
  } catch (const Error& error) {
    Error told = error;
    for (const std::string& argument : arguments) told = Explained(told, argument);
    Tell(told);
    return CodeFor(error.code(), name);
  } catch (const std::bad_alloc&) {
    Tell(NoMemory());
    return CodeFor(ExitCode::kUnreadable, name);
  } catch (const std::filesystem::filesystem_error& error) {  // a loop of links, a folder that went away
    Tell(Error(ExitCode::kUnreadable, "cannot use '" + error.path1().string() + "': " + error.code().message()));
    return CodeFor(ExitCode::kUnreadable, name);
  } catch (const std::exception& error) {
    Tell(Error(ExitCode::kBug, std::string("internal error: ") + error.what(),
               "this is a bug in gprof-cli; please report it with the command line and, if possible, the trace"));
    return CodeFor(ExitCode::kBug, name);
  }
}

}  // namespace gprof::cli
