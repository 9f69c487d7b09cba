// gprof-cli stats: the summary tables of `nsys stats`. docs/commands/stats.md
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/facts/recording/unknown_facts.h"
#include "base/text.h"
#include "cli/arguments/options.h"
#include "cli/arguments/selection_arguments.h"
#include "cli/commands/commands.h"
#include "cli/pager.h"
#include "cli/recording/leftovers.h"
#include "cli/render/render_stats.h"
#include "cli/talk.h"
#include "cli/traces.h"
#include "fleet/partial/keep_results.h"
#include "report/analysis_names.h"
#include "report/nsys/nsys_reports.h"

namespace gprof::cli {
namespace {

const NsysReport& RequireReport(const std::string& word) {
  const std::string name = word.substr(0, word.find(':'));
  const NsysReport* const report = FindNsysReport(name);
  if (report == nullptr) {
    std::vector<std::string> names;
    for (const NsysReport& one : NsysReports()) names.emplace_back(one.name);
    throw Error(ExitCode::kUsage, "unknown table '" + name + "'",
                NearestHint(name, names, "gprof-cli stats --list lists them"));
  }
  if (report->make == nullptr) {
    throw Error(ExitCode::kUsage, "stats does not support the table '" + name + "'",
                "gprof-cli report TRACE --only " + std::string(report->analysis) + " has similar data");
  }
  if (name != word) {
    throw Error(ExitCode::kUsage, "'" + word + "': table arguments are not supported", "use " + name);
  }
  return *report;
}

class Stats : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("TRACE", paths_, "trace, or the traces of all ranks of a run")->type_name("");
    app.add_option("-r,--report", reports_,
                   "only these tables, comma-separated: cuda_gpu_kern_sum,cuda_api_sum (default: those that nsys "
                   "prints)")
        ->type_name("LIST")
        ->multi_option_policy(CLI::MultiOptionPolicy::Join)
        ->delimiter(',')
        ->group("Display");
    app.add_flag("--list", wants_list_, "list the tables and exit")->group("Display");
    AddPagerOption(app);
    selection_.AddOptions(app);
    AddRawCsvOption(app);
    app.add_option("-f,--format", format_, "table (default), csv, tsv or json")
        ->type_name("table|csv|tsv|json")
        ->check(OneOf({"table", "column", "csv", "tsv", "json"}))
        ->group("Output");
    app.add_option("-o,--output", output_,
                   "write each table to NAME_TABLE.csv (.tsv, .json, .txt), atomically; . uses the trace "
                   "name, - is stdout (default)")
        ->type_name("NAME")
        ->group("Output");
    app.add_flag("-q,--quiet", is_quiet_, "print only errors")->group("Output");
    for (const char* const name : {"--force-overwrite", "--force-export"}) {
      app.add_flag(name, is_ignored_, "of nsys stats; files are always replaced, and no database is made")->group("");
    }
    AddMemoryLimitOption(app);
  }

  int Run() override {
    if (wants_list_) return List();
    if (paths_.empty()) throw Error(ExitCode::kUsage, "no trace given", "usage: gprof-cli stats TRACE... [options]");
    const std::vector<const NsysReport*> reports = Choose();
    RecoverEarlierRuns();
    std::vector<TraceSummary> summaries;
    const Input whole = LoadInput(paths_, &summaries);
    const Selection selection = selection_.Read();
    std::string left_out;
    Tables tables;
    if (const auto* const results = std::get_if<Results>(&whole); results != nullptr && selection.IsEmpty()) {
      tables = OfResults(reports, *results, &left_out);
    } else {
      tables = OfTrace(reports, RequireRecords(whole, "a selection"), selection);
    }
    if (tables.empty() && reports_.empty() && left_out.empty()) Tell("no events were recorded for these tables");
    if (output_.empty() || output_ == "-") {
      WritePaged(AsOne(tables));
    } else {
      WriteFiles(tables);
    }
    return CodeOf(ExitCode::kGood);
  }

 private:
  using Tables = std::vector<NamedTable>;

  Tables OfTrace(const std::vector<const NsysReport*>& reports, const Trace& whole, const Selection& selection) const {
    const Trace selected = selection.IsEmpty() ? Trace() : Select(whole, selection);
    const AnalysisInput input(selection.IsEmpty() ? whole : selected);
    Tables tables;
    const FactSet unknown = UnknownFacts(whole);
    for (const NsysReport* report : reports) {
      if (!Add(*report, report->make(input), &tables)) TellEmpty(*report, whole, unknown);
    }
    return tables;
  }

