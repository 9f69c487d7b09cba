// gprof-cli counters: measures kernels, and says what counters there are and what they take. docs/commands/counters.md
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/facts/counters/counter_sections.h"
#include "analysis/topics/counters/counter_pages.h"
#include "base/expression/regular_expression.h"
#include "base/machine/scratch_folder.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/counter_arguments.h"
#include "cli/arguments/options.h"
#include "cli/commands/commands.h"
#include "cli/measuring/counter_plans.h"
#include "cli/measuring/counter_run.h"
#include "cli/measuring/instructions.h"
#include "cli/measuring/measuring_line.h"
#include "cli/measuring/ncu_options.h"
#include "cli/recording/leftovers.h"
#include "cli/recording/recorded.h"
#include "cli/render/render_counter_pages.h"
#include "cli/render/report/render_report.h"
#include "cli/talk.h"
#include "collect/gpu/monitor_owners.h"
#include "collect/gpu/present_chips.h"
#include "counters/counter_plan.h"
#include "counters/host_library.h"
#include "counters/metric_names.h"
#include "export/tables/ncu_page.h"
#include "import/read_trace.h"
#include "launch/run/launch.h"
#include "report/json_values.h"
#include "trace/reshape/select.h"

namespace gprof::cli {
namespace {

class Counters : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app_ = &app;
    arguments_.AddMetrics(app);
    AddPlanning(app);
    arguments_.AddCollection(app);
    is_named_ =
        app.add_option("-o,--output,--export", output_, "trace file (default run.trace, or run.2.trace and so on)")
            ->type_name("FILE")
            ->group("Output");
    app.add_flag("-f,--force-overwrite", may_overwrite_, "overwrite an existing trace file")->group("Output");
    app.add_option("-i,--import", imported_,
                   "print results of a trace or of CSV output of ncu instead of running a program")
        ->type_name("FILE")
        ->group("Output");
    app.add_flag("-q,--quiet", is_quiet_, "print only the result and errors")->group("Output");
    app.add_option("--log-file", log_file_, "write the result to this file; output of APP stays on stdout")
        ->type_name("FILE")
        ->group("Output");
    arguments_.AddFlags(app);
    ncu_options_.AddOptions(app);
    AddRawCsvOption(app);
    AddMemoryLimitOption(app);
  }

  int Run() override {
    ncu_options_.Refuse();
    if (wants_sets_) return Print(CounterSetsText());
    if (wants_sections_) return Print(CounterSectionsText());
    if (wants_metrics_) return Print(MetricsText());
    if (is_dry_run_) return Print(DryRun());
    arguments_.TakeProgram(*app_);
    if (!imported_.empty()) return ShowImported();
    if (arguments_.program().empty())
      throw Error(ExitCode::kUsage, "no program to measure",
                  "usage: gprof-cli counters [options] [--] APP [ARGS...], or plan with --dry-run");
    return Collect();
  }

 private:
  // That --chip names, or those that are there.
  std::vector<std::string> ChipsOf(const std::string& word) const {
    if (!chip_.empty()) return {chip_};
    std::string why;
    std::vector<std::string> chips = pm::PresentChips(library_, &why);
    if (chips.empty())
      throw Error(ExitCode::kUsage, fmt::format("'{}' needs a chip: {}", word, why),
                  "name the chip, for example --chip GH100");
    return chips;
  }

  // Some words are for a chip to answer.
  void ReadMetrics(CounterWishes* wishes) const {
    wishes->wanted = arguments_.Wanted();
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
    arguments_.Read(&wishes);
    return wishes;
  }

