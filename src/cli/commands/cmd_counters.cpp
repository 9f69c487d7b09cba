// gprof-cli counters: measures kernels, and says what counters there are and what they take. docs/commands/counters.md
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/counters/counter_sections.h"
#include "base/terminal.h"
#include "base/units.h"
#include "cli/arguments/options.h"
#include "cli/commands/commands.h"
#include "cli/recording/application_replay.h"
#include "cli/recording/counter_run.h"
#include "cli/recording/instructions.h"
#include "cli/recording/leftovers.h"
#include "cli/recording/measuring_line.h"
#include "cli/recording/nvtx_words.h"
#include "cli/recording/recorded.h"
#include "cli/recording/scratch_folder.h"
#include "cli/render/counter_plans.h"
#include "cli/talk.h"
#include "cli/traces.h"
#include "collect/gpu/present_chips.h"
#include "counters/counter_plan.h"
#include "counters/host_library.h"
#include "counters/metric_names.h"
#include "export/exporters.h"
#include "launch/run/launch.h"
#include "report/json_values.h"
#include "report/report.h"

namespace gprof::cli {
namespace {

// The words of ncu for what a collection is to be. What this build cannot collect goes into a command line for ncu.
struct CollectOption {
  const char *names, *type, *meaning;
};
constexpr CollectOption kCollect[] = {
    {"-k,--kernel-name", "NAME", "only kernels with this name, or regex:EXPRESSION"},
    {"--kernel-name-base", "WHAT", "name that -k is compared with: function or mangled"},
    {"--kernel-id", "ID", "only this launch: context:stream:[operation:]name:number"},
    {"-s,--launch-skip", "N", "skip the first N matching launches"},
    {"--launch-skip-before-match", "N", "skip the first N launches of any kernel"},
    {"-c,--launch-count", "N", "measure at most N launches"},
    {"--filter-mode", "MODE", "scope of -s and -c: global, per-gpu or per-launch-config"},
    {"--range-filter", "RANGES", "not supported: prints the ncu command instead"},
    {"--replay-mode", "MODE",
     "what is repeated for each pass: none, kernel, application (the whole program), or auto (default: kernel, if one "
     "pass is not enough); range: measure the run, or an NVTX range, as one"},
    {"--graph-profiling", "WHAT", "not supported: prints the ncu command instead"},
    {"--cache-control", "WHAT", "none: leave caches alone"},
    {"--clock-control", "WHAT", "none: leave clocks alone"},
    {"--target-processes", "WHICH", "all or application-only"},
    {"--devices", "LIST", "only these GPUs, by CUDA ordinal"},
    {"--profile-from-start", "WHETHER", "on, or off until cudaProfilerStart"},
    {"--kill", "WHETHER", "off: let the program run to its end"},
    {"--page", "PAGE", "summary (default), details, raw, or source: sample instructions instead of counting"},
    {"--sampling-interval", "N", "with --page source: one sample every 2^N cycles, 5 to 31 (default: CUPTI's)"},
    {"--print-units", "UNITS", "accepted, no effect"},
    {"--print-summary", "WHAT", "accepted, no effect"}};
constexpr uint32_t kLaunchesOfEach = 3;  // with the same grid and block size
constexpr const char* kCollectGroup = "Collection";
struct CollectFlag {
  const char *name, *meaning;
};
constexpr CollectFlag kFlags[] = {{"--nvtx", "accepted, no effect: NVTX ranges of launches are always recorded"},
                                  {"--csv", "print CSV"},
                                  {"--like-ncu", "defaults of ncu: set basic, all launches, kernel replay"}};

std::string LongName(std::string_view names) { return std::string(names.substr(names.rfind(',') + 1)); }

class Counters : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app_ = &app;
    AddWhat(app);
    AddPlanning(app);
    for (std::size_t i = 0; i < std::size(kCollect); ++i) {
      app.add_option(kCollect[i].names, values_[i], kCollect[i].meaning)
          ->type_name(kCollect[i].type)
          ->group(kCollectGroup);
    }
    AddNvtx(app);
    app.add_option("--hang-limit", hang_limit_s_,
                   "name the kernel if measuring a launch takes longer than this (default 20, 0: never)")
        ->type_name("SECONDS")
        ->check(WholeNumber(0, 1'000'000))
        ->group(kCollectGroup);
    is_named_ = app.add_option("-o,--output", output_, "trace file (default run.trace, or run.2.trace and so on)")
                    ->type_name("FILE")
                    ->group("Output");
    app.add_flag("-f,--force-overwrite", may_overwrite_, "overwrite an existing trace file")->group("Output");
    app.add_flag("-q,--quiet", is_quiet_, "print only the result and errors")->group("Output");
    for (std::size_t i = 0; i < std::size(kFlags); ++i) {
      app.add_flag(kFlags[i].name, flags_[i], kFlags[i].meaning)->group(kCollectGroup);
    }
  }

