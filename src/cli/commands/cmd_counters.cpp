// gprof-cli counters: measures kernels, and says what counters there are and what they take. docs/commands/counters.md
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/counters/counter_sections.h"
#include "base/table.h"
#include "base/terminal.h"
#include "base/units.h"
#include "cli/arguments/options.h"
#include "cli/commands/commands.h"
#include "cli/recording/counter_run.h"
#include "cli/recording/instructions.h"
#include "cli/recording/leftovers.h"
#include "cli/recording/recorded.h"
#include "cli/talk.h"
#include "cli/traces.h"
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
    {"-k,--kernel-name", "NAME", "only kernels of this name, or regex:EXPRESSION"},
    {"--kernel-name-base", "WHAT", "name that -k matches: function or mangled"},
    {"--kernel-id", "ID", "only this launch: context:stream:[operation:]name:number"},
    {"-s,--launch-skip", "N", "skip the first N matching launches"},
    {"--launch-skip-before-match", "N", "skip the first N launches of any kernel"},
    {"-c,--launch-count", "N", "collect at most N launches"},
    {"--filter-mode", "MODE", "what -s and -c count: all launches (global), or those per-gpu or per-launch-config"},
    {"--nvtx-include", "RANGE", "only launches while this NVTX range is open: RANGE or DOMAIN@RANGE"},
    {"--nvtx-exclude", "RANGE", "no launches in this NVTX range"},
    {"--range-filter", "RANGES", "with --replay-mode range: only these ranges"},
    {"--replay-mode", "MODE",
     "what is replayed for each pass: none, kernel, or auto (default: kernel if one pass is not enough); range "
     "measures the run or an NVTX range as a whole"},
    {"--graph-profiling", "WHAT", "for ncu compatibility; CUDA graphs are not measured"},
    {"--cache-control", "WHAT", "cache control before each pass: none, caches are left as they are"},
    {"--clock-control", "WHAT", "clock control: none, clocks are left as they are"},
    {"--target-processes", "WHICH", "all or application-only"},
    {"--devices", "LIST", "only these GPUs"},
    {"--profile-from-start", "WHETHER", "on, or off until cudaProfilerStart"},
    {"--kill", "WHETHER", "off: the program runs to its end after the last requested launch"},
    {"--page", "PAGE", "summary (default), details, raw, or source: samples instructions instead of counting"},
    {"--sampling-interval", "N", "with --page source: sample every 2^N cycles, 5 to 31 (default: CUPTI's)"},
    {"--print-units", "UNITS", "auto or base"},
    {"--print-summary", "WHAT", "none, per-kernel, per-nvtx or per-gpu"}};
