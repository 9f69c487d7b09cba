"""Runs every test that needs a GPU, prints one line for each, and keeps what was recorded on the way.

    tests/gpu/run_all.py --out DIR [--build BUILD] [--only REGEX]

--only leaves out the recordings, too, unless it matches recording.NAME.

DIR/results.json   outcome, seconds and message of every test
DIR/data           traces of the examples with their facts and reports: what tests/data keeps
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import sys
import time
import unittest

# Those that take longest come last, in case somebody ends this early.
MODULES = ("test_facts", "test_graphs", "test_capture_ranges", "test_gpu_metrics", "test_random_work", "test_more_kinds",
           "test_known_gaps", "test_exit_ways", "test_cupti_versions", "test_examples", "test_leave", "test_peer", "test_counters", "test_nsys", "test_python", "test_walkthroughs", "test_frameworks", "test_own_profilers", "test_operators", "test_culprits",
           "test_libraries", "test_ranks", "test_shut_out", "test_short_processes",
           "test_graph_layers", "test_serving", "test_starved", "test_windows", "test_killed", "test_delays", "test_cures")
# name of the trace: (program, arguments, options of profile)
RECORDINGS = {
    "normalise_v1": ("normalise_v1_pageable", [], []),
    "normalise_v2": ("normalise_v2_pinned_nvtx", [], []),
    "normalise_v3_bug": ("normalise_v3_bug", ["-s", "4"], []),
    "normalise_v3_streams": ("normalise_v3_streams", ["-s", "8"], []),
    "starved_loader": ("starved_loader", [], []),
    "many_small_copies": ("many_small_copies", [], []),
    "nvtx_cpu": ("nvtx_cpu", ["--facts", "facts.json"], []),
    "known_facts": ("known_facts", ["--facts", "facts.json"], []),
    "known_facts_graph_nodes": ("known_facts", ["--facts", "facts.json"], ["--cuda-graph-trace", "node"]),
    "peer_copy": ("peer_copy", ["--facts", "facts.json"], []),
    "python_v3_bug": ("normalise_python/v3_bug.py", ["-s", "4"], []),
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, help="build tree with bin, lib, share and tests")
    parser.add_argument("--only", default="", help="run only the tests and recordings whose name matches")
    return parser.parse_args()


class OneLine(unittest.TestResult):
    """Prints a line for each test when it has ended, and its failures below."""

    def __init__(self, rows, save):
        super().__init__()
        self.rows, self.save = rows, save

    def startTest(self, test):
        super().startTest(test)
        self.outcome, self.detail, self.started = "ok", "", time.monotonic()

    def set_outcome(self, outcome, detail):
        self.outcome, self.detail = outcome, detail

    def addFailure(self, test, error):
        self.set_outcome("FAILED", self._exc_info_to_string(error, test))

    def addError(self, test, error):
        self.set_outcome("ERROR", self._exc_info_to_string(error, test))
        if not hasattr(test, "_testMethodName"):  # in setUpClass: no test was started
            self.startTest(test)
            self.set_outcome("ERROR", self._exc_info_to_string(error, test))
            self.stopTest(test)

    def addSkip(self, test, reason):
        self.set_outcome("skipped", reason)
        if not hasattr(test, "_testMethodName"):
            self.startTest(test)
            self.set_outcome("skipped", reason)
            self.stopTest(test)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.set_outcome("FAILED", self.detail + self._exc_info_to_string(error, test))

    def stopTest(self, test):
        super().stopTest(test)
        seconds = time.monotonic() - self.started
        name = test.id().removeprefix("setUpClass ")
        self.rows.append({"name": name, "outcome": self.outcome, "seconds": round(seconds, 3), "detail": self.detail})
        why = f": {self.detail}" if self.outcome == "skipped" else ""
        print(f"{self.outcome:8} {seconds:6.1f} s  {name}{why}")
        if self.outcome in ("FAILED", "ERROR"):
            print("    " + self.detail[-3000:].replace("\n", "\n    "))
        sys.stdout.flush()
        self.save()


def cases(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases(item)
        else:
            yield item


def run_tests(only, rows, save):
    loader, result = unittest.TestLoader(), OneLine(rows, save)
    for module in MODULES:
        chosen = [case for case in cases(loader.loadTestsFromName(module)) if re.search(only, case.id())]
        unittest.TestSuite(chosen).run(result)


def record(support, recorded, name, folder):
    """Leaves NAME.trace, NAME.facts.json, NAME.report.json and NAME.report.txt. Returns what went wrong, if anything.

    Everything is called by a relative name: the traces are kept, and paths of this machine are nobody's business.
    """
    program, arguments, options = RECORDINGS[name]
    words = ["python3", program] if program.endswith(".py") else [f"./{program}"]
    trace = folder / f"{name}.trace"
    facts = support.EXAMPLES / "facts.json"
    # Records of the just-in-time compiler name the files of its cache.
    env = support.environment(CUDA_CACHE_DISABLE="1", PYTHONPATH=support.python_path())
    done = support.profile(trace, *words, *arguments, options=options, env=env, cwd=support.EXAMPLES)
    if done.returncode != 0:
        trace.unlink(missing_ok=True)
        return f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"
    if "--facts" in arguments:
        shutil.move(facts, folder / f"{name}.facts.json")
    (folder / f"{name}.report.txt").write_text(recorded.ask("report", trace.name, cwd=folder))
    report = recorded.ask("report", trace.name, "--format", "json", "--tables", cwd=folder)
    (folder / f"{name}.report.json").write_text(recorded.kept(json.loads(report)))
    return None


def record_all(support, recorded, folder, only, rows):
    folder.mkdir(parents=True, exist_ok=True)
    for name in (name for name in RECORDINGS if re.search(only, f"recording.{name}")):
        started = time.monotonic()
        try:
            problem = record(support, recorded, name, folder)
        except Exception as error:  # one recording must not cost the others
            problem = f"{type(error).__name__}: {error}"
        size = (folder / f"{name}.trace").stat().st_size if (folder / f"{name}.trace").is_file() else 0
        rows.append({"name": f"recording.{name}", "outcome": "not recorded" if problem else "ok",
                     "seconds": round(time.monotonic() - started, 3), "detail": problem or f"{size} bytes"})
        print(f"{'--' if problem else 'ok':8} {rows[-1]['seconds']:6.1f} s  recording {name}: {rows[-1]['detail']}")
        sys.stdout.flush()


def main():
    arguments = parse_arguments()
    if arguments.build:
        os.environ["GPROF_TEST_BUILD"] = str(arguments.build.resolve())
    arguments.out = arguments.out.resolve()  # programs are run in other folders
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    import recorded
    import support
    reason = support.why_not()
    if reason:
        print("skipped:", reason)
        return support.SKIP
    arguments.out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    rows = []

    def save():  # after every test: whoever ends this early keeps what there is
        (arguments.out / "results.json").write_text(json.dumps(rows, indent=1))

    record_all(support, recorded, arguments.out / "data", arguments.only, rows)
    save()
    run_tests(arguments.only, rows, save)
    outcomes = collections.Counter(row["outcome"] for row in rows)
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    print(f"{time.monotonic() - started:.0f} s: {counts}")
    return 1 if outcomes["FAILED"] + outcomes["ERROR"] else 0


if __name__ == "__main__":
    sys.exit(main())
