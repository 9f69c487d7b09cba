"""A program that is recorded always: what is kept, when it is written down, and what survives whom."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import harness
import recorder_case

EXIT, STOPPED = 1, 3  # EndReason
MILLISECONDS = 1_000_000


class Recorder(recorder_case.RecorderCase):
    def test_a_snapshot_is_a_trace_and_the_program_goes_on(self):
        first, last = self.gate(), self.gate()
        self.record("mark", "one", "launch", 3, "say", "first", "wait", first, "mark", "two", "launch", 4, "say", "second", "wait", last)
        self.read_until("first")
        self.assertEqual(self.snapshots(), [])
        self.assertIn("are in 'a.trace'", self.cli("snapshot", "-o", "a.trace", "--reason", "because"))
        trace = self.load("a.trace")
        self.assertEqual((self.marks(trace), len(trace.of("kernel")), len(trace.calls("cudaLaunchKernel"))), (["one"], 3, 3))
        self.assertEqual([r["reason"] for r in trace.of("end")], [STOPPED])
        self.assertEqual(self.reason(trace), "because")
        report = self.report(self.folder / "a.trace")
        self.assertEqual((report["trust"]["complete"], report["trust"]["remarks"], report["trace"]["snapshot_reason"]), (True, [], "because"))
        first.touch()
        self.read_until("second")
        self.cli("snapshot", str(self.program))
        trace = self.load("snapshot.trace")
        self.assertEqual((self.marks(trace), len(trace.of("kernel"))), (["one", "two"], 7))
        last.touch()
        self.assertIn("has ended", self.finish() + "has ended")
        self.assertEqual(self.snapshots(), ["a.trace", "snapshot.trace"])

    def test_what_is_old_is_forgotten_and_what_names_is_not(self):
        first, last = self.gate(), self.gate()
        self.record("mark", "old", "launch", 3, "say", "first", "wait", first, "mark", "new", "launch", 2, "say", "second", "wait", last,
                    options=["--keep", "400ms"])
        self.read_until("first")
        time.sleep(1)
        first.touch()
        self.read_until("second")
        self.cli("snapshot")
        trace = self.load("snapshot.trace")
        self.assertNotIn("old", self.marks(trace))
        self.assertLessEqual(len(trace.of("kernel")), 2)
        for kind in ("process", "device", "context", "stream"):
            self.assertTrue(trace.of(kind), kind)
        last.touch()
        self.finish()

    def test_takes_no_more_memory_than_it_may(self):
        last = self.gate()
        self.record("say", "begin", "crowd", last, options=["--memory", "200k", "--only-trace"])
        self.read_until("begin")
        self.drain()
        (ring,) = harness.wait_for(lambda: list(pathlib.Path(self.run_base).glob("*/*/ring")), "a ring")
        harness.wait_for(lambda: ring.stat().st_size > 800 << 10, "much that was recorded")
        self.assertLess(ring.stat().st_blocks * 512, 600 << 10)
        self.cli("snapshot")
        trace = self.load("snapshot.trace")
        self.assertGreater(len(trace.of("kernel")), 10)
        self.end(last)

    def test_a_program_that_fails_leaves_one(self):
        # What CUPTI has not handed over goes with a process that is killed.
        for script, code, reason, kernels in ((["exit", 3], 3, "the program ended with exit code 3", 2),
                                              (["term"], 128 + signal.SIGTERM, "the program was killed by SIGTERM", None),
                                              (["exit", 0], 0, None, None)):
            self.record("mark", "last words", "launch", 2, *script)
            self.finish(code)
            if reason is None:
                self.assertEqual(self.snapshots(), [])
                continue
            trace = self.load("snapshot.trace")
            self.assertIn(reason, self.reason(trace))
            self.assertEqual(self.marks(trace), ["last words"])
            if kernels is not None:
                self.assertEqual(len(trace.of("kernel")), kernels)
            (self.folder / "snapshot.trace").unlink()

    def test_a_program_that_is_killed_leaves_its_last_moment(self):
        self.record("mark", "first", "launch", 2, "mark", "last", "say", "now", "wait", "/nonexistent", flush_ms=60000)
        self.read_until("now")
        os.kill(self.program, signal.SIGKILL)
        self.finish(128 + signal.SIGKILL)
        trace = self.load("snapshot.trace")
        self.assertEqual(self.marks(trace), ["first", "last"])
        self.assertIn("killed by SIGKILL", self.reason(trace))

    def test_a_slow_step(self):
        slow, last = self.gate(), self.gate()
        steps = ["push", "step", "launch", "1", "pop", "step"] * 20
        # On a busy machine, any of the short steps may be as slow by chance.
        self.record(*steps, "push", "step", "say", "slow", "wait", slow, "pop", "step", "wait", last,
                    options=["--on-slow-step", "step:5", "--cooldown", "0", "--most", "100"])
        self.read_until("slow")
        time.sleep(1)
        slow.touch()

        def of_the_wait():
            return [name for name in self.snapshots() if re.search(r"took [0-9.]+ s, ", self.reason(self.load(name)))]
        (name,) = harness.wait_for(of_the_wait, "its snapshot")
        last.touch()
        err = self.finish()
        self.assertIn(f"wrote snapshot '{name}'", err)
        self.assertRegex(err, r"step 'step' took [0-9.]+ s, [0-9.]+ times its median of [0-9.]+ .?s")
        self.assertEqual(len(self.load(name).of("nvtx", event=2)), 21)

    def test_signals_and_files(self):
        wish, last = self.folder / "wish", self.gate()
        self.record("mark", "here", "say", "ready", "wait", last, options=["--on-signal", "USR1", "--on-file", wish, "--cooldown", "0"])
        self.read_until("ready")
        self.process.send_signal(signal.SIGUSR1)
        harness.wait_for(lambda: len(self.snapshots()) == 1, "a snapshot")
        wish.touch()
        harness.wait_for(lambda: len(self.snapshots()) == 2, "another")
        last.touch()
        self.finish()
        self.assertEqual(self.reason(self.load("snapshot.trace")), "signal")
        self.assertIn("appeared", self.reason(self.load("snapshot.2.trace")))

    def test_a_killed_recorder_is_found_by_the_next_command(self):
        last = self.gate()
        self.record("mark", "kept", "launch", 3, "say", "ready", "wait", last)
        self.read_until("ready")
        time.sleep(0.3)  # a flush
        self.process.kill()
        self.process.wait(harness.DEADLINE_S)
        last.touch()
        harness.wait_for(lambda: not pathlib.Path(f"/proc/{self.program}").exists(), "the end of the program")
        err = self.cli("profile", "-o", "other.trace", "true")
        self.assertIn("a recorder was killed: its last", err)
        trace = self.load("snapshot.trace")
        self.assertEqual((self.marks(trace), len(trace.of("kernel"))), (["kept"], 3))
        self.assertEqual(self.left_overs(), [])

    def test_a_killed_recorder_is_replaced_by_its_supervisor(self):
        first, last = self.gate(), self.gate()
        self.record("mark", "one", "launch", 2, "say", "ready", "wait", first, "mark", "two", "launch", 3, "say", "again", "wait", last, "exit", 3,
                    options=["--supervise"])
        self.read_until("ready")
        (recorder,) = map(int, pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split())
        os.kill(recorder, signal.SIGKILL)
        self.assertIn("going on with its work", self.process.stderr.readline().decode())
        first.touch()
        self.read_until("again")
        self.cli("snapshot", "-o", "a.trace")
        trace = self.load("a.trace")
        self.assertEqual((self.marks(trace), len(trace.of("kernel"))), (["one", "two"], 5))
        last.touch()
        self.finish(3)
        trace = self.load("snapshot.trace")
        self.assertEqual((self.marks(trace), self.reason(trace)), (["one", "two"], "the program ended with exit code 3"))

    def test_a_supervisor_passes_on_signals_and_exit_codes(self):
        last = self.gate()
        self.record("say", "ready", "wait", last, options=["--supervise"])
        self.read_until("ready")
        self.process.send_signal(signal.SIGTERM)
        self.assertIn("killed by SIGTERM", self.finish(128 + signal.SIGTERM))

    def test_a_budget_says_what_it_measured(self):
        last = self.gate()
        self.record("say", "begin", "work", last, options=["--budget", "50%"])
        self.read_until("begin")
        self.drain()

        def measured():
            status = subprocess.run([str(harness.GPROF), "status", "--format", "json"], capture_output=True, timeout=harness.DEADLINE_S, check=True,
                                    cwd=self.folder, env=self.environment(None, None))
            return json.loads(status.stdout)["recorders"][0]["slow_down"]
        found = harness.wait_for(measured, "windows enough for an interval")
        self.assertGreaterEqual(found["windows"], 6)
        self.assertTrue(found["low_percent"] <= found["percent"] <= found["high_percent"], found)
        last.touch()
        self.reader.join(harness.DEADLINE_S)
        self.assertRegex(self.process.stderr.read().decode(), r"measured slow-down \S+ \(95% interval \S+ to \S+, \d+ windows\)")
        self.process.wait(harness.DEADLINE_S)

    def test_an_error_of_a_gpu(self):
        last, gpus = self.gate(), self.folder / "gpus"
        gpus.write_text("gpus 1\nclock 1 1980\nxids 1\n", encoding="utf-8")
        nvml = {"MOCK_NVML": str(gpus), "LD_LIBRARY_PATH": f"{harness.MOCK / 'nvml'}:{harness.MOCK / '13.0'}"}
        self.record("mark", "one", "say", "begin", "wait", last, options=["--on-xid", "--nvml", "10"], env=nvml)
        self.read_until("begin")
        with gpus.open("a", encoding="utf-8") as file:
            file.write("xid 0 79\n")
        (name,) = harness.wait_for(self.written, "its snapshot")
        self.assertEqual(self.reason(self.load(name)), "the driver logged Xid 79 of GPU 0")
        last.touch()
        self.finish()

    def test_triggers_between_windows(self):
        """A step is slow while no kernels are recorded, and a GPU that nobody looks at is not idle."""
        go, slow, last = self.gate(), self.gate(), self.gate()
        self.record("say", "begin", "steps", go, "push", "step", "say", "slow", "wait", slow, "pop", "step", "wait", last,
                    options=["--budget", "1%", "--on-slow-step", "step:5", "--on-idle", "1s", "--cooldown", "0", "--most", "100"])
        self.read_until("begin")

        def is_in_pause():
            """For some seconds, as what the base level costs has been compared."""
            self.cli("snapshot", "-f", "-o", "look.trace")
            look = self.load("look.trace")
            compared = [r["start_ns"] for r in look.of("work_rate") if r["level"] == 0]
            return compared and any(r["start_ns"] > compared[-1] for r in look.of("base_time"))
        harness.wait_for(is_in_pause, "the end of a window")
        (self.folder / "look.trace").unlink()
        go.touch()
        self.read_until("slow")
        time.sleep(1)
        slow.touch()

        def of_the_wait():
            return [name for name in self.written() if re.search(r"took [0-9.]+ s, ", self.reason(self.load(name)))]
        (name,) = harness.wait_for(of_the_wait, "its snapshot")
        self.assertFalse([n for n in self.written() if "idle" in self.reason(self.load(n))])
        trace = self.load(name)
        begin = max(r["time_ns"] for r in trace.of("nvtx", message="step"))
        base = [(r["start_ns"], r["start_ns"] + r["duration_ns"]) for r in trace.of("base_time")]
        self.assertTrue([b for b in base if b[0] <= begin <= b[1]], (begin, base))
        self.assertRegex(self.report(self.folder / name)["trust"]["kernels"], "ranges, waits and graph launches for another")
        last.touch()
        self.assertRegex(self.finish(), r"kernels were recorded in \d+ windows?, \S+ of the run; ranges and waits for \S+ more")

    def test_without_a_recorder_the_program_does_not_fill_the_memory(self):
        last = self.gate()
        self.record("say", "begin", "crowd", last, options=["--memory", "200k", "-q"])
        self.read_until("begin")
        self.drain()
        (ring,) = harness.wait_for(lambda: list(pathlib.Path(self.run_base).glob("*/*/ring")), "a ring")
        self.process.send_signal(signal.SIGSTOP)
        harness.wait_for(lambda: ring.stat().st_blocks * 512 > 400 << 10, "a ring that is full")
        time.sleep(0.5)
        self.assertLess(ring.stat().st_blocks * 512, 4 << 20)
        self.process.send_signal(signal.SIGCONT)
        self.end(last)

    def test_top_and_status(self):
        last = self.gate()
        self.record("say", "begin", "crowd", last)
        self.read_until("begin")
        self.drain()
        (ring,) = harness.wait_for(lambda: list(pathlib.Path(self.run_base).glob("*/*/ring")), "a ring")
        harness.wait_for(lambda: ring.stat().st_size > 100 << 10, "something that was recorded")
        done = subprocess.run([str(harness.GPROF), "top", "--count", "2", "--interval", "300ms", "--format", "jsonl"], capture_output=True,
                              timeout=harness.DEADLINE_S, check=True, cwd=self.folder, env=self.environment(None, None))
        readings = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([r["interval_ns"] for r in readings], [300 * MILLISECONDS] * 2)
        self.assertGreater(readings[1]["kernels"][0]["count"], 1)
        (gpu,) = readings[1]["gpus"]
        self.assertTrue(0 < gpu["busy_percent"] <= 100, gpu)
        self.assertLess(gpu["busy_percent"] + sum(gpu["idle_percent"].values()), 100.5)
        status = subprocess.run([str(harness.GPROF), "status", "--format", "json"], capture_output=True, timeout=harness.DEADLINE_S,
                                check=True, cwd=self.folder, env=self.environment(None, None))
        (recorder,) = json.loads(status.stdout)["recorders"]
        self.assertEqual((recorder["session"], recorder["keep_ns"], recorder["snapshots"]), ("scripted", 30_000 * MILLISECONDS, 0))
        self.end(last)

    def test_who_to_ask(self):
        self.assertIn("no recorder is running", self.cli("snapshot", code=2))
        last = self.gate()
        self.record("say", "ready", "wait", last, options=["--name", "server"])
        self.read_until("ready")
        self.assertIn("available: server", self.cli("snapshot", "nobody", code=2))
        self.assertIn("no session is running", self.cli("stop", code=2))
        self.cli("snapshot", "server", "-o", "a.trace")
        self.assertIn("already exists", self.cli("snapshot", "server", "-o", "a.trace", code=125))
        last.touch()
        self.finish()


if __name__ == "__main__":
    harness.main()
