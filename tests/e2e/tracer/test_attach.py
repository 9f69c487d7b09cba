"""A program that was started without us is recorded for a while, and goes on as if nothing had been."""
import json
import os
import pathlib
import signal
import subprocess
import time

import attach_case
import harness


@harness.unittest.skipUnless(attach_case.may_trace(), "ptrace is not permitted here")
class Attach(attach_case.AttachCase):
    def test_records_for_a_while_and_leaves_no_trace_in_the_program(self):
        gate = self.folder / "gate"
        self.begin("launch", 2, "say", "ready", "work", gate, "exit", 3)
        before = harness.wait_for(self.driver_thread, "the thread of the driver")
        err = self.attach(self.program.pid, "-d", "0.5", "-o", "a.trace")
        self.assertIn("the program goes on", err)
        time.sleep(0.1)
        self.assertEqual(self.driver_thread(), before)
        facts = self.finish(gate, 3)
        self.check_trace("a.trace", facts)

    def test_again_and_again(self):
        gate = self.folder / "gate"
        self.begin("launch", 2, "say", "ready", "work", gate, "exit", 0)
        for name in ("a.trace", "b.trace", "c.trace"):
            self.attach(self.program.pid, "-d", "0.3", "-o", name)
            self.assertEqual(self.driver_thread()[1], "7")
        facts = self.finish(gate, 0)
        for name in ("a.trace", "b.trace", "c.trace"):
            self.check_trace(name, facts)
        # What is left of it goes with the next command.
        subprocess.run([harness.GPROF, "profile", "-o", self.folder / "other.trace", "true"], env=self.environment(None, None),
                       capture_output=True, check=True, timeout=harness.DEADLINE_S)
        self.assertEqual(list(pathlib.Path(self.run_base).glob("*/*")), [])

    def test_until_the_program_ends(self):
        gate = self.folder / "gate"
        self.begin("launch", 2, "say", "ready", "work", gate, "mark", "last", "exit", 5)
        attached = subprocess.Popen(self.attach_command(self.program.pid, "-o", "a.trace"), stderr=subprocess.PIPE, cwd=self.folder,
                                    env=self.environment("13.0", None))
        self.addCleanup(attached.stderr.close)
        self.assertIn(b"recording", attached.stderr.readline())
        time.sleep(0.2)
        self.finish(gate, 5)
        self.assertEqual(attached.wait(harness.DEADLINE_S), 0)
        self.assertIn(b"the program has ended", attached.stderr.read())
        self.assertGreater(len(harness.Trace(self.folder / "a.trace").of("kernel")), 3)

    def test_until_it_is_told_to_end(self):
        gate = self.folder / "gate"
        self.begin("launch", 2, "say", "ready", "work", gate, "exit", 0)
        attached = subprocess.Popen(self.attach_command(self.program.pid, "-o", "a.trace"), stderr=subprocess.PIPE, cwd=self.folder,
                                    env=self.environment("13.0", None))
        self.addCleanup(attached.stderr.close)
        self.assertIn(b"recording", attached.stderr.readline())
        time.sleep(0.2)
        attached.send_signal(signal.SIGINT)
        self.assertEqual(attached.wait(harness.DEADLINE_S), 0)
        self.check_trace("a.trace", self.finish(gate, 0))

    def test_a_killed_attacher_harms_nobody(self):
        gate = self.folder / "gate"
        self.begin("launch", 2, "say", "ready", "work", gate, "exit", 3)
        for delay_s in (0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3):
            attached = subprocess.Popen(self.attach_command(self.program.pid, "-f", "-o", "a.trace"), stderr=subprocess.DEVNULL,
                                        cwd=self.folder, env=self.environment("13.0", None))
            time.sleep(delay_s)
            attached.kill()
            attached.wait()
            self.assertIsNone(self.program.poll())

        def is_attached():
            # The last of them may have left a thread of the driver on its way back to poll().
            return subprocess.run(self.attach_command(self.program.pid, "-f", "-d", "0.3", "-o", "b.trace"), stderr=subprocess.DEVNULL, cwd=self.folder,
                                  check=False, timeout=harness.DEADLINE_S, env=self.environment("13.0", None)).returncode == 0
        harness.wait_for(is_attached, "another attach")
        self.finish(gate, 3)

    def test_a_program_that_was_stopped_before(self):
        """Its threads go on in restart_syscall, and not in the poll() that they were in."""
        gate = self.folder / "gate"
        self.begin("launch", 2, "say", "ready", "work", gate, "exit", 0)
        self.program.send_signal(signal.SIGSTOP)
        harness.wait_for(lambda: pathlib.Path(f"/proc/{self.program.pid}/stat").read_text().split(") ")[1][0] == "T", "the program is stopped")
        self.program.send_signal(signal.SIGCONT)
        for name in ("a.trace", "b.trace"):
            self.attach(self.program.pid, "-d", "0.5", "-o", name)
            self.assertEqual(self.driver_thread()[1], "7")
        facts = self.finish(gate, 0)
        self.check_trace("a.trace", facts)

    def test_who_cannot_be_attached_to(self):
        self.assertIn("there is no process 99999999", self.attach(99999999, code=2))
        self.assertIn("needs a PID or --name", self.attach(code=2))
        done = subprocess.run([harness.GPROF, "attach", str(os.getpid())], capture_output=True, check=False, cwd=self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"add --experimental", done.stderr)
        self.assertIn("is not a PID", self.attach("abc", code=2))
        self.assertIn("no process is called", self.attach("--name", "no such program", code=2))
        sleeper = subprocess.Popen(["sleep", "60"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        self.assertIn("has not loaded the CUDA driver", self.attach(sleeper.pid, code=125))
        sleeper.send_signal(signal.SIGSTOP)
        harness.wait_for(lambda: pathlib.Path(f"/proc/{sleeper.pid}/stat").read_text().split()[2] == "T", "a stopped process")
        self.assertIn("it is stopped", self.attach(sleeper.pid, code=125))
        self.assertEqual(list(self.folder.glob("*.trace")), [])

    def test_a_program_without_a_thread_to_borrow(self):
        gate = self.folder / "gate"
        self.begin("launch", 2, "say", "ready", "work", gate, "exit", 3, env={"MOCK_DRIVER_THREAD": "0"})
        self.assertIn("no thread of the CUDA driver waits in poll()", self.attach(self.program.pid, code=125))
        self.assertEqual(list(self.folder.glob("*.trace")), [])
        self.finish(gate, 3)

    def test_a_program_that_is_recorded_already(self):
        gate = self.folder / "gate"
        command = [str(harness.GPROF), "profile", "-o", "run.trace", "--", *self.command("scripted", ["launch", 2, "say", "ready", "work", gate])]
        profiled = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.folder,
                                    env=self.environment("13.0", {"MOCK_DRIVER_THREAD": "1"}))
        self.addCleanup(profiled.stdout.close)
        while json.loads(profiled.stdout.readline()).get("text") != "ready":
            pass
        (pid,) = map(int, pathlib.Path(f"/proc/{profiled.pid}/task/{profiled.pid}/children").read_text().split()[:1])
        self.assertIn("is being recorded already", self.attach(pid, code=125))
        gate.touch()
        profiled.communicate(timeout=harness.DEADLINE_S)
        self.assertEqual(profiled.returncode, 0)


if __name__ == "__main__":
    harness.main()
