"""Sources are as clang-format 14 writes them, with the settings of .clang-format: nobody argues about spaces in a review."""

import os
import re
import shutil
import subprocess
import unittest

import tree

VERSION = "14"  # others break lines differently
AT_A_TIME = 100


def clang_format():
    """The command of that version, or None."""
    for name in (os.environ.get("GPROF_CLANG_FORMAT", ""), f"clang-format-{VERSION}", "clang-format"):
        if name and shutil.which(name):
            told = subprocess.run([name, "--version"], capture_output=True, text=True).stdout
            if re.search(rf"version {VERSION}\.", told):
                return name
    return None


class Format(unittest.TestCase):
    def test_sources_are_formatted(self):
        command = clang_format()
        if command is None:
            self.skipTest(f"clang-format {VERSION} is not here")
        names = tree.files("include", "src", "kernels", "examples", "tests", suffixes=(".h", ".cpp", ".c", ".cu"))
        self.assertGreater(len(names), 100)
        different = []
        for first in range(0, len(names), AT_A_TIME):
            done = subprocess.run([command, "--dry-run", "--style=file", *names[first:first + AT_A_TIME]],
                                  capture_output=True, text=True, cwd=tree.SOURCE)
            different += re.findall(r"^(\S+):\d+:\d+: warning: code should be clang-formatted", done.stderr, re.M)
        self.assertEqual(sorted(set(different)), [], f"to format them: {command} -i FILE...")


if __name__ == "__main__":
    tree.main()
