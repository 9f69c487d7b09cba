"""Sizes of files and functions: a report of what is longer than the house style likes, and a hard limit for files."""

import re
import unittest

import tree

LIKED_FILE_LINES = 500
MOST_FILE_LINES = 700
LIKED_FUNCTION_LINES = 60
# Every record kind in one place is the point of this one.
EXEMPT = {"include/gprof/trace/record.h"}
NOT_A_FUNCTION = re.compile(r"^(namespace|struct|class|enum|union|extern|typedef|using|#|\}|//)|=\s*\{$|^\w[^()]*\{$")


def functions(code):
    """(first line, number of lines) of each function that starts and ends in the first column."""
    start = None
    for number, line in enumerate(code.splitlines(), 1):
        if start is None and line.endswith("{") and line[0] not in " \t" and not NOT_A_FUNCTION.search(line):
            start = number
        elif start is not None and line.startswith("}"):
            yield start, number - start + 1
            start = None


class Sizes(unittest.TestCase):
    def test_no_file_is_longer_than_anybody_reads(self):
        too_long, report = [], []
        for name in tree.files("src", "include", "kernels", "examples", "tests", suffixes=(".h", ".cpp", ".cu", ".c", ".py")):
            code = tree.text(name)
            lines = code.count("\n")
            if lines > LIKED_FILE_LINES and name not in EXEMPT:
                report.append(f"{name}: {lines} lines (liked: {LIKED_FILE_LINES})")
            if lines > MOST_FILE_LINES and name not in EXEMPT and name.startswith(("src/", "include/")):
                too_long.append(f"{name}: {lines} lines")
            if not name.endswith(".py"):
                report += [f"{name}:{first}: a function of {length} lines (liked: {LIKED_FUNCTION_LINES})"
                           for first, length in functions(code) if length > LIKED_FUNCTION_LINES]
        for line in report:
            print("warning:", line)
        self.assertEqual(too_long, [])

    def test_functions_are_counted(self):
        code = "int F(int a) {\n  return a;\n}\nstruct S {\n  int a;\n};\nvoid G(\n    int a) {\n}\n"
        self.assertEqual(list(functions(code)), [(1, 3)])


if __name__ == "__main__":
    tree.main()
