#include "cli/arguments/diff_arguments.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/terminal.h"
#include "base/text.h"
#include "cli/arguments/options.h"
#include "cli/ci/ci_outputs.h"
#include "cli/commands/command.h"
#include "cli/pager.h"
#include "cli/render/diff/diff_report.h"
#include "cli/render/html_pages.h"
#include "cli/talk.h"
#include "gate/budget/value_text.h"
#include "gprof/error.h"
#include "report/analysis_names.h"

namespace gprof::cli {
namespace {

constexpr uint32_t kTextRows = 10;
constexpr const char* kShown = "Display";
constexpr const char* kJudged = "Thresholds";

// What `report --only` calls by the first name has a table of its own here.
constexpr std::pair<std::string_view, std::string_view> kTablesOfAnalyses[] = {
    {"idle", "time"},       {"steps", "steps"},      {"devices", "gpus"},
    {"kernels", "kernels"}, {"memcpy", "transfers"}, {"nvtx", "paths"}};

// The table that a word of `report --only` means, such as `copies`.
std::string TableOfWord(const std::vector<const Analysis*>& meant) {
  for (const Analysis* analysis : meant) {
    for (const auto& [name, table] : kTablesOfAnalyses) {
      if (analysis->name == name) return std::string(table);
    }
  }
  return "";
}

std::string ReadTable(const std::string& name, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return name;
  const std::vector<const Analysis*> meant = AnalysesCalled(name);
  if (std::string table = TableOfWord(meant); !table.empty()) return table;
  const std::string available = "available: " + Joined(known);
  if (!meant.empty()) {
    throw Error(ExitCode::kUsage, "runs are not compared by '" + name + "'",
                available + "; metrics has the figures of every analysis");
  }
  throw Error(ExitCode::kUsage, "unknown table '" + name + "'", NearestHint(name, known, available));
}

std::vector<std::string> ReadTables(const std::string& text) {
  if (text.empty()) return {};
  const std::vector<std::string> known = DiffTableNames();
  std::vector<std::string> names = SplitList(text);
  for (std::string& name : names) name = ReadTable(name, known);
  return names;
}

}  // namespace

void DiffArguments::AddOptions(CLI::App& app, bool requires_verdict, Pages pages) {
  requires_verdict_ = requires_verdict;
  app.add_option("--only", only_, "only these tables: time, steps, gpus, kernels, transfers, paths, counters, metrics")
      ->type_name("LIST")
      ->group(kShown);
  app.add_option("--sort", sort_, "sort tables by this column (JSON key): change_ns, new_ns, name")
      ->type_name("COLUMN")
      ->group(kShown);
  app.add_option("--top,--rows", rows_, "maximum rows per table (default 10; all in JSON); 0 for all")
      ->type_name("N")
      ->check(WholeNumber(0, 1'000'000'000))
      ->group(kShown);
  app.add_flag("--full-names", has_full_names_, "do not shorten names")->group(kShown);
  is_paged_ = pages == Pages::kHtml;
  if (is_paged_) AddPagerOption(app);
  app.add_option("--min-change", min_change_, "ignore relative time changes below this (default 2%)")
      ->type_name("SHARE")
      ->group(kJudged);
  app.add_option("--and", min_time_,
                 "and ignore absolute time changes below this, for example 100us; a change must exceed both")
      ->type_name("TIME")
      ->group(kJudged);
  app.add_option("--fail-on", fail_on_,
                 "when to exit with 1: regressed (default); counters (also if a deterministic metric got worse); none")
      ->type_name("regressed|counters|none")
      ->check(OneOf({"regressed", "counters", "none"}))
      ->group(kJudged);
  if (!requires_verdict) {
    app.add_flag("--require-verdict", requires_verdict_, "exit with 4 if there is no verdict, as with one run per side")
        ->group(kJudged);
  }
  const bool has_pages = pages == Pages::kHtml;
  app.add_option("--format", format_,
                 has_pages ? "text (default), md for Markdown, json, or html for a page with both timelines"
                           : "text (default), md for Markdown, or json")
      ->type_name(has_pages ? "text|md|json|html" : "text|md|json")
      ->check(has_pages ? OneOf({"text", "md", "json", "html"}) : OneOf({"text", "md", "json"}))
      ->group("Output");
  app.add_option("--summary", summary_, "also write the result as Markdown; appends if FILE is $GITHUB_STEP_SUMMARY")
      ->type_name("FILE")
      ->group("Output");
}

void DiffArguments::AddOutputOption(CLI::App& app) {
  app.add_option("-o,--output", output_, "write to a file (atomically)")->type_name("FILE")->group("Output");
}

DiffOptions DiffArguments::Options() const {
  if (WantsPage()) RequirePage(output_);
  DiffOptions options;
  if (!min_change_.empty()) {
    const std::optional<double> share = ReadShare(min_change_);
    if (!share || *share < 0) {
      throw Error(ExitCode::kUsage, "--min-change needs a percentage, not '" + min_change_ + "'",
                  "example: --min-change 2%");
    }
    options.min_relative = *share;
  }
  if (!min_time_.empty()) options.min_absolute_ns = static_cast<double>(ReadTime("--and", min_time_));
  ReadTables(only_);  // before anything is loaded
  return options;
}

DiffView DiffArguments::View(const std::string& selected) const {
  const bool is_for_machines = format_ == "json" || WantsPage();
  DiffView view;
  view.selected = selected;
  view.only = ReadTables(only_);
  view.sort = sort_;
  view.max_rows = rows_.value_or(is_for_machines ? 0 : kTextRows);
  view.has_full_names = has_full_names_;
  view.has_unchanged = is_for_machines;
  return view;
}

void DiffArguments::Summarize(const Diff& diff, const DiffView& view) const {
  if (summary_.empty()) return;
  DiffView of_summary = view;
  of_summary.max_rows = rows_.value_or(kTextRows);
  of_summary.has_unchanged = false;
  WriteSummary(summary_, RenderDiffMarkdown(diff, of_summary));
}

int DiffArguments::Show(const Diff& diff, const std::string& selected) const {
  const DiffView view = View(selected);
  Summarize(diff, view);
  const bool is_file = !output_.empty() && output_ != "-";
  // A file is not a terminal, whatever stdout is.
  const Terminal terminal = DetectTerminal(is_file ? -1 : STDOUT_FILENO);
  const std::string text = format_ == "json" ? RenderDiffJson(diff, view)
                           : format_ == "md" ? RenderDiffMarkdown(diff, view)
                                             : RenderDiffText(diff, view, terminal);
  if (is_file) {
    WriteFile(output_, text);
  } else if (is_paged_) {
    WritePaged(text);
  } else {
    WriteResult(text);
  }
  return ExitCodeFor(diff);
}

int DiffArguments::ShowPage(const Diff& diff, const std::string& selected, std::vector<PageTimeline> timelines) const {
  const DiffView view = View(selected);
  Summarize(diff, view);
  PageContents contents = PageOfDiff(diff, RenderDiffJson(diff, view));
  contents.timelines = std::move(timelines);
  WritePageTo(output_, contents);
  return ExitCodeFor(diff);
}

int DiffArguments::ExitCodeFor(const Diff& diff) const {
  const bool is_regressed = diff.is_judged && diff.verdict == Change::kRegressed;
  const bool has_worse = fail_on_ == "counters" && diff.worse_counters > 0;
  if (fail_on_ != "none" && (is_regressed || has_worse)) return CodeOf(ExitCode::kGateFailed);
  const bool has_verdict = diff.is_judged && diff.verdict != Change::kInconclusive;
  if (requires_verdict_ && !has_verdict) return CodeOf(ExitCode::kInconclusive);
  return CodeOf(ExitCode::kGood);
}

}  // namespace gprof::cli
