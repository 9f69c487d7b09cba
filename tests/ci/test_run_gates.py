"""tests/gpu/run_gates.sh makes the results of docs/ci.md on a GPU. That it does what it says is tested without one: a double of
`gprof-cli` records by copying traces that were recorded once, and everything is judged by the real command."""

import json
import pathlib
import sys
import tarfile
import tempfile
import unittest
import xml.etree.ElementTree as xml

import gate

SCRIPT = gate.SOURCE / "tests" / "gpu" / "run_gates.sh"
PROGRAMS = {"normalise_v1_pageable": "normalise_v1", "normalise_v2_pinned_nvtx": "normalise_v2",
            "normalise_v3_streams": "normalise_v3_streams", "normalise_v3_bug": "normalise_v3_bug"}

DOUBLE = """#!{python}
import json, os, pathlib, shutil, sys
words, programs = sys.argv[1:], {programs!r}

def value(name, default):
    return words[words.index(name) + 1] if name in words else default

def record(stem, program, runs):
    made = []
    for number in range(1, runs + 1):
        shutil.copy(pathlib.Path({traces!r}) / (programs[program.removeprefix("./")] + ".trace"), f"{{stem}}-{{number}}.trace")
        made.append({{"trace": f"{{pathlib.Path(stem).name}}-{{number}}.trace", "warm_up": False, "number": number, "order": number,
                     "outcome": "good", "exit_code": 0, "signal": 0, "start_unix_ns": 1, "wall_ns": 100000000}})
    document = {{"schema": "gprof.runs/1", "gprof_cli": "0", "label": "", "counterpart": None, "command": [program],
                "planned_runs": runs, "planned_warm_ups": 0, "runs": made}}
    pathlib.Path(stem + ".runs.json").write_text(json.dumps(document))

if words[0] == "profile":
    record(value("-o", "").removesuffix(".trace"), words[words.index("--") + 1], int(value("--repeat", "1")))
    sys.exit(0)
if words[0] == "compare":
    folder = value("-o", "")
    os.makedirs(folder)
    record(folder + "/base", words[words.index("--") + 1], int(value("-n", "10")))
    record(folder + "/new", words[words.index(":::") + 1], int(value("-n", "10")))
    words = ["diff", folder + "/base.runs.json", folder + "/new.runs.json"]
os.execv({command!r}, [{command!r}, *words])
"""


class RunGates(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gprof-gates-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / "build" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def test_ends_without_a_surprise_and_packs_what_it_made(self):
        self.write("bin/gprof-cli", DOUBLE.format(python=sys.executable, programs=PROGRAMS, traces=str(gate.TRACES),
                                                  command=str(gate.COMMAND)))
        for program in PROGRAMS:
            self.write(f"share/gprof-cli/examples/{program}", "#!/bin/sh\n")
        out = self.folder / "out"
        done = gate.run("bash", SCRIPT, out, self.folder / "build", GATES_DOUBLE="1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual({path.name for path in out.iterdir()}, {"gates.tar.gz", "gates.log"})
        with tarfile.open(out / "gates.tar.gz") as archive:
            names = archive.getnames()
            for name in ("v1", "v2", "v3", "v3_bug", "v3_again", "v3_four"):
                baseline = json.load(archive.extractfile(f"gates/baselines/{name}.json"))
                self.assertEqual(len(baseline["runs"]), 5)
            suite = xml.parse(archive.extractfile("gates/results/v3_bug-baseline.junit.xml")).getroot()
            self.assertEqual(suite.get("failures"), "1")
        for name in ("v1-v2.diff.md", "v3-v3_again.diff.json", "v3_bug-budget.summary.md", "v2-v3.compare.txt"):
            self.assertIn(f"gates/results/{name}", names)

    def test_without_a_build_or_a_gpu_it_skips(self):
        done = gate.run("bash", SCRIPT, self.folder / "out", self.folder / "none")
        self.assertEqual((done.returncode, done.stdout.startswith("skipped: ")), (77, True))
        self.assertEqual(gate.run("bash", SCRIPT).returncode, 2)


if __name__ == "__main__":
    unittest.main()
