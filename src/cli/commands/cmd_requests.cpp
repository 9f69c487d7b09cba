// gprof-cli requests: what requests of a serving engine waited for. docs/commands/requests.md
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/topics/serving/one_request.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/arguments/options.h"
#include "cli/arguments/selection_arguments.h"
#include "cli/commands/commands.h"
#include "cli/pager.h"
#include "cli/recording/leftovers.h"
#include "cli/render/report/render_report.h"
#include "cli/traces.h"
#include "gprof/error.h"
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
    std::vector<TraceSummary> none;
    const Input whole = LoadInput({path_}, &none);
    const Trace& records = RequireRecords(whole, "requests");
    const Trace selected = selection.IsEmpty() ? Trace() : Select(records, selection);
    Report report = Analyse(selection.IsEmpty() ? records : selected);
    report.has_details = true;
    WritePaged(format_ == "json" ? RenderReportJson(report)
               : format_ == "md" ? RenderReportMarkdown(report)
                                 : RenderReportText(report, DetectTerminal(STDOUT_FILENO)));
    return CodeOf(ExitCode::kGood);
  }

 private:
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
  std::string path_, request_, format_ = "text";
};

}  // namespace

std::unique_ptr<Command> MakeRequests() { return std::make_unique<Requests>(); }

}  // namespace gprof::cli
