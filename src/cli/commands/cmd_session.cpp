// gprof-cli start, stop, cancel, status, shutdown: captures of a program that `launch` runs. docs/commands/start.md
// etc.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "base/table.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/capture_arguments.h"
#include "cli/arguments/options.h"
#include "cli/arguments/program_arguments.h"
#include "cli/commands/commands.h"
#include "cli/recording/session_protocol.h"
#include "cli/recording/tell_recorded.h"
#include "cli/talk.h"
#include "gprof/error.h"
#include "launch/run/trace_output.h"

namespace gprof::cli {
namespace {

class SessionCommand : public Command {
 protected:
  void AddSessionOption(CLI::App& app) {
    app.add_option("--session", name_, "session name, if there are several")->type_name("NAME")->group("Session");
  }

  std::string name_;
};

std::string PathIn(const Json& answer) { return PathOfText(answer.value("output", "")); }

// As one would type it here.
std::string Shortened(const std::string& path) {
  std::error_code failed;
  const std::string here = std::filesystem::current_path(failed).string() + "/";
  return !failed && path.starts_with(here) ? path.substr(here.size()) : path;
}

std::string Processes(const Json& answer, const char* key) {
  return CountOf(answer.value(key, int64_t{0}), "process", "processes");
}

// Something is missing in what the answer is about.
void WarnOfSlowOnes(const Json& answer, const std::string& what) {
  const int64_t living = answer.value("processes", int64_t{0}), done = answer.value("processes_done", int64_t{0});
  if (done >= living) return;
  Warn(std::to_string(living - done) + " of " + Processes(answer, "processes") + " " + what +
       "; is a process stopped, or busy without making CUDA calls?");
}

class Start : public SessionCommand {
 public:
  void AddOptions(CLI::App& app) override {
    AddSessionOption(app);
    app.add_option("-o,--output", output_,
                   "trace file (default run.trace, or run.2.trace and so on if it exists); patterns as in "
                   "gprof-cli profile")
        ->type_name("FILE")
        ->group("Output");
    app.add_flag("-f,--force-overwrite", may_overwrite_, "overwrite an existing trace file")->group("Output");
  }

  int Run() override {
    const FoundRun session = ChooseSession(name_);
    const Json before = AskSession(session, {{"do", "status"}});
    // Asked first, so that a capture in progress does not cost the file that -f would replace.
    if (before.value("state", "") != "idle") {
      throw Error(ExitCode::kUsage, "already recording to '" + PathIn(before) + "'", "gprof-cli stop ends the capture");
    }
    OutputFile file = Open(before);
    Json answer;
    try {
      answer = AskSession(session, {{"do", "start"},
                                    {"output", TextOfPath(file.absolute_path)},
                                    {"device", file.device},
                                    {"inode", file.inode},
                                    {"run", file.run}});
    } catch (const Error&) {
      file.Remove();
      throw;
    }
    WarnOfSlowOnes(answer, "have not started recording yet");
    const bool has_any = answer.value("processes", int64_t{0}) != 0;
    Say("recording to '" + file.path + "'" +
        (has_any ? ": " + Processes(answer, "processes_recording") : ", starts when a process uses CUDA or NVTX") +
        ". Next: gprof-cli stop");
    return CodeOf(ExitCode::kGood);
  }

 private:
  OutputFile Open(const Json& status) const {
    const auto number = static_cast<unsigned>(status.value("captures", int64_t{0}) + 1);
    try {
      if (output_.empty()) return OpenDefaultOutput("run.trace", number, may_overwrite_);
      return OpenOutput(output_, status.value("program_pid", 0), may_overwrite_);
    } catch (const Error& error) {
      throw Error(ExitCode::kUsage, error.what(), error.hint());
    }
  }

  std::string output_;
  bool may_overwrite_ = false;
};

class Stop : public SessionCommand {
 public:
  void AddOptions(CLI::App& app) override { AddSessionOption(app); }

  int Run() override {
    const Json answer = AskSession(ChooseSession(name_), {{"do", "stop"}});
    WarnOfSlowOnes(answer, "have not finished writing yet");
    const std::string path = Shortened(PathIn(answer)), what = WhatIsIn(path);
    Say(what.empty() ? "nothing was recorded: the tracer saw no CUDA or NVTX call during the capture"
                     : "recorded " + what);
    return CodeOf(ExitCode::kGood);
  }
};

class Cancel : public SessionCommand {
 public:
  void AddOptions(CLI::App& app) override { AddSessionOption(app); }

  int Run() override {
    const Json answer = AskSession(ChooseSession(name_), {{"do", "cancel"}});
    Say("cancelled; removed '" + Shortened(PathIn(answer)) + "'");
    return CodeOf(ExitCode::kGood);
  }
};

class Shutdown : public SessionCommand {
 public:
  void AddOptions(CLI::App& app) override {
    AddSessionOption(app);
    app.add_option(
           "--kill", kill_,
           "signal to send to the program: sigterm (default), sigkill, a number, or none to keep it running untraced")
        ->type_name("none|sigterm|sigkill")
        ->group("Session");
  }

