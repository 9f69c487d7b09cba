"""Time decides no test: deadlines are long, and tests/under_load.py says what fails on a busy machine, and how often."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import tree

SCRIPT = tree.SOURCE / "tests/under_load.py"
# One that passes, one that always fails, and one that fails the first time.
TESTS = """add_test(good "/bin/true")
add_test(bad "/bin/false")
add_test(late "/bin/sh" "-c" "test -e {folder}/seen || ! touch {folder}/seen")
"""


class Deadlines(unittest.TestCase):
    def test_none_is_shorter_than_a_minute(self):
        """Nor is a limit for what has to end: on a machine where it takes that long, nothing is wrong with it."""
        given = [(name, int(seconds)) for name in tree.files("tests", suffixes=(".py",))
                 for seconds in re.findall(r"\b(?:timeout=|(?:DEADLINE|LIMIT)_S = )(\d+)\b", tree.text(name))]
        self.assertTrue(given)
        self.assertEqual([(name, seconds) for name, seconds in given if seconds < 60], [])


@unittest.skipUnless(shutil.which("ctest"), "ctest is not installed")
class UnderLoad(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-load-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        (self.folder / "CTestTestfile.cmake").write_text(TESTS.format(folder=self.folder), encoding="utf-8")

    def run_rounds(self, *words):
        return tree.run(sys.executable, "-B", SCRIPT, "--build", self.folder, "--rounds", "2", "--busy", "2", *words)

    def test_failures_are_counted_over_the_rounds(self):
        done = self.run_rounds()
        self.assertEqual(done.stdout, "round 1 of 2: 2 of 3 tests failed\nround 2 of 2: 1 of 3 tests failed\n"
                                      "bad failed in 2 of 2 rounds\nlate failed in 1 of 2 rounds\n", done.stderr)
        self.assertEqual(done.returncode, 1)
        self.assertIn("bad", (self.folder / "under_load.log").read_text(encoding="utf-8"))

    def test_words_of_ctest_choose_the_tests(self):
        done = self.run_rounds("-R", "good")
        self.assertEqual((done.returncode, done.stdout), (0, "round 1 of 2: 0 of 1 tests failed\nround 2 of 2: 0 of 1 tests failed\n"))

    def test_no_test_at_all_is_no_success(self):
        self.assertEqual(self.run_rounds("-R", "nothing").returncode, 1)

    def test_loops_run_meanwhile_and_none_is_left(self):
        """The one test of this round ends when it is told to, with the loops that it is beside."""
        go = self.folder / "go"
        waits = f'add_test(waits "/bin/sh" "-c" "until test -e {go}; do sleep 0.01; done")\n'
        (self.folder / "CTestTestfile.cmake").write_text(waits, encoding="utf-8")
        process = subprocess.Popen([sys.executable, "-B", SCRIPT, "--build", self.folder, "--rounds", "1", "--busy", "2"], stdout=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while len(loops_of(process.pid)) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        beside = len(loops_of(process.pid))
        go.touch()
        self.assertEqual((process.wait(60), beside, loops_of(process.pid)), (0, 2, []))


def loops_of(pid):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_text(errors="replace").split("\0")
        except OSError:
            continue
        if "getppid" in "".join(words) and str(pid) in words:
            found.append(path.parent.name)
    return found


if __name__ == "__main__":
    tree.main()