  int Run() override {
    if (wants_sets_) return Print(CounterSetsText());
    if (wants_sections_) return Print(CounterSectionsText());
    if (wants_metrics_) return Print(MetricsText());
    if (is_dry_run_) return Print(DryRun());
    TakeProgram();
    if (program_.empty())
      throw Error(ExitCode::kUsage, "no program to measure",
                  "usage: gprof-cli counters [options] [--] APP [ARGS...], or plan with --dry-run");
    return Collect();
  }

 private:
  void AddNvtx(CLI::App& app) {
    const auto add = [&](const char* name, std::vector<std::string>* values, const char* meaning) {
      app.add_option(name, *values, meaning)->type_name("RANGE")->allow_extra_args(false)->group(kCollectGroup);
    };
    add("--nvtx-include", &nvtx_include_,
        "only launches in this NVTX range, in ncu's syntax: NAME, NAME/, DOMAIN@OUTER/INNER]; may be repeated");
    add("--nvtx-exclude", &nvtx_exclude_, "no launches in this NVTX range, in the same syntax; may be repeated");
  }

  void TakeProgram() {
    program_ = app_->remaining();
    if (!program_.empty() && program_.front() == "--") program_.erase(program_.begin());
  }

  // ---- with a program ----

  const std::string& Value(std::string_view name) const {
    const auto at = std::find_if(std::begin(kCollect), std::end(kCollect),
                                 [&](const CollectOption& option) { return LongName(option.names) == name; });
    return values_[static_cast<std::size_t>(at - std::begin(kCollect))];
  }

  uint32_t Number(std::string_view name) const {
    const std::string& text = Value(name);
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (!text.empty() && (error != std::errc() || end != text.data() + text.size()))
      throw Error(ExitCode::kUsage, fmt::format("{}: '{}' is no number", name, text));
    return number;
  }

  // One of the words, the first without the option.
  std::string Word(std::string_view name, const std::vector<std::string>& words) const {
    const std::string& value = Value(name);
    if (value.empty()) return words.front();
    if (std::find(words.begin(), words.end(), value) != words.end()) return value;
    throw Error(ExitCode::kUsage, fmt::format("{}: unknown value '{}'", name, value),
                fmt::format("use {}", fmt::join(words, ", ")));
  }

  bool IsLikeNcu() const { return flags_.back(); }
  bool PrintsCsv() const { return flags_[1]; }

  // What the range profiler of CUPTI cannot do, Nsight Compute can.
  [[noreturn]] void Refuse(const std::string& what) const {
    throw Error(ExitCode::kUsage, what, "collect with Nsight Compute, and read its output: " + NcuCommand());
  }

  void RefuseWhatCannotBe() const {
    if (!Value("--graph-profiling").empty())
      Refuse(
          "--graph-profiling: CUPTI's range profiler does not run graphs that were instantiated before it was "
          "started; --replay-mode range measures graphs together with what runs beside them");
    if (Value("--cache-control") == "all")
      Refuse("--cache-control all: CUPTI leaves caches as the kernels before left them");
    if (Value("--clock-control") == "base" || Value("--clock-control") == "boost")
      Refuse("--clock-control " + Value("--clock-control") + ": clocks are left as they are");
    if (!Value("--range-filter").empty()) Refuse("--range-filter is not in this build");
    if (Value("--kernel-name-base") == "demangled")
      Refuse("--kernel-name-base demangled: names are compared without their arguments (function), or mangled");
    if (Value("--kill") == "on") Refuse("--kill on is not in this build: the program runs to its end");
  }

  bool MeasuresRanges() const { return Value("--replay-mode") == "range"; }

