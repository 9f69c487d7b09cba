#include "cli/render/html_pages.h"

#include <unistd.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/arguments/options.h"
#include "cli/talk.h"
#include "export/output/fresh_output.h"
#include "export/output/output_stream.h"
#include "gate/diff/diff_words.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

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

std::string PageOfRanks(const std::string& partial) {
  return "; 'gprof-cli analyze --format html -o page.html " + ShellQuoted(partial) + "' makes a page of its ranks";
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