  int Collect() {
    arguments_.RefuseWhatCannotBe();
    WriteCsvWhereAsked();
    if (const std::string why = arguments_.WhatHasNoEffect(); !why.empty() && !is_quiet_) Warn(why);
    if (!is_quiet_) ncu_options_.Warn(Warn);
    CounterWishes wishes = ReadWishes();
    std::optional<ScratchFolder> folder;
    if (arguments_.SamplesInstructions())
      arguments_.ReadSampling(folder.emplace("code", ExitCode::kLaunchFailed).path(), &wishes);
    LaunchOptions options = CounterLaunch(wishes);
    options.command = arguments_.program();
    options.is_default_output = is_named_->count() == 0;
    if (!options.is_default_output) options.output = output_;
    options.may_overwrite = may_overwrite_;
    options.is_quiet = is_quiet_;
    options.cupti_path = library_;
    options.trace_children = arguments_.Word("--target-processes", {"all", "application-only"}) == "all";
    arguments_.SetCapture(&options);
    if (log_file_.empty() && (arguments_.PrintsCsv() || format_ == "json"))
      options.program_output = ProgramOutput::kOnStderr;
    options.report_loss = Warn;
    if (!is_quiet_) options.warn = Warn;
    if (!is_quiet_) options.say = Say;
    MeasuringLine line(!is_quiet_ && !arguments_.SamplesInstructions());
    if (line.IsShown()) options.show_measuring = [&](const Measuring& measuring) { line.Show(measuring); };
    options.warn = Cleared(options.warn, &line);
    options.say = Cleared(options.say, &line);
    options.report_loss = Cleared(options.report_loss, &line);
    RecoverEarlierRuns();
    LaunchResult result = RunTraced(options);
    line.Clear();
    if (result.was_ended_by_capture) result.exit_code = CodeOf(ExitCode::kGood);
    if (folder && !result.trace_path.empty()) NameInstructions(result.trace_path, folder->path());
    return Show(result);
  }

