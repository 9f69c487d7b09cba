"""gprof_cli.counters(): a program that searches over configurations has the counters of each while it runs. CUDA is a double."""

import environment

environment.run_here_or_there()

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

MOCK = environment.BUILD / "tests/mock/13.0"
COMMAND = environment.BUILD / "bin/gprof-cli"
PROGRAM = """
import ctypes, json, sys
import gprof_cli

class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]

runtime = ctypes.CDLL("libcudart.so.13")
runtime.cudaLaunchKernel.argtypes = [ctypes.c_char_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
kernel = ctypes.c_char_p(b"key")
runtime.__getattr__("__cudaRegisterFunction")(None, kernel, None, b"_Z5alphaPf", -1, None, None, None, None, None)

def launch(blocks):
    assert runtime.cudaLaunchKernel(kernel, Dim3(blocks, 1, 1), Dim3(32, 1, 1), None, 0, None) == 0

launch(7)  # not measured
wanted = sys.argv[1] if len(sys.argv) > 1 else None
try:
    found = [gprof_cli.counters(lambda: launch(blocks), set=wanted) for blocks in (10, 20, 30)]
except gprof_cli.Error as error:
    sys.exit(f"{error} / {error.hint}")
print(json.dumps([[dict(row) for row in rows] for rows in found]))
"""


@unittest.skipUnless((MOCK / "libcudart.so.13").exists(), "the doubles of CUDA were not built")
class Search(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-counting-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.program = self.folder / "search.py"
        self.program.write_text(PROGRAM)

    def run_program(self, *arguments, under=()):
        variables = {name: value for name, value in os.environ.items() if not name.startswith("GPROF_")}
        variables |= {"LD_LIBRARY_PATH": str(MOCK), "PYTHONPATH": str(environment.MODULE), "GPROF_RUN_BASE": str(self.folder)}
        return subprocess.run([*map(str, under), sys.executable, str(self.program), *arguments], capture_output=True, text=True, cwd=self.folder,
                              stdin=subprocess.DEVNULL, timeout=280, env=variables)

    def counters(self, *options):
        return [COMMAND, "counters", "-q", "--log-file", "log", "-o", "run.trace", *options, "--"]

    def test_each_configuration_has_its_own(self):
        done = self.run_program("light", under=self.counters("--profile-from-start", "off"))
        self.assertEqual(done.returncode, 0, done.stderr)
        for blocks, rows in zip((10, 20, 30), json.loads(done.stdout), strict=True):
            row, = rows
            self.assertEqual((row["kernel"], row["launch__grid_size"], row["smsp__inst_executed.sum"]), ("alpha(float*)", blocks, 100 * blocks))

    def test_another_set_than_that_of_the_run_is_refused(self):
        done = self.run_program("full", under=self.counters("--profile-from-start", "off"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("this run collects the set 'light', not 'full'", done.stderr)
        self.assertIn("gprof-cli counters --set full --profile-from-start off -- ", done.stderr)

    def test_a_run_that_does_not_wait_for_it_is_refused(self):
        for under in ((), self.counters()):
            done = self.run_program(under=under)
            self.assertEqual(done.returncode, 1)
            self.assertIn("needs a program that runs under 'gprof-cli counters --profile-from-start off'", done.stderr)


if __name__ == "__main__":
    unittest.main()
