"""Captures that are started and stopped by hand: several traces from one run, each whole as soon as `stop` has returned."""
import contextlib
import json
import os
import pathlib
import signal
import stat
import subprocess

import harness

NEVER = "/nonexistent/file"
BY_COMMAND = 6
STOPPED = 3  # EndReason


class Session(harness.Case):
    def cli(self, *words, code=0):
        done = subprocess.run([str(harness.GPROF), *map(str, words)], capture_output=True, timeout=harness.DEADLINE_S, check=False,
                              cwd=self.folder, env=self.environment(None, None), stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stdout.decode()

    def launch(self, program, *arguments, options=(), version="13.0"):
        command = [str(harness.GPROF), "launch", "--session", "test", *options, "--", *self.command(program, arguments)]
        return self.start(command, version)

    def start(self, command, version="13.0"):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                   cwd=self.folder, env=self.environment(version, None))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def kill(self, pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def read_fact(self, process):
        line = process.stdout.readline()
        self.assertTrue(line, process.poll())
        return json.loads(line)

    def read_until(self, process, text):
        while self.read_fact(process).get("text") != text:
            pass

    def finish(self, process, code):
        _, err = process.communicate(timeout=harness.DEADLINE_S)
        self.assertEqual(process.returncode, code, err.decode())

    def gates(self, count):
        return [self.folder / f"gate{i}" for i in range(count)]

    def check_trace(self, name, marks, kernels):
        """Whole, though the program runs on."""
        trace = harness.Trace(self.folder / name)
        self.assertEqual((trace.problems, trace.of("loss")), ([], []))
        self.assertEqual(sorted(r["message"] for r in trace.of("nvtx", event=1)), sorted(marks))
        self.assertEqual((len(trace.of("kernel")), len(trace.calls("cudaLaunchKernel"))), (kernels, kernels))
        self.assertEqual({r["trigger"] for r in trace.of("capture", event=1)}, {BY_COMMAND})
        self.assertEqual(len(trace.of("capture", event=2)), 1)
        self.check_whole(name)
        return trace

    def check_whole(self, name):
        """What the report says of a capture that ended in order."""
        trust = self.report(self.folder / name)["trust"]
        self.assertEqual((trust["complete"], trust["remarks"]), (True, []))

    def test_two_captures_of_one_run(self):
        gates = self.gates(4)
        script = (f"mark out0 launch 2 say outside wait {gates[0]} mark in1 launch 3 say inside wait {gates[1]} "
                  f"mark out1 launch 5 say outside wait {gates[2]} mark in2 launch 4 say inside wait {gates[3]} "
                  "mark out2 launch 6 exit 3")
        process = self.launch("scripted", *script.split())
        for i, (name, marks, kernels) in enumerate((("a.trace", ["in1"], 3), ("b.trace", ["in2"], 4))):
            self.read_until(process, "outside")
            self.cli("start", "--session", "test", "-o", name)
            gates[2 * i].touch()
            self.read_until(process, "inside")
            self.cli("stop", "--session", "test")
            self.check_trace(name, marks, kernels)
            gates[2 * i + 1].touch()
        self.finish(process, 3)
        self.check_trace("a.trace", ["in1"], 3)
        self.check_trace("b.trace", ["in2"], 4)
        self.assertEqual([p.name for p in sorted(pathlib.Path(self.folder).glob("*.trace"))], ["a.trace", "b.trace"])

    def test_capture_is_whole_whatever_becomes_of_its_program(self):
        for end in ("shutdown", "kill"):
            with self.subTest(end=end):
                gate, name = self.folder / f"gate-{end}", f"{end}.trace"
                process = self.launch("scripted", *f"mark out wait {gate} mark in launch 3 say inside wait {NEVER}".split())
                pid = self.read_fact(process)["pid"]
                self.cli("start", "--session", "test", "-o", name)
                gate.touch()
                self.read_until(process, "inside")
                self.cli("stop", "--session", "test")
                if end == "kill":
                    os.kill(pid, signal.SIGKILL)
                else:
                    self.cli("shutdown", "--session", "test")
                self.finish(process, 128 + (signal.SIGKILL if end == "kill" else signal.SIGTERM))
                self.check_trace(name, ["in"], 3)

    def test_next_capture_that_was_cut_is_not_whole(self):
        """What the end of the first one says is not true of the second in the same file."""
        script = "pstart mark in1 launch 2 pstop say paused wait {0} pstart mark in2 say inside wait " + NEVER
        gate, trace = self.folder / "gate", self.folder / "run.trace"
        command = [str(harness.GPROF), "profile", "-o", str(trace), "-c", "cudaProfilerApi", "--capture-range-end", "repeat", "--",
                   *self.command("scripted", script.format(gate).split())]
        process = self.start(command)
        pid = self.read_fact(process)["pid"]
        self.addCleanup(self.kill, pid)
        self.read_until(process, "paused")
        harness.wait_for(lambda: harness.has_records(trace) and harness.Trace(trace).of("end", reason=STOPPED),
                         "the end of the first capture")
        self.check_whole("run.trace")
        gate.touch()
        self.read_until(process, "inside")
        harness.wait_for(lambda: any(r["message"] == "in2" for r in harness.Trace(trace).of("nvtx")), "the second capture")
        self.assertFalse(self.report(trace)["trust"]["complete"])
        os.kill(pid, signal.SIGKILL)
        self.finish(process, 128 + signal.SIGKILL)
        self.assertFalse(self.report(trace)["trust"]["complete"])

    def test_captures_are_compressed_at_the_end_of_the_program(self):
        gates = self.gates(6)
        script = "".join(f"say {i} wait {gate} launch {200 * (i + 1)} " for i, gate in enumerate(gates))
        process = self.launch("scripted", *script.split(), options=["--compress"])
        for i, name in enumerate(("a.trace", "cancelled.trace", "b.trace")):
            self.read_until(process, str(2 * i))
            self.cli("start", "--session", "test", "-o", name)
            gates[2 * i].touch()
            self.read_until(process, str(2 * i + 1))
            if i < 2:
                self.cli("cancel" if i == 1 else "stop", "--session", "test")
            gates[2 * i + 1].touch()
        # What was launched before the stop may still be added to it.
        self.assertEqual(harness.packed_chunks(self.folder / "a.trace"), 0)
        self.finish(process, 0)
        self.assertEqual(sorted(path.name for path in pathlib.Path(self.folder).glob("*.trace*")), ["a.trace", "b.trace"])
        for name, kernels in (("a.trace", 200), ("b.trace", 1000 + 1200)):
            self.assertGreater(harness.packed_chunks(self.folder / name), 0)
            trace = harness.Trace(self.folder / name)
            self.assertEqual((len(trace.of("kernel")), trace.problems, trace.of("loss")), (kernels, [], []))

    def test_program_that_is_never_captured(self):
        process = self.launch("scripted", *"mark out launch 3 exit 4".split())
        self.read_fact(process)
        self.finish(process, 4)
        self.assertEqual(list(pathlib.Path(self.folder).glob("*.trace")), [])

    def test_cancel(self):
        gates = self.gates(2)
        process = self.launch("scripted", *f"mark out wait {gates[0]} mark in launch 3 wait {gates[1]} mark out exit 4".split())
        self.read_fact(process)
        self.cli("start", "--session", "test", "-o", "thrown-away.trace")
        gates[0].touch()
        self.read_fact(process)
        self.cli("cancel", "--session", "test")
        gates[1].touch()
        self.finish(process, 4)
        self.assertFalse((self.folder / "thrown-away.trace").exists())

    def test_shutdown(self):
        process = self.launch("scripted", *f"mark out mark in launch 1 wait {NEVER}".split())
        self.read_fact(process)
        self.read_fact(process)
        self.cli("shutdown", "--session", "test")
        self.finish(process, 128 + signal.SIGTERM)

    def test_program_that_is_killed_in_a_capture(self):
        gates = self.gates(1)
        process = self.launch("scripted", *f"mark out wait {gates[0]} mark in wait {NEVER}".split())
        pid = self.read_fact(process)["pid"]
        self.cli("start", "--session", "test", "-o", "killed.trace")
        gates[0].touch()
        self.read_fact(process)
        os.kill(pid, signal.SIGKILL)
        self.finish(process, 128 + signal.SIGKILL)
        trace = harness.Trace(self.folder / "killed.trace")
        self.assertEqual([r["message"] for r in trace.of("nvtx", event=1)], ["in"])

    def test_nobody_else_can_look_in(self):
        process = self.launch("scripted", *f"mark out wait {NEVER}".split())
        self.read_fact(process)
        status = json.loads(self.cli("status", "--format", "json"))
        self.assertIn("test", json.dumps(status))
        entries = list(pathlib.Path(self.run_base).rglob("*"))
        self.assertTrue(any(stat.S_ISSOCK(entry.stat().st_mode) for entry in entries))
        for entry in entries:
            # Programs that give up root go on in its run folder: nobody can list it, and its name is a secret.
            forbidden = 0o077 if os.geteuid() != 0 else 0o044 if entry.is_dir() else 0o022
            self.assertEqual(entry.stat().st_mode & forbidden, 0, entry)
        self.cli("shutdown", "--session", "test")
        self.finish(process, 128 + signal.SIGTERM)
        self.assertEqual([entry for entry in pathlib.Path(self.run_base).rglob("*") if not entry.is_dir()], [])


if __name__ == "__main__":
    harness.main()
