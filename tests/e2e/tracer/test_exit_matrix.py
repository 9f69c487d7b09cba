"""Every way a program can end, while it does nothing, while its threads are busy, while kernels or graphs run: the trace
opens, everything that was delivered is in it exactly once, and what may be missing is said. docs/losses.md has the table.

With GPROF_EXIT_MATRIX_JSON the table of what was seen is written to that file."""
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

import exit_matrix
import harness
import test_samples

DOCUMENT = pathlib.Path(__file__).resolve().parents[3] / "docs" / "losses.md"
# A fatal signal can cut the write that is under way; what it held is written again.
ROUNDS, MARKS = 15, 50
# What was being written when the process was killed may be cut short, or written once more by who salvages: it counts once.
CUT_TAIL = "ends within a chunk|damaged chunks: 1$|skipped bytes|chunks read twice: 1$"


class MatrixTrace(harness.Trace):
    def __init__(self, path):
        super().__init__(path)
        for record in self.records:
            record["pid_of_chunk"] = record["chunk_pid"]


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class MatrixCase(harness.Case):
    rows = {}
    cupti = {}  # what is special about the double of CUPTI
    options = ()
    before = None  # what the launcher's process does before it is one

    @classmethod
    def tearDownClass(cls):
        path = os.environ.get("GPROF_EXIT_MATRIX_JSON")
        if path:
            pathlib.Path(path).write_text(json.dumps(cls.rows, indent=1))

    def start(self, how, doing, options=()):
        """The program under `profile`, as far as the point where it is about to end."""
        self.go = self.folder / f"go{self.runs}"
        self.page = self.folder / f"progress{self.runs}"
        env = {"TEST_PROGRESS": str(self.page), "TEST_GO": str(self.go), **self.cupti}
        path, command = self.profile_command("exit_matrix", [how, doing], (*self.options, *options))
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                                   env=self.environment("13.0", env), stdin=subprocess.DEVNULL, preexec_fn=self.before)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        line = process.stdout.readline().decode()
        self.assertIn('"fact":"ready"', line, process.poll())
        return path, process, json.loads(line)["pid"]

    def end_in_its_own_way(self, how, doing, options=(), wait_s=0):
        path, process, pid = self.start(how, doing, options)
        self.addCleanup(kill, pid)
        time.sleep(wait_s)  # not for anything: only so that the end comes at another moment
        self.go.touch()
        self.assertEqual(process.wait(timeout=harness.DEADLINE_S), exit_matrix.WAYS[how].code)
        return path

    def end_without_launcher(self, how, doing):
        path, process, pid = self.start("return", doing)
        self.addCleanup(kill, pid)
        process.kill()
        process.wait(timeout=harness.DEADLINE_S)
        if how == "both_killed":
            kill(pid)
        else:
            self.go.touch()
        harness.wait_for(lambda: not exit_matrix.is_alive(pid), "the end of the program")
        # Any later command finds what nobody could write.
        done = subprocess.run([harness.GPROF, "info", path], capture_output=True, timeout=harness.DEADLINE_S, check=False,
                              env=self.environment(None, None))
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return path

    def check(self, how, doing):
        way = exit_matrix.WAYS[how]
        path = (self.end_without_launcher if how in ("launcher_killed", "both_killed") else self.end_in_its_own_way)(how, doing)
        slots = exit_matrix.read_slots(self.page)
        trace = MatrixTrace(path)
        for problem in trace.problems:
            self.assertRegex(problem, CUT_TAIL)
        checker = exit_matrix.Checker(self, trace, slots, way, harness.api_name)
        checker.check_host()
        checker.check_ends()
        missing = checker.check_gpu()
        metrics = harness.total(self.report(path))
        complete = metrics["health.complete"]
        # What has no call either was lost with the process; what has one is counted.
        self.assertEqual(metrics.get("health.unmatched_launches", 0), missing)
        if way.is_orderly and doing == "idle":
            self.assertEqual((missing, complete), (0, 1))
        self.rows[f"{how} {doing}"] = {"host_lost": 0, "gpu_missing": missing, "complete": complete,
                                       "ends": [r["reason"] for r in checker.ends()]}

    def check_all(self, doing):
        for how in exit_matrix.WAYS:
            with self.subTest(how=how, doing=doing):
                self.check(how, doing)
        violations = self.folder / "violations"
        self.assertFalse(violations.exists(), violations.exists() and violations.read_text())


class ExitMatrix(MatrixCase):
    def test_idle(self):
        self.check_all("idle")

    def test_busy_threads(self):
        self.check_all("threads")

    def test_busy_gpu(self):
        self.check_all("gpu")

    def test_running_graph(self):
        self.check_all("graph")


class EverythingOn(ExitMatrix):
    """The same with every call of the operating system, stacks at all calls, samples and switches of all threads."""
    options = ("--only-trace", "-t", "cuda,nvtx,osrt", "--osrt-threshold", "0", "--osrt-backtrace-threshold", "0", "--cudabacktrace=all:0",
               "-s", "process-tree", "--cpuctxsw=process-tree", "--sampling-frequency=1000")


class SampledBySignals(ExitMatrix):
    """The same where perf events are refused, and a signal samples threads."""
    options = ("--only-trace", "-t", "cuda,nvtx,osrt", "-s", "launching", "--sample-method", "signal")

    @staticmethod
    def before():
        test_samples.forbid_perf()


class SlowLastFlush(MatrixCase):
    """Other threads return from calls while the process that ends waits for CUPTI."""
    cupti = {"MOCK_FLUSH_SLEEP_MS": "100", "MOCK_LAUNCH_US": "3000"}

    def test_calls_that_return_meanwhile_are_there_once(self):
        for how in ("return", "exit", "quick_exit"):
            for _ in range(3):
                with self.subTest(how=how):
                    path = self.end_in_its_own_way(how, "threads")
                    trace = MatrixTrace(path)
                    self.assertEqual(trace.problems, [])
                    checker = exit_matrix.Checker(self, trace, exit_matrix.read_slots(self.page), exit_matrix.WAYS[how],
                                                  harness.api_name)
                    checker.check_host()
                    checker.check_ends()


class KilledAtAnyMoment(MatrixCase):
    def test_while_everything_is_written(self):
        """Ends that hit the tracer in the middle of a flush, which comes every millisecond here."""
        way = exit_matrix.WAYS["kill"]
        for i in range(ROUNDS):
            with self.subTest(round=i):
                path = self.end_in_its_own_way("kill", "threads", ["--flush-ms", "1"], wait_s=0.003 * (i % 7))
                trace = MatrixTrace(path)
                checker = exit_matrix.Checker(self, trace, exit_matrix.read_slots(self.page), way, harness.api_name)
                checker.check_host()
                checker.check_ends()
                checker.check_gpu()


    def test_while_the_tracer_starts(self):
        """As early as it can be: what it was setting up then, it may have held locked."""
        for _ in range(3 * ROUNDS):
            run = self.profile("ways_out", "kill", MARKS, version=None)
            self.assertEqual(run.code, exit_matrix.WAYS["kill"].code, run.err)
            self.assertEqual(len(run.trace.of("nvtx", event=exit_matrix.MARK)), MARKS, run.err)


class Document(unittest.TestCase):
    def test_losses_are_documented(self):
        self.assertIn(exit_matrix.table(), DOCUMENT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    harness.main()
