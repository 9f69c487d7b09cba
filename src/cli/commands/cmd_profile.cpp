// gprof-cli profile: runs a program and records it. docs/commands/profile.md
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "cli/arguments/capture_arguments.h"
#include "cli/arguments/options.h"
#include "cli/arguments/program_arguments.h"
#include "cli/commands/commands.h"
#include "cli/recording/after_run.h"
#include "cli/recording/leftovers.h"
#include "cli/recording/sampled_gpus.h"
#include "cli/recording/series.h"
#include "cli/recording/tell_recorded.h"
#include "cli/talk.h"
#include "gprof/error.h"
#include "launch/run/launch.h"

namespace gprof::cli {
namespace {

class Profile : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    AddOutputOptions(app);
    program_.AddCompressOption(app);
    program_.AddFlushOption(app);
    program_.AddTraceOptions(app);
    capture_.AddOptions(app);
    capture_.AddSignalOption(app);
    capture_.AddWindowOptions(app);
    AddSeriesOptions(app);
    program_.AddProgramOptions(app);
    program_.AddNsysOptions(app);
  }

  int Run() override {
    LaunchOptions options = program_.Read("usage: gprof-cli profile [options] [--] APP [ARGS...]");
    after_.Check();
    options.is_default_output = is_named_->count() == 0;
    if (!options.is_default_output) options.output = output_;
    options.may_overwrite = may_overwrite_;
    options.capture = capture_.Read(options.trace_cuda, options.trace_nvtx);
    RefuseContradictions(options);
    const GpuMetricsOptions& metrics = options.collect.gpu_metrics;
    if (!metrics.devices.empty() && !options.is_quiet) Say(SampledGpusText(metrics));
    if (repeat_ != 0) return RunSeries(options);
    RecoverEarlierRuns();
    const LaunchResult result = RunTraced(options);
    // That something is missing is said even when quiet.
    if (!options.is_quiet || HasLosses(result)) TellRecorded(options, result);
    after_.Run(result.trace_path, options.is_quiet);
    if (!MissedWhatWasAskedFor(options, result)) return result.exit_code;
    Tell(Error(ExitCode::kLaunchFailed,
               "nothing that -t names was recorded: the tracer is loaded by a call of CUDA or NVTX, and '" +
                   options.command.front() + "' made none",
               "put an NVTX range into the program, or leave out -t: CPU samples and context switches are taken from "
               "outside"));
    return result.exit_code != 0 ? result.exit_code : CodeOf(ExitCode::kLaunchFailed);
  }

 private:
  void AddSeriesOptions(CLI::App& app) {
    constexpr char kGroup[] = "Repeated runs";
    app.add_option("--repeat", repeat_,
                   "run APP this many times; writes one trace per run (run-1.trace and so on, %n is the number) and "
                   "run.runs.json, which lists them for check and diff")
        ->type_name("N")
        ->check(WholeNumber(1, 10'000))
        ->group(kGroup);
    app.add_option("--warmup", series_.warm_ups, "warm-up runs before these, not measured")
        ->type_name("K")
        ->check(WholeNumber(0, 10'000))
        ->group(kGroup);
    app.add_flag("--keep-warmup", series_.keeps_warm_ups, "keep the traces of the warm-up runs")->group(kGroup);
    app.add_flag("--keep-going", series_.keeps_going, "continue after a failed run")->group(kGroup);
  }

  void RefuseContradictions(const LaunchOptions& options) const {
    const auto refuse = [](const std::string& what, const std::string& hint) {
      throw Error(ExitCode::kUsage, what, hint);
    };
    if (repeat_ == 0) {
      const char* const lonely = series_.warm_ups != 0    ? "--warmup"
                                 : series_.keeps_warm_ups ? "--keep-warmup"
                                 : series_.keeps_going    ? "--keep-going"
                                                          : nullptr;
      if (lonely != nullptr) refuse(std::string(lonely) + " requires --repeat", "add --repeat N");
      return;
    }
    if (series_.keeps_warm_ups && series_.warm_ups == 0) {
      refuse("--keep-warmup needs warm-up runs", "add --warmup K, or remove --keep-warmup");
    }
    if (after_.IsWanted()) {
      refuse("--stats and --export cannot be combined with --repeat",
             "run gprof-cli stats and export on each trace instead");
    }
    if (options.TracesNothing()) {
      refuse("--repeat with -t none records nothing to compare", "remove one of them");
    }
    if (options.capture.toggle_signal != 0) {
      refuse("--repeat and --capture-signal cannot be combined: manual captures differ from run to run",
             "capture the same part of each run with -c, --sample-steps, or -y and -d");
    }
  }

  int RunSeries(const LaunchOptions& options) {
    series_.runs = repeat_;
    Series series({options.is_default_output ? ProgramOfDefaultOutput(options, series_) : ProgramOfOutput(options)},
                  series_);
    const SeriesResult result = series.Run();
    if (!options.is_quiet) TellSeries(options, series.file(0), result);
    return result.exit_code != 0 || result.stop_signal == 0 ? result.exit_code : 128 + result.stop_signal;
  }

  void AddOutputOptions(CLI::App& app) {
    is_named_ = app.add_option("-o,--output", output_,
                               "trace file (default run.trace, or run.2.trace and so on if it exists). %p: "
                               "PID of APP, %h: host name, %n: first free number, %q{NAME}: environment "
                               "variable, %%: percent sign")
                    ->type_name("FILE")
                    ->group("Output");
    app.add_flag("-f,--force-overwrite", may_overwrite_, "overwrite an existing trace file")->group("Output");
    after_.AddOptions(app);
  }

  ProgramArguments program_;
  CaptureArguments capture_;
  AfterRun after_;
  const CLI::Option* is_named_ = nullptr;  // -o, as -o '' is a mistake and no default
  std::string output_;
  bool may_overwrite_ = false;
  uint32_t repeat_ = 0;  // 0: one run, and no run file
  SeriesOptions series_;
};

}  // namespace

std::unique_ptr<Command> MakeProfile() { return std::make_unique<Profile>(); }

}  // namespace gprof::cli
