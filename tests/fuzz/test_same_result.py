#!/usr/bin/env python3
"""Reports of made-up and damaged traces are the same on any number of cores, and compressed.

The traces are a fixed few of those that compare_builds.py takes; it is what to run for hours.
"""

import dataclasses
import os
import pathlib
import random
import re
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "differential"))

import builds  # noqa: E402
import damage_text  # noqa: E402
import random_trace  # noqa: E402
import traces  # noqa: E402

BUILD = pathlib.Path(os.environ["GPROF_TEST_BUILD"]).resolve()
PROGRAM = BUILD / "bin/gprof-cli"
SKIPPED = 77
MORE_CORES = (2, 7, 24)
# Sort and number of made-up traces; of two, one is damaged as well.
MADE_UP = [(sort, number) for number in range(6) for sort in ("usual", "odd", "ranges")]
MOST_RECORDS = 3000  # larger ones take the time of many, and have little that is new
LARGE_RECORDS = 105_000  # from 100,000 on work is shared among threads that is not below
DAMAGED_RECORDINGS = range(6)


def text_of(sort, number, most_records):
    rng = random.Random(f"same result {sort} {number}")
    text = random_trace.make(rng, sort, most_records)
    return damage_text.damaged(rng, text) if number % 2 == 1 else text


def without_file_size(outcome):
    stdout = re.sub(rb"(?m)^(Trace      run\.trace), [\d.]+ k?M?B", rb"\1", outcome.stdout)
    return dataclasses.replace(outcome, stdout=stdout)


def compressed(text):
    return re.sub(r"^(chunk .*?)(?: zstd=1)?$", r"\1 zstd=1", text, flags=re.M)


def plain(text):
    return re.sub(r"^(chunk .*) zstd=1$", r"\1", text, flags=re.M)


class Folder(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.runner = builds.Runner(builds.Tools(BUILD), self.folder)
        self.maker = traces.Maker(PROGRAM,
                                  builds.Tools(BUILD).assembler,
                                  sorted((HERE.parent / "data").glob("*.trace")),
                                  most_lines=MOST_RECORDS)


class SameResult(Folder):
    def report(self, *options, cores=1):
        return self.runner.run(PROGRAM, builds.Command(("report", "run.trace", *options), cores))

    def expect(self, name, expected, found):
        self.assertNotEqual(found.code, "hangs", name)
        self.assertEqual(builds.differences(expected, found), [], name)

    def check(self, name, data, packed=None):
        """Reports of a trace and of what is to be read the same."""
        everything = ("--format", "json", "--rows", "0")
        trace = self.folder / "run.trace"
        trace.write_bytes(data)
        expected, text = self.report(*everything), self.report()
        for cores in MORE_CORES:
            self.expect(f"{name} on {cores} cores", expected, self.report(*everything, cores=cores))
        self.expect(f"{name} as text on {MORE_CORES[-1]} cores", text, self.report(cores=MORE_CORES[-1]))
        if packed is not None:
            trace.write_bytes(packed)
            self.expect(f"{name} compressed, on 7 cores", without_file_size(text),
                        without_file_size(self.report(cores=7)))
        return expected

    def test_made_up_traces(self):
        could_be_read = 0
        for sort, number in MADE_UP:
            text = text_of(sort, number, MOST_RECORDS)
            found = self.check(f"{sort} {number}", self.maker.assemble(plain(text)),
                               self.maker.assemble(compressed(text)))
            could_be_read += found.code == 0
        self.assertGreaterEqual(could_be_read, len(MADE_UP) - 2)

    def test_a_large_trace(self):
        text = text_of("large", 0, LARGE_RECORDS)
        self.check("large", self.maker.assemble(plain(text)), self.maker.assemble(compressed(text)))

    def test_damaged_recordings(self):
        for number in DAMAGED_RECORDINGS:
            rng = random.Random(f"same result {number}")
            self.check(f"recording {number}", self.maker.damaged_recording(rng, rng.choice(self.maker.sources),
                                                                           "usual"))


class CompareBuilds(Folder):
    """The tester itself."""

    def compare(self, program, *options):
        command = [
            sys.executable, "-B", HERE / "compare_builds.py", "--reference", PROGRAM, "--build", BUILD, program,
            *options
        ]
        return subprocess.run(command, capture_output=True, text=True, timeout=200)

    def test_finds_nothing_where_there_is_nothing(self):
        done = self.compare(PROGRAM, "--count", "3", "--sort", "odd")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("different 0", done.stdout)

    def test_finds_a_program_that_is_wrong_on_many_cores(self):
        wrong = self.folder / "wrong"
        # A second more than there was, and only there.
        change = 'case $PRETEND_CORES in [3-9]|24) sed \'s/"duration_ns": 1/"duration_ns": 2/\' ;; *) cat ;; esac'
        wrong.write_text(f'#!/bin/bash\nset -o pipefail\n"{PROGRAM}" "$@" | {change}\n')
        wrong.chmod(wrong.stat().st_mode | stat.S_IXUSR)
        done = self.compare(wrong, "--count", "3")
        self.assertEqual((done.returncode, done.stderr), (1, ""), done.stdout)
        for words in ("DIFFERS", "PRETEND_CORES", "stdout line", "duration_ns"):
            self.assertIn(words, done.stdout)


if __name__ == "__main__":
    lacking = builds.Tools(BUILD).missing()
    if lacking:
        print("skipped: there is no", " and no ".join(lacking))
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
