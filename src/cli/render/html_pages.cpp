#include "cli/render/html_pages.h"

#include <unistd.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/arguments/options.h"
#include "cli/render/report_head.h"
#include "cli/render/time_split.h"
#include "cli/talk.h"
#include "export/fresh_output.h"
#include "export/output_stream.h"
#include "gate/diff_words.h"
#include "gprof/error.h"
#include "html/finding_places.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kLongestTitle = 200;

bool IsStdout(const std::string& path) { return path.empty() || path == "-"; }

std::string TitleOf(const Report& report) {
  for (const HeadLine& line : HeadOf(report, kLongestTitle)) {
    if (line.label == "Program") return line.text;
  }
  return report.Whole().path;
}

void Write(const PageContents& contents, OutputStream::Sink sink) {
  OutputStream stream(std::move(sink), false);
  WritePage(contents, stream);
  stream.Finish();
}

}  // namespace

void RequirePage(const std::string& path) {
  if (!HasPage()) {
    throw Error(ExitCode::kUsage, "this gprof-cli was built without HTML support",
                "it was configured with GPROF_BUILD_HTML=OFF; use another format");
  }
  if (path.empty() && isatty(STDOUT_FILENO) == 1) {
    throw Error(ExitCode::kUsage, "HTML is not written to a terminal", "name a file with -o, or use gprof-cli view");
  }
}

PageContents PageOfReport(const Report& report, uint64_t event_budget) {
  PageContents contents;
  contents.title = TitleOf(report);
  const std::vector<std::string> verdict = VerdictOf(report, 1);
  contents.verdict = verdict.empty() ? "no GPU work" : verdict.front();
  contents.report = RenderCompactReportJson(report);
  // In the order of the document, which places refer to.
  std::vector<Finding> findings;
  for (const RankedFinding& ranked : RankedFindings(report)) findings.push_back(*ranked.finding);
  contents.places = PlacesOf(findings);
  contents.timelines.push_back({report.input, report.Whole().path});
  contents.event_budget = event_budget;
  return contents;
}

PageContents PageOfDiff(const Diff& diff, std::string document) {
  PageContents contents;
  contents.title = diff.base.name + " -> " + diff.now.name;
  contents.verdict = OneLine(diff);
  contents.diff = std::move(document);
  return contents;
}

std::string PageText(const PageContents& contents) {
  std::string text;
  Write(contents, [&text](std::string_view bytes) { text += bytes; });
  return text;
}

void WritePageTo(const std::string& path, const PageContents& contents) {
  if (IsStdout(path)) {
    try {
      Write(contents, [](std::string_view bytes) {
        if (!WriteResult(bytes)) throw ReaderHasGone{};
      });
    } catch (const ReaderHasGone&) {
      // `| head` is no error.
    }
    return;
  }
  FreshOutput output(path, FreshOutput::Kind::kBytes);
  Write(contents, [&](std::string_view bytes) { output.Write(bytes); });
  output.Finish();
  Say("wrote " + ShellQuoted(path) + ", " + FormatBytes(static_cast<double>(output.written_bytes())));
}

}  // namespace gprof::cli