  // With --replay-mode range: the one that is measured, in the words of `profile`, RANGE@DOMAIN.
  std::string NvtxRange() const {
    if (!MeasuresRanges() || (nvtx_include_.empty() && nvtx_exclude_.empty())) return {};
    if (nvtx_include_.size() != 1 || !nvtx_exclude_.empty())
      Refuse("--replay-mode range measures one NVTX range, by a single --nvtx-include");
    const NvtxPlace place = ReadNvtxPlace("--nvtx-include", nvtx_include_.front());
    if (!place.IsOneRange()) Refuse("--replay-mode range measures an NVTX range by its name, not by its place");
    return place.parts.front().name + (place.domain.empty() ? "" : "@" + place.domain);
  }

  std::string NvtxLines() const {
    std::string lines;
    if (MeasuresRanges()) return lines;
    for (const std::string& text : nvtx_include_)
      lines += NvtxFilterLines(ReadNvtxPlace("--nvtx-include", text), false);
    for (const std::string& text : nvtx_exclude_) lines += NvtxFilterLines(ReadNvtxPlace("--nvtx-exclude", text), true);
    constexpr std::size_t kMostFilters = 16;  // that the tracer has room for
    if (nvtx_include_.size() + nvtx_exclude_.size() > kMostFilters)
      throw Error(ExitCode::kUsage, fmt::format("more than {} of --nvtx-include and --nvtx-exclude", kMostFilters));
    return lines;
  }

  void SetCapture(LaunchOptions* options) const {
    const std::string from_start = Word("--profile-from-start", {"on", "off", "yes", "no"});
    const std::string range = NvtxRange();
    if (from_start == "off" || from_start == "no") {
      if (!range.empty())
        throw Error(ExitCode::kUsage, "--nvtx-include and --profile-from-start off both say when to measure",
                    "remove one of them");
      options->capture.begin = "cudaProfilerApi";
      options->capture.end = "repeat";
    }
    if (range.empty()) return;
    options->capture.begin = "nvtx";
    options->capture.end = "repeat";
    options->capture.nvtx_range = range;
  }

  // That --chip names, or those that are there.
  std::vector<std::string> ChipsOf(const std::string& word) const {
    if (!chip_.empty()) return {chip_};
    std::string why;
    std::vector<std::string> chips = pm::PresentChips(library_, &why);
    if (chips.empty())
      throw Error(ExitCode::kUsage, fmt::format("'{}' needs the chip whose metrics it is about: {}", word, why),
                  "name the chip, for example --chip GH100");
    return chips;
  }

  // Some words are for a chip to answer.
  void ReadMetrics(CounterWishes* wishes) const {
    wishes->wanted = WantedOrDefault();
    std::vector<std::string>& words = wishes->wanted.metrics;
    const auto first = std::find_if(words.begin(), words.end(), counters::NeedsChip);
    if (first == words.end()) return;
    const counters::HostLibrary library(library_);
    for (const std::string& name : ChipsOf(*first)) {
      const counters::Chip chip = library.Find(name);
      for (const std::string& word : words) {
        if (!counters::NeedsChip(word)) continue;
        for (auto& names : counters::MetricsOfWord(chip, word)) wishes->more_metrics.push_back(std::move(names));
      }
    }
    std::erase_if(words, counters::NeedsChip);
  }

  CounterWishes ReadWishes() const {
    CounterWishes wishes;
    ReadMetrics(&wishes);
    wishes.replay = Word("--replay-mode", {"auto", "none", "kernel", "application", "range"});
    if (IsLikeNcu() && Value("--replay-mode").empty()) wishes.replay = "kernel";
    wishes.kernel = Value("--kernel-name");
    wishes.name_base = Word("--kernel-name-base", {"function", "mangled"});
    wishes.kernel_id = Value("--kernel-id");
    wishes.skip_before = Number("--launch-skip-before-match");
    wishes.skip = Number("--launch-skip");
    wishes.count = Number("--launch-count");
    wishes.mode = Word("--filter-mode", {"global", "per-gpu", "per-launch-config"});
    // Who says nothing of it gets some launches of each sort, as one is much like the other.
    const bool says_which = !Value("--launch-count").empty() || !Value("--launch-skip").empty() ||
                            !Value("--filter-mode").empty() || !wishes.kernel_id.empty() || IsLikeNcu();
    if (!says_which) {
      wishes.count = kLaunchesOfEach;
      wishes.mode = "per-launch-config";
    }
    wishes.hang_limit_s = hang_limit_s_;
    wishes.nvtx_lines = NvtxLines();
    if (!Value("--devices").empty()) wishes.devices = SplitList(Value("--devices"));
    return wishes;
  }

