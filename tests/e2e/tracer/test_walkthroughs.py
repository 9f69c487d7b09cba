"""The command lines of examples/walkthroughs, as they stand there, on the doubles; and what the pages say of them."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import harness

SOURCE = pathlib.Path(__file__).resolve().parents[3]
PAGES = SOURCE / "examples" / "walkthroughs"
PROGRAM = pathlib.Path(__file__).parent / "programs" / "walkthrough.py"
PROGRAMS = ("v1_pageable", "v2_pinned_nvtx", "v3_bug", "v3_streams", "loader_train", "encoder")


def lines_of(page):
    blocks = re.findall(r"^```sh\n(.*?)^```", (PAGES / page).read_text(encoding="utf-8"), re.M | re.S)
    return [line for block in blocks for line in block.splitlines()]


class Walkthroughs(harness.Case):
    def setUp(self):
        super().setUp()
        tools = self.folder / "bin"
        tools.mkdir()
        (tools / "gprof-cli").symlink_to(harness.GPROF)
        (tools / "python3").symlink_to(sys.executable)
        for name in PROGRAMS:
            (self.folder / f"{name}.py").symlink_to(PROGRAM)
        self.variables = self.environment("13.0", {"PATH": f"{tools}:{os.environ['PATH']}", "NO_COLOR": "1", "COLUMNS": "200"})

    def walk(self, page):
        """What each line printed, its words in one line."""
        printed = {}
        for line in lines_of(page):
            done = subprocess.run(["sh", "-c", line], capture_output=True, timeout=harness.DEADLINE_S, check=False,
                                  cwd=self.folder, env=self.variables, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout.decode()}{done.stderr.decode()}")
            printed[line] = " ".join(done.stdout.decode().split())
        return printed

    def findings(self, trace):
        return [finding["id"] for finding in self.report(self.folder / trace)["findings"]]

    def test_pages_come_in_two_languages_with_the_same_lines(self):
        pages = sorted(page.name for page in PAGES.glob("*.md") if page.name != "README.md")
        english = [page for page in pages if not page.endswith(".zh.md")]
        self.assertEqual(len(pages), 2 * len(english))
        for page in english:
            self.assertEqual(lines_of(page), lines_of(page.replace(".md", ".zh.md")), page)

    def test_streams(self):
        printed = self.walk("streams.md")
        first = printed["gprof-cli report v1.trace"]
        self.assertRegex(first, r"24 pageable copies: H2D .*?; D2H ")
        self.assertIn("memcpy.pageable", self.findings("v1.trace"))
        bug = printed["gprof-cli report v3_bug.trace --only streams"]
        self.assertRegex(bug, r"1 made, 2 used: never two at once; stream \d+ did >99\.9% of the work \(36 kernels, 24 copies\)")
        self.assertIn("streams.one_only", self.findings("v3_bug.trace"))
        self.assertNotIn("streams.one_only", self.findings("v3.trace"))
        good = printed["gprof-cli report v3.trace --only streams"]
        self.assertRegex(good, r"8 made, 8 used: at once 1 for .*, 2 for ")

    def test_loader(self):
        printed = self.walk("loader.md")
        self.assertIn("Streams", printed["gprof-cli report w0.trace"])

    def test_encoder(self):
        printed = self.walk("encoder.md")
        fused = printed["gprof-cli diff eager.trace fused.trace"]
        self.assertIn("Launches 400 -> 160 (-240)", fused)
        self.assertRegex(fused, r"Kernels 2 gone: .*softmax.* in 80 launches.*; 1 new: attention .* in 40 launches")


if __name__ == "__main__":
    harness.main()
