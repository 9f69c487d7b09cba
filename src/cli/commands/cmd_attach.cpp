// gprof-cli attach: records a program that runs already. docs/commands/attach.md
#include <CLI/CLI.hpp>
#include <charconv>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/options.h"
#include "cli/arguments/program_arguments.h"
#include "cli/commands/commands.h"
#include "cli/recording/leftovers.h"
#include "cli/recording/tell_recorded.h"
#include "cli/talk.h"
#include "gprof/error.h"
#include "launch/attach/attach.h"
#include "launch/attach/attach_target.h"

namespace gprof::cli {
namespace {

class Attach : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("PID", pid_, "process to record")->type_name("PID");
    app.add_option("--name", name_, "the process with this name, or this text in its command line")
        ->type_name("TEXT")
        ->group("Process");
    app.add_option("-d,--duration", duration_, "stop after this long (default: at Ctrl-C, or when the program ends)")
        ->type_name("SEC")
        ->group("Capture range");
    app.add_option("-o,--output", output_, "trace file (default run.trace, or run.2.trace and so on if it exists)")
        ->type_name("FILE")
        ->group("Output");
    app.add_flag("-f,--force-overwrite", may_overwrite_, "overwrite an existing trace file")->group("Output");
    app.add_flag("--experimental", is_experimental_,
                 "needed as long as this command has not been shown to be safe with the drivers that are in use")
        ->group("Process");
    program_.AddFlushOption(app);
    program_.AddTraceOptions(app);
    app.add_flag("-q,--quiet", is_quiet_, "print only errors")->group("Output");
  }

  int Run() override {
    AttachOptions options;
    options.pid = Pid();
    if (!is_experimental_) {
      throw Error(ExitCode::kUsage, "attach is new, and may crash the program",
                  "add --experimental if you can afford that; gprof-cli record and launch start a program instead");
    }
    options.trace = program_.ReadTraceOptions();
    options.trace.is_quiet = is_quiet_;
    if (options.trace.TracesNothing())
      throw Error(ExitCode::kUsage, "-t none cannot record anything", "remove -t none");
    RefuseHooks(options.trace);
    if (!duration_.empty()) options.duration_ns = ReadSeconds("--duration", duration_);
    options.trace.capture.by_session = true;
    options.trace.say = is_quiet_ ? [](const std::string&) {} : [](const std::string& text) { Say(text); };
    RecoverEarlierRuns();
    FindAttachTarget(options.pid);  // before a file is made for it
    OutputFile output = output_.empty() ? OpenDefaultOutput("run.trace", 1, may_overwrite_)
                                        : OpenOutput(output_, options.pid, may_overwrite_);
    AttachResult result;
    try {
      result = RunAttached(options, output);
    } catch (const Error&) {
      output.Remove();
      throw;
    }
    TellWhatCame(output.path, result);
    return CodeOf(ExitCode::kGood);
  }

 private:
  pid_t Pid() const {
    if (pid_.empty() == name_.empty()) {
      throw Error(ExitCode::kUsage, "attach needs a PID or --name", "example: gprof-cli attach 4711 -d 5");
    }
    if (name_.empty()) return ReadPid();
    const std::vector<pid_t> found = FindProcesses(name_);
    if (found.empty()) throw Error(ExitCode::kUsage, "no process is called '" + name_ + "'", "pass its PID");
    std::string pids;
    for (const pid_t pid : found) pids += (pids.empty() ? "" : ", ") + std::to_string(pid);
    if (found.size() > 1)
      throw Error(ExitCode::kUsage, "several processes match '" + name_ + "'", "choose one: " + pids);
    return found.front();
  }

  pid_t ReadPid() const {
    pid_t pid = 0;
    const char* const end = pid_.data() + pid_.size();
    const auto [stop, error] = std::from_chars(pid_.data(), end, pid);
    if (error == std::errc() && stop == end && pid > 0) return pid;
    throw Error(ExitCode::kUsage, "'" + pid_ + "' is not a PID", "example: gprof-cli attach 4711 -d 5");
  }

  // What has to be there when the program begins.
  static void RefuseHooks(const LaunchOptions& trace) {
    if (trace.pytorch.empty() || trace.pytorch == "memory") return;
    throw Error(ExitCode::kUsage, "--pytorch needs a hook that is loaded when Python starts",
                "start the program with gprof-cli launch or record");
  }

  void TellWhatCame(const std::string& path, const AttachResult& result) const {
    if (is_quiet_) return;
    const std::string what = WhatIsIn(path);
    if (what.empty()) return Say("nothing was recorded: the program made no CUDA call meanwhile");
    Say("recorded " + what + (result.has_program_ended ? "; the program has ended" : "; the program goes on"));
  }

  ProgramArguments program_;
  std::string pid_, name_, duration_, output_;
  bool may_overwrite_ = false, is_quiet_ = false, is_experimental_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeAttach() { return std::make_unique<Attach>(); }

}  // namespace gprof::cli
