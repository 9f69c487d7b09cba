"""Only what was asked for is recorded: by time, by range, by step, by signal, in which processes. The programs say when
they did what, so that nothing here depends on how fast the machine is."""
import collections
import json
import pathlib
import signal
import subprocess
import sys

import exit_matrix
import harness

START, STOP = 1, 2
BY_BEGIN, BY_TIME, BY_PROFILER_API, BY_NVTX, BY_STEPS, BY_COMMAND, BY_SIGNAL, BY_END = range(1, 9)
NEVER = "/nonexistent/file"
STOPPED, SALVAGED = 3, 4  # EndReason
CHILD_MARKS = 20


def windows(trace, pid):
    """(start, stop, trigger of the start) of each capture of a process."""
    result = []
    for r in sorted(trace.of("capture", chunk_pid=pid), key=lambda r: (r["time_ns"], r["event"] == START)):
        if r["event"] == START:
            result.append([r["time_ns"], float("inf"), r["trigger"]])
        elif result:
            result[-1][1] = r["time_ns"]
    return result


class CaptureCase(harness.Case):
    def check_times(self, trace, facts):
        """What was done within a capture is recorded, what was done outside is not; on the edge both are right."""
        if not trace.of("capture"):
            return  # recorded throughout, or not at all
        marks = collections.Counter((r["chunk_pid"], r["message"]) for r in trace.of("nvtx", event=1))
        spans_of = {pid: windows(trace, pid) for pid in {fact["pid"] for fact in facts}}
        for fact in facts:
            spans, found = spans_of[fact["pid"]], marks[fact["pid"], fact["name"]]
            if any(start <= fact["before_ns"] and fact["after_ns"] <= stop for start, stop, _ in spans):
                self.assertEqual(found, 1, fact)
            elif all(fact["after_ns"] < start or stop < fact["before_ns"] for start, stop, _ in spans):
                self.assertEqual(found, 0, fact)

    def names(self, trace):
        return sorted(r["message"] for r in trace.of("nvtx", event=1))

    def scripted(self, script, options, code=0, **more):
        run = self.profile("scripted", *script.split(), options=options, **more)
        self.assertEqual(run.code, code, run.err)
        trace = run.trace
        self.assertEqual(trace.problems, [], run.err)
        self.assertEqual(trace.of("loss"), [])
        self.check_times(trace, run.facts("mark"))
        return trace

    def check(self, script, options, marks, kernels, captures, code=0):
        trace = self.scripted(script, options, code)
        self.assertEqual(self.names(trace), sorted(marks))
        launches = trace.calls("cudaLaunchKernel")
        self.assertEqual((len(trace.of("kernel")), len(launches)), (kernels, kernels))
        # Each kernel belongs to a call of its capture.
        self.assertEqual({k["correlation"] for k in trace.of("kernel")}, {c["correlation"] for c in launches})
        starts = trace.of("capture", event=START)
        self.assertEqual([r["number"] for r in starts], list(range(1, captures + 1)))
        return trace


