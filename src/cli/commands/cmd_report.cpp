// gprof-cli report: what happened, why the GPU was idle. docs/commands/report.md
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/facts/shared_facts.h"
#include "analysis/facts/steps/step_finder.h"
#include "analysis/topics/counters/counter_comparison.h"
#include "base/input_file.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/options.h"
#include "cli/arguments/selection_arguments.h"
#include "cli/commands/commands.h"
#include "cli/pager.h"
#include "cli/recording/leftovers.h"
#include "cli/render/html_pages.h"
#include "cli/render/report/render_report.h"
#include "cli/talk.h"
#include "cli/traces.h"
#include "fleet/read_input.h"
#include "html/page/report_page.h"
#include "import/read_trace.h"
#include "report/analysis_names.h"
#include "report/answers/brief.h"
#include "report/lines/annotated_file.h"
#include "report/lines/placed_findings.h"

namespace gprof::cli {
namespace {

constexpr std::string_view kFindings = "findings";  // for --only: of all analyses
constexpr uint32_t kTextRows = 10, kJsonRows = 100, kTextTraces = 64;

// The analyses that a name of ours, an obvious other word or a report of nsys means.
std::vector<const Analysis*> RequireAnalyses(const std::string& name) {
  std::vector<const Analysis*> meant = AnalysesCalled(name);
  if (!meant.empty()) return meant;
  throw Error(ExitCode::kUsage, "unknown analysis '" + name + "'",
              NearestHint(name, NamesOfAnalyses(), "gprof-cli report --list lists them"));
}

void Append(const std::vector<const Analysis*>& more, std::vector<const Analysis*>* all) {
  all->insert(all->end(), more.begin(), more.end());
}

const Table& RequireTable(const std::vector<NamedTable>& tables, const std::string& name) {
  std::vector<std::string> names;
  for (const NamedTable& table : tables) {
    if (table.name == name) return table.table;
    names.push_back(table.name);
  }
  throw Error(ExitCode::kUsage, "unknown table '" + name + "'",
              NearestHint(name, names, "available: " + Joined(names)));
}

class ReportCommand : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("TRACE", paths_, "trace to report on, or the traces of all ranks of a run, or a folder of them")
        ->type_name("");
    app.add_option("--only", only_,
                   "only these analyses, comma-separated: kernels, copies, idle, … (see --list), nsys report names, or "
                   "findings")
        ->type_name("LIST")
        ->group("Display");
    app.add_option("--skip", skip_, "all analyses except these")->type_name("LIST")->group("Display");
    app.add_flag("--full", is_full_, "all sections instead of the one-page summary")->group("Display");
    app.add_flag("--list", wants_list_, "list the analyses and exit")->group("Display");
    app.add_option("--sort", sort_, "sort tables by this column (JSON key): total_ns, count, name")
        ->type_name("COLUMN")
        ->group("Display");
    app.add_option("--rows,--top", rows_,
                   "maximum rows per table (default 10 in text, 100 in JSON, 1000 in HTML); 0 for all")
        ->type_name("N")
        ->check(WholeNumber(0, 1'000'000'000))
        ->group("Display");
    app.add_flag("--full-names", has_full_names_, "do not shorten kernel names and other names")->group("Display");
    app.add_option("--min-gap", min_gap_, "merge shorter gaps into one row of the gap table: 10us, 1ms, 2s")
        ->type_name("TIME")
        ->group("Display");
    app.add_option("--min-time", min_time_,
                   "leave out rows that took less time (kernels, operators, ranges, calls): 1ms")
        ->type_name("TIME")
        ->group("Display");
    AddStepOption(app, &options_.step, "Display");
    app.add_option("--baseline", baseline_, "compare kernel counters with those of this trace or CSV output of ncu")
        ->type_name("TRACE")
        ->group("Display");
    app.add_flag("--group-by-input-shape", by_shape_,
                 "PyTorch operators by the sizes of their inputs; implies --only ops")
        ->group("Display");
    app.add_option("--by", by_, "GPU time of modules (also of CUDA graphs, by layer) or of Python lines")
        ->type_name("module|line")
        ->check(OneOf({"module", "line"}))
        ->group("Display");
    app.add_option("--annotate", annotated_,
                   "show this source file with GPU time, idle time, waits and launches of each line (text, md)")
        ->type_name("PATH")
        ->group("Display");
    AddPagerOption(app);
    selection_.AddOptions(app);
    AddOutputOptions(app);
    AddMemoryLimitOption(app);
  }

  int Run() override {
    if (wants_list_) return List();
    if (format_ == "markdown") format_ = "md";
    paths_ = WithFoldersRead(std::move(paths_));
    const std::vector<const Analysis*> analyses = ReadOptions();
    RecoverEarlierRuns();
    const Selection selection = selection_.Read();
    std::vector<TraceSummary> summaries;
    const Input whole = LoadInput(paths_, &summaries);
    RefuseOptionsOfRecords(whole, options_);  // the analyses of a partial were run when it was made
    if (!baseline_.empty()) RequireRecords(whole, "--baseline");
    if (!annotated_.empty()) RequireRecords(whole, "--annotate");
    const Input selected = selection.IsEmpty() ? Trace() : Select(RequireRecords(whole, "a selection"), selection);
    Report report =
        std::visit([&](const auto& input) { return Analyse(input, analyses); }, selection.IsEmpty() ? whole : selected);
    if (!annotated_.empty()) return WriteAnnotation(report);
    if (!summaries.empty()) AddTraces(std::move(summaries), OptionsOfTraces(), &report);
    if (!selection.IsEmpty()) report.whole = FactsOf(RequireRecords(whole, "a selection"));
    if (by_shape_) ShowBySize(&report);
    report.selected = Describe(selection);
    report.has_details = !only_.empty();
    report.is_full = is_full_ || !skip_.empty() || !sort_.empty() || min_time_ns_ > 0 || rows_.has_value();
    report.has_full_names = has_full_names_;
    report.has_findings_alone = only_ == kFindings;
    report.has_tables = has_tables_ || report.has_details || report.is_full || format_ != "json";
    if (rows_ == 0u) report.metric_ranges = SIZE_MAX;
    if (format_ == "csv") return WriteCsv(report);
    if (format_ == "html") return WriteHtml(report);
    return WriteOther(report);
  }

 private:
  void AddOutputOptions(CLI::App& app) {
    app.add_option(
           "--format", format_,
           "text (default), line (one line), brief (JSON of at most 5 kB, for agents), md or markdown, csv (tables), "
           "json, html (self-contained page with a timeline), or findings at their source lines: sarif, problems (as "
           "compilers print them)")
        ->type_name("text|line|brief|md|markdown|csv|json|html|sarif|problems")
        ->check(OneOf({"text", "line", "brief", "md", "markdown", "csv", "json", "html", "sarif", "problems"}))
        ->group("Output");
    app.add_flag("--tables", has_tables_,
                 "with --format json: all tables (default: those of --only, or none: a count of them)")
        ->group("Output");
    app.add_option("--html-events", event_budget_,
                   "with --format html: maximum timeline events (default 5000000); beyond that, short events are "
                   "merged")
        ->type_name("N")
        ->check(WholeNumber(1, 100'000'000))
        ->group("Output");
    app.add_option("--table", table_, "with --format csv: only this table, for example idle.gaps or metrics")
        ->type_name("NAME")
        ->group("Output");
    AddRawCsvOption(app);
    app.add_option("-o,--output", output_,
                   "write the report to a file (atomically); for csv without --table, the folder for all tables")
        ->type_name("FILE")
        ->group("Output");
  }

  // What contradicts itself is refused before a trace is read.
  std::vector<const Analysis*> ReadOptions() {
    if (paths_.empty()) throw Error(ExitCode::kUsage, "no trace given", "usage: gprof-cli report TRACE... [options]");
    if (!baseline_.empty() && only_.empty()) only_ = "counters";
    if (by_shape_ && only_.empty()) only_ = "ops";
    if (!by_.empty() && only_.empty()) only_ = by_ == "module" ? "modules,graphs" : "python_lines,graphs";
    std::vector<const Analysis*> analyses = Choose();
    if (!min_time_.empty()) min_time_ns_ = ReadTime("--min-time", min_time_);
    if (!min_gap_.empty()) options_.min_gap_ns = ReadTime("--min-gap", min_gap_);
    if (!table_.empty() && format_ != "csv")
      throw Error(ExitCode::kUsage, "--table requires --format csv", "use --only to select analyses in other formats");
    if (has_tables_ && format_ != "json")
      throw Error(ExitCode::kUsage, "--tables requires --format json", "--full shows all tables in other formats");
    if (!annotated_.empty() && format_ != "text" && format_ != "md")
      throw Error(ExitCode::kUsage, "--annotate writes text or Markdown, not " + format_,
                  "--format json --only python_lines has the same figures");
    if (format_ == "brief" && !(only_.empty() && skip_.empty()))
      throw Error(ExitCode::kUsage, "--format brief is of all analyses", "remove --only and --skip");
    if (event_budget_ && format_ != "html") throw Error(ExitCode::kUsage, "--html-events requires --format html");
    if (format_ == "html") RequirePage(output_);
    options_.max_rows = rows_.value_or(RowsByDefault());
    return analyses;
  }

  int WriteOther(const Report& report) const {
    const Terminal terminal = TerminalOfOutput();
    const std::string here = std::filesystem::current_path().string();
    const std::string text = format_ == "json"       ? RenderReportJson(report)
                             : format_ == "brief"    ? RenderBrief(report)
                             : format_ == "line"     ? RenderReportLine(report)
                             : format_ == "md"       ? RenderReportMarkdown(report)
                             : format_ == "sarif"    ? RenderSarif(report, here)
                             : format_ == "problems" ? RenderProblems(report, here)
                                                     : RenderReportText(report, terminal);
    return WriteText(text);
  }

  bool IsFile() const { return !output_.empty() && output_ != "-"; }

  // A file is not a terminal, whatever stdout is.
  Terminal TerminalOfOutput() const { return DetectTerminal(IsFile() ? -1 : STDOUT_FILENO); }

  int WriteText(const std::string& text) const {
    if (IsFile()) {
      WriteFile(output_, text);
    } else {
      WritePaged(text);
    }
    return CodeOf(ExitCode::kGood);
  }

  int WriteAnnotation(const Report& report) const {
    const AnnotatedFile file = AnnotateFile(*report.records, annotated_);
    const std::vector<std::string> source = SourceOf(file);
    return WriteText(format_ == "md" ? RenderAnnotationMarkdown(file, source, is_full_)
                                     : RenderAnnotationText(file, source, is_full_, TerminalOfOutput()));
  }

  // As it is named, or else where it was when the program ran. Empty where it is in neither place.
  std::vector<std::string> SourceOf(const AnnotatedFile& file) const {
    std::error_code error;
    const std::string& path = std::filesystem::is_regular_file(annotated_, error) ? annotated_ : file.path;
    if (!std::filesystem::is_regular_file(path, error)) {
      Warn("cannot read '" + path + "': its lines are shown without their text");
      return {};
    }
    const auto written = std::filesystem::last_write_time(path, error);
    const auto recorded = std::filesystem::last_write_time(paths_.front(), error);
    if (!error && written > recorded) Warn("'" + path + "' was changed after the recording: lines may have moved");
    std::vector<std::string> lines;
    std::istringstream text(ReadInputFile(path));
    for (std::string line; std::getline(text, line);) lines.push_back(std::move(line));
    return lines;
  }

  Trace LoadBaseline(const Trace& trace) const {
    Trace baseline = ReadTrace(baseline_);
    const bool is_of_both = !trace.counter_ranges.empty() && !baseline.counter_ranges.empty();
    if (!is_of_both)
      throw Error(
          ExitCode::kUnreadable,
          "--baseline: no kernel counters in '" + (baseline.counter_ranges.empty() ? baseline_ : paths_.front()) + "'",
          "record them with gprof-cli counters; gprof-cli diff compares other traces");
    return baseline;
  }

  // The sizes are in a column of the other table of operators.
  static void ShowBySize(Report* report) {
    for (Section& section : report->sections) {
      if (section.analysis->name == "ops") {
        std::erase_if(section.result.tables, [](const Table& table) { return table.id == "ops"; });
      }
    }
  }

  // Sections beside those of the other trace, in place of sections alone.
  void ShowBeside(const Trace& trace, Report* report) const {
    const Trace baseline = LoadBaseline(trace);
    for (Section& section : report->sections) {
      if (section.analysis->name != "counters" || section.result.tables.empty()) continue;
      section.result.tables.resize(1);
      for (Table& table : ComparisonTables(trace, baseline, options_.max_rows))
        section.result.tables.push_back(std::move(table));
    }
  }

  // Somebody who names many traces wants to see more than ten of them.
  AnalysisOptions OptionsOfTraces() const {
    AnalysisOptions options = options_;
    if (format_ == "text" && !rows_) options.max_rows = kTextTraces;
    return options;
  }

  uint32_t RowsByDefault() const {
    return format_ == "csv" ? 0 : format_ == "html" ? kPageRows : format_ == "json" ? kJsonRows : kTextRows;
  }

  int WriteHtml(const Report& report) const {
    SayWhatPartialsLack(report.run);
    WritePageTo(output_, PageOfReport(report, event_budget_.value_or(kDefaultEventBudget)));
    return CodeOf(ExitCode::kGood);
  }

  int WriteCsv(const Report& report) const {
    const std::vector<NamedTable> tables = AllTables(report);
    if (!table_.empty()) {
      WriteFile(output_.empty() ? "-" : output_, RenderCsv(RequireTable(tables, table_)));
      return CodeOf(ExitCode::kGood);
    }
    if (output_.empty() || output_ == "-")
      throw Error(ExitCode::kUsage, "CSV of all tables needs an output folder",
                  "add -o FOLDER, or --table NAME for one");
    std::error_code error;
    std::filesystem::create_directories(output_, error);
    if (error) throw Error(ExitCode::kUnreadable, "cannot create the folder '" + output_ + "': " + error.message());
    for (const NamedTable& table : tables) {
      WriteFile((std::filesystem::path(output_) / (table.name + ".csv")).string(), RenderCsv(table.table));
    }
    return CodeOf(ExitCode::kGood);
  }

  Report Analyse(const Trace& trace, const std::vector<const Analysis*>& analyses) const {
    if (!options_.step.empty() && !FindStep(trace, options_.step)) {
      throw Error(ExitCode::kUsage, "no NVTX range '" + options_.step + "' in this trace",
                  "gprof-cli report --only nvtx lists the ranges; --step needs a push/pop range");
    }
    Report report = Sorted(trace, analyses);
    if (!baseline_.empty()) ShowBeside(trace, &report);
    return report;
  }

  Report Analyse(const Results& results, const std::vector<const Analysis*>& analyses) const {
    return Sorted(results, analyses);
  }

  // What is sorted or chosen in another way than the analyses do is cut afterwards.
  template <class TraceOrResults>
  Report Sorted(const TraceOrResults& input, const std::vector<const Analysis*>& analyses) const {
    AnalysisOptions options = options_;
    if (!sort_.empty() || min_time_ns_ > 0) options.max_rows = 0;
    // What is sorted by a column may be a detail alone.
    const bool has_all = format_ == "json" || format_ == "csv" || format_ == "html" || format_ == "brief";
    options.is_brief = !has_all && only_.empty() && sort_.empty();
    Report report = RunAnalyses(input, analyses, options);
    if (min_time_ns_ > 0) LeaveOutShortRows(min_time_ns_, sort_.empty() ? options_.max_rows : 0, &report);
    if (!sort_.empty() && !SortTables(sort_, options_.max_rows, &report)) {
      throw Error(ExitCode::kUsage, "no table has a column '" + sort_ + "'",
                  "docs/metrics.md lists the table columns, as does --format json");
    }
    return report;
  }

  std::vector<const Analysis*> Choose() const {
    std::vector<const Analysis*> only, skip, chosen;
    // Findings are of all analyses.
    if (!only_.empty() && only_ != kFindings) {
      for (const std::string& name : SplitList(only_)) Append(RequireAnalyses(name), &only);
    }
    if (!skip_.empty()) {
      for (const std::string& name : SplitList(skip_)) Append(RequireAnalyses(name), &skip);
    }
    const auto is_in = [](const auto& list, const Analysis* a) {
      return std::find(list.begin(), list.end(), a) != list.end();
    };
    for (const Analysis& analysis : AllAnalyses()) {
      if ((only.empty() || is_in(only, &analysis)) && !is_in(skip, &analysis)) chosen.push_back(&analysis);
    }
    return chosen;
  }

  static int List() {
    std::string text;
    for (const Analysis& analysis : AllAnalyses()) {
      const std::size_t fill = analysis.name.size() < 15 ? 15 - analysis.name.size() : 1;
      text += std::string(analysis.name) + std::string(fill, ' ') + std::string(analysis.summary) + "\n";
    }
    WriteResult(text);
    return CodeOf(ExitCode::kGood);
  }

  SelectionArguments selection_;
  std::vector<std::string> paths_;
  std::string only_, skip_, min_gap_, min_time_, output_, sort_, table_, baseline_, annotated_, by_;
  std::string format_ = "text";
  std::optional<uint32_t> rows_;
  std::optional<uint64_t> event_budget_;
  int64_t min_time_ns_ = 0;
  bool wants_list_ = false, is_full_ = false, has_full_names_ = false, by_shape_ = false, has_tables_ = false;
  AnalysisOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeReport() { return std::make_unique<ReportCommand>(); }

}  // namespace gprof::cli
