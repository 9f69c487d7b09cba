// gprof-cli bisect: finds the version that made a program slower. docs/commands/bisect.md
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "base/terminal.h"
#include "base/text.h"
#include "cli/arguments/capture_arguments.h"
#include "cli/arguments/options.h"
#include "cli/arguments/program_arguments.h"
#include "cli/arguments/result_arguments.h"
#include "cli/commands/commands.h"
#include "cli/proof/bisection.h"
#include "cli/proof/version_source.h"
#include "cli/render/proof/render_bisect.h"
#include "cli/talk.h"
#include "gate/budget/value_text.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

constexpr char kBisectUsage[] = "usage: gprof-cli bisect --good A --bad B [--build CMD] [options] -- APP [ARGS...]";

// FNV-1a: the same for the same text in every build.
std::string HashOf(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += kDigits[hash >> shift & 15];
  return digits;
}

class Bisect : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    AddVersionOptions(app);
    AddSearchOptions(app);
    AddOutputOptions(app);
    program_.AddFlushOption(app);
    program_.AddTraceOptions(app);
    capture_.AddOptions(app);
    program_.AddProgramOptions(app, ShowOutput::kOnStderrIfWanted);
  }

  int Run() override {
    BisectOptions options = ReadOptions();
    const std::string question = QuestionOf(options.launch);
    options.folder = FolderFor(question);
    std::error_code ignored;
    if (restarts_) std::filesystem::remove_all(options.folder, ignored);
    const std::unique_ptr<VersionSource> source = MakeSource(options.folder);
    const BisectOutcome outcome = Bisection(options, question, source.get()).Run();
    Show(outcome, *source, options.launch);
    const bool is_known = outcome.why_ended.empty() && outcome.found.is_known;
    if (is_known && folder_.empty()) {
      source->Clear();
      std::filesystem::remove_all(options.folder, ignored);
    } else if (!is_known) {
      Say("the same command goes on from here; runs and builds are in '" + options.folder + "'");
    }
    if (outcome.stop_signal != 0) return 128 + outcome.stop_signal;
    return CodeOf(is_known ? ExitCode::kGood : ExitCode::kInconclusive);
  }

 private:
  void AddVersionOptions(CLI::App& app) {
    constexpr char kGroup[] = "Versions";
    app.add_option("--good", good_, "commit, or list, that is as fast as it should be")->type_name("A")->group(kGroup);
    app.add_option("--bad", bad_, "commit, or list, that is slower (for commits default HEAD)")
        ->type_name("B")
        ->group(kGroup);
    app.add_option("--of", kind_,
                   "what changed between the two: commits (default), packages, environment or settings, as lists in "
                   "files")
        ->type_name("commits|packages|environment|settings")
        ->check(OneOf({"commits", "packages", "environment", "settings"}))
        ->group(kGroup);
    app.add_option("--versions", versions_, "a file with a version in each line, the good one first, in place of these")
        ->type_name("FILE")
        ->group(kGroup);
    app.add_option("--build", build_, "shell command that builds a version, once, in its folder")
        ->type_name("CMD")
        ->group(kGroup);
    app.add_option("--apply", apply_, "shell command that changes to a version whenever another one is run")
        ->type_name("CMD")
        ->group(kGroup);
  }

  void AddSearchOptions(CLI::App& app) {
    constexpr char kGroup[] = "Search";
    app.add_option("--metric", metric_, "metric to judge by, with @SCOPE for a part (default: time, as compare does)")
        ->type_name("ID")
        ->group(kGroup);
    AddStepOption(app, &step_, kGroup);
    app.add_option("--min-change", min_change_, "smallest change to look for (default 2%)")
        ->type_name("SHARE")
        ->group(kGroup);
    app.add_option("--confidence", confidence_, "stop when this sure of the result (default 97%)")
        ->type_name("SHARE")
        ->group(kGroup);
    app.add_option("--warmup", warm_ups_, "warm-up runs of each version, not measured (default 1)")
        ->type_name("K")
        ->check(WholeNumber(0, 1000))
        ->group(kGroup);
    app.add_option("--max-time", max_time_, "stop after this time, such as 30min")->type_name("TIME")->group(kGroup);
    app.add_option("--max-runs", most_runs_, "stop after so many runs")
        ->type_name("N")
        ->check(WholeNumber(4, 100'000))
        ->group(kGroup);
    app.add_option("--timeout", timeout_, "skip versions of which a run takes longer, such as 60s")
        ->type_name("TIME")
        ->group(kGroup);
  }

  void AddOutputOptions(CLI::App& app) {
    constexpr char kGroup[] = "Output";
    app.add_option("-o,--output", folder_,
                   "folder for builds, traces and the state (default: one in the cache folder, removed when the "
                   "result is known)")
        ->type_name("FOLDER")
        ->group(kGroup);
    app.add_flag("--restart", restarts_, "forget what an interrupted bisection has found")->group(kGroup);
    result_.AddOptions(app);
  }

  BisectOptions ReadOptions() {
    BisectOptions options;
    options.launch = program_.Read(kBisectUsage);
    options.launch.capture = capture_.Read(options.launch.trace_cuda, options.launch.trace_nvtx);
    if (!metric_.empty()) options.metric = FigureOfMetric(metric_);
    if (options.metric && options.launch.TracesNothing()) {
      throw Error(ExitCode::kUsage, "-t none records no metrics", "remove -t none, or --metric");
    }
    options.analysis.step = step_;
    options.build = build_;
    options.apply = apply_;
    options.warm_ups = options.metric && options.metric->is_deterministic ? 0 : warm_ups_;
    options.most_runs = most_runs_;
    options.rules.min_relative = Share("--min-change", min_change_, options.rules.min_relative);
    options.rules.confidence = Share("--confidence", confidence_, options.rules.confidence);
    options.budget_ns = TimeOf("--max-time", max_time_);
    options.launch.time_limit_ns = TimeOf("--timeout", timeout_);
    CheckVersions();
    return options;
  }

  void CheckVersions() const {
    if (!versions_.empty() && !(good_.empty() && bad_.empty())) {
      throw Error(ExitCode::kUsage, "--versions already names the good and the bad version", "remove --good and --bad");
    }
    const bool needs_bad = kind_ != "commits" && bad_.empty();
    if (versions_.empty() && (good_.empty() || needs_bad)) {
      throw Error(ExitCode::kUsage, good_.empty() ? "no --good version" : "no --bad list", kBisectUsage);
    }
    const bool needs_command = kind_ == "packages" || kind_ == "settings" || !versions_.empty();
    if (needs_command && build_.empty() && apply_.empty()) {
      throw Error(ExitCode::kUsage, "nothing says how to change to a version",
                  "give a command with --build or --apply; see gprof-cli help bisect");
    }
  }

  static double Share(const char* option, const std::string& text, double otherwise) {
    if (text.empty()) return otherwise;
    const std::optional<double> share = ReadShare(text);
    if (share && *share > 0 && *share < 1) return *share;
    throw Error(ExitCode::kUsage, std::string(option) + " needs a percentage, not '" + text + "'",
                "example: " + std::string(option) + " 95%");
  }

  static int64_t TimeOf(const char* option, const std::string& text) {
    if (text.empty()) return 0;
    const std::optional<double> time_ns = ReadValue(text, Unit::kNs);
    if (time_ns && *time_ns > 0) return static_cast<int64_t>(*time_ns);
    throw Error(ExitCode::kUsage, std::string(option) + " needs a time, not '" + text + "'",
                "example: " + std::string(option) + " 30min");
  }

  // A part of it changed means another bisection.
  std::string QuestionOf(const LaunchOptions& launch) const {
    std::string text = std::filesystem::current_path().string();
    for (const std::string& word : {kind_, good_, bad_, versions_, build_, apply_, metric_, step_}) text += "\n" + word;
    for (const std::string& word : launch.command) text += "\n" + word;
    for (const auto& [name, value] : launch.variables) text += "\n" + name + "=" + value;
    return text;
  }

  std::string FolderFor(const std::string& question) const {
    if (!folder_.empty()) return std::filesystem::absolute(folder_).lexically_normal().string();
    const std::string home = EnvironmentText({"HOME"});
    const std::string cache = EnvironmentText({"XDG_CACHE_HOME"}, home.empty() ? "" : home + "/.cache");
    if (cache.empty() || cache.front() != '/') {
      throw Error(ExitCode::kUsage, "no cache folder for builds and traces: HOME is not set", "choose one with -o");
    }
    return cache + "/gprof-cli/bisect-" + HashOf(question);
  }

  std::unique_ptr<VersionSource> MakeSource(const std::string& folder) const {
    if (!versions_.empty()) return NamedVersions(versions_, folder);
    if (kind_ == "commits") return GitVersions(good_, bad_.empty() ? "HEAD" : bad_, folder);
    const ListKind kind = kind_ == "packages"      ? ListKind::kPackages
                          : kind_ == "environment" ? ListKind::kEnvironment
                                                   : ListKind::kSettings;
    return ListVersions(kind, good_, bad_, folder);
  }

  void Show(const BisectOutcome& outcome, const VersionSource& source, const LaunchOptions& launch) const {
    const BisectPage page{outcome, source, ShellLine(launch.command)};
    result_.Show([&] { return RenderBisectText(page, DetectTerminal(STDOUT_FILENO)); },
                 [&] { return RenderBisectMarkdown(page); }, [&] { return RenderBisectJson(page); });
  }

  ProgramArguments program_;
  CaptureArguments capture_;
  ResultArguments result_;
  std::string good_, bad_, versions_, build_, apply_, metric_, step_, min_change_, confidence_, max_time_, timeout_;
  std::string kind_ = "commits", folder_;
  uint32_t warm_ups_ = 1, most_runs_ = 0;
  bool restarts_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeBisect() { return std::make_unique<Bisect>(); }

}  // namespace gprof::cli
