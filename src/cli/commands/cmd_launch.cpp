// gprof-cli launch: runs a program with the tracer idle, for captures by hand. docs/commands/launch.md
#include <CLI/CLI.hpp>
#include <string>

#include "base/text.h"
#include "cli/arguments/program_arguments.h"
#include "cli/commands/commands.h"
#include "cli/recording/leftovers.h"
#include "cli/recording/session_names.h"
#include "cli/recording/session_protocol.h"
#include "cli/recording/tell_recorded.h"
#include "cli/talk.h"
#include "gprof/error.h"
#include "launch/run/launch.h"

namespace gprof::cli {
namespace {

class Launch : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("--session,--session-new", name_, "session name (default: name of APP)")
        ->type_name("NAME")
        ->group("Session");
    program_.AddCompressOption(app);
    program_.AddFlushOption(app);
    program_.AddTraceOptions(app);
    program_.AddProgramOptions(app);
    program_.AddNsysOptions(app);
  }

  int Run() override {
    LaunchOptions options = program_.Read("usage: gprof-cli launch [options] [--] APP [ARGS...]");
    if (options.TracesNothing()) {
      throw Error(ExitCode::kUsage, "a session with -t none cannot record anything", "remove -t none");
    }
    RecoverEarlierRuns();
    const std::string app = options.command.front();
    if (!name_.empty()) CheckSessionName(name_);
    options.capture.by_session = true;
    options.session =
        SessionOptions{name_.empty() ? FreeSessionName(app) : name_,
                       [app](Session& session, const std::string& line) { return AnswerSession(session, app, line); }};
    const LaunchResult result = RunTraced(options);
    const bool ended_a_capture = !result.trace_path.empty();
    if (!options.is_quiet && ended_a_capture) TellRecorded(options, result);
    if (!options.is_quiet && !ended_a_capture && result.signal != 0) {
      Say("'" + app + "' " + EndingText(0, result.signal));
    }
    return result.exit_code;
  }

 private:
  ProgramArguments program_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Command> MakeLaunch() { return std::make_unique<Launch>(); }

}  // namespace gprof::cli