  // Under the name of a CSV file nobody expects a trace.
  void WriteCsvWhereAsked() {
    constexpr std::string_view kCsv = ".csv";
    const bool prints_csv =
        arguments_.PrintsCsv() || arguments_.Word("--page", {"summary", "details", "raw", "source"}) == "raw";
    if (!prints_csv || is_named_->count() == 0 || !output_.ends_with(kCsv)) return;
    if (log_file_.empty()) log_file_ = output_;
    output_.replace(output_.size() - kCsv.size(), kCsv.size(), ".trace");
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

  int Show(const LaunchResult& result) const {
    constexpr int kKilled = 128;
    if (arguments_.LocksClocks() && result.exit_code > kKilled)
      Warn("the program was killed, and the clocks of the GPU may still be locked: nvidia-smi --reset-gpu-clocks");
    if (result.trace_path.empty()) return result.exit_code;
    if (ScanTrace(result.trace_path).HasNothing()) {
      Warn(ShellQuoted(arguments_.program().front()) +
           " made no CUDA call that the tracer could see, so nothing was measured");
      return result.exit_code != 0 ? result.exit_code : CodeOf(ExitCode::kInconclusive);
    }
    return ShowTrace(result.trace_path, result.exit_code);
  }

  int ShowImported() {
    if (!arguments_.program().empty())
      throw Error(ExitCode::kUsage, "--import prints existing results and runs no program",
                  "leave out " + ShellQuoted(arguments_.program().front()) + ", or --import");
    arguments_.CheckWords();
    const std::string kernels = arguments_.ShownKernels();
    if (!kernels.empty()) shown_.kernel = {kernels, RegularExpression(kernels, "")};
    return ShowTrace(imported_, CodeOf(ExitCode::kGood));
  }

  // Only one program can have the monitors of a GPU, and the tracer does not know which one has them.
  void SayWhoMeasures(const Trace& trace) const {
    const bool are_taken =
        imported_.empty() && std::any_of(trace.notices.begin(), trace.notices.end(), [&](const Notice& notice) {
          return trace.Text(notice.message).find("(error 26)") != std::string_view::npos;
        });
    const std::string owners = are_taken ? KnownMonitorOwners() : std::string();
    if (!owners.empty()) Warn("the performance monitors probably belong to " + owners);
  }

  // The expression that is made of a name would only confuse.
  Trace SelectedTrace(Trace trace) const {
    if (shown_.IsEmpty()) return trace;
    try {
      return Select(std::move(trace), shown_);
    } catch (const Error& e) {
      throw Error(e.code(), "--kernel-name chooses no kernel of " + ShellQuoted(imported_), e.hint());
    }
  }

  int ShowTrace(const std::string& path, int exit_code) const {
    const Trace trace = SelectedTrace(ReadTrace(path));
    const bool is_about_samples = arguments_.SamplesInstructions();
    if (is_about_samples && !trace.pc_samples.empty()) {
      Write(ReportOf(trace, {FindAnalysis("source"), FindAnalysis("health")}, false));
      return exit_code;
    }
    if (is_about_samples || trace.counter_ranges.empty()) {
      SayWhoMeasures(trace);
      if (is_about_samples && !trace.counter_ranges.empty())
        throw Error(ExitCode::kUsage, ShellQuoted(path) + " has counters of kernels, and no samples of instructions",
                    "gprof-cli counters --page source ./app takes samples; --page details has the counters");
      Warn(is_about_samples
               ? "no instruction was sampled; the trace " + ShellQuoted(path) +
                     " may say why; perhaps the kernels were too short"
               : "no kernel was measured; the trace " + ShellQuoted(path) + " may say why; perhaps no launch matched");
      return exit_code != 0 ? exit_code : CodeOf(ExitCode::kInconclusive);
    }
    Print(trace);
    if (!is_quiet_ && imported_.empty())
      Say(fmt::format("measured {}; all values by kernel: gprof-cli counters --page details -i {}",
                      WhatWasMeasured(trace), ShellQuoted(path)));
    return exit_code;
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
    return arguments_.MeasuresRanges()
               ? CountOf(count, "range")
               : fmt::format("{} of {}, {}", CountOf(count, "launch", "launches"), CountOf(kernels, "kernel"),
                             CountOf(passes, "pass each", "passes each"));
  }

  void Print(const Trace& trace) const {
    const std::string page = arguments_.Word("--page", {"summary", "details", "raw", "source"});
    if (arguments_.PrintsCsv() || page == "raw") {
      std::string csv;
      OutputStream out(
          [&](std::string_view bytes) { log_file_.empty() ? void(WriteResult(bytes)) : void(csv += bytes); }, false);
      WriteNcuPage(trace, arguments_.CsvPage(), out);
      out.Finish();
      if (!log_file_.empty()) WriteFile(log_file_, csv);
      return;
    }
    std::string text = ReportOf(trace, {FindAnalysis("counters"), FindAnalysis("health")}, true);
    const bool is_text = format_ != "json";
    if (is_text && page == "details")
      text += RenderCounterPages(CounterPagesOf(trace), ResultTerminal());
    else if (is_text && arguments_.WantsMetricsAlone())
      text += RenderCounterPages(MetricPagesOf(trace), ResultTerminal());
    Write(text);
  }

  void Write(const std::string& text) const {
    log_file_.empty() ? void(WriteResult(text)) : WriteFile(log_file_, text);
  }
  Terminal ResultTerminal() const { return log_file_.empty() ? DetectTerminal(STDOUT_FILENO) : Terminal{}; }

  std::string ReportOf(const Trace& trace, const std::vector<const Analysis*>& analyses, bool is_summary) const {
    AnalysisOptions analysis_options;
    analysis_options.is_brief = is_summary && format_ != "json";
    Report report = RunAnalyses(trace, analyses, analysis_options);
    report.has_details = !is_summary;
    return format_ == "json" ? RenderReportJson(report) : RenderReportText(report, ResultTerminal());
  }

  // ---- what there is ----

  void AddPlanning(CLI::App& app) {
    app.add_flag("--list-sets", wants_sets_, "list the sets and exit")->group("Planning (without a GPU)");
    app.add_flag("--list-sections", wants_sections_, "list the sections and exit")->group("Planning (without a GPU)");
    app.add_flag("--query-metrics", wants_metrics_, "list the base metrics of a chip and exit")
        ->group("Planning (without a GPU)");
    app.add_flag("--dry-run", is_dry_run_, "show the number of passes, and metrics the chip lacks")
        ->group("Planning (without a GPU)");
    app.add_option("--chip,--chips", chip_, "chip: GH100, AD102, … (default of --dry-run: all chips libcupti knows)")
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
    const counters::HostLibrary library(library_);
    std::string text;
    for (const std::string& chip : ChipsOf("--query-metrics")) text += ChipMetricsText(library.Find(chip));
    return text;
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
    if (!chip_.empty()) return counters::PlanOf(library.Find(chip), arguments_.Wanted());
    try {
      return counters::PlanOf(library.Find(chip), arguments_.Wanted());
    } catch (const Error& e) {
      if (e.code() != ExitCode::kUnreadable) throw;
      counters::Plan plan;
      plan.chip = chip;
      plan.problem = e.what();
      return plan;
    }
  }

  CLI::App* app_ = nullptr;
  CounterArguments arguments_;
  NcuOptions ncu_options_;
  std::string chip_, library_, imported_, format_ = "text";
  Selection shown_;
  const CLI::Option* is_named_ = nullptr;
  std::string output_, log_file_;
  bool may_overwrite_ = false, is_quiet_ = false;
  bool wants_sets_ = false, wants_sections_ = false, wants_metrics_ = false, is_dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCounters() { return std::make_unique<Counters>(); }

}  // namespace gprof::cli
