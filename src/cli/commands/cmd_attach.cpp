// gprof-cli attach, detach: record a program that runs already. docs/commands/attach.md
#include <CLI/CLI.hpp>
#include <string>

#include "base/units.h"
#include "cli/arguments/attach_arguments.h"
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
    app.add_flag("--children", with_children_,
                 "also all processes that it has started or will start, as far as they use CUDA, in one trace")
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
    options.pid = ChooseProcess("attach", pid_, name_);
    options.with_children = with_children_;
    options.trace = program_.ReadTraceOptions();
    options.trace.is_quiet = is_quiet_;
    PrepareForAttach(is_experimental_, &options.trace);
    if (!duration_.empty()) options.duration_ns = ReadSeconds("--duration", duration_);
    options.trace.say = is_quiet_ ? [](const std::string&) {} : [](const std::string& text) { Say(text); };
    RecoverEarlierRuns();
    // Before a file is made for it.
    if (with_children_) {
      CheckProcess(options.pid);
    } else {
      FindAttachTarget(options.pid);
    }
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
  void TellWhatCame(const std::string& path, const AttachResult& result) const {
    if (is_quiet_) return;
    const std::string what = WhatIsIn(path);
    if (what.empty() && result.processes == 0) return Say("nothing was recorded: no process of the tree used CUDA");
    if (what.empty()) return Say("nothing was recorded: the program made no CUDA call meanwhile");
    Say("recorded " + what + (result.has_program_ended ? "; the program has ended" : "; the program goes on"));
  }

  ProgramArguments program_;
  std::string pid_, name_, duration_, output_;
  bool may_overwrite_ = false, is_quiet_ = false, is_experimental_ = false, with_children_ = false;
};

class EndAttach : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("PID", pid_, "process that is being recorded")->type_name("PID");
  }

  int Run() override {
    const pid_t pid = ChooseProcess("detach", pid_, "");
    if (Detach(pid)) return CodeOf(ExitCode::kGood);
    throw Error(ExitCode::kUsage, "process " + pid_ + " is not being recorded by attach or record --attach",
                "gprof-cli status lists what is being recorded");
  }

 private:
  std::string pid_;
};

}  // namespace

std::unique_ptr<Command> MakeAttach() { return std::make_unique<Attach>(); }
std::unique_ptr<Command> MakeDetach() { return std::make_unique<EndAttach>(); }

}  // namespace gprof::cli
