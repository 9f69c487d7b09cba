// gprof-cli record, snapshot: keep the last seconds of a program, and write them down. docs/commands/record.md
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/attach_arguments.h"
#include "cli/arguments/capture_arguments.h"
#include "cli/arguments/options.h"
#include "cli/arguments/program_arguments.h"
#include "cli/commands/commands.h"
#include "cli/live/recorder_protocol.h"
#include "cli/recording/leftovers.h"
#include "cli/recording/session_names.h"
#include "cli/recording/session_protocol.h"
#include "cli/talk.h"
#include "gprof/error.h"
#include "launch/attach/attach.h"
#include "launch/attach/attach_target.h"
#include "launch/run/find_program.h"
#include "launch/run/launch.h"
#include "launch/run/trace_output.h"
#include "recorder/recorder.h"
#include "recorder/supervise.h"

namespace gprof::cli {
namespace {

// "kernels were recorded in 41 windows, 4.1% of the run; ranges and waits for 95.2% more (base level)"
std::string WindowWords(const SeenWindows::Sums& sums) {
  const auto share = [&](uint64_t ns) {
    return FormatPercent(100 * static_cast<double>(ns) / static_cast<double>(std::max<uint64_t>(sums.all_ns, 1)));
  };
  std::string words = "kernels were recorded in " + CountOf(static_cast<int64_t>(sums.windows), "window") + ", " +
                      share(sums.window_ns) + " of the run";
  return words + (sums.base_ns == 0 ? "; nothing is known of the rest"
                                    : "; ranges and waits for " + share(sums.base_ns) + " more (base level)");
}

constexpr char kDefaultOutput[] = "snapshot.trace";
constexpr char kRecorder[] = "Recorder", kTriggers[] = "Snapshots";

// 256M, 1G, 64k, 1000000.
uint64_t ReadBytes(const std::string& option, const std::string& text) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const std::string unit(stop, end);
  const int shift = unit.empty() || unit == "B"                    ? 0
                    : unit == "k" || unit == "K" || unit == "kB"   ? 10
                    : unit == "M" || unit == "MB" || unit == "MiB" ? 20
                    : unit == "G" || unit == "GB" || unit == "GiB" ? 30
                                                                   : -1;
  constexpr uint64_t kMost = uint64_t{1} << 50;
  if (error == std::errc() && shift >= 0 && value != 0 && value <= kMost >> shift) return value << shift;
  throw Error(ExitCode::kUsage, option + " needs a size, not '" + text + "'", "example: " + option + " 256M");
}

// "train_step" or "train_step:2.5".
void ReadStep(const std::string& text, WatchOptions* watch) {
  const std::size_t colon = text.rfind(':');
  watch->step = text.substr(0, colon);
  if (colon == std::string::npos) return;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, watch->slow_factor);
  if (error == std::errc() && stop == end && watch->slow_factor >= 1.1 && watch->slow_factor <= 1e6) return;
  watch->step = text;  // the colon is part of its name
  watch->slow_factor = WatchOptions().slow_factor;
}