  // What is not in them is added to `left_out`.
  Tables OfResults(const std::vector<const NsysReport*>& reports, const Results& results, std::string* left_out) const {
    Tables tables;
    std::string cut;
    for (const NsysReport* report : reports) {
      std::optional<Table> table = TableOf(*report, results);
      if (!table) {
        *left_out += (left_out->empty() ? "" : ", ") + std::string(report->name);
        continue;
      }
      if (table->rows.size() >= kKeptRows) cut += (cut.empty() ? "" : ", ") + std::string(report->name);
      if (!Add(*report, std::move(*table), &tables)) TellEmpty(*report, results.head, results.unknown);
    }
    if (!left_out->empty()) TellLeftOut(*left_out, tables.empty());
    if (results.traces.size() > 1 && !tables.empty())
      Tell("of several ranks in a partial, medians are accurate to 0.8%");
    if (!cut.empty())
      Tell("of each rank, a partial keeps " + std::to_string(kKeptRows) +
           " rows of a table; the trace has all of: " + cut);
    return tables;
  }

  // False: it has no rows, which is said of tables that were asked for.
  bool Add(const NsysReport& report, Table table, Tables* tables) const {
    if (table.rows.empty() && (reports_.empty() || IsText())) return false;
    table.title = std::string(report.title) + " (" + std::string(report.name) + ")";
    tables->push_back({std::string(report.name), std::move(table)});
    return true;
  }

  void TellEmpty(const NsysReport& report, const TraceHead& trace, FactSet unknown) const {
    if (reports_.empty()) return;
    const std::vector<const Analysis*> analyses = AnalysesCalled(report.name);
    const std::string why = analyses.empty() ? std::string() : WhyEmpty(trace, unknown, analyses.front()->name);
    Tell(std::string(report.name) + ": " + (why.empty() ? "the trace has no such events." : why));
  }

  void Tell(const std::string& message) const {
    if (!is_quiet_) Say(message);
  }

  // Of tables that were asked for, and none of which there is, that is an error.
  void TellLeftOut(const std::string& names, bool is_all) const {
    if (is_all && !reports_.empty()) {
      throw Error(ExitCode::kUsage, "not in a partial: " + names,
                  "use the trace; gprof-cli ranks --recipe NAME has some of these tables for all ranks");
    }
    Tell("not in a partial, use the trace: " + names);
  }

  bool IsText() const { return format_ == "table" || format_ == "column"; }

  static int List() {
    std::string text;
    for (const NsysReport& report : NsysReports()) {
      if (report.make == nullptr) continue;
      std::string line(report.name);
      line.resize(std::max<std::size_t>(line.size() + 1, 24), ' ');
      text += line + std::string(report.title) + "\n";
    }
    WriteResult(text);
    return CodeOf(ExitCode::kGood);
  }

  std::vector<const NsysReport*> Choose() const {
    std::vector<const NsysReport*> reports;
    if (reports_.empty()) {
      for (const NsysReport& report : NsysReports()) {
        if (report.is_default) reports.push_back(&report);
      }
      return reports;
    }
    for (const std::string& word : SplitList(reports_)) reports.push_back(&RequireReport(word));
    return reports;
  }

  std::string Render(const NamedTable& named, const Terminal& terminal) const {
    if (format_ == "csv") return RenderStatsCsv(named.table, ',');
    if (format_ == "tsv") return RenderStatsCsv(named.table, '\t');
    if (format_ == "json") return RenderStatsJson({named});
    return RenderStatsTable(named.table, terminal);
  }

  std::string AsOne(const Tables& tables) const {
    if (format_ == "json") return RenderStatsJson(tables);
    const Terminal terminal = DetectTerminal(STDOUT_FILENO);
    std::string text;
    for (const NamedTable& named : tables) text += (text.empty() ? "" : "\n") + Render(named, terminal);
    return text;
  }

  void WriteFiles(const Tables& tables) const {
    const std::string ending = IsText() ? "txt" : format_;
    std::filesystem::path trace(paths_.front());
    const std::string base = output_ == "." ? trace.replace_extension().string() : output_;
    for (const NamedTable& named : tables) {
      const std::string path = base + "_" + named.name + "." + ending;
      WriteFile(path, Render(named, Terminal{}));
      Tell("wrote " + ShellQuoted(path));
    }
  }

  SelectionArguments selection_;
  std::vector<std::string> paths_;
  std::string reports_, output_;
  std::string format_ = "table";
  bool wants_list_ = false, is_quiet_ = false, is_ignored_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeStats() { return std::make_unique<Stats>(); }

}  // namespace gprof::cli
