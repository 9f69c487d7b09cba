"""Recording in windows: on and off in turns, to measure the slow-down or to stay within a budget. The program works until
the trace has as many windows as the test wants, so that nothing here depends on how fast the machine is."""
import json
import subprocess
import time

import harness

START, STOP = 1, 2
NOTHING, EVERYTHING, BASE = 0, 1, 2
BY_WINDOW = 9
WINDOWS = 8
SEAM_NS = 1_000_000  # between two pieces of a time


class Windows(harness.Case):
    def record(self, *options, ready=None, script="work", env=None, before=(), meanwhile=None):
        """The trace of a program that works until `ready` says of its trace that it has enough. `meanwhile` is called with its
        path when the program has been started."""
        enough = self.folder / "enough"
        path, command = self.profile_command("scripted", [*before, script, enough], ["--only-trace", "-t", "cuda,nvtx", "--flush-ms", "20", *options])
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.folder,
                                   env=self.environment("13.0", {"MOCK_KINDS_STAY": "1", **(env or {})}), stdin=subprocess.DEVNULL)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        if meanwhile is not None:
            meanwhile(path)

        def has_enough():
            self.assertIsNone(process.poll(), "the program has ended by itself")
            return harness.has_records(path) and ready(harness.Trace(path))

        harness.wait_for(has_enough, "windows")
        enough.touch()
        self.assertEqual(process.wait(harness.DEADLINE_S), 0, process.stderr.read().decode())
        self.assertFalse((self.folder / "violations").exists())
        trace = harness.Trace(path)
        self.assert_clean(trace)
        return path, trace

    def captures(self, trace):
        borders = sorted(trace.of("capture"), key=lambda r: (r["time_ns"], r["event"]))
        self.assertEqual([r["event"] for r in borders], [START, STOP] * (len(borders) // 2))
        self.assertEqual({r["trigger"] for r in borders[:-1]}, {BY_WINDOW})
        return [(start["time_ns"], stop["time_ns"]) for start, stop in zip(borders[::2], borders[1::2])]

    def base_times(self, trace):
        """Joined, as they are told piece by piece."""
        joined = []
        for start, end in sorted((r["start_ns"], r["start_ns"] + r["duration_ns"]) for r in trace.of("base_time")):
            if joined and start <= joined[-1][1] + SEAM_NS:
                joined[-1][1] = max(joined[-1][1], end)
            else:
                joined.append([start, end])
        return joined

    def check_rates(self, trace):
        """Windows are counted within captures where they say so and outside of them otherwise."""
        captures = self.captures(trace)
        for rate in trace.of("work_rate"):
            start, end = rate["start_ns"], rate["start_ns"] + rate["duration_ns"]
            within = [c for c in captures if c[0] <= start and end <= c[1]]
            touched = [c for c in captures if c[0] < end and start < c[1]]
            self.assertEqual((len(within), len(touched)), (1, 1) if rate["level"] == EVERYTHING else (0, 0), rate)
            in_base = [b for b in self.base_times(trace) if b[0] <= start + SEAM_NS and end <= b[1] + SEAM_NS]
            self.assertEqual(len(in_base), 1 if rate["level"] == BASE else 0, rate)
            self.assertLessEqual(rate["span_ns"], rate["duration_ns"] + 1_000_000)
            self.assertTrue(rate["calls"] > 1 and rate["threads"] == 1 and rate["span_ns"] > 0, rate)
            self.assertIn(rate["function"], ("cudaLaunchKernel", "cudaDeviceSynchronize"))

    def check_recorded(self, trace):
        """What was done in a window is there, and nothing else."""
        captures = self.captures(trace)
        for mark in trace.of("nvtx", event=1):
            known = captures + self.base_times(trace)
            self.assertTrue(any(start <= mark["time_ns"] <= stop + SEAM_NS for start, stop in known), mark)
        for call in trace.of("api"):
            self.assertTrue(any(start <= call["start_ns"] <= stop + SEAM_NS for start, stop in captures), call)
        launches = [c["correlation"] for c in trace.calls("cudaLaunchKernel")]
        self.assertTrue(launches)
        self.assertEqual(len(set(launches)), len(launches))
        lost = set(launches) - {k["correlation"] for k in trace.of("kernel")}
        self.assertFalse(lost, f"{len(lost)} of {len(launches)} launches have no kernel")

    def test_measured(self):
        path, trace = self.record("--measure-overhead", ready=lambda t: len(t.of("work_rate")) >= 2 * WINDOWS)
        self.check_rates(trace)
        self.check_recorded(trace)
        rates = sorted(trace.of("work_rate"), key=lambda r: r["number"])
        self.assertEqual([r["number"] for r in rates], list(range(1, len(rates) + 1)))
        self.assertEqual([r["level"] for r in rates], [1 - i % 2 for i in range(len(rates))])
        self.assertFalse(trace.of("base_time"))
        report = self.report(path)
        measured = report["trust"]["overhead"]["measured"]
        self.assertEqual(measured["windows"], len([r for r in rates if r["level"] == EVERYTHING]))
        self.assertLessEqual(measured["low_percent"], measured["slow_down_percent"])
        self.assertLessEqual(measured["slow_down_percent"], measured["high_percent"])
        metrics = harness.total(report)
        self.assertEqual(metrics["health.slow_down_percent"], measured["slow_down_percent"])
        self.assertNotIn("kernels.count", metrics)
        self.assertIn("launches.interval_median_ns", metrics)

    def test_budget(self):
        """A budget that no recording can keep: after each window it rests, and looks again."""
        def has_rested(trace):
            return len(trace.of("capture", event=START)) >= 3

        _, trace = self.record("--overhead-budget", "25%", ready=has_rested)
        self.check_rates(trace)
        self.check_recorded(trace)
        mode = trace.of("process")[0]["capture_mode"]
        self.assertTrue(mode.endswith("; in windows that keep the slow-down below 25%"), mode)

    def test_base_level(self):
        """Between windows ranges and waits go on, and launches do not; windows with nothing at all say what that costs."""
        def has_compared(trace):
            return len([r for r in trace.of("work_rate") if r["level"] == NOTHING]) >= 6

        path, trace = self.record("--overhead-budget", "10%", ready=has_compared, script="steps")
        self.check_rates(trace)
        self.check_recorded(trace)
        captures, base = self.captures(trace), self.base_times(trace)
        self.assertTrue(base)
        calls = trace.of("base_call")
        self.assertEqual({c["function"] for c in calls} - {"cudaDeviceSynchronize", "cudaStreamSynchronize"}, set(), "other calls are short")
        self.assertFalse([c for c in calls if any(start + SEAM_NS <= c["start_ns"] < stop for start, stop in captures)])
        pushes = [r["time_ns"] for r in trace.of("nvtx", message="step")]
        self.assertTrue([t for t in pushes if any(start <= t <= end for start, end in base)])
        report = self.report(path)
        self.assertTrue(report["trust"]["complete"], report["trust"]["remarks"])
        self.assertIn("ranges, waits and graph launches for another", report["trust"]["kernels"])
        measured = report["trust"]["overhead"]["measured"]
        self.assertGreaterEqual(measured["base"]["windows"], 6)
        average = measured["average"]
        self.assertLessEqual(average["low_percent"], average["slow_down_percent"])
        done = subprocess.run([harness.GPROF, "report", "--format", "json", "--rows", "0", path], capture_output=True, timeout=harness.DEADLINE_S,
                              check=True)
        tables = {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
        self.assertEqual({r["function"] for r in tables["base_calls"]}, {c["function"] for c in calls})
        self.assertEqual(sum(r["count"] for r in tables["base_calls"]), len(calls))
        # Steps are known of all the time, what the GPU did of windows alone.
        iterations = tables["step_iterations"]
        self.assertGreater(len([i for i in iterations if i["kernel_ns"] is None]), 0)
        for step in iterations:
            start = step["start_ns"] + report["trace"]["start_ns"]
            in_window = any(begin <= start and start + step["duration_ns"] <= stop for begin, stop in captures)
            self.assertEqual(step["kernel_ns"] is not None, in_window, step)

    def test_the_base_level_is_measured_in_rests(self):
        """A window that costs a lot is followed by a long rest: what the base level costs is looked at meanwhile."""
        def levels(trace):
            return [r["level"] for r in sorted(trace.of("work_rate"), key=lambda r: r["number"])]

        def has_compared(trace):
            found = levels(trace)
            return any(found[i - 2:i + 1] == [BASE, BASE, NOTHING] for i in range(2, len(found)))

        _, trace = self.record("--overhead-budget", "1%", ready=has_compared, script="steps")
        self.check_rates(trace)
        self.check_recorded(trace)

    def test_a_base_level_that_costs_too_much(self):
        """Thousands of ranges a second do not fit into a ten-thousandth of the time: between windows nothing is recorded."""
        def is_told(trace):
            return any("between windows nothing is recorded" in n["message"] for n in trace.of("notice"))

        _, trace = self.record("--overhead-budget", "0.01%", ready=is_told, script="storm")
        base = self.base_times(trace)
        self.assertLess(sum(end - start for start, end in base), 1_000_000_000, "no longer than it takes to see that")

    def test_start_of_the_program_costs_nothing(self):
        """Three seconds without CUDA, as Python takes for its imports: at 10 % they would cost a pause of four."""
        go = self.folder / "go"

        def let_go_late(path):
            harness.wait_for(lambda: harness.has_records(path) and harness.Trace(path).of("nvtx", message="early"), "the first mark")
            time.sleep(3)
            go.touch()
        _, trace = self.record("--overhead-budget", "10%", ready=lambda t: len(t.of("capture", event=START)) >= 2,
                               before=["mark", "early", "wait", go], meanwhile=let_go_late)
        (start, stop), (next_start, _) = self.captures(trace)[:2]
        self.assertGreater(stop - start, 3e9)
        # On a busy machine it may take long until enough calls were counted.
        counted_ns = sum(r["duration_ns"] for r in trace.of("work_rate") if stop <= r["start_ns"] < next_start)
        self.assertLess(next_start - stop - counted_ns, 2e9)

    def test_threads_within_calls(self):
        """Threads that are within calls whenever recording stops: CUPTI must not leave them there (callback_switches.h)."""
        _, trace = self.record("--measure-overhead", ready=lambda t: len(t.of("work_rate")) >= 2 * WINDOWS, script="crowd",
                               env={"MOCK_LAUNCH_US": "500"})
        self.check_recorded(trace)

    def test_threads_that_call_while_a_callback_goes_off(self):
        """Who tells CUPTI so is preempted meanwhile, for longer than anything else is waited for (callback_switches.cpp)."""
        _, trace = self.record("--measure-overhead", ready=lambda t: len(t.of("work_rate")) >= WINDOWS, script="crowd",
                               env={"MOCK_LAUNCH_US": "500", "MOCK_OFF_MS": "60"})
        self.check_recorded(trace)

    def test_kernels_that_run_beyond_the_window(self):
        """When a window ends, the GPU is behind by more and more."""
        _, trace = self.record("--measure-overhead", ready=lambda t: len(t.of("work_rate")) >= WINDOWS, script="queue",
                               env={"MOCK_KERNEL_US": "3000"})
        self.check_recorded(trace)
        start, stop = self.captures(trace)[0]
        ends = {k["correlation"]: k["start_ns"] + k["duration_ns"] for k in trace.of("kernel")}
        beyond = [c for c in trace.calls("cudaLaunchKernel") if c["start_ns"] < stop < ends[c["correlation"]]]
        self.assertTrue(beyond, (start, stop))

    def test_child(self):
        """The child of a fork has windows of its own."""
        run = self.profile("ways_out", "fork_first", 5, options=["--measure-overhead"])
        self.assertEqual(run.code, 12, run.err)
        self.assertEqual({r["chunk_pid"] for r in run.trace.of("capture", event=START)},
                         {r["chunk_pid"] for r in run.trace.of("process")})


if __name__ == "__main__":
    harness.main()