class ProfilerApi(CaptureCase):
    SCRIPT = ("mark out1 launch 3 pstart mark in1 launch 5 pstop mark out2 launch 2 "
              "pstart mark in2 launch 1 pstop mark out3 launch 4")

    def test_how_a_range_ends(self):
        for end, marks, kernels, captures in (
                (None, ("in1",), 5, 1), ("stop", ("in1",), 5, 1), ("repeat", ("in1", "in2"), 6, 2),
                ("repeat:1", ("in1",), 5, 1), ("repeat:2", ("in1", "in2"), 6, 2),
                ("none", ("in1", "out2", "in2", "out3"), 12, 1)):
            with self.subTest(end=end):
                options = ["-c", "cudaProfilerApi", *(["--capture-range-end", end] if end else [])]
                trace = self.check(self.SCRIPT, options, marks, kernels, captures)
                self.assertEqual({r["trigger"] for r in trace.of("capture", event=START)}, {BY_PROFILER_API})
                stops = [r["trigger"] for r in trace.of("capture", event=STOP)]
                self.assertEqual(stops, [BY_END] if end == "none" else [BY_PROFILER_API] * captures)

    def test_range_that_is_open_at_the_end(self):
        trace = self.check("mark out pstart mark in launch 2", ["-c", "cudaProfilerApi"], ("in",), 2, 1)
        self.assertEqual([r["trigger"] for r in trace.of("capture", event=STOP)], [BY_END])

    def test_calls_without_their_counterpart(self):
        self.check("pstop mark out launch 1 pstart pstart mark in launch 1 pstop pstop mark out launch 1",
                   ["-c", "cudaProfilerApi", "--capture-range-end", "repeat"], ("in",), 1, 1)

    def test_calls_that_nobody_listens_to(self):
        """Without -c the calls mean nothing, and everything is recorded."""
        trace = self.scripted("mark a launch 1 pstart mark b launch 1 pstop mark c launch 1", [])
        self.assertEqual((self.names(trace), len(trace.of("kernel"))), (["a", "b", "c"], 3))

    def test_nothing_is_recorded_without_a_range(self):
        run = self.profile("scripted", *"mark out launch 3 exit 4".split(), options=["-c", "cudaProfilerApi"])
        self.assertEqual(run.code, 4, run.err)
        if harness.has_records(run.trace_path):
            trace = run.trace
            self.assertEqual((trace.of("nvtx"), trace.of("kernel"), trace.of("api")), ([], [], []))

    def test_many_captures(self):
        """Switched on and off a thousand times, what was recorded is exact."""
        script = "".join(f"pstart mark in{i} launch 2 pstop mark out{i} launch 1 " for i in range(1000))
        self.check(script, ["-c", "cudaProfilerApi", "--capture-range-end", "repeat"], [f"in{i}" for i in range(1000)], 2000, 1000)

    def test_death_in_a_capture_and_behind_it(self):
        """What was recorded outlives the process, what was not asked for does not come back with it."""
        for script in ("mark out pstart mark in launch 2 term", "mark out pstart mark in launch 2 pstop mark out launch 1 term",
                       "pstart mark in launch 2 pstop mark out pstart pstop launch 1 term"):
            with self.subTest(script=script):
                trace = self.scripted(script, ["-c", "cudaProfilerApi", "--capture-range-end", "repeat"], code=128 + signal.SIGTERM)
                self.assertEqual(self.names(trace), ["in"])
                self.assertEqual(len(trace.calls("cudaLaunchKernel")), 2)
                self.assertLessEqual(len(trace.of("kernel")), 2)
                # That a capture is over and whole was written or not, as fast as the process died.
                self.assertEqual([r["reason"] for r in trace.of("end") if r["reason"] != STOPPED], [SALVAGED])

    def test_shutdown(self):
        options = ["-c", "cudaProfilerApi", "--capture-range-end", "stop-shutdown"]
        script = f"mark out pstart mark in launch 2 pstop wait {NEVER}"
        self.check(script, options, ("in",), 2, 1, code=128 + signal.SIGTERM)

    def test_shutdown_that_kills_nothing(self):
        options = ["-c", "cudaProfilerApi", "--capture-range-end", "stop-shutdown", "--kill", "none"]
        self.check("pstart mark in launch 2 pstop mark out exit 5", options, ("in",), 2, 1, code=5)

    def test_shutdown_by_a_signal_of_choice(self):
        options = ["-c", "cudaProfilerApi", "--capture-range-end", "stop-shutdown", "--kill", "sigkill"]
        script = f"pstart mark in launch 2 pstop wait {NEVER}"
        self.check(script, options, ("in",), 2, 1, code=128 + signal.SIGKILL)


