#include "cli/render/html_pages.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/options.h"
#include "cli/render/render_fleet.h"
#include "cli/talk.h"
#include "export/output/fresh_output.h"
#include "export/output/output_stream.h"
#include "fleet/partial/partial_file.h"
#include "gate/diff/diff_words.h"
#include "gprof/error.h"
#include "html/page/fleet_page.h"

namespace gprof::cli {
namespace {

namespace fs = std::filesystem;

void AddTracesBeside(const std::string& partial, const FleetVerdict& verdict,
                     std::map<std::string, std::string>* paths) {
  for (const RankVerdict& rank : verdict.ranks) {
    const fs::path path = fs::path(partial).parent_path() / rank.rank->source;
    std::error_code error;
    if (fs::is_regular_file(path, error)) paths->try_emplace(rank.rank->source, path);
  }
}

bool IsStdout(const std::string& path) { return path.empty() || path == "-"; }

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

PageContents PageOfDiff(const Diff& diff, std::string document) {
  PageContents contents;
  contents.title = diff.base.name + " -> " + diff.now.name;
  contents.verdict = OneLine(diff);
  contents.diff = std::move(document);
  return contents;
}

void SayWhatPartialsLack(const RunFacts& run) {
  if (run.stands_for.empty()) return;
  const bool is_one = run.stands_for.size() == 1;
  Say("a partial has no events, so its page has no timeline; " +
      (is_one ? "'gprof-cli view " + ShellQuoted(run.stands_for.front().path) + "' shows that of its trace"
              : "'gprof-cli view " + ShellQuoted(run.head->path) + "' compares its ranks"));
}

PageContents PageOfRanks(const FleetVerdict& verdict, const std::vector<std::string>& paths) {
  FleetWords words;
  const auto named = std::find_if(verdict.ranks.begin(), verdict.ranks.end(),
                                  [](const RankVerdict& rank) { return !rank.rank->program.empty(); });
  words.title = named == verdict.ranks.end() ? "ranks" : named->rank->program;
  words.lines = {"Ranks: " + RanksLine(verdict), "Clocks: " + ClocksLine(verdict)};
  if (const std::string path = PathText(verdict); !path.empty()) words.lines.push_back("Critical path: " + path);
  for (const std::string& path : paths) {
    if (IsPartialFile(path)) {
      AddTracesBeside(path, verdict, &words.paths);
    } else {
      words.paths[fs::path(path).filename()] = path;
    }
  }
  return PageOfFleet(verdict, words);
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
  Say("wrote " + ShellQuoted(path) + ", " + FormatBytes(output.written_bytes()));
}

}  // namespace gprof::cli
