#!/usr/bin/env python3
"""report --low-memory prints what report prints, within a limit of memory that report alone does not get by with."""
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["GPROF_TEST_BUILD"])
PROGRAM = BUILD / "bin/gprof-cli"
MAKER = BUILD / "tests/bin/synthetic_trace"
SANITIZED = any(mark in PROGRAM.read_bytes() for mark in (b"__asan_init", b"__tsan_init"))
SKIPPED = 77
RECORDS = 1_500_000
# RLIMIT_DATA counts what a process may write to and shares with nobody: ordinary memory, not mapped files. A report takes
# some 90 MB of it, and with --low-memory 1 MB and the stacks of its threads.
ENOUGH_BYTES = 40 << 20


def limit(which, size):
    return lambda: resource.setrlimit(which, (size, size))


class LowMemory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # On a disk: $TMPDIR may lie in memory, which the command refuses.
        cls.folder = tempfile.mkdtemp(dir="/var/tmp")
        cls.trace = os.path.join(cls.folder, "run.trace")
        subprocess.run([MAKER, "-n", str(RECORDS), "--out", cls.trace], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def report(self, *options, preexec_fn=None, trace=None):
        return subprocess.run([PROGRAM, "report", trace or self.trace, *options], capture_output=True, text=True,
                              timeout=250, preexec_fn=preexec_fn, env=os.environ | {"TMPDIR": self.folder})

    def refused(self, run, *words):
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertEqual(run.stdout, "")
        for word in words:
            self.assertIn(word, run.stderr)

    def test_prints_the_same_within_less_memory(self):
        ordinary = self.report("--format", "json")
        self.assertEqual(ordinary.returncode, 0, ordinary.stderr)
        spilled = self.report("--format", "json", "--low-memory", "--temp-dir", self.folder,
                              preexec_fn=limit(resource.RLIMIT_DATA, ENOUGH_BYTES))
        self.assertEqual(spilled.returncode, 0, spilled.stderr)
        self.assertEqual(ordinary.stdout, spilled.stdout)
        self.assertEqual(os.listdir(self.folder), ["run.trace"])

    def test_info_does_as_well(self):
        def info(*options, **more):
            return subprocess.run([PROGRAM, "info", self.trace, *options], capture_output=True, text=True, timeout=250,
                                  env=os.environ | {"TMPDIR": self.folder}, **more)
        self.refused(info(preexec_fn=limit(resource.RLIMIT_DATA, ENOUGH_BYTES)), "not enough memory", "--low-memory")
        spilled = info("--low-memory", preexec_fn=limit(resource.RLIMIT_DATA, ENOUGH_BYTES))
        self.assertEqual((spilled.returncode, spilled.stdout), (0, info().stdout), spilled.stderr)

    def test_the_folder_is_tmpdir_without_the_option(self):
        spilled = self.report("--low-memory", preexec_fn=limit(resource.RLIMIT_DATA, ENOUGH_BYTES))
        self.assertEqual(spilled.returncode, 0, spilled.stderr)
        self.assertEqual(spilled.stdout, self.report().stdout)

    def test_too_little_memory_is_an_error_that_names_the_option(self):
        self.refused(self.report(preexec_fn=limit(resource.RLIMIT_DATA, ENOUGH_BYTES)), "not enough memory", "--low-memory")

    # A limit of file sizes is what a full disk is: there is no room for a block. Without it, pages that have no place on
    # the disk would end the process when they are written to.
    def test_a_full_disk_is_an_error_that_names_the_folder(self):
        run = self.report("--low-memory", preexec_fn=limit(resource.RLIMIT_FSIZE, 8 << 20))
        self.refused(run, "no room for", self.folder, "--temp-dir")

    def test_folders_that_will_not_do(self):
        self.refused(self.report("--low-memory", "--temp-dir", os.path.join(self.folder, "none")), "No such file", "--temp-dir")
        run = self.report("--temp-dir", self.folder)
        self.assertEqual(run.returncode, 2)
        self.assertIn("--low-memory", run.stderr)

    def test_a_folder_in_memory_is_refused(self):
        shm = "/dev/shm"
        kind = subprocess.run(["stat", "-f", "-c", "%T", shm], capture_output=True, text=True).stdout.strip()
        if kind != "tmpfs" or not os.access(shm, os.W_OK):
            self.skipTest(f"{shm} is no folder in memory here")
        self.refused(self.report("--low-memory", "--temp-dir", shm), "is in memory itself")


if __name__ == "__main__":
    if not MAKER.exists():
        print(f"skipped: there is no {MAKER}")
        sys.exit(SKIPPED)
    if SANITIZED:
        print("skipped: sanitizers need more memory than these limits leave")
        sys.exit(SKIPPED)
    unittest.main()