class Record : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    AddRecorderOptions(app);
    AddTriggerOptions(app);
    program_.AddFlushOption(app);
    program_.AddTraceOptions(app);
    program_.AddProgramOptions(app);
    program_.AddNsysOptions(app);
  }

  int Run() override {
    if (!attach_.empty()) return RecordRunning();
    const std::optional<RecorderEnd> end = is_supervised_ ? WatchRecorder() : std::nullopt;
    return end ? AfterRecorder(*end) : RecordProgram();
  }

 private:
  int RecordProgram() {
    LaunchOptions options = program_.Read("usage: gprof-cli record [options] [--] APP [ARGS...]");
    if (options.TracesNothing()) throw Error(ExitCode::kUsage, "-t none records nothing to keep", "remove -t none");
    RecorderSettings settings = ReadSettings(options);
    if (!budget_.empty()) ReadBudget(&options);
    options.collect.thread_states = true;
    RecoverEarlierRuns();
    const std::string app = options.command.front();
    if (!name_.empty()) CheckSessionName(name_);
    std::size_t taken = 0;
    options.recorder = RecorderOf(app, std::move(settings), &taken);
    options.recorder->name = name_.empty() ? FreeSessionName(app) : name_;
    const LaunchResult result = RunTraced(options);
    if (!options.is_quiet && taken == 0) Say("'" + app + "' has ended; nothing called for a snapshot");
    return result.exit_code;
  }

  // In the process that supervises.
  int AfterRecorder(const RecorderEnd& end) {
    if (!end.was_killed) return end.exit_code;
    const LaunchOptions options = program_.Read("");
    GoingOn how{ReadSettings(options), SalvageOptions{.tracer = FindTracer(), .report_loss = Warn},
                ReadCaptureSignal("--on-signal", signal_)};
    how.settings.answer_to = AnswersFor(options.command.front());
    const std::optional<int> code = GoOnWithRecorder(end.pid, std::move(how));
    RecoverEarlierRuns();
    return code.value_or(end.exit_code);
  }

  int RecordRunning() {
    AttachOptions options;
    options.pid = ReadPid(attach_);
    options.trace = program_.ReadTraceOptions();
    PrepareForAttach(is_experimental_, &options.trace);
    if (!budget_.empty() || !name_.empty()) {
      throw Error(ExitCode::kUsage, "--budget and --name need a program that record starts", "remove them");
    }
    options.trace.say = [](const std::string& text) { Say(text); };
    options.trace.collect.thread_states = true;
    RecorderSettings settings = ReadSettings(options.trace);
    RecoverEarlierRuns();
    const std::string app = FindAttachTarget(options.pid).name;
    std::size_t taken = 0;
    options.trace.recorder = RecorderOf(app, std::move(settings), &taken);
    const AttachResult result = RunRecorderAttached(options);
    Say("'" + app + (result.has_program_ended ? "' has ended" : "' goes on") +
        (taken == 0 ? "; nothing called for a snapshot" : ""));
    return CodeOf(ExitCode::kGood);
  }

  static std::function<Answer(Recorder&, const std::string&)> AnswersFor(const std::string& app) {
    return [app](Recorder& recorder, const std::string& line) { return AnswerRecorder(recorder, app, line); };
  }

  RecorderOptions RecorderOf(const std::string& app, RecorderSettings settings, std::size_t* taken) const {
    settings.answer_to = AnswersFor(app);
    RecorderOptions recorder;
    // Where nobody forgets what is old, the program stops recording before it takes the machine's memory.
    recorder.signal = ReadCaptureSignal("--on-signal", signal_);
    recorder.limit_bytes = 2 * settings.limits.memory_bytes;
    recorder.make = [settings = std::move(settings), taken](RunFolder* folder) {
      return std::make_unique<Counted>(folder, settings, taken);
    };
    return recorder;
  }

  // It is gone before it can be asked.
  class Counted : public Recorder {
   public:
    Counted(RunFolder* folder, const RecorderSettings& settings, std::size_t* count)
        : Recorder(folder, settings), count_(count) {}
    void OnProgramEnd(int exit_code, int signal) override {
      Recorder::OnProgramEnd(exit_code, signal);
      *count_ = taken().size();
      const MeasuredSlowDown measured = SlowDown();
      if (measured.IsKnown()) settings().say(SlowDownWords(measured));
      const SeenWindows::Sums windows = Windows();
      if (windows.windows > 0) settings().say(WindowWords(windows));
    }

   private:
    std::size_t* count_;
  };

  void AddRecorderOptions(CLI::App& app) {
    app.add_option("--keep", keep_, "how much to keep, back from now (default 30s)")
        ->type_name("TIME")
        ->group(kRecorder);
    app.add_option("--memory", memory_, "memory for that; when it is full, less is kept (default 256M)")
        ->type_name("BYTES")
        ->group(kRecorder);
    app.add_option(
           "--budget", budget_,
           "keep the slow-down of APP below this share of its run time, for example 1%: record kernels in windows, "
           "and between them ranges, waits and samples as far as they fit")
        ->type_name("PERCENT")
        ->group(kRecorder);
    app.add_flag("--supervise", is_supervised_,
                 "a second process goes on with the recorder's work if that is killed, for example for lack of memory")
        ->group(kRecorder);
    app.add_option("--attach", attach_, "record this process, which runs already, in place of APP")
        ->type_name("PID")
        ->group(kRecorder);
    app.add_flag("--experimental", is_experimental_, "needed for --attach, as for gprof-cli attach")->group(kRecorder);
    app.add_option("--name", name_, "by which snapshot finds this recorder (default: name of APP)")
        ->type_name("NAME")
        ->group(kRecorder);
    app.add_option("-o,--output", output_,
                   "file of the first snapshot; later ones are numbered, as snapshot.2.trace (default snapshot.trace)")
        ->type_name("FILE")
        ->group(kRecorder);
  }

  void AddTriggerOptions(CLI::App& app) {
    app.add_option("--on-exit", on_exit_, "when APP fails: an exit code other than 0, or a signal (default true)")
        ->type_name("true|false")
        ->check(OneOf({"true", "false"}))
        ->group(kTriggers);
    app.add_option(
           "--on-error", on_error_,
           "when a CUDA call fails: serious for lost contexts and too little GPU memory (default), any, or none")
        ->type_name("serious|any|none")
        ->check(OneOf({"serious", "any", "none"}))
        ->group(kTriggers);
    app.add_flag("--on-xid", on_xid_, "when the driver logs an error of a GPU (Xid), of APP or another program")
        ->group(kTriggers);
    app.add_option("--on-slow-step", step_,
                   "when this NVTX range takes more than FACTOR (default 3) times its median of the last 64")
        ->type_name("RANGE[:FACTOR]")
        ->group(kTriggers);
    app.add_option("--on-idle", idle_, "when a GPU that has worked is idle for this long")
        ->type_name("TIME")
        ->group(kTriggers);
    app.add_option("--on-hang", hang_, "when APP makes no progress for this long")->type_name("TIME")->group(kTriggers);
    app.add_option("--on-signal", signal_, "when gprof-cli receives this signal, for example SIGUSR1")
        ->type_name("SIGNAL")
        ->group(kTriggers);
    app.add_option("--on-file", file_, "when this file appears")->type_name("FILE")->group(kTriggers);
    app.add_option("--cooldown", cooldown_, "shortest time between two such snapshots (default 60s)")
        ->type_name("TIME")
        ->group(kTriggers);
    app.add_option("--most", most_, "take no more than this many of them (default 10)")
        ->type_name("N")
        ->check(WholeNumber(0, 1'000'000))
        ->group(kTriggers);
  }

  RecorderSettings ReadSettings(const LaunchOptions& options) const {
    RecorderSettings settings;
    settings.limits.keep_ns = ReadTime("--keep", keep_);
    settings.watch.keep_ns = static_cast<uint64_t>(settings.limits.keep_ns);
    settings.limits.memory_bytes = ReadBytes("--memory", memory_);
    if (settings.limits.keep_ns == 0) throw Error(ExitCode::kUsage, "--keep 0 keeps nothing", "example: --keep 30s");
    if (!step_.empty()) ReadStep(step_, &settings.watch);
    if (!settings.watch.step.empty() && !options.trace_nvtx) {
      throw Error(ExitCode::kUsage, "--on-slow-step needs nvtx in -t", "add nvtx to -t");
    }
    if (!idle_.empty()) settings.watch.idle_ns = ReadTime("--on-idle", idle_);
    if (!hang_.empty()) settings.watch.hang_ns = ReadTime("--on-hang", hang_);
    settings.watch.on_any_error = on_error_ == "any";
    settings.watch.on_lost_context = settings.watch.on_out_of_memory = on_error_ != "none";
    settings.watch.on_xid = on_xid_;
    if (on_xid_ && options.collect.nvml_hz == 0) {
      throw Error(ExitCode::kUsage, "--on-xid needs samples of NVML", "remove --nvml=off and --only-trace");
    }
    settings.on_failure = on_exit_ == "true";
    settings.file = file_;
    settings.cooldown_ns = ReadTime("--cooldown", cooldown_);
    settings.most = most_;
    const std::string output = ExpandPattern(output_, getpid(), 1);
    settings.settings = SettingsText(settings, output);
    settings.open_output = [output] { return OpenDefaultOutput(output, 1, false); };
    settings.say = options.say;
    settings.warn = Warn;
    return settings;
  }

  void ReadBudget(LaunchOptions* options) const {
    if (!options->trace_cuda) throw Error(ExitCode::kUsage, "--budget needs cuda in -t", "add cuda to -t");
    options->capture.begin = "windows";
    options->capture.windows = "budget=" + std::to_string(ReadBudgetPpm("--budget", budget_));
  }

  ProgramArguments program_;
  std::string keep_ = "30s", memory_ = "256M", budget_, name_, output_ = kDefaultOutput;
  std::string on_exit_ = "true", on_error_ = "serious", step_, idle_, hang_, signal_, file_, cooldown_ = "60s";
  std::string attach_;
  bool is_experimental_ = false, is_supervised_ = false, on_xid_ = false;
  uint32_t most_ = 10;
};