  bool SamplesInstructions() const { return Value("--page") == "source"; }

  void ReadSampling(const ScratchFolder& folder, CounterWishes* wishes) const {
    wishes->code_folder = folder.path();
    wishes->sampling_period = Number("--sampling-interval");
    if (wishes->sampling_period != 0 && (wishes->sampling_period < 5 || wishes->sampling_period > 31))
      throw Error(ExitCode::kUsage, "--sampling-interval: from 5 to 31", "a sample is taken every 2^N cycles");
  }

  int Collect() {
    RefuseWhatCannotBe();
    CounterWishes wishes = ReadWishes();
    std::optional<ScratchFolder> folder;
    if (SamplesInstructions()) ReadSampling(folder.emplace("code"), &wishes);
    LaunchOptions options = CounterLaunch(wishes);
    options.command = program_;
    options.is_default_output = is_named_->count() == 0;
    if (!options.is_default_output) options.output = output_;
    options.may_overwrite = may_overwrite_;
    options.is_quiet = is_quiet_;
    options.cupti_path = library_;
    options.trace_children = Word("--target-processes", {"all", "application-only"}) == "all";
    SetCapture(&options);
    if (PrintsCsv() || format_ == "json") options.program_output = ProgramOutput::kOnStderr;
    options.report_loss = Warn;
    if (!is_quiet_) options.warn = Warn;
    if (!is_quiet_) options.say = Say;
    MeasuringLine line(!is_quiet_ && !SamplesInstructions());
    if (line.IsShown()) options.show_measuring = [&](const Measuring& measuring) { line.Show(measuring); };
    options.warn = Cleared(options.warn, &line);
    options.say = Cleared(options.say, &line);
    options.report_loss = Cleared(options.report_loss, &line);
    if (wishes.replay == "application" && !SamplesInstructions())
      return ShowReplayed(RunOncePerPass(wishes, options), &line);
    RecoverEarlierRuns();
    const LaunchResult result = RunTraced(options);
    line.Clear();
    if (folder && !result.trace_path.empty()) NameInstructions(result.trace_path, folder->path());
    return Show(result);
  }

  // Messages are not written behind the line.
  static std::function<void(const std::string&)> Cleared(std::function<void(const std::string&)> say,
                                                         MeasuringLine* line) {
    return [say = std::move(say), line](const std::string& text) {
      line->Clear();
      say(text);
    };
  }

  void NameInstructions(const std::string& trace_path, const std::string& folder) const {
    const std::string problem = AddInstructions(trace_path, folder);
    if (!problem.empty() && !is_quiet_) Warn(problem);
  }

  int ShowReplayed(const ReplayedRuns& runs, MeasuringLine* line) const {
    line->Clear();
    if (!runs.failure.empty()) {
      Warn(runs.failure + "; nothing was measured");
      return runs.last.exit_code != 0 ? runs.last.exit_code : CodeOf(ExitCode::kInconclusive);
    }
    if (runs.incomplete > 0)
      Warn(fmt::format(
          "{} of {} did not come in each of {} runs and have no values: a launch is the same one in another "
          "run by its kernel, grid, block and order",
          runs.incomplete, CountOf(static_cast<int64_t>(runs.launches), "launch", "launches"), runs.passes));
    return Show(runs.last);
  }

