"""Processes that never call CUDA or NVTX: what is recorded of them from outside, and when it is not."""
import json
import os
import subprocess
import sys

import harness
from test_samples import may_sample

# The worker decodes while the parent waits for it, and says for how long it did.
LOADER = """
import ctypes, multiprocessing, os, time

cuda = ctypes.CDLL(os.environ["TEST_CUDART"])


def decode():
    end = time.monotonic() + SECONDS
    total = 0
    while time.monotonic() < end:
        for i in range(2000):
            total += i * i  # DECODES
    return total


def work(tasks, results):
    open(METHOD, "w").close()
    while tasks.get() is not None:
        results.put(decode())


def launch():
    stream = ctypes.c_void_p()
    cuda.cudaMemsetAsync(memory, 0, 64, None)


context = multiprocessing.get_context(METHOD)
if __name__ == "__main__":
    memory = ctypes.c_void_p()
    cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64))
    tasks, results = context.SimpleQueue(), context.SimpleQueue()
    worker = context.Process(target=work, args=(tasks, results))
    worker.start()
    while not os.path.exists(METHOD):  # what it takes to start is not waited for in a call that counts
        time.sleep(0.01)
    launch()
    for _ in range(12):
        tasks.put(1)
        results.get()  # WAITS
        launch()
    tasks.put(None)
    worker.join()
    cuda.cudaDeviceSynchronize()
"""

# Two processes that are busy for some of their own time.
SPINS = """
import os, subprocess, sys, threading, time


def much():
    end = time.process_time() + SECONDS
    while time.process_time() < end:
        sum(range(5000))  # HOT


if sys.argv[1:]:
    much()
else:
    child = subprocess.Popen([sys.executable, __file__, "child"])
    much()
    child.wait()
    print(os.getpid(), child.pid)
"""

PIPE = 11  # OsObject


def line_of(text, mark):
    return 1 + next(i for i, line in enumerate(text.splitlines()) if line.endswith("# " + mark))


class UntracedCase(harness.Case):
    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def record(self, text, *options, name="program.py", version=None, code=0, seconds=0.8):
        text = text.replace("SECONDS", str(seconds))
        env = {"PYENV_VERSION": None, "PYTHONDONTWRITEBYTECODE": "1"}
        run = self.profile(sys.executable, self.write(name, text), options=options, env=env, version=version)
        self.assertEqual(run.code, code, run.err)
        return run

    @staticmethod
    def report_of(run, *options):
        done = subprocess.run([harness.GPROF, "report", run.trace_path, "--rows", "0", "--format", "json", *options],
                              capture_output=True, timeout=harness.DEADLINE_S, check=True)
        return json.loads(done.stdout)

    def tables(self, run):
        report = self.report_of(run, "--only", "cpu_functions,python_lines,threads")
        return {table["id"]: table["rows"] for table in report["tables"]}