  int Run() override {
    const int signal = ReadSignal("--kill", kill_);
    const FoundRun session = ChooseSession(name_);
    const Json before = AskSession(session, {{"do", "status"}});
    const Json answer = AskSession(session, {{"do", "shutdown"}, {"signal", signal}});
    const bool was_recording = before.value("state", "") == "recording";
    const std::string what = was_recording ? WhatIsIn(Shortened(PathIn(answer))) : std::string();
    if (!what.empty()) Say("recorded " + what);
    Say("session '" + session.session + "' ended; " +
        (signal == 0 ? "the program keeps running" : "sent the program " + SignalName(signal)));
    return CodeOf(ExitCode::kGood);
  }

 private:
  std::string kill_ = "sigterm";
};

// A session that does not answer is a fact of its own.
Json StatusOf(const FoundRun& session) {
  try {
    Json answer = AskSession(session, {{"do", "status"}});
    answer.erase("ok");
    for (const char* const key : {"program", "output"}) {
      if (answer.contains(key)) answer[key] = PathOfText(answer.value(key, ""));
    }
    answer["session"] = session.session;
    answer["launcher_pid"] = session.launcher_pid;
    return answer;
  } catch (const Error&) {
    return {{"session", session.session}, {"state", "silent"}, {"launcher_pid", session.launcher_pid}};
  }
}

class Status : public SessionCommand {
 public:
  void AddOptions(CLI::App& app) override {
    AddSessionOption(app);
    app.add_option("--format", format_, "text (default) or json")
        ->type_name("text|json")
        ->check(OneOf({"text", "json"}))
        ->group("Output");
  }

  int Run() override {
    std::vector<FoundRun> sessions;
    if (name_.empty()) {
      sessions = FindSessions(RunFolderBases());
    } else {
      sessions.push_back(ChooseSession(name_));
    }
    Json list = Json::array();
    for (const FoundRun& session : sessions) list.push_back(StatusOf(session));
    Json recorders = Json::array();
    if (name_.empty()) {
      for (const FoundRun& recorder : FindRecorders(RunFolderBases())) recorders.push_back(StatusOf(recorder));
    }
    const Json json = {{"schema", "gprof.sessions/1"}, {"sessions", list}, {"recorders", recorders}};
    WriteResult(format_ == "json" ? ToText(json) : Text(list, recorders));
    return CodeOf(ExitCode::kGood);
  }

 private:
  static std::string Text(const Json& sessions, const Json& recorders) {
    const bool has_both = !sessions.empty() && !recorders.empty();
    if (sessions.empty() && recorders.empty()) {
      return "No sessions and no recorders. Start one with gprof-cli launch APP, or gprof-cli record APP.\n";
    }
    return (sessions.empty() ? "" : SessionText(sessions)) + (has_both ? "\n" : "") +
           (recorders.empty() ? "" : RecorderText(recorders));
  }

  static std::string RecorderText(const Json& list) {
    const Terminal terminal = DetectTerminal(STDOUT_FILENO);
    TextTable table{
        {{"Recorder"}, {"PID", true}, {"Keeps", true}, {"Memory", true}, {"Limit", true}, {"Snapshots", true}}, {}};
    for (const Json& one : list) {
      table.rows.push_back({one.value("session", ""), std::to_string(one.value("program_pid", 0)),
                            FormatNs(one.value("keep_ns", 0.0)), FormatBytes(one.value("memory_bytes", 0.0)),
                            FormatBytes(one.value("memory_limit_bytes", 0.0)),
                            std::to_string(one.value("snapshots", 0))});
    }
    return RenderTable(table, terminal.columns, Style(terminal.has_color), 0);
  }

  static std::string SessionText(const Json& list) {
    const Terminal terminal = DetectTerminal(STDOUT_FILENO);
    TextTable table{{{"Session"},
                     {"PID", true},
                     {"State"},
                     {"Duration", true},
                     {"Processes", true},
                     {"Captures", true, true},
                     {"Trace", false, true}},
                    {}};
    for (const Json& one : list) {
      const bool has_trace = one.value("state", "") != "idle";
      table.rows.push_back({one.value("session", ""), std::to_string(one.value("program_pid", 0)),
                            one.value("state", ""), FormatNs(one.value("since_ns", 0.0)),
                            std::to_string(one.value("processes", 0)), std::to_string(one.value("captures", 0)),
                            has_trace ? one.value("output", "") : std::string("-")});
    }
    return RenderTable(table, terminal.columns, Style(terminal.has_color), 0);
  }

  std::string format_ = "text";
};

}  // namespace

std::unique_ptr<Command> MakeStart() { return std::make_unique<Start>(); }
std::unique_ptr<Command> MakeStop() { return std::make_unique<Stop>(); }
std::unique_ptr<Command> MakeCancel() { return std::make_unique<Cancel>(); }
std::unique_ptr<Command> MakeStatus() { return std::make_unique<Status>(); }
std::unique_ptr<Command> MakeShutdown() { return std::make_unique<Shutdown>(); }

}  // namespace gprof::cli