  int Show(const LaunchResult& result) const {
    if (result.trace_path.empty()) return result.exit_code;
    if (ScanTrace(result.trace_path).bytes == 0) {
      Warn(ShellQuoted(program_.front()) +
           " made no CUDA call that the tracer could see, so that nothing was measured");
      return result.exit_code != 0 ? result.exit_code : CodeOf(ExitCode::kInconclusive);
    }
    std::vector<TraceSummary> summaries;
    const Trace trace = LoadTraces({result.trace_path}, &summaries);
    if (SamplesInstructions() && !trace.pc_samples.empty()) {
      PrintReport(trace, {FindAnalysis("source"), FindAnalysis("health")}, false, false);
      return result.exit_code;
    }
    if (trace.counter_ranges.empty()) {
      Warn(SamplesInstructions() ? "no instruction was sampled; the trace " + ShellQuoted(result.trace_path) +
                                       " may say why, and kernels may have been too short"
                                 : "no kernel was measured; the trace " + ShellQuoted(result.trace_path) +
                                       " may say why, and no launch may have matched");
      return result.exit_code != 0 ? result.exit_code : CodeOf(ExitCode::kInconclusive);
    }
    Print(trace);
    if (!is_quiet_)
      Say(fmt::format("measured {}; full tables: gprof-cli report --only counters {}", WhatWasMeasured(trace),
                      ShellQuoted(result.trace_path)));
    return result.exit_code;
  }

  // "12 launches of 3 kernels, 9 passes each"
  std::string WhatWasMeasured(const Trace& trace) const {
    std::set<uint32_t> names;
    uint32_t passes = 0;
    for (const CounterRange& range : trace.counter_ranges) {
      names.insert(range.name.value);
      passes = std::max(passes, range.passes);
    }
    const auto count = static_cast<int64_t>(trace.counter_ranges.size());
    const auto kernels = static_cast<int64_t>(names.size());
    return MeasuresRanges() ? CountOf(count, "range")
                            : fmt::format("{} of {}, {}", CountOf(count, "launch", "launches"),
                                          CountOf(kernels, "kernel"), CountOf(passes, "pass each", "passes each"));
  }

  void Print(const Trace& trace) const {
    const std::string page = Word("--page", {"summary", "details", "raw", "source"});
    if (PrintsCsv() || page == "raw") {
      OutputStream out([](std::string_view bytes) { WriteResult(bytes); }, false);
      WriteNcu(trace, {}, out);
      out.Finish();
      return;
    }
    PrintReport(trace, {FindAnalysis("counters"), FindAnalysis("health")}, page == "summary" && format_ != "json",
                page == "details");
  }

  void PrintReport(const Trace& trace, const std::vector<const Analysis*>& analyses, bool is_brief,
                   bool has_details = true) const {
    AnalysisOptions analysis_options;
    analysis_options.is_brief = is_brief;
    Report report = RunAnalyses(trace, analyses, analysis_options);
    report.has_details = has_details;
    WriteResult(format_ == "json" ? RenderReportJson(report) : RenderReportText(report, DetectTerminal(STDOUT_FILENO)));
  }

  // ---- what there is ----

  void AddWhat(CLI::App& app) {
    std::vector<std::string> sets;
    for (const CounterSet& set : CounterSets()) sets.emplace_back(set.name);
    app.add_option("--set", wanted_.sets, "set of sections: light (default), basic, detailed, full or roofline")
        ->type_name("SET")
        ->check(OneOf(sets))
        ->allow_extra_args(false)
        ->group("Metrics");
    app.add_option("--section", wanted_.sections, "section, by its name here or in ncu; may be repeated")
        ->type_name("SECTION")
        ->allow_extra_args(false)
        ->group("Metrics");
    app.add_option(
           "--metrics", metrics_,
           "metrics, comma-separated: full names, base names, regex:EXPRESSION, group:SECTION, breakdown:THROUGHPUT")
        ->type_name("LIST")
        ->allow_extra_args(false)
        ->group("Metrics");
  }

  void AddPlanning(CLI::App& app) {
    app.add_flag("--list-sets", wants_sets_, "list the sets and exit")->group("Planning (without a GPU)");
    app.add_flag("--list-sections", wants_sections_, "list the sections and exit")->group("Planning (without a GPU)");
    app.add_flag("--query-metrics", wants_metrics_, "list the base metrics of a chip and exit")
        ->group("Planning (without a GPU)");
    app.add_flag("--dry-run", is_dry_run_, "show the number of passes, and metrics the chip lacks")
        ->group("Planning (without a GPU)");
    app.add_option("--chip", chip_, "chip: GH100, AD102, … (default of --dry-run: all chips libcupti knows)")
        ->type_name("CHIP")
        ->group("Planning (without a GPU)");
    app.add_option("--cupti", library_, "libcupti to use (default: that of APP, or of the CUDA Toolkit)")
        ->type_name("FILE")
        ->group("Planning (without a GPU)");
    app.add_option("--format", format_, "text (default) or json")
        ->type_name("text|json")
        ->check(OneOf({"text", "json"}))
        ->group("Output");
  }