class NvtxRange(CaptureCase):
    def test_which_range_is_meant(self):
        for push, pop in (("push", "pop"), ("rpush", "rpop"), ("start", "end"), ("rstart", "rend")):
            for made, asked, is_captured in (("cap", "cap", True), ("cap@dom", "cap@dom", True), ("cap@dom", "cap@*", True),
                                             ("cap", "cap@*", True), ("cap", "cap@dom", False), ("cap@dom", "cap", False),
                                             ("cap@dom", "cap@other", False), ("capture", "cap", False)):
                with self.subTest(push=push, made=made, asked=asked):
                    script = f"launch 1 mark out {push} {made} mark in launch 2 {pop} {made} mark out2 launch 3"
                    if is_captured:
                        trace = self.check(script, ["-c", "nvtx", "-p", asked], ("in",), 2, 1)
                        self.assertEqual({r["trigger"] for r in trace.of("capture")}, {BY_NVTX})
                    else:
                        run = self.profile("scripted", *script.split(), options=["-c", "nvtx", "-p", asked])
                        self.assertEqual(run.code, 0, run.err)
                        if harness.has_records(run.trace_path):
                            self.assertEqual((self.names(run.trace), run.trace.of("kernel")), ([], []))

    def test_other_ranges_within(self):
        self.check("push a push cap push b mark in1 pop b mark in2 launch 1 pop cap mark out pop a", ["-c", "nvtx", "-p", "cap"],
                   ("in1", "in2"), 1, 1)

    def test_range_within_itself(self):
        self.check("push cap mark in1 push cap mark in2 pop cap mark in3 launch 1 pop cap mark out", ["-c", "nvtx", "-p", "cap"],
                   ("in1", "in2", "in3"), 1, 1)

    def test_how_a_range_ends(self):
        script = "".join(f"push cap mark in{i} launch 1 pop cap mark out{i} launch 1 " for i in range(3))
        for end, marks, kernels, captures in (("stop", ("in0",), 1, 1), ("repeat", ("in0", "in1", "in2"), 3, 3),
                                              ("repeat:2", ("in0", "in1"), 2, 2),
                                              ("none", ("in0", "out0", "in1", "out1", "in2", "out2"), 6, 1)):
            with self.subTest(end=end):
                self.check(script, ["-c", "nvtx", "-p", "cap", "--capture-range-end", end], marks, kernels, captures)


class Steps(CaptureCase):
    def test_schedule(self):
        script = "".join(f"push step mark s{i} launch {i + 1} pop step " for i in range(12))
        for schedule, steps in (("skip=1,wait=1,warmup=1,active=2,repeat=2", (3, 4, 7, 8)), ("active=2,repeat=1", (0, 1)),
                                ("skip=10,active=1,repeat=1", (10,)), ("wait=2,active=1", (2, 5, 8, 11)),
                                ("skip=3,warmup=2,active=3,repeat=1", (5, 6, 7))):
            with self.subTest(schedule=schedule):
                trace = self.scripted(script, ["--sample-steps", schedule, "-p", "step"])
                self.assertEqual(self.names(trace), sorted(f"s{i}" for i in steps))
                self.assertEqual(len(trace.of("kernel")), sum(i + 1 for i in steps))
                self.assertEqual({r["trigger"] for r in trace.of("capture", event=START)}, {BY_STEPS})


