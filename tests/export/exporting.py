"""Traces to export, and what gprof-cli makes of them."""

import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DATA = ROOT / "tests" / "data"
sys.path.insert(0, str(ROOT / "tests" / "gpu"))

import recorded  # noqa: E402

SKIP = 77
SAMPLES = ROOT.parent / "shared" / "samples"  # real exports of other tools, not everywhere there
TRACES = sorted(DATA.glob("*.trace"))
ASSEMBLE = os.environ.get("GPROF_TEST_ASSEMBLE", "")

# Names that break what is written without care. In a trace as text they are escaped as `dump` does.
HOSTILE = {"quotes": 'a "quoted", name', "lines": "two\nlines\r\n", "wide": "名前 é 🚀", "semicolons": "a;b c",
           "markup": "</script>\\", "formula": "=1+2", "null": "NULL", "tab": "\ttab"}


def escaped(text):
    return "".join(char if char.isprintable() and char not in '"\\' else f"\\x{ord(char):02x}" for char in text)


def ask(*words):
    return recorded.ask(*words)


def assemble(text, path):
    done = subprocess.run([ASSEMBLE], input=text.encode(), capture_output=True, timeout=120, check=True)
    path.write_bytes(done.stdout)
    return path


def hostile_trace(path):
    """Kernels and NVTX ranges with the names of HOSTILE, and one that is no UTF-8."""
    lines = ['chunk pid=7', 'process start_ns=1000 pid=7 name="app" host="h"', 'device name="GPU" uuid="GPU-1" sm_count=1',
             'context context=1 null_stream=7', 'thread tid=7 name="main"']
    for i, name in enumerate([escaped(name) for name in HOSTILE.values()] + ["broken \\xff\\xc3 \\x00 name"]):
        at = 10_000 * (i + 1)
        lines += [f'nvtx time_ns={at} tid=7 event=2 message="{name}"',
                  f'api start_ns={at + 10} duration_ns=20 tid=7 correlation={i + 1} function="cudaLaunchKernel" domain=1',
                  f'kernel start_ns={at + 50} duration_ns={100 + i} context=1 stream=7 correlation={i + 1} name="{name}"',
                  f'nvtx time_ns={at + 500} tid=7 event=3']
    return assemble("\n".join(lines + ["end time_ns=900000 reason=1 chunks_written=1"]) + "\n", path)


def case_trace(name, path):
    """The trace of a golden case."""
    text = (ROOT / "tests" / "cases" / name).read_text(encoding="utf-8")
    return assemble(text.split("--- trace run.trace\n")[1].split("--- run\n")[0], path)


BROKEN = "broken \\xff\\xc3 \\x00 name"  # what is no UTF-8 is written out


def empty_trace(path):
    return assemble('chunk pid=7\nprocess start_ns=1000 pid=7 name="app"\nend time_ns=2000 reason=1 chunks_written=1\n', path)


class ExportTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gprof-export-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def export(self, trace, form, *options, name=None):
        is_folder = form in ("csv", "jsonl", "parquet") and "--kind" not in options
        path = self.folder / (name or f"{pathlib.Path(trace).stem}{'-' if is_folder else '.'}{form}")
        ask("export", trace, "--format", form, "-o", path, *options)
        return path

    def hostile(self):
        return hostile_trace(self.folder / "hostile.trace")

    def empty(self):
        return empty_trace(self.folder / "empty.trace")


def csv_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def json_rows(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file]


def report(trace):
    return json.loads(ask("report", trace, "--format", "json", "--top", "0"))


def main():
    if not recorded.COMMAND.is_file():
        print(f"skipped: {recorded.COMMAND} was not built")
        sys.exit(SKIP)
    if not pathlib.Path(ASSEMBLE or "/nonexistent").is_file():
        print("skipped: GPROF_TEST_ASSEMBLE names no program")
        sys.exit(SKIP)
    unittest.main()
