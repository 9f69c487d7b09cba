"""What the tests of agents share: the command, and the captures of this tree."""

import gzip
import json
import os
import pathlib
import subprocess
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", SOURCE / "build" / "release")).resolve()
COMMAND = BUILD / "bin" / "gprof-cli"
TIME_LIMIT_S = 240
CANNOT_TELL = 4
CAPTURES = sorted(path for folder in ("tests/data", "tests/data/torch", "tests/judgement/data") for path in (SOURCE / folder).iterdir()
                  if path.name.endswith((".trace", ".sqlite.gz", ".json.gz")))


def run(*words, folder=None):
    """gprof-cli with these words."""
    return subprocess.run([str(word) for word in (COMMAND, *words)], capture_output=True, stdin=subprocess.DEVNULL, text=True,
                          cwd=folder, timeout=TIME_LIMIT_S, check=False)


def ask(*words):
    """What it prints, as JSON."""
    done = run(*words)
    if done.returncode not in (0, CANNOT_TELL):
        raise RuntimeError(f"{words} ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


class Readable:
    """The path of a capture as gprof-cli reads it: SQLite reads no compressed files."""

    def __init__(self, capture):
        self.capture, self.folder = capture, None

    def __enter__(self):
        if not self.capture.name.endswith(".sqlite.gz"):
            return self.capture
        self.folder = tempfile.TemporaryDirectory(prefix="gprof-agents-")
        path = pathlib.Path(self.folder.name) / self.capture.name.removesuffix(".gz")
        path.write_bytes(gzip.decompress(self.capture.read_bytes()))
        return path

    def __exit__(self, *_):
        if self.folder:
            self.folder.cleanup()
