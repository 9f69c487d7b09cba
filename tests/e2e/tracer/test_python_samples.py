"""Python code sampled from outside, against what the program says of its own frames and times."""
import json
import os
import pathlib
import subprocess
import sys

import harness
from test_python import PROGRAM, Stacks, all_interpreters, interpreters
from test_samples import forbid, forbid_perf

HOT = pathlib.Path(__file__).parent / "programs" / "python_hot.py"
QUIET = ("--only-trace", "-t", "cuda,nvtx")
PYTHON, PYTHON_WAITING = 3, 4


def line_with(mark):
    return 1 + next(i for i, line in enumerate(HOT.read_text().splitlines()) if line.endswith("# " + mark))


class PythonSamples(harness.Case):
    def record(self, python, *arguments, options, env=None, program=PROGRAM, **more):
        env = {"PYENV_VERSION": None, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
        run = self.profile(python, program, *arguments, options=(*QUIET, *options), env=env, **more)
        self.assertEqual(run.code, 0, run.err)
        return run

    def record_until(self, is_enough, python, **more):
        """The sampler may come late on a busy machine: until it has seen enough, the program runs for longer each time."""
        for rounds in (4, 32, 160):
            run = self.record(python, rounds, program=HOT, **more)
            if is_enough(run.trace):
                break
        return run

    def lines(self, run):
        """{line of the hot program: [seconds running, seconds waiting]}"""
        done = subprocess.run([harness.GPROF, "report", run.trace_path, "--only", "python_lines", "--rows", "0", "--format", "json"],
                              capture_output=True, timeout=harness.DEADLINE_S, check=True)
        tables = {table["id"]: table for table in json.loads(done.stdout)["tables"]}
        rows = tables["python_samples"]["rows"] if "python_samples" in tables else []
        return {row["line"]: (row["running_ns"] / 1e9, row["waiting_ns"] / 1e9) for row in rows}

    @harness.again_on_a_busy_machine
    def test_stacks_are_those_of_the_program(self):
        """While a thread stays somewhere, every sample of it is of there."""
        for name, python in all_interpreters():
            with self.subTest(python=name):
                facts = self.folder / f"expected{name}.json"
                run = self.record(python, facts, 20, options=("--python-sampling", "true", "--python-sampling-frequency", "400"),
                                  env={"HOLD_S": "0.02"})
                stacks = Stacks(run.trace)
                expected = json.loads(facts.read_text())
                samples = [s for s in run.trace.of("cpu_sample") if s["sample_kind"] in (PYTHON, PYTHON_WAITING)]
                checked = late = 0
                for tid, frames, begin, end in expected:
                    wanted = [frame[:4] for frame in frames]
                    for sample in samples:
                        # The stack is read after the time was taken, within a millisecond on most machines. Where the
                        # collector waits for a processor in between, it is of a later time.
                        if sample["tid"] != tid or not begin < sample["time_ns"] < end - 5_000_000:
                            continue
                        got = stacks(sample["stack"])
                        if not got:  # what changed while it was read is unknown, and no wrong stack
                            continue
                        wanted[0][3] = got[0][3]  # in one line, it goes on
                        late += got != wanted
                        checked += 1
                self.assertGreater(checked, len(expected) / 4)
                self.assertLessEqual(late, checked / 50)

    @harness.again_on_a_busy_machine
    def test_times_of_lines_are_those_of_the_program(self):
        for minor, python in interpreters().items():
            with self.subTest(minor=minor):
                run = self.record(python, 25, program=HOT,
                                  options=("--python-sampling", "process-tree", "--python-sampling-frequency", "200"))
                times, lines = json.loads(run.out), self.lines(run)
                much = lines[f"python_hot.py:{line_with('HOT')} (much)"][0]
                little = lines[f"python_hot.py:{line_with('WARM')} (little)"][0]
                other = lines[f"python_hot.py:{line_with('ELSEWHERE')} (other)"][0]
                waits = lines[f"python_hot.py:{line_with('WAITS')}"][1]
                self.assertGreater(much, 2 * little)
                # Samples count time, the program its processor time: on a busy machine they differ, and their shares do not.
                known = times["much"] + times["little"]
                self.assertAlmostEqual((much + little) / (much + little + other), known / (known + times["other"]), delta=0.25)
                self.assertLess(much + little + other, 2.5 * (known + times["other"]))
                self.assertGreater(waits, 0.06)

    def test_threads_that_launch_nothing_are_sampled_with_the_tree_only(self):
        for scope, wanted in (("true", 1), ("process-tree", 2)):
            run = self.record_until(lambda trace: len({s["tid"] for s in trace.of("cpu_sample")}) >= wanted, sys.executable,
                                    options=("--python-sampling", scope))
            self.assertEqual(len({s["tid"] for s in run.trace.of("cpu_sample")}), wanted)
        run = self.record(sys.executable, 4, program=HOT, options=("--python-sampling", "false"))
        self.assertEqual(run.trace.of("cpu_sample"), [])

    def test_threads_beside_those_that_launch_are_sampled_while_they_run(self):
        run = self.profile(sys.executable, HOT, 40, env={"PYENV_VERSION": None, "PYTHONDONTWRITEBYTECODE": "1"}, options=("--nvml", "off"))
        self.assertEqual(run.code, 0, run.err)
        launching = {c["tid"] for c in run.trace.calls("cudaDeviceSynchronize")}
        beside = [s for s in run.trace.of("cpu_sample") if s["tid"] not in launching]
        self.assertEqual({s["sample_kind"] for s in beside}, {PYTHON})
        self.assertEqual(len({s["tid"] for s in beside}), 1)
        self.assertGreater(self.lines(run)[f"python_hot.py:{line_with('ELSEWHERE')} (other)"][0], 0.05)

    def test_takes_the_place_of_perf_events_that_are_refused(self):
        run = self.record(sys.executable, 10, program=HOT, options=("-s", "launching"), preexec_fn=forbid_perf)
        said = [n["message"] for n in run.trace.of("notice")]
        self.assertEqual(sum("Python code is sampled by reading its memory instead" in text for text in said), 1, said)
        self.assertEqual({s["sample_kind"] for s in run.trace.of("cpu_sample")} - {PYTHON, PYTHON_WAITING}, set())
        self.assertGreater(len(run.trace.of("cpu_sample")), 10)

    def test_a_version_that_is_not_known_is_said(self):
        versions = pathlib.Path(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))) / "versions"
        old = sorted(versions.glob("3.7.*/bin/python3"))
        if not old:
            self.skipTest("no version that cannot be read is here")
        run = self.record_until(lambda trace: trace.of("notice"), old[0], options=("--python-sampling", "true"))
        said = [n["message"] for n in run.trace.of("notice")]
        self.assertEqual(sum("CPython 3.7 cannot be read" in text for text in said), 1, said)
        self.assertEqual(run.trace.of("cpu_sample"), [])

    def test_processes_that_end_meanwhile_are_no_refusal(self):
        program = self.folder / "starts.py"
        program.write_text("import ctypes, os, subprocess, time\n"
                           "ctypes.CDLL(os.environ['TEST_CUDART']).cudaDeviceSynchronize()\n"
                           "begin = time.monotonic()\n"
                           "while time.monotonic() < begin + 2:\n"
                           "    child = subprocess.Popen(['true'])\n"
                           "    time.sleep(0.01)  # it has ended, and is there until it is asked for\n"
                           "    child.wait()\n")
        run = self.record(sys.executable, program=program, options=("--python-sampling", "process-tree"))
        self.assertEqual([n["message"] for n in run.trace.of("notice") if "not sampled" in n["message"]], [])
        self.assertGreater(len(run.trace.of("cpu_sample")), 10)

    def test_memory_that_may_not_be_read_is_said(self):
        run = self.record_until(lambda trace: trace.of("notice"), sys.executable, options=("--python-sampling", "true"),
                                preexec_fn=forbid_reading)
        said = [n["message"] for n in run.trace.of("notice")]
        self.assertEqual(sum("cannot be read" in text and "kernel.yama.ptrace_scope" in text for text in said), 1, said)
        self.assertEqual(run.trace.of("cpu_sample"), [])


def forbid_reading():
    forbid({"x86_64": 310, "aarch64": 270})  # process_vm_readv


if __name__ == "__main__":
    sys.exit(harness.main())
