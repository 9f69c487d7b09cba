"""What dead processes left is in the trace when the launcher returns, or after the next command when it was killed, too."""

import os
import pathlib
import select
import signal
import subprocess
import sys
import time
import unittest

from launcher import DEADLINE_S, LauncherTest, state_of, wait_until

TRACED = pathlib.Path(__file__).resolve().parent / "traced.py"


class TracedTest(LauncherTest):
    def begin(self, *options, command="profile", leaving=None):
        # Traces are text here, which the stub writes.
        words = [self.cli, command, "--host-load", "off", "-s", "none", *options, sys.executable, "-B", TRACED, *([leaving] if leaving else [])]
        self.process = self.start(*words, stdin=subprocess.PIPE, start_new_session=True)
        # A program that is ended after some time may not even have come to say its pid.
        first = self.line().split()
        self.program = int(first[1]) if first else None
        if first:
            self.addCleanup(self.kill_quietly, self.program)

    @staticmethod
    def kill_quietly(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def line(self):
        """The next line of the program; empty when there is none any more."""
        text, end = b"", time.monotonic() + DEADLINE_S
        descriptor = self.process.stdout.fileno()
        while not text.endswith(b"\n"):
            if not select.select([descriptor], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"waited {DEADLINE_S} s in vain for a line, saw {text!r}")
            # One by one, so that nothing is left in a buffer.
            if not (byte := os.read(descriptor, 1)):
                break
            text += byte
        return os.fsdecode(text).strip()

    def until(self, start):
        """Lines up to one that starts so."""
        lines = [self.line()]
        while not lines[-1].startswith(start):
            if not lines[-1]:
                raise AssertionError(f"the program ended before {start!r}, after {lines}")
            lines.append(self.line())
        return lines

    def tell(self, word):
        """Sends a word to the program and waits until it has done it."""
        self.process.stdin.write(word.encode() + b"\n")
        self.process.stdin.flush()
        while (line := self.line()) != f"did {word}":
            if not line:
                raise AssertionError(f"the program ended before it did {word}")

    def finish(self, word="exit"):
        self.process.stdin.write(word.encode() + b"\n")
        self.process.stdin.flush()
        return self.wait()

    def wait(self):
        # Without communicate(): that would close stdin, at which the program ends.
        self.process.wait(DEADLINE_S)
        self.out, self.err = self.process.stdout.read(), self.process.stderr.read().decode()
        return self.process.returncode

    def trace(self, name="run.trace"):
        content = (self.folder / name).read_bytes()
        return (self.recorded(name) if content.startswith(b"\xa9gprof") else content).decode()

    def runs(self):
        return [path for folder in self.base.iterdir() for path in folder.iterdir()]


class AtTheEnd(TracedTest):
    def test_what_a_finished_program_had_is_in_the_trace_already(self):
        self.begin()
        self.assertEqual(self.line(), "triggered 1 run.trace bell=0")
        self.assertEqual(self.finish(), 3)
        self.assertEqual(self.trace(), "")
        self.assertEqual(self.runs(), [])

    def test_every_other_death(self):
        for end in ("_exit", signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM):
            with self.subTest(end=end):
                self.begin("-f")
                self.line()
                if end == "_exit":
                    self.assertEqual(self.finish(end), 4)
                else:
                    os.kill(self.program, end)
                    self.assertEqual(self.wait(), 128 + end)
                self.assertEqual(self.trace(), "rest now\n")
                self.assertEqual(self.runs(), [])

    def test_process_without_a_lock(self):
        self.begin()
        self.tell("unlock")
        os.kill(self.program, signal.SIGKILL)
        self.wait()
        self.assertEqual(self.trace(), "rest now\n")

    def test_failure_is_said_and_changes_nothing_else(self):
        for leaving, word in (("crash", "SIGSEGV"), ("error 28", "No space left")):
            with self.subTest(leaving=leaving):
                self.begin("-f", leaving=leaving)
                self.line()
                self.assertEqual(self.finish("_exit"), 4)
                self.assertIn(f"unwritten data of process {self.program} could not be recovered", self.err)
                self.assertIn(word, self.err)
                self.assertEqual(self.runs(), [])

    def test_failure_is_said_even_when_quiet(self):
        self.begin("-q", leaving="error 28")
        self.line()
        self.finish("_exit")
        self.assertEqual(self.err.count("\n"), 1)
        self.assertIn("could not be recovered", self.err)

    def test_the_recoverer_says_nothing_and_has_no_environment(self):
        self.begin(leaving="talk")
        self.line()
        self.finish("_exit")
        self.assertNotIn(b"environment", self.out)


class Meanwhile(TracedTest):
    def test_dead_children_are_in_the_trace_while_the_program_runs(self):
        self.begin()
        self.tell("fork")
        wait_until(lambda: self.trace() == "child now\n", "the child is in the trace")
        self.assertNotIn(state_of(self.program), "XZ")
        self.finish()
        self.assertEqual(self.trace(), "child now\n")

    def test_other_commands_leave_the_living_alone(self):
        self.begin()
        self.line()
        self.run_in_folder(self.cli, "report", "run.trace")
        self.assertEqual(len(self.runs()), 1)
        self.finish("_exit")
        self.assertEqual(self.trace(), "rest now\n")


class AfterTheLauncher(TracedTest):
    def kill_launcher(self):
        self.process.kill()
        self.process.wait(DEADLINE_S)

    def kill_program(self):
        os.kill(self.program, signal.SIGKILL)
        wait_until(lambda: state_of(self.program) in "XZ", "the program is dead")

    def test_the_next_command_recovers(self):
        self.begin()
        self.line()
        self.kill_launcher()
        self.kill_program()
        self.assertEqual(len(self.runs()), 1)
        done = self.run_in_folder(self.cli, "info", "run.trace")
        self.assertEqual(self.trace(), "rest some time ago\n")
        self.assertEqual(done.stderr.decode().count("recovered unwritten data of a process from an earlier run"), 1)
        self.assertIn(str(self.folder / "run.trace"), done.stderr.decode())
        self.assertEqual(self.runs(), [])
        self.assertNotIn(b"recovered", self.run_in_folder(self.cli, "info", "run.trace").stderr)

    def test_starting_a_run_recovers_too(self):
        self.begin()
        self.line()
        self.kill_launcher()
        self.kill_program()
        done = self.profile("-o", "other.trace", "true")
        self.assertIn(b"recovered", done.stderr)
        self.assertEqual(self.trace(), "rest some time ago\n")

    def test_a_program_that_lives_on_keeps_its_folder(self):
        self.begin()
        self.line()
        self.kill_launcher()
        self.assertNotIn(b"recovered", self.run_in_folder(self.cli, "info", "run.trace").stderr)
        self.assertEqual(len(self.runs()), 1)
        self.assertEqual(self.trace(), "")
        self.kill_program()
        self.assertIn(b"recovered", self.run_in_folder(self.cli, "dump", "run.trace").stderr)

    def test_daemon_outlives_the_run(self):
        # The daemon reads from a pipe that nobody writes to, and its output is a file: nothing of the run holds it.
        os.mkfifo(self.folder / "pipe")
        script = self.write("daemon.sh", f"'{sys.executable}' -B '{TRACED}' <>pipe >log 2>&1 &\n"
                            "while ! grep -q triggered log; do sleep 0.01; done\n")
        done = self.profile("-s", "none", "sh", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        daemon = int((self.folder / "log").read_text(encoding="utf-8").split()[1])
        self.addCleanup(self.kill_quietly, daemon)
        self.assertEqual(len(self.runs()), 1)
        os.kill(daemon, signal.SIGKILL)
        wait_until(lambda: state_of(daemon) in "XZ", "the daemon is dead")
        self.assertIn(b"recovered", self.run_in_folder(self.cli, "info", "run.trace").stderr)
        # Before it stands who else was of the run.
        self.assertTrue((self.folder / "run.trace").read_bytes().endswith(b"rest some time ago\n"))


class WithoutMemory(LauncherTest):
    def test_recording_goes_on_without_a_folder(self):
        self.env["GPROF_RUN_BASE"] = "/proc/nothing"
        done = self.profile("env")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"no shared memory", done.stderr)
        self.assertNotIn(b"GPROF_RUN_FOLDER", done.stdout)
        self.assertIn(b"GPROF_OUTPUT", done.stdout)

    def test_tiny_files(self):
        done = self.run_in_folder("bash", "-c", f"ulimit -f 1; exec '{self.cli}' profile sh -c 'exit 7'")
        self.assertEqual(done.returncode, 7)
        self.assertIn(b"ulimit -f", done.stderr)

    def test_what_needs_it_is_refused(self):
        self.env["GPROF_RUN_BASE"] = "/proc/nothing"
        done = self.profile("-d", "1", "touch", "ran")
        self.assertEqual(done.returncode, 125)
        self.assertEqual(list(self.folder.iterdir()), [])
        self.assertEqual(self.run_in_folder(self.cli, "launch", "touch", "ran").returncode, 125)

    def test_a_folder_that_others_may_enter_is_not_used(self):
        folder = self.base / f"gprof-cli-{os.geteuid()}"
        folder.mkdir(mode=0o755)
        folder.chmod(0o755)
        done = self.profile("true")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"accessible to other users", done.stderr)
        self.assertEqual(list(folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
