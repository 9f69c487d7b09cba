"""Sizes of files, functions and folders: no more than somebody reads from top to bottom, or sees at a glance."""

import collections
import os
import re
import unittest

import tree

MOST_FILE_LINES = 500
MOST_FUNCTION_LINES = 60
MOST_FILES = 24  # of a folder: about a dozen sources with their headers
# A catalogue is read by looking something up in it, not from top to bottom: to have all of it in one place is the point of it.
CATALOGUES = {
    "include/gprof/trace/record.h": "all kinds of records",
    "include/gprof/trace.h": "what the lists of a trace consist of",
    "src/analysis/findings/finding_catalogue.cpp": "all findings",
    "src/analysis/result/metrics.cpp": "all metrics",
}
TABLES = {"src/tracer/osrt/wrappers.cpp: WrappedFunctions": "all functions of libc that are wrapped, a line each"}
FOLDERS = {"src/cli/commands": "all commands, a file each"}
NOT_A_FUNCTION = re.compile(r"^\s*(namespace|struct|class|enum|union|extern|typedef|using|#|\}|//|if|for|while|switch|do|else|try)\b|=\s*\{$|^[^()]*\{$")
NAME = re.compile(r"~?\w+(?=\()")


def functions(code):
    """(name, first line, number of lines) of each function that starts and ends in the first column, or two further in a class."""
    heads = {}
    for number, line in enumerate(code.splitlines(), 1):
        indent = len(line) - len(line.lstrip(" "))
        if indent not in (0, 2) or not line or line[indent] == "#":
            continue
        if line[indent] != "}":
            heads[indent] = (number, line)
        elif indent in heads:
            first, head = heads.pop(indent)
            name = NAME.search(head)
            if name and not NOT_A_FUNCTION.search(head):
                yield name[0], first, number - first + 1


class Sizes(unittest.TestCase):
    def test_files_are_short_enough(self):
        too_long = []
        for name in tree.files("src", "include", "kernels", "examples", suffixes=(".h", ".cpp", ".cu", ".c")):
            lines = tree.text(name).count("\n")
            if lines > MOST_FILE_LINES and name not in CATALOGUES:
                too_long.append(f"{name}: {lines} lines (at most {MOST_FILE_LINES})")
        self.assertEqual(too_long, [])

    def test_exceptions_are_still_needed(self):
        short = [name for name in CATALOGUES if tree.text(name).count("\n") <= MOST_FILE_LINES]
        self.assertEqual(short, [])

    def test_functions_are_short_enough(self):
        too_long, needed = [], set()
        for name in tree.files("src", "include", "kernels", "examples", suffixes=(".h", ".cpp", ".cu", ".c")):
            for function, first, length in functions(tree.text(name)):
                if length <= MOST_FUNCTION_LINES:
                    continue
                needed.add(f"{name}: {function}")
                if f"{name}: {function}" not in TABLES:
                    too_long.append(f"{name}:{first}: {function} has {length} lines (at most {MOST_FUNCTION_LINES})")
        self.assertEqual(too_long, [])
        self.assertEqual(set(TABLES) - needed, set())

    def test_folders_are_small_enough(self):
        counts = collections.Counter(
            os.path.dirname(name) for name in tree.files("src", "include", "kernels", "examples", suffixes=(".h", ".cpp", ".cu", ".c", ".ts")))
        large = {folder for folder, count in counts.items() if count > MOST_FILES}
        self.assertEqual(large - set(FOLDERS), set(), f"more than {MOST_FILES} files: fold them by topic")
        self.assertEqual(set(FOLDERS) - large, set())

    def test_functions_are_counted(self):
        code = ("int F(int a) {\n  return a;\n}\nstruct S {\n  int G() const {\n    if (a) {\n    }\n    return 1;\n  }\n  int a;\n};\n"
                "void H(\n    int a) {\n}\n")
        self.assertEqual(list(functions(code)), [("F", 1, 3), ("G", 5, 5), ("H", 12, 3)])


if __name__ == "__main__":
    tree.main()
