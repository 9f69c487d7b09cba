"""docs/adding.md says how many files an addition touches: here each kind is held to an addition that is in the tree."""

import functools
import re
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
    "a rule kind of budgets": r'RuleKind::kEqual\b|\bkEqual,|"equals"|`equals`',
    "a command": r"MakeView\b|\bcmd_view\b|\bview\.md",
    "an option": r'"--no-open"|`--no-open`',
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


if __name__ == "__main__":
    tree.main()
