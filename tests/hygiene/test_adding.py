"""docs/adding.md says how many files an addition touches: here each kind is held to an addition that is in the tree."""

import functools
import os
import pathlib
import re
import shutil
import tempfile
import unittest

import tree

PAGE = "docs/adding.md"
# Where mentioning an addition is no work that it asks for, unless the page lists the file.
NOT_COUNTED = ("docs/", "tests/", "CHANGELOG.md", "README.md", "src/python/gprof_cli/__init__.pyi")  # a test writes it

# What the files of each example say, or are called.
EXAMPLES = {
    "a record kind": r'MetricLoss\b|MetricLossRecord|\bmetric_losses\b|"metric_loss"|def metric_loss\b|`metric_loss`',
    "a field of a record": r"\bcache_bytes\b",
    "an analysis": r"api_errors|ApiErrors",
    "a metric": r'\bjit\.(compiles\b|")',
    "a fact that a trace may lack": r"\bkResults\b",
    "a finding": r'"memory\.growth"|`memory\.growth`',
    "a change that `try` tries": r"few-arenas",
    "a rule kind of budgets": r'RuleKind::kEqual\b|\bkEqual,|"equals"|`equals`',
    "a command": r"MakeView\b|\bcmd_view\b|\bview\.md",
    "an option": r'"--no-open"|`--no-open`',
    "an import format": r"ReadSnapshot\b|\bkPickle\b|\bsnapshot\.cpp|ncu snapshot\)|`snapshot`|`memory_snapshot",
    "an export format": r'WriteFolded|\bfolded\.cpp|"folded"|`folded`',
    "a format for a CI system": r"RenderCodeQuality|\bci_gitlab\b|--gitlab-codequality",
    "a check of `doctor`": r'CheckPerfEvents|"perf_events"|`perf_events`',
    "a collector in the target": r"\bkNoticeCollector\b|\bnotice\.cpp",
    "a collector outside the target": r"\bhost_load(_hz|_collector)?\b|--host-load",
    "a CUPTI function": r"cuptiGetGraphNodeId",
    "a variable for the tracer": r"kFlushMs|\bflush_ms\b|GPROF_FLUSH_MS",
    "a CUDA kernel": r"\bstatic_table\b",
    "an example": r"\bstarved_loader\b",
    "a golden case": r"cases/report/api_errors\.test",
    "a unit test": r"\boccupancy_test\b",
    "a hygiene rule": r"\btest_completeness\b",
    "a build option": r"GPROF_WERROR",
    "a dependency": r'gprof_protozero|libprotozero|PROTOZERO_|protozero/"|protozero,',
}
# Additions to the tests themselves.
OF_TESTS = {"a golden case", "a unit test", "a hygiene rule"}


@functools.cache
def contents(name):
    return (tree.SOURCE / name).read_text(encoding="utf-8", errors="replace")


def rows(heading):
    """Cells of the rows of the table that begins with this heading."""
    lines = iter(tree.text(PAGE).splitlines())
    for line in lines:
        if line.startswith(heading):
            next(lines)
            break
    found = []
    for line in lines:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return found


def in_code(cell):
    return re.findall(r"`([^`]+)`", cell)


COUNTS = {cells[0]: int(cells[1]) for cells in rows("| addition | files |")}
WORKED = rows("| addition | example | files |")
LISTS = {cells[0]: in_code(cells[2]) for cells in WORKED}
USED_IN = {cells[0]: in_code(cells[3]) for cells in WORKED}


def mentions(kind, name):
    return bool(re.search(EXAMPLES[kind], name) or re.search(EXAMPLES[kind], contents(name)))


def is_counted(kind, name):
    if kind in OF_TESTS and name.startswith("tests/"):
        return not name.startswith(("tests/data/", "tests/judgement/data/"))
    return not name.startswith((*NOT_COUNTED, *(folder + "/" for folder in USED_IN[kind])))


class Adding(unittest.TestCase):
    def test_every_addition_has_an_example(self):
        self.assertEqual(list(COUNTS), list(LISTS))
        self.assertEqual(set(LISTS), set(EXAMPLES))

    def test_the_count_is_that_of_the_example(self):
        self.assertEqual({kind: len(names) for kind, names in LISTS.items()}, COUNTS)

    def test_an_addition_needs_no_file_that_is_not_listed(self):
        names = [name for name in tree.files() if name not in (PAGE, "tests/hygiene/test_adding.py")]
        unlisted = [f"{kind}: {name}" for kind in EXAMPLES for name in names
                    if is_counted(kind, name) and name not in LISTS[kind] and mentions(kind, name)]
        self.assertEqual(unlisted, [])

    def test_what_is_listed_is_needed(self):
        stale = [f"{kind}: {name}" for kind, names in LISTS.items() for name in names
                 if not (tree.SOURCE / name).is_file() or not mentions(kind, name)]
        self.assertEqual(stale, [])


