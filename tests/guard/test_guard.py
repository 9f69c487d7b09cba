"""Counts the instructions of the encoder, the loader, reports (reading and all analyses), the NVTX handlers, the wrappers of system calls, and the start
and end of the tracer in a process, on inputs that never change, and holds them to the limits in limits.json. Instructions do not depend on how busy a
machine is, so this is no timed test.

    GPROF_TEST_BUILD=BUILD tests/guard/test_guard.py           checks
    GPROF_TEST_BUILD=BUILD tests/guard/test_guard.py --print   prints what there is; new limits are 1.15 times that, 1.2 times for nvtx

Limits hold for the preset `release` with GCC; other builds are skipped, and so are machines without valgrind.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", HERE.parents[1] / "build/release")).resolve()
PROGRAM = BUILD / "tests/bin/guard_program"
COMMAND = BUILD / "bin/gprof-cli"
GENERATOR = BUILD / "tests/bin/synthetic_trace"
RECORDS = {"encode": 20_000, "load": 20_000, "report": 20_000, "brief": 20_000, "nvtx": 10_000,
           "lock": 10_000, "poll": 10_000}  # of a round
TRACED = ("nvtx", "lock", "poll")
WHOLE = ("start",)  # all threads of the process, from its begin to its end
DEFAULTS = "cuda,nvtx,osrt,mpi,gemm,nccl"
REPORTS = ("report", "brief")  # all that analyses tell; what a report in text shows
TIME_LIMIT_S = 280
SKIPPED = 77


def why_skipped():
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    build = os.environ.get("GPROF_GUARD_BUILD", "GNU Release -O2 -DNDEBUG")
    if not re.fullmatch(r"GNU Release -O2 -DNDEBUG\s*", build):
        return f"the limits are those of the preset release with GCC, and this build is: {build}"
    return None


def count(what, rounds, trace="nvtx"):
    """Instructions of the first thread; of a report, which uses more than one, and of a whole process those of all threads."""
    with tempfile.TemporaryDirectory(prefix="gprof-guard-") as folder:
        words = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={folder}/counts",
                 PROGRAM, what, str(rounds)]
        if what not in REPORTS + WHOLE:
            words.insert(1, "--toggle-collect=guard_counted")
        elif what in REPORTS:
            trace = f"{folder}/fixed.trace"
            subprocess.run([str(GENERATOR), "-n", str(rounds * RECORDS[what]), "--out", trace], check=True,
                           stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=TIME_LIMIT_S)
            words[-1:] = ["1", trace]  # once, of a longer trace: what does not grow with it does not count
        if what in TRACED or (what in WHOLE and trace is not None):
            # No call is long, although valgrind makes all of them so.
            words = [COMMAND, "profile", "--only-trace", "-t", trace, "--osrt-threshold", "1000000000", "-o", f"{folder}/run.trace", "--", *words]
        done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, text=True, timeout=TIME_LIMIT_S, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{words}: exit code {done.returncode}\n{done.stdout}")
        if what == "nvtx":
            check_recorded(f"{folder}/run.trace", rounds)
        threads = sorted(pathlib.Path(folder).glob("counts-*"))
        return sum(read_count(thread) for thread in (threads if what in REPORTS + WHOLE else threads[:1]))


def read_count(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    return int(re.search(r"^(?:totals|summary): (\d+)", text, re.M).group(1))


def check_recorded(trace, rounds):
    """Without the tracer nothing would be cheaper than an NVTX range."""
    done = subprocess.run([str(COMMAND), "report", trace, "--only", "nvtx", "--format", "json"], stdout=subprocess.PIPE,
                          text=True, timeout=TIME_LIMIT_S, check=True)
    metrics = {m["id"]: m["value"] for m in json.loads(done.stdout)["metrics"] if not m.get("scope")}
    wanted = 1 + rounds * RECORDS["nvtx"]
    if metrics.get("nvtx.ranges") != wanted:
        raise RuntimeError(f"{metrics.get('nvtx.ranges')} ranges were recorded of {wanted}")


def for_each_record(what):
    """What a round costs. Of reports, what a second and third one cost more than one alone; of system calls, what they cost more
    when they are recorded."""
    def cost(trace):
        return count(what, 2, trace) / (2 * RECORDS[what])
    if what in WHOLE:
        return count(what, 1, DEFAULTS) - count(what, 1, None)
    if what in REPORTS:
        return (count(what, 3) - count(what, 1)) / (2 * RECORDS[what])
    return cost("nvtx,osrt") - cost("nvtx") if what in ("lock", "poll") else cost("nvtx")


class Guard(unittest.TestCase):
    def check(self, what):
        limit = json.loads((HERE / "limits.json").read_text(encoding="utf-8"))[what]
        instructions = for_each_record(what)
        print(f"{what}: {instructions:.1f} {limit['unit']}, at most {limit['limit']}", file=sys.stderr)
        self.assertGreater(instructions, 1, "nothing was counted")
        self.assertLessEqual(instructions, limit["limit"], limit["unit"])

    def test_encoder(self):
        self.check("encode")

    def test_loader(self):
        self.check("load")

    def test_report(self):
        self.check("report")

    def test_report_in_text(self):
        self.check("brief")

    def test_short_process(self):
        if not (BUILD / "lib/gprof-cli/libgprof-tracer.so").is_file():
            self.skipTest("there is no tracer in this build")
        self.check("start")

    def test_nvtx_handlers(self):
        if not (BUILD / "lib/gprof-cli/libgprof-tracer.so").is_file():
            self.skipTest("there is no tracer in this build")
        self.check("nvtx")

    def test_locks_and_polls(self):
        if not (BUILD / "lib/gprof-cli/libgprof-tracer.so").is_file():
            self.skipTest("there is no tracer in this build")
        self.check("lock")
        self.check("poll")


if __name__ == "__main__":
    reason = why_skipped()
    if "--print" in sys.argv:
        for name in (*RECORDS, *WHOLE):
            print(f"{name}: {for_each_record(name):.1f}")
        sys.exit(0)
    if reason:
        print(f"skipped: {reason}", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main()