  static int Print(const std::string& text) {
    WriteResult(text);
    return CodeOf(ExitCode::kGood);
  }

  std::string MetricsText() const {
    if (chip_.empty()) throw Error(ExitCode::kUsage, "--query-metrics needs a chip", "--chip GH100");
    return ChipMetricsText(counters::HostLibrary(library_).Find(chip_));
  }

  counters::Wanted WantedOrDefault() const {
    counters::Wanted wanted = wanted_;
    for (const std::string& list : metrics_) {
      for (std::string& word : SplitList(list)) wanted.metrics.push_back(std::move(word));
    }
    const bool is_empty = wanted.sets.empty() && wanted.sections.empty() && wanted.metrics.empty();
    if (is_empty) wanted.sets.emplace_back(flags_.back() ? "basic" : "light");  // --like-ncu is the last flag
    return wanted;
  }

  std::string DryRun() const {
    const counters::HostLibrary library(library_);
    const std::vector<std::string> chips = chip_.empty() ? library.Chips() : SplitList(chip_);
    std::vector<counters::Plan> plans;
    for (const std::string& chip : chips) plans.push_back(PlanOrProblem(library, chip));
    return format_ == "json" ? CounterPlansJson(library, plans) : CounterPlansText(library, plans);
  }

  // libcupti has names of chips that it cannot plan for. They are no reason to say nothing of the others.
  counters::Plan PlanOrProblem(const counters::HostLibrary& library, const std::string& chip) const {
    if (!chip_.empty()) return counters::PlanOf(library.Find(chip), WantedOrDefault());
    try {
      return counters::PlanOf(library.Find(chip), WantedOrDefault());
    } catch (const Error& e) {
      if (e.code() != ExitCode::kUnreadable) throw;
      counters::Plan plan;
      plan.chip = chip;
      plan.problem = e.what();
      return plan;
    }
  }

  // What was asked for, in the words of ncu, which they are.
  std::string NcuCommand() const {
    std::string command = "ncu";
    const auto add = [&](const std::string& name, const std::string& value) {
      command += " " + name + " " + ShellQuoted(value);
    };
    for (std::size_t i = 0; i < std::size(kCollect); ++i) {
      const std::string name = LongName(kCollect[i].names);
      const bool is_ours = name == "--page" || name == "--print-units" || name == "--print-summary" ||
                           (name == "--replay-mode" && values_[i] == "none");
      if (!values_[i].empty() && !is_ours) add(name, values_[i]);
    }
    if (flags_[0] || !nvtx_include_.empty() || !nvtx_exclude_.empty()) command += " --nvtx";
    for (const std::string& range : nvtx_include_) add("--nvtx-include", range);
    for (const std::string& range : nvtx_exclude_) add("--nvtx-exclude", range);
    for (const std::string& set : wanted_.sets) add("--set", set == "light" ? "basic" : set);
    for (const std::string& name : wanted_.sections) {
      const CounterSection* const section = FindCounterSection(name);
      add("--section", section == nullptr ? name : std::string(section->ncu_name));
    }
    for (const std::string& list : metrics_) add("--metrics", list);
    command += " --csv --page raw --print-units base";
    for (const std::string& word : program_) command += " " + ShellQuoted(word);
    return command + " | gprof-cli report -";
  }

  CLI::App* app_ = nullptr;
  std::vector<std::string> program_, metrics_, nvtx_include_, nvtx_exclude_;
  counters::Wanted wanted_;
  std::string chip_, library_, format_ = "text";
  const CLI::Option* is_named_ = nullptr;
  std::string output_;
  uint32_t hang_limit_s_ = 20;
  bool may_overwrite_ = false, is_quiet_ = false;
  bool wants_sets_ = false, wants_sections_ = false, wants_metrics_ = false, is_dry_run_ = false;
  std::array<std::string, std::size(kCollect)> values_;
  std::array<bool, std::size(kFlags)> flags_{};
};

}  // namespace

std::unique_ptr<Command> MakeCounters() { return std::make_unique<Counters>(); }

}  // namespace gprof::cli
