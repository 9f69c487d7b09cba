"""What is recorded when: the launcher tells it to the processes by the control page, at the time that was asked for."""

import os
import signal
import subprocess
import sys
import time
import unittest

from test_salvage import TRACED, TracedTest

BEGIN, DELAY, COMMAND, SIGNAL = 1, 2, 6, 7


LAST = ("-c", "nvtx", "-p", "step", "--capture-range-end", "stop-shutdown")


class Timers(TracedTest):
    """How soon the program begins is not known: it may miss what held before."""

    def test_delay_is_counted_from_the_start_of_the_program(self):
        before = time.monotonic()
        self.begin("-y", "0.3")
        seen = self.until(f"record {DELAY} run.trace")
        self.assertGreaterEqual(time.monotonic() - before, 0.3)
        self.assertTrue(all(line.startswith(f"idle {BEGIN} ") for line in seen[:-1]), seen)
        self.assertEqual(self.finish(), 3)

    def test_duration_spares_the_program(self):
        before = time.monotonic()
        self.begin("-d", "0.3")
        seen = self.until(f"idle {DELAY} ")
        self.assertGreaterEqual(time.monotonic() - before, 0.3)
        self.assertTrue(all(line.startswith(f"record {BEGIN} run.trace") for line in seen[:-1]), seen)
        self.assertEqual(self.finish(), 3)
        self.assertIn("the program keeps running", self.err)
        self.assertEqual(self.trace(), "written at stop\n" * len(seen[:-1]))

    def test_delay_and_duration(self):
        before = time.monotonic()
        self.begin("--delay=0.2", "--duration=0.2")
        seen = self.until(f"idle {DELAY} ")
        self.assertGreaterEqual(time.monotonic() - before, 0.4)
        self.assertLessEqual({line.split()[0] for line in seen[:-1]}, {"idle", "record"})
        self.assertEqual(self.finish(), 3)

    def test_kill(self):
        for name, number in (("sigterm", signal.SIGTERM), ("9", signal.SIGKILL)):
            with self.subTest(signal=name):
                before = time.monotonic()
                self.begin("-f", "-d", "0.3", "--kill", name)
                self.assertEqual(self.wait(), 128 + number)
                self.assertGreaterEqual(time.monotonic() - before, 0.3)
                # What is recorded is written first.
                self.assertEqual("written at stop" in self.trace(), b"idle" in self.out and b"record" in self.out)

    def test_quiet(self):
        self.begin("-q", "-d", "0.1")
        self.until(f"idle {DELAY} ")
        self.finish()
        # The double of the tracer writes what is no trace, and losses are said all the same. On a busy machine the time may
        # be over before it has begun.
        said = "gprof-cli: nothing was recorded; records were lost\n" if "written at stop" in self.trace() else ""
        self.assertEqual(self.err, said)


class Signals(TracedTest):
    def test_bells_are_rung(self):
        self.begin("--capture-signal", "SIGUSR1")
        self.assertTrue(self.line().endswith("bell=0"))
        os.kill(self.process.pid, signal.SIGUSR1)
        self.assertTrue(self.line().endswith("bell=1"))
        self.finish()

    def test_each_one_toggles_and_none_is_passed_on(self):
        self.begin("--capture-signal", "SIGUSR1")
        self.assertTrue(self.line().startswith("idle"))
        for wish in ("record", "idle", "record", "idle"):
            os.kill(self.process.pid, signal.SIGUSR1)
            self.assertTrue(self.line().startswith(f"{wish} {SIGNAL} run.trace"))
        # SIGUSR1 would have ended the program.
        self.assertEqual(self.finish(), 3)
        self.assertEqual(self.trace(), "written at stop\n" * 2)

    def test_others_are_passed_on(self):
        self.begin("--capture-signal", "SIGUSR1")
        self.line()
        os.kill(self.process.pid, signal.SIGUSR2)
        self.assertEqual(self.wait(), 128 + signal.SIGUSR2)

    def test_real_time_signals(self):
        self.begin("--capture-signal", str(int(signal.SIGRTMIN) + 3))
        self.line()
        os.kill(self.process.pid, signal.SIGRTMIN + 3)
        self.assertTrue(self.line().startswith("record"))
        self.finish()


class Shutdown(TracedTest):
    def test_program_is_ended_when_a_range_was_the_last(self):
        self.begin(*LAST)
        self.assertTrue(self.line().startswith("triggered"))
        self.tell("shutdown")
        self.assertEqual(self.wait(), 128 + signal.SIGTERM)
        # What was recorded is written before.
        self.assertIn(b"idle", self.out)
        self.assertTrue(self.trace().startswith("written at stop\n"))

    def test_slow_process_is_not_waited_for_for_ever(self):
        self.begin(*LAST, "--kill", "sigkill")
        self.tell("stall")
        self.tell("shutdown")
        self.assertEqual(self.wait(), 128 + signal.SIGKILL)

    def test_program_is_spared_when_told_so(self):
        self.begin(*LAST, "--kill", "none")
        self.line()
        self.tell("shutdown")
        self.assertEqual(self.finish(), 3)

    def test_traced_children_get_the_signal_too(self):
        # The shell stays in between, so the traced process is not the program itself.
        script = self.write("wrap.sh", f"trap '' TERM\n'{sys.executable}' -B -c 'import signal, runpy, sys\n"
                            "signal.signal(signal.SIGTERM, signal.SIG_DFL)\nsys.argv = sys.argv[1:]\n"
                            "runpy.run_path(sys.argv[0], run_name=\"__main__\")' \"$@\"\n"
                            "echo \"child: $?\"\nexit 7\n")
        self.process = self.start(self.cli, "profile", *LAST, "sh", script, TRACED, stdin=subprocess.PIPE,
                                  start_new_session=True)
        self.line()
        self.tell("shutdown")
        self.assertEqual(self.wait(), 7)
        self.assertIn(b"child: 143", self.out)


if __name__ == "__main__":
    unittest.main()