# An addition by the book: for each file that the page names, the lines that come, and before what. The analysis is a
# new file; it has the metric and the finding.
ANALYSIS = "src/analysis/topics/calls/added.cpp"
NEW_ANALYSIS = """
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/metrics.h"
#include "analysis/topics/analyses.h"

namespace gprof {

AnalysisResult RunAdded(const AnalysisInput& input, const AnalysisOptions&) {
  AnalysisResult result;
  AddMetric(&result, "added.calls", input.trace().api_calls.size());
  Finding finding = NewFinding("added.found", 30);
  finding.message = "Something was found";
  result.findings.push_back(std::move(finding));
  result.tables.push_back({"added", "Added", {{"calls", "Calls", Unit::kCount, false, "of all threads"}}, {}, ""});
  return result;
}

}  // namespace gprof
"""
CATALOGUE = ("src/analysis/findings/finding_catalogue.cpp", 'Idle("idle.queue"',
             '{"added.found", "something was found", From(25), "added", At("kind:api").LineWithMost(&PythonLineSum::calls)},')
PAGE_OF_ANALYSES = ("docs/analyses.md", "## api_errors", "## added\n\n* `added.found`: something was found.\n")
BY_THE_BOOK = {
    "an analysis": [
        ("src/analysis/topics/calls/CMakeLists.txt", "  api.cpp", "  added.cpp"),
        ("src/analysis/topics/analyses.h", "AnalysisResult RunDevices(",
         "AnalysisResult RunAdded(const AnalysisInput& input, const AnalysisOptions& options);"),
        ("src/analysis/registry/registry.cpp", '{"devices", "', '{"added", "an addition", RunAdded},'),
        ("src/web/shared/labels.ts", '  api_errors: "Errors"', '  added: "Added",'),
        ("src/web/tables/row_links.ts", "  graph_calls: byName(", '  added: byName("api", "name"),'),
        CATALOGUE,
        PAGE_OF_ANALYSES,
    ],
    "a metric": [
        ("src/analysis/result/metrics.cpp", '{"run.wall_ns"',
         '{"added.calls", kCount, kLower, kExact, "calls of an addition", kApiCalls, kMost, kPerRange},'),
    ],
    "a finding": [
        CATALOGUE,
        ("docs/commands/report.md", "| `api.errors`", "| `added.found` | something was found |"),
        ("docs/zh/findings.md", '<a id="api.errors">', '<a id="added.found"></a>**`added.found`**：发现了一个问题。\n'),
        PAGE_OF_ANALYSES,
    ],
}
# What the catalogues say of the additions, asked as everybody asks.
QUESTIONS = """
#include "analysis/findings/finding_catalogue.cpp"
#include "analysis/registry/registry.cpp"
#include "analysis/result/metrics.cpp"
#include "analysis/topics/calls/added.cpp"

int main() {
  using namespace gprof;
  Trace nothing;
  nothing.strings.emplace_back();
  const AnalysisResult result = FindAnalysis("added")->run(nothing, {});
  const MetricInfo* const metric = FindMetric("added.calls");
  const bool knows_metric = metric->join.how == Join::kMost && metric->is_of_host && metric->parts == Parts::kRanges;
  const bool knows_finding = FindFinding("added.found")->place.line.sum == &PythonLineSum::calls;
  const bool is_found = result.metrics.size() == 1 && result.findings.front().severity == Severity::kWarning;
  return knows_metric && knows_finding && is_found ? 0 : 1;
}
"""


def write_book(folder):
    """Copies the files that change, with the additions. Returns the files of each kind."""
    touched = {}
    for kind, steps in BY_THE_BOOK.items():
        touched[kind] = {ANALYSIS} | {name for name, _, _ in steps}
        for name, follower, lines in steps:
            path = folder / name
            text = path.read_text(encoding="utf-8") if path.exists() else tree.text(name)
            if lines not in text:
                at = text.rindex("\n", 0, text.index(follower)) + 1
                text = text[:at] + lines + "\n" + text[at:]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    (folder / ANALYSIS).write_text(NEW_ANALYSIS, encoding="utf-8")
    return touched


class ByTheBook(unittest.TestCase):
    def test_an_analysis_with_a_metric_and_a_finding_needs_the_files_that_the_page_counts(self):
        with tempfile.TemporaryDirectory() as name:
            touched = write_book(pathlib.Path(name))
        self.assertEqual({kind: len(names) for kind, names in touched.items()}, {kind: COUNTS[kind] for kind in touched})

    def test_nothing_else_is_needed_to_build_and_run_it(self):
        libraries = sorted(tree.BUILD.glob("src/*/libgprof_*.a"))
        compiler = os.environ.get("CXX", "g++")
        if not libraries or shutil.which(compiler) is None:
            self.skipTest("no compiler, or nothing is built")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            write_book(folder)
            (folder / "main.cpp").write_text(QUESTIONS, encoding="utf-8")
            includes = [f"-I{path}" for path in (folder / "src", tree.SOURCE / "include", tree.SOURCE / "src", tree.BUILD / "include")]
            # What is compiled here takes the place of what the libraries have of it.
            done = tree.run(compiler, "-std=c++20", "-O0", *includes, folder / "main.cpp", "-static-libstdc++", "-o", folder / "run",
                            "-Wl,--allow-multiple-definition,--start-group", *libraries, "-Wl,--end-group",
                            "-lfmt", "-lzstd", "-lz", "-lre2", "-lpthread")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(tree.run(folder / "run").returncode, 0)


if __name__ == "__main__":
    tree.main()
