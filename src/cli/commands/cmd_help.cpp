// gprof-cli help, version: docs/commands/help.md, version.md
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <string>

#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/entry/help.h"
#include "cli/pager.h"
#include "cli/talk.h"
#include "gprof/version.h"

namespace gprof::cli {
namespace {

class Help : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("COMMAND", name_, "command to explain, or nsys for the nsys options");
    app.add_flag("--all", wants_all_, "all commands, or all options of the command");
    AddPagerOption(app);
  }

  int Run() override {
    const Terminal terminal = DetectTerminal(STDOUT_FILENO);
    const HelpLength length = wants_all_ ? HelpLength::kAll : HelpLength::kShort;
    if (name_.empty()) {
      WritePaged(RenderOverview(length, terminal));
      return CodeOf(ExitCode::kGood);
    }
    if (name_ == "nsys") {
      WritePaged(RenderNsysOptions(terminal));
      return CodeOf(ExitCode::kGood);
    }
    const CommandInfo* const info = FindCommand(name_);
    if (info == nullptr) throw Error(ExitCode::kUsage, "'" + name_ + "' is not a command", HintFor(name_));
    WritePaged(RenderHelp(*info, length, terminal));
    return CodeOf(ExitCode::kGood);
  }

 private:
  static std::string HintFor(const std::string& name) {
    const std::string nearest(NearestCommand(name));
    return nearest.empty() ? "run gprof-cli help for a list of commands" : "did you mean " + nearest + "?";
  }

  std::string name_;
  bool wants_all_ = false;
};

class VersionCommand : public Command {
 public:
  void AddOptions(CLI::App&) override {}
  int Run() override {
    WriteResult(std::string("gprof-cli ") + kVersion + "\n");
    return CodeOf(ExitCode::kGood);
  }
};

}  // namespace

std::unique_ptr<Command> MakeHelp() { return std::make_unique<Help>(); }
std::unique_ptr<Command> MakeVersion() { return std::make_unique<VersionCommand>(); }

}  // namespace gprof::cli