constexpr uint32_t kLaunchesOfEach = 3;  // with the same grid and block size
constexpr const char* kCollectGroup = "Collection";
struct CollectFlag {
  const char *name, *meaning;
};
constexpr CollectFlag kFlags[] = {{"--nvtx", "print the NVTX ranges of launches"},
                                  {"--csv", "print CSV"},
                                  {"--like-ncu", "use the defaults of ncu: set basic, all launches, kernel replay"}};

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
    app.add_option("--hang-limit", hang_limit_s_,
                   "name the kernel when measuring a launch takes longer than this (default 20, 0: never)")
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
    if (wants_sets_) return Print(SetsText());
    if (wants_sections_) return Print(SectionsText());
    if (wants_metrics_) return Print(MetricsText());
    if (is_dry_run_) return Print(DryRun());
    TakeProgram();
    if (program_.empty())
      throw Error(ExitCode::kUsage, "no program to measure",
                  "usage: gprof-cli counters [options] [--] APP [ARGS...], or plan with --dry-run");
    return Collect();
  }

 private:
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
    const std::string replay = Value("--replay-mode");
    if (replay == "application") Refuse("--replay-mode application is not in this build");
    if (!Value("--graph-profiling").empty()) Refuse("--graph-profiling: launches of CUDA graphs are not measured");
    if (Value("--cache-control") == "all")
      Refuse("--cache-control all: CUPTI leaves caches as the kernels before left them");
    if (Value("--clock-control") == "base" || Value("--clock-control") == "boost")
      Refuse("--clock-control " + Value("--clock-control") + ": clocks are left as they are");
    if (!Value("--nvtx-exclude").empty()) Refuse("--nvtx-exclude is not in this build");
    if (!Value("--range-filter").empty()) Refuse("--range-filter is not in this build");
    if (Value("--kernel-name-base") == "demangled")
      Refuse("--kernel-name-base demangled: names are compared without their arguments (function), or mangled");
    if (Value("--kill") == "on") Refuse("--kill on is not in this build: the program runs to its end");
  }

  // "DOMAIN@RANGE/", as ncu has it, in the words of `profile`: RANGE@DOMAIN.
  std::string NvtxRange() const {
    std::string range = Value("--nvtx-include");
    if (range.ends_with('/')) range.pop_back();
    if (range.find_first_of("/[]*+") != std::string::npos)
      Refuse("--nvtx-include: only one range by its name is in this build");
    const std::size_t at = range.find('@');
    return at == std::string::npos ? range : range.substr(at + 1) + "@" + range.substr(0, at);
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
    options->trace_nvtx = true;
    options->capture.begin = "nvtx";
    options->capture.end = "repeat";
    options->capture.nvtx_range = range;
  }

  // An expression is for a chip to answer.
  void ReadMetrics(CounterWishes* wishes) const {
    wishes->wanted = WantedOrDefault();
    std::vector<std::string>& words = wishes->wanted.metrics;
    const auto is_expression = [](const std::string& word) { return word.starts_with("regex:"); };
    if (chip_.empty() || std::none_of(words.begin(), words.end(), is_expression)) return;
    const counters::Chip chip = counters::HostLibrary(library_).Find(chip_);
    for (const std::string& word : words) {
      if (!is_expression(word)) continue;
      for (auto& names : counters::MetricsOfWord(chip, word)) wishes->more_metrics.push_back(std::move(names));
    }
    std::erase_if(words, is_expression);
  }

  CounterWishes ReadWishes() const {
    CounterWishes wishes;
    ReadMetrics(&wishes);
    wishes.replay = Word("--replay-mode", {"auto", "none", "kernel", "range"});
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
    if (!Value("--devices").empty()) wishes.devices = SplitList(Value("--devices"));
    return wishes;
  }

  bool SamplesInstructions() const { return Value("--page") == "source"; }

  void ReadSampling(const CodeFolder& folder, CounterWishes* wishes) const {
    wishes->code_folder = folder.path();
    wishes->sampling_period = Number("--sampling-interval");
    if (wishes->sampling_period != 0 && (wishes->sampling_period < 5 || wishes->sampling_period > 31))
      throw Error(ExitCode::kUsage, "--sampling-interval: from 5 to 31", "a sample is taken every 2^N cycles");
  }

  int Collect() {
    RefuseWhatCannotBe();
    CounterWishes wishes = ReadWishes();
    std::optional<CodeFolder> folder;
    if (SamplesInstructions()) ReadSampling(folder.emplace(), &wishes);
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
    RecoverEarlierRuns();
    const LaunchResult result = RunTraced(options);
    if (folder && !result.trace_path.empty()) NameInstructions(result.trace_path, folder->path());
    return Show(result);
  }

  void NameInstructions(const std::string& trace_path, const std::string& folder) const {
    const std::string problem = AddInstructions(trace_path, folder);
    if (!problem.empty() && !is_quiet_) Warn(problem);
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
      Say(fmt::format("measured {} of {}; gprof-cli report --only counters {} shows all of it",
                      Value("--replay-mode") == "range"
                          ? CountOf(static_cast<int64_t>(trace.counter_ranges.size()), "range")
                          : CountOf(static_cast<int64_t>(trace.counter_ranges.size()), "launch", "launches"),
                      ShellQuoted(program_.front()), ShellQuoted(result.trace_path)));
    return result.exit_code;
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
    app.add_option("--section", wanted_.sections, "section, by its name here or in ncu; repeatable")
        ->type_name("SECTION")
        ->allow_extra_args(false)
        ->group("Metrics");
    app.add_option("--metrics", metrics_,
                   "metrics, comma-separated: full names, base names, regex:EXPRESSION, group:SECTION")
        ->type_name("LIST")
        ->allow_extra_args(false)
        ->group("Metrics");
  }

  void AddPlanning(CLI::App& app) {
    app.add_flag("--list-sets", wants_sets_, "list the sets and exit")->group("Planning (without a GPU)");
    app.add_flag("--list-sections", wants_sections_, "list the sections and exit")->group("Planning (without a GPU)");
    app.add_flag("--query-metrics", wants_metrics_, "list the base metrics of a chip and exit")
        ->group("Planning (without a GPU)");
    app.add_flag("--dry-run", is_dry_run_, "print the number of passes and the metrics that each chip lacks")
        ->group("Planning (without a GPU)");
    app.add_option("--chip", chip_, "chip: GH100, AD102, … (default of --dry-run: all that libcupti knows)")
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

  static std::string Render(const TextTable& table) {
    const Terminal terminal = DetectTerminal(STDOUT_FILENO);
    return RenderTable(table, terminal.columns, Style(terminal.has_color));
  }

  static std::string SetsText() {
    TextTable table{{{"Set"}, {"Sections", true}, {"What it has"}}, {}};
    for (const CounterSet& set : CounterSets()) {
      table.rows.push_back({std::string(set.name), std::to_string(set.sections.size()), std::string(set.meaning)});
    }
    return Render(table);
  }

  static std::string SectionsText() {
    TextTable table{{{"Section"}, {"In ncu"}, {"What it has"}}, {}};
    for (const CounterSection& section : CounterSections()) {
      table.rows.push_back({std::string(section.id.substr(section.id.find('_') + 1)), std::string(section.ncu_name),
                            std::string(section.meaning)});
    }
    return Render(table);
  }

  std::string MetricsText() const {
    if (chip_.empty()) throw Error(ExitCode::kUsage, "--query-metrics needs a chip", "--chip GH100");
    const counters::Chip chip = counters::HostLibrary(library_).Find(chip_);
    constexpr const char* kTypes[] = {"counter", "ratio", "throughput"};
    std::string text;
    for (const counters::MetricType type : counters::kMetricTypes) {
      for (const std::string& name : chip.BaseMetrics(type)) {
        const counters::MetricProperties properties = chip.PropertiesOf(name);
        text += fmt::format("{}\t{}\t{}\t{}\n", name, kTypes[static_cast<int>(type)], properties.unit,
                            properties.description);
      }
    }
    return text;
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
    return format_ == "json" ? PlansJson(library, plans) : PlansText(library, plans);
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

  static std::string PlansText(const counters::HostLibrary& library, const std::vector<counters::Plan>& plans) {
    std::string text = fmt::format("Library   {}, {}\n\n", library.Version(), library.path());
    TextTable table{{{"Chip"}, {"Metrics", true}, {"Passes", true}, {"Per launch", true}, {"Not available", true}}, {}};
    for (const counters::Plan& plan : plans) {
      if (plan.problem.empty())
        table.rows.push_back({plan.chip, std::to_string(plan.metrics.size()), std::to_string(plan.passes),
                              FormatNs(counters::ReplayMs(plan.passes) * 1e6),
                              std::to_string(plan.unavailable.size())});
    }
    text += Render(table);
    text += "Per launch: with kernel replay, as measured on an H200, without the time of the kernel itself.\n";
    for (const counters::Plan& plan : plans) {
      if (!plan.problem.empty()) text += plan.problem + "\n";
    }
    if (plans.size() != 1 || plans.front().unavailable.empty()) return text;
    text += fmt::format("\nNot available on {}\n", plans.front().chip);
    for (const std::string& metric : plans.front().unavailable) text += "  " + metric + "\n";
    return text;
  }

  static std::string PlansJson(const counters::HostLibrary& library, const std::vector<counters::Plan>& plans) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const counters::Plan& plan : plans) {
      if (!plan.problem.empty()) {
        all.push_back({{"chip", plan.chip}, {"problem", plan.problem}});
        continue;
      }
      all.push_back({{"chip", plan.chip},
                     {"passes", plan.passes},
                     {"metrics", plan.metrics},
                     {"unavailable", plan.unavailable},
                     {"config_bytes", plan.config_bytes},
                     {"replay_ms_per_launch", counters::ReplayMs(plan.passes)}});
    }
    const nlohmann::ordered_json document = {
        {"schema", "gprof.counter_plan/1"}, {"library", library.Version()}, {"path", library.path()}, {"chips", all}};
    return document.dump(2) + "\n";
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
    if (flags_[0]) command += " --nvtx";
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
  std::vector<std::string> program_, metrics_;
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
