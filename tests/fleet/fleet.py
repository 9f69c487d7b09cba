"""What the tests of many ranks share: a folder of their own, and ways to run gprof-cli."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import ranks

CLI = os.environ["GPROF_TEST_CLI"]
ASSEMBLE = os.environ["GPROF_TEST_ASSEMBLE"]


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=240, **options)


def pipe_at(path):
    """Opens what is read at `path`, which waits for what is written: a named pipe would be refused."""
    read_end, write_end = os.pipe()
    path.symlink_to(f"/proc/{os.getpid()}/fd/{read_end}")
    return os.fdopen(write_end, "wb")


class FleetTest(unittest.TestCase):
    RANKS, STEPS = 64, 4

    @classmethod
    def setUpClass(cls):
        cls._base = tempfile.TemporaryDirectory(prefix="gprof-fleet-")
        cls.base = pathlib.Path(cls._base.name)
        cls.traces = cls.base / "traces"
        cls.faults = ranks.write(cls.traces, ASSEMBLE, cls.RANKS, cls.STEPS)
        cls.paths = sorted(cls.traces.iterdir())

    @classmethod
    def tearDownClass(cls):
        cls._base.cleanup()

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.base))

    def cli(self, *words, code=0, **options):
        done = run(CLI, *words, cwd=self.folder, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def partial(self, name, *words):
        """The path of the partial of some traces."""
        path = self.folder / name
        self.cli("partial", *words, "-o", path)
        return path

    def merge(self, name, *paths):
        path = self.folder / name
        self.cli("merge", *paths, "-o", path)
        return path

    def analyze(self, *words, **options):
        return json.loads(self.cli("ranks", *words, "--format", "json", **options).stdout)
