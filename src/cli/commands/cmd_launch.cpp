// gprof-cli launch: runs a program with the tracer idle, for captures by hand. docs/commands/launch.md
#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

#include "base/text.h"
#include "cli/arguments/program_arguments.h"
#include "cli/commands/commands.h"
#include "cli/recording/leftovers.h"
#include "cli/recording/session_protocol.h"
#include "cli/recording/tell_recorded.h"
#include "cli/talk.h"
#include "gprof/error.h"
#include "launch/run/launch.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kLongestName = 64;

bool IsNameCharacter(char c) {
  return c == '_' || c == '-' || c == '.' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool IsTaken(const std::string& name) {
  const std::vector<FoundRun> sessions = FindSessions(RunFolderBases());
  return std::any_of(sessions.begin(), sessions.end(), [&](const FoundRun& one) { return one.session == name; });
}

void CheckName(const std::string& name) {
  const bool is_good = name.size() <= kLongestName && name.front() != '.' && name.front() != '-' &&
                       std::all_of(name.begin(), name.end(), IsNameCharacter);
  if (!is_good) {
    throw Error(ExitCode::kUsage, "'" + name + "' is not a valid session name",
                "use up to 64 letters, digits, '_', '-' and '.'");
  }
  if (IsTaken(name)) {
    throw Error(ExitCode::kUsage, "the session '" + name + "' already exists",
                "choose another name, or end that session with gprof-cli shutdown --session " + name);
  }
}

// The name of the program, with a number where there are several.
std::string NameFor(const std::string& program) {
  std::string name = program.substr(program.rfind('/') + 1).substr(0, kLongestName / 2);
  for (char& c : name) {
    if (!IsNameCharacter(c)) c = '_';
  }
  if (name.empty() || name.front() == '.' || name.front() == '-') name = "session" + name;
  std::string free = name;
  for (int number = 2; IsTaken(free); ++number) free = name + "-" + std::to_string(number);
  return free;
}

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
    if (!name_.empty()) CheckName(name_);
    options.capture.by_session = true;
    options.session =
        SessionOptions{name_.empty() ? NameFor(app) : name_,
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