class TakeSnapshot : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("RECORDER", who_, "name, or PID of the program; may be left out where there is only one recorder");
    app.add_option("-o,--output", output_, "trace file (default: where the -o of record says)")
        ->type_name("FILE")
        ->group("Output");
    app.add_flag("-f,--force-overwrite", may_overwrite_, "overwrite an existing trace file")->group("Output");
    app.add_option("--reason", reason_, "what the trace says of why it was written")
        ->type_name("TEXT")
        ->group("Output");
  }

  int Run() override {
    const FoundRun recorder = ChooseRecorder(who_);
    Json request = {{"do", "snapshot"}, {"reason", TextOfPath(reason_)}};
    std::optional<OutputFile> file;
    if (!output_.empty()) {
      file.emplace(OpenOutput(output_, 0, may_overwrite_));
      request["output"] = TextOfPath(file->absolute_path);
      request["device"] = file->device;
      request["inode"] = file->inode;
      request["run"] = file->run;
    }
    Json answer;
    try {
      answer = AskSession(recorder, request);
    } catch (const Error&) {
      if (file) file->Remove();
      throw;
    }
    const std::string path = file ? file->path : PathOfText(answer.value("output", ""));
    const int64_t from_ns = answer.value("from_ns", int64_t{0}), until_ns = answer.value("until_ns", int64_t{0});
    Say("the last " + FormatNs(until_ns - from_ns) + " are in '" + path + "' (" +
        FormatBytes(answer.value("bytes", uint64_t{0})) + "). Next: gprof-cli report " + ShellQuoted(path));
    return CodeOf(ExitCode::kGood);
  }

 private:
  std::string who_, output_, reason_ = "asked for by gprof-cli snapshot";
  bool may_overwrite_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeRecord() { return std::make_unique<Record>(); }
std::unique_ptr<Command> MakeSnapshot() { return std::make_unique<TakeSnapshot>(); }

}  // namespace gprof::cli