class Untraced(UntracedCase):
    def test_what_ran_is_recorded_with_its_processes(self):
        run = self.record(SPINS)
        self.assertIn("2 processes without CUDA or NVTX calls", run.err)
        program, child = map(int, run.out.split())
        trace = run.trace
        self.assert_clean(trace, processes=0)
        processes = {p["pid"]: p for p in trace.seen if p["kind"] == "process"}
        self.assertEqual(set(processes), {program, child})
        self.assertEqual(processes[child]["parent_pid"], program)
        self.assertTrue(processes[child]["command_line"].endswith("program.py child"))
        lines = {row["line"]: row for row in self.tables(run)["python_samples"]}
        hot = lines[f"program.py:{line_of(SPINS, 'HOT')} (much)"]
        self.assertGreater(hot["running_ns"], 0.2e9)
        text = subprocess.run([harness.GPROF, "report", run.trace_path], capture_output=True, text=True, check=True,
                              timeout=harness.DEADLINE_S).stdout
        self.assertIn("No process of this run made a CUDA or NVTX call", text)
        self.assertIn(f"program.py:{line_of(SPINS, 'HOT')}", text)

    def test_the_kernel_samples_all_of_it_too(self):
        if not may_sample():
            self.skipTest("perf events are not allowed here")
        for options in ((), ("-s", "process-tree")):
            run = self.record(SPINS, *options)
            pids = {s["pid"] for s in run.trace.of("cpu_sample") if s["sample_kind"] == 1}
            self.assertEqual(pids, set(map(int, run.out.split())))
            self.assertGreater(sum(row["running_ns"] for row in self.tables(run)["threads"]), 0.3e9)

    def test_a_program_that_is_gone_at_once_has_a_trace(self):
        run = self.profile("true", options=(), version=None)
        self.assertEqual([p["command_line"] for p in run.trace.seen if p["kind"] == "process"], ["true"])

    def test_who_may_open_no_file_may_have_made_calls(self):
        """The tracer cannot be loaded then, so that nobody knows. A look at the processes may come late on a busy machine."""
        for seconds in (1, 4, 16):
            run = self.profile(sys.executable, "-c", f"import resource, time; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3)); time.sleep({seconds})",
                               options=(), version=None)
            said = [n["message"] for n in run.trace.seen if n["kind"] == "notice"]
            if said:
                break
        self.assertEqual(len(said), 1)
        self.assertIn(" was limited to 3 open files (RLIMIT_NOFILE), so that the tracer could not be loaded if it made CUDA or NVTX calls", said[0])
        self.assertEqual(self.report_of(run)["trust"]["remarks"], said)

    def test_nothing_is_recorded_unasked(self):
        """Who says what is traced, or that it is those that launch, gets no other."""
        for options in (("--only-trace", "-t", "cuda,nvtx"), ("-s", "launching"), ("-s", "none"), ("-c", "cudaProfilerApi")):
            run = self.record(SPINS, *options, seconds=0.1)
            self.assertIn("nothing was recorded", run.err)
            self.assertFalse(harness.has_records(run.trace_path))

    def test_what_ran_before_the_first_call_is_dropped(self):
        program = SPINS + "\nimport ctypes\nctypes.CDLL(os.environ['TEST_CUDART']).cudaDeviceSynchronize()\ntime.sleep(0.5)\n"
        run = self.record(program, version="13.0")
        trace = run.trace
        first = min(r["start_ns"] for r in trace.of("api"))
        self.assertEqual([s for s in trace.of("cpu_sample") if s["time_ns"] < first - 150e6], [])


class Workers(UntracedCase):
    def test_names_what_a_worker_did(self):
        for method in ("fork", "spawn"):
            with self.subTest(method=method):
                text = LOADER.replace("METHOD", f'"{method}"')
                run = self.record(text, name="loader.py", version="13.0", seconds=0.25)
                report = self.report_of(run)
                said = ["; ".join([f["message"], *f.get("evidence", [])]) for f in report["findings"] if f["id"] == "os.handover"]
                self.assertEqual(len(said), 1, report["findings"])
                self.assertIn(f"loader.py:{line_of(text, 'DECODES')} (decode)", said[0])
                self.assertRegex(said[0], "(, which it started,| that it started) ran meanwhile")
                self.assertEqual({s["sample_kind"] for s in run.trace.of("cpu_sample")} - {1, 3, 4}, set())

    def test_have_names_whatever_is_sampled(self):
        """A worker that ended a wait of the program is known where nothing but the program is sampled."""
        text = LOADER.replace("METHOD", '"fork"')
        for choice in ("launching", "none"):
            with self.subTest(choice=choice):
                run = self.record(text, "-s", choice, name="loader.py", version="13.0", seconds=0.05)
                root = run.trace.of("process")[0]["pid"]
                workers = {p["pid"] for p in run.trace.seen if p["kind"] == "process"}
                writers = {c["other_tid"] for c in run.trace.of("os_call", object_kind=PIPE) if c["chunk_pid"] == root}
                self.assertTrue(writers & workers, (writers, workers))


if __name__ == "__main__":
    sys.exit(harness.main())