class Interactive(CaptureCase):
    def start(self, script, options):
        path, command = self.profile_command("scripted", script.split(), ["--flush-ms", "20", *options])
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                                   env=self.environment("13.0", None), stdin=subprocess.DEVNULL)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return path, process

    def wait_for_capture(self, path, event, count=1):
        def is_there():
            try:
                return len(harness.Trace(path).of("capture", event=event)) >= count
            except AssertionError:  # nothing in the file yet
                return False
        harness.wait_for(is_there, f"capture event {event}")

    def finish(self, path, process, code, facts=()):
        out, err = process.communicate(timeout=harness.DEADLINE_S)
        self.assertEqual(process.returncode, code, err.decode())
        trace = harness.Trace(path)
        self.assertEqual(trace.problems, [])
        lines = [*facts, *(json.loads(line) for line in out.decode().splitlines() if line.startswith("{"))]
        self.check_times(trace, [line for line in lines if line["fact"] == "mark"])
        return trace

    def read_until_done(self, process):
        """The marks that the program made until it said that its launches are over, too."""
        marks = []
        while True:
            fact = json.loads(process.stdout.readline())
            if fact["fact"] == "said":
                return marks
            marks.append(fact)

    def test_signals(self):
        go = [self.folder / f"go{i}" for i in range(4)]
        script = "".join(f"mark at{i} launch 2 say done wait {go[i]} " for i in range(4)) + "mark at4 say done exit 3"
        path, process = self.start(script, ["--capture-signal", "SIGUSR1"])
        facts = self.read_until_done(process)
        for i in range(4):  # at0 and at2 and at4 are outside
            process.send_signal(signal.SIGUSR1)
            self.wait_for_capture(path, START if i % 2 == 0 else STOP, i // 2 + 1)
            go[i].touch()
            facts += self.read_until_done(process)
        trace = self.finish(path, process, 3, facts)
        self.assertEqual(self.names(trace), ["at1", "at3"])
        self.assertEqual(len(trace.of("kernel")), 4)
        self.assertEqual({r["trigger"] for r in trace.of("capture")}, {BY_SIGNAL})

    def test_duration(self):
        go = self.folder / "go"
        path, process = self.start(f"mark early launch 1 wait {go} mark late launch 1 exit 6", ["-d", "0.2"])
        self.wait_for_capture(path, STOP)
        go.touch()
        trace = self.finish(path, process, 6)
        self.assertNotIn("late", self.names(trace))

    def test_duration_that_kills(self):
        for name, number in (("sigterm", signal.SIGTERM), ("sigkill", signal.SIGKILL), ("2", signal.SIGINT)):
            with self.subTest(kill=name):
                path, process = self.start(f"mark early launch 1 wait {NEVER}", ["-d", "0.2", "--kill", name])
                self.finish(path, process, 128 + number)

    def test_delay(self):
        go = self.folder / "go"
        path, process = self.start(f"mark early launch 1 wait {go} mark late launch 3 exit 6", ["-y", "0.2"])
        self.wait_for_capture(path, START)
        go.touch()
        trace = self.finish(path, process, 6)
        self.assertIn("late", self.names(trace))
        self.assertGreaterEqual(len(trace.of("kernel")), 3)

    def test_delay_and_duration(self):
        go = self.folder / "go"
        path, process = self.start(f"mark early wait {go} mark late exit 0", ["-y", "0.1", "-d", "0.2"])
        self.wait_for_capture(path, STOP)
        go.touch()
        trace = self.finish(path, process, 0)
        self.assertNotIn("late", self.names(trace))

    def test_delay_that_is_longer_than_the_program(self):
        run = self.profile("scripted", *"mark a launch 1 exit 5".split(), options=["-y", "3600"])
        self.assertEqual(run.code, 5, run.err)
        if harness.has_records(run.trace_path):
            self.assertEqual((self.names(run.trace), run.trace.of("kernel")), ([], []))


class Family(CaptureCase):
    def check_family(self, trace, facts, recorded=("parent", "child")):
        for fact in facts:
            expected = CHILD_MARKS if fact["name"] in recorded else 0
            self.assertEqual(len(trace.of("nvtx", message=fact["name"], chunk_pid=fact["pid"])), expected, fact)
        processes = {r["pid"]: r for r in trace.of("process")}
        by_name = {fact["name"]: fact for fact in facts}
        if "child" in recorded:
            child = processes[by_name["child"]["pid"]]
            self.assertEqual(child["parent_pid"], by_name["child"]["parent"])
            self.assertTrue(child["name"].startswith("family"), child["name"])

    def test_children_of_all_sorts(self):
        for how in ("fork", "fork_exec", "vfork_exec", "spawn", "shell", "popen"):
            with self.subTest(how=how):
                run = self.profile("family", how, version=None)
                self.assertEqual(run.code, 4, run.err)
                self.assertEqual(run.trace.problems, [])
                self.check_family(run.trace, run.facts("process"))

    def test_without_children(self):
        for how in ("fork", "fork_exec", "vfork_exec", "spawn", "shell"):
            with self.subTest(how=how):
                run = self.profile("family", how, version=None, options=["--trace-children", "false"])
                self.assertEqual(run.code, 4, run.err)
                self.check_family(run.trace, run.facts("process"), recorded=("parent",))
                self.assertEqual(len(run.trace.of("process")), 1)

    def test_daemon_that_outlives_the_launcher(self):
        go = self.folder / "go"
        path, command = self.profile_command("family", ["daemon", go], [])
        with open(self.folder / "out", "w+b") as out:  # a pipe would stay open as long as the daemon lives
            process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd=self.folder,
                                       env=self.environment(None, None))
            self.addCleanup(process.kill)
            self.assertEqual(process.wait(timeout=harness.DEADLINE_S), 4)

            def pid():
                lines = [line for line in (self.folder / "out").read_text().splitlines() if '"daemon"' in line]
                return json.loads(lines[0])["pid"] if lines else None
            daemon = harness.wait_for(pid, "the daemon")
        self.assertTrue(exit_matrix.is_alive(daemon))
        go.touch()
        harness.wait_for(lambda: not exit_matrix.is_alive(daemon), "the end of the daemon")
        subprocess.run([harness.GPROF, "info", path], capture_output=True, timeout=harness.DEADLINE_S, check=True,
                       env=self.environment(None, None))
        trace = harness.Trace(path)
        self.assertEqual(len(trace.of("nvtx", message="daemon", chunk_pid=daemon)), CHILD_MARKS)
        self.assertEqual(len(trace.of("nvtx", message="parent")), CHILD_MARKS)

    def test_multiprocessing(self):
        script = self.folder / "workers.py"
        script.write_text(
            "import ctypes, multiprocessing, os, sys\n"
            "def mark(name):\n"
            "    library = ctypes.CDLL(os.environ['TEST_LIBRARY'])\n"
            f"    for _ in range({CHILD_MARKS}): library.MarkFromPython(name.encode())\n"
            "if __name__ == '__main__':\n"
            "    mark('parent')\n"
            "    context = multiprocessing.get_context(sys.argv[1])\n"
            "    workers = [context.Process(target=mark, args=('worker%d' % i,)) for i in range(3)]\n"
            "    for w in workers: w.start()\n"
            "    for w in workers: w.join()\n"
            "    with context.Pool(2) as pool: pool.map(mark, ['pool%d' % i for i in range(4)])\n"
            "    print([w.exitcode for w in workers])\n")
        for how in ("spawn", "fork"):
            with self.subTest(how=how):
                env = {"TEST_LIBRARY": str(harness.PROGRAMS / "nvtx_static_library.so")}
                run = self.profile(sys.executable, "-B", script, how, version=None, env=env)
                self.assertEqual((run.code, run.out), (0, "[0, 0, 0]\n"), run.err)
                trace = run.trace
                counts = [len(trace.of("nvtx", event=1, message=name))
                          for name in ("parent", *(f"worker{i}" for i in range(3)), *(f"pool{i}" for i in range(4)))]
                self.assertEqual(counts, [CHILD_MARKS] * 8)

    def test_launchers_side_by_side(self):
        """Into the same folder, and into names that are made up as they go."""
        command = [str(harness.GPROF), "profile", "-o", "run-%n.trace", "--", *self.command("family", ["fork_exec"])]
        runs = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.folder,
                                 env=self.environment(None, None), stdin=subprocess.DEVNULL) for _ in range(4)]
        for run in runs:
            _, err = run.communicate(timeout=harness.DEADLINE_S)
            self.assertEqual(run.returncode, 4, err.decode())
        paths = sorted(pathlib.Path(self.folder).glob("run-*.trace"))
        self.assertEqual(len(paths), 4)
        for path in paths:
            trace = harness.Trace(path)
            self.assertEqual(trace.problems, [])
            self.assertEqual([len(trace.of("nvtx", message=name)) for name in ("parent", "child")], [CHILD_MARKS] * 2)
        left = [entry for entry in pathlib.Path(self.run_base).rglob("*") if not entry.is_dir()]
        self.assertEqual(left, [], "the launchers leave nothing in memory")


if __name__ == "__main__":
    harness.main()
