// gprof-cli profile: runs a program and records it. docs/commands/profile.md
#include <CLI/CLI.hpp>
#include <string>

#include "cli/capture_arguments.h"
#include "cli/commands.h"
#include "cli/leftovers.h"
#include "cli/program_arguments.h"
#include "cli/tell_recorded.h"
#include "launch/launch.h"

namespace gprof::cli {
namespace {

class Profile : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    AddOutputOptions(app);
    program_.AddFlushOption(app);
    program_.AddTraceOptions(app);
    capture_.AddOptions(app);
    program_.AddProgramOptions(app);
  }

  int Run() override {
    LaunchOptions options = program_.Read("usage: gprof-cli profile [options] [--] APP [ARGS...]");
    options.output = output_;
    options.may_overwrite = may_overwrite_;
    options.capture = capture_.Read(options.trace_cuda, options.trace_nvtx);
    RecoverEarlierRuns();
    const LaunchResult result = RunTraced(options);
    if (!options.is_quiet) TellRecorded(options, result);
    return result.exit_code;
  }

 private:
  void AddOutputOptions(CLI::App& app) {
    app.add_option("-o,--output", output_,
                   "trace file, run.trace by default; %p is the pid of APP, %h the host, %n the first free number, "
                   "%q{NAME} an environment variable, %% a percent sign")
        ->type_name("FILE")
        ->group("Output");
    app.add_flag("-f,--force-overwrite", may_overwrite_, "replace the trace file if it exists")->group("Output");
  }

  ProgramArguments program_;
  CaptureArguments capture_;
  std::string output_ = "run.trace";
  bool may_overwrite_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeProfile() {
  return std::make_unique<Profile>();
}

}  // namespace gprof::cli
