#!/usr/bin/env python3
"""What commands say when the memory is not enough for a trace."""
import os
import pathlib
import resource
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
# RLIMIT_DATA counts what a process may write to and shares with nobody. The commands take some 90 MB of it.
TOO_FEW_BYTES = 40 << 20


class TooLittleMemory(unittest.TestCase):
    def test_the_message_says_what_to_do(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "run.trace")
            subprocess.run([MAKER, "-n", str(RECORDS), "--out", trace], check=True)
            for command in ("report", "info", "stats"):
                run = subprocess.run([PROGRAM, command, trace], capture_output=True, text=True, timeout=250,
                                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (TOO_FEW_BYTES,) * 2))
                self.assertEqual((run.returncode, run.stdout), (3, ""), command)
                for words in ("not enough memory", "a machine with more memory", "--duration", "gprof-cli ranks"):
                    self.assertIn(words, run.stderr)


if __name__ == "__main__":
    if not MAKER.exists():
        print(f"skipped: there is no {MAKER}")
        sys.exit(SKIPPED)
    if SANITIZED:
        print("skipped: sanitizers need more memory than this limit leaves")
        sys.exit(SKIPPED)
    unittest.main()
