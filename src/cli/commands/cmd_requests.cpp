// gprof-cli requests: what requests of a serving engine waited for. docs/commands/requests.md
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/facts/serving/span_requests.h"
#include "analysis/topics/serving/one_request.h"
#include "analysis/topics/serving/span_tables.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/arguments/options.h"
#include "cli/arguments/selection_arguments.h"
#include "cli/commands/commands.h"
#include "cli/pager.h"
#include "cli/recording/leftovers.h"
#include "cli/render/report/render_report.h"
#include "cli/talk.h"
#include "cli/traces.h"
#include "gprof/error.h"
#include "import/spans/request_spans.h"
#include "report/report.h"

namespace gprof::cli {
namespace {

class Requests : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("TRACE", path_, "trace to read")->type_name("")->required();
    app.add_option("--request", request_, "show the tokens of one request: its name")
        ->type_name("NAME")
        ->group("Display");
    app.add_option("--spans", spans_path_, "join spans that the engine exported: OTLP as JSON")
        ->type_name("FILE")
        ->group("Display");
    app.add_option("--rows", options_.max_rows, "rows of a table, 0 for all (default 10)")
        ->type_name("N")
        ->check(WholeNumber(0, 1'000'000'000))
        ->group("Display");
    app.add_option("--format", format_, "text (default), md for Markdown, or json")
        ->type_name("text|md|json")
        ->check(OneOf({"text", "md", "json"}))
        ->group("Display");
    AddPagerOption(app);
    selection_.AddOptions(app);
    AddMemoryLimitOption(app);
    options_.max_rows = 10;
  }

  int Run() override {
    const Selection selection = selection_.Read();
    RecoverEarlierRuns();
    if (!spans_path_.empty()) ReadSpans();
    std::vector<TraceSummary> none;
    Input whole = LoadInput({path_}, &none);
    RequireRecords(whole, "requests");
    Trace& records = std::get<Trace>(whole);
    if (!selection.IsEmpty()) records = Select(std::move(records), selection);
    Report report = spans_.empty() ? Analyse(records) : AnalyseWithSpans(&records);
    report.has_details = true;
    WritePaged(format_ == "json" ? RenderReportJson(report)
               : format_ == "md" ? RenderReportMarkdown(report)
                                 : RenderReportText(report, DetectTerminal(STDOUT_FILENO)));
    return CodeOf(ExitCode::kGood);
  }

 private:
  void ReadSpans() {
    RequestSpans read = ReadRequestSpans(spans_path_);
    if (read.is_cut) Warn("'" + spans_path_ + "' ends within a document, which is left out");
    spans_ = std::move(read.spans);
  }

  Report AnalyseWithSpans(Trace* trace) const {
    std::vector<Table> tables;
    if (!trace->request_events.empty() || !trace->step_requests.empty()) {
      if (request_.empty()) tables = CompareSpans(AnalysisInput(*trace), spans_, options_.max_rows).tables;
    } else {
      const SpanRequests counts = AddRequests(trace);
      if (request_.empty()) tables.push_back(SpansAsRequestsTable(counts));
    }
    Report report = Analyse(*trace);
    std::vector<Table>& all = report.sections.front().result.tables;
    std::ranges::move(tables, std::back_inserter(all));
    return report;
  }

  SpanRequests AddRequests(Trace* trace) const {
    if (!CanAddRequests(*trace))
      throw Error(ExitCode::kInconclusive,
                  "cannot tell: the trace does not know the steps of an engine and the time of day, to join spans by",
                  "record the server with gprof-cli profile --serving: docs/requests.md");
    const SpanRequests counts = AddRequestsOfSpans(spans_, trace);
    if (counts.added == 0)
      throw Error(ExitCode::kInconclusive,
                  "cannot tell: none of " + CountOf(static_cast<int64_t>(spans_.size()), "span") +
                      " is a request of the recorded time",
                  "give the spans of this run; they need the times in the queue and to the first token");
    return counts;
  }

  Report Analyse(const Trace& trace) const {
    const Analysis* const analysis = FindAnalysis("requests");
    Report report = RunAnalyses(trace, {analysis}, options_);
    if (report.sections.front().result.tables.empty())
      throw Error(ExitCode::kInconclusive, "cannot tell: no serving engine told of its requests",
                  "record it with gprof-cli profile --serving (vLLM, SGLang, Transformers), or tell of them with the "
                  "Python module: docs/requests.md");
    if (request_.empty()) return report;
    AnalysisResult one = ExplainRequest(trace, request_, options_.max_rows);
    if (one.tables.empty())
      throw Error(ExitCode::kUsage, "no request '" + request_ + "' in this trace",
                  "gprof-cli requests " + ShellQuoted(path_) + " --rows 0 lists the requests");
    report.sections.front().result = std::move(one);
    report.findings.clear();
    return report;
  }

  SelectionArguments selection_;
  AnalysisOptions options_;
  std::vector<RequestSpan> spans_;
  std::string path_, request_, spans_path_, format_ = "text";
};

}  // namespace

std::unique_ptr<Command> MakeRequests() { return std::make_unique<Requests>(); }

}  // namespace gprof::cli
