"""What is recorded when: the launcher tells it to the processes by the control page, at the time that was asked for."""

import os
import signal
import subprocess
import sys
import time
import unittest

from test_salvage import TRACED, TracedTest

BEGIN, DELAY, COMMAND, SIGNAL = 1, 2, 6, 7


class Timers(TracedTest):
    def test_delay_is_counted_from_the_start_of_the_program(self):
        before = time.monotonic()
        self.begin("-y", "0.3")
        self.assertTrue(self.line().startswith(f"idle {BEGIN} "))
        self.assertTrue(self.line().startswith(f"record {DELAY} run.trace"))
        self.assertGreaterEqual(time.monotonic() - before, 0.3)
        self.finish()

    def test_duration_spares_the_program(self):
        self.begin("-d", "0.2")
        self.assertTrue(self.line().startswith(f"record {BEGIN} run.trace"))
        self.assertTrue(self.line().startswith(f"idle {DELAY} "))
        self.assertEqual(self.finish(), 3)
        self.assertIn("the program goes on", self.err)
        self.assertEqual(self.trace(), "written at stop\n")

    def test_delay_and_duration(self):
        self.begin("--delay=0.1", "--duration=0.1")
        self.assertEqual([self.line().split()[0] for _ in range(3)], ["idle", "record", "idle"])
        self.finish()

    def test_kill_comes_after_everything_is_written(self):
        self.begin("-d", "0.2", "--kill", "sigterm")
        self.assertEqual(self.wait(), 128 + signal.SIGTERM)
        self.assertIn("idle", self.out.decode())
        self.assertTrue(self.trace().startswith("written at stop\n"))

    def test_kill_takes_a_number(self):
        self.begin("-d", "0.1", "--kill", "9")
        self.assertEqual(self.wait(), 128 + signal.SIGKILL)

    def test_kill_does_not_wait_for_ever(self):
        self.begin("-d", "1", "--kill", "sigterm")
        self.tell("stall")
        self.assertEqual(self.wait(), 128 + signal.SIGTERM)

    def test_bells_are_rung(self):
        self.begin("-d", "0.2")
        self.assertTrue(self.line().endswith("bell=0"))
        self.assertTrue(self.line().endswith("bell=1"))
        self.finish()

    def test_quiet(self):
        self.begin("-q", "-d", "0.1")
        self.line()
        self.line()
        self.finish()
        self.assertEqual(self.err, "")


class Signals(TracedTest):
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
        self.begin("-c", "nvtx", "-p", "step", "--capture-range-end", "stop-shutdown")
        self.assertTrue(self.line().startswith("triggered"))
        self.tell("shutdown")
        self.assertEqual(self.wait(), 128 + signal.SIGTERM)

    def test_program_is_spared_when_told_so(self):
        self.begin("-c", "nvtx", "-p", "step", "--capture-range-end", "stop-shutdown", "--kill", "none")
        self.line()
        self.tell("shutdown")
        self.assertEqual(self.finish(), 3)


class Children(TracedTest):
    def test_traced_children_get_the_signal_too(self):
        # The shell stays in between, so the traced process is not the program itself.
        script = self.write("wrap.sh", f"trap '' TERM\n'{sys.executable}' -B -c 'import signal, runpy, sys\n"
                            "signal.signal(signal.SIGTERM, signal.SIG_DFL)\nsys.argv = sys.argv[1:]\n"
                            "runpy.run_path(sys.argv[0], run_name=\"__main__\")' \"$@\"\n"
                            "echo \"child: $?\"\nexit 7\n")
        self.process = self.start(self.cli, "profile", "-d", "0.3", "--kill", "sigterm", "sh", script, TRACED,
                                  stdin=subprocess.PIPE, start_new_session=True)
        self.assertEqual(self.wait(), 7)
        self.assertIn(b"child: 143", self.out)


if __name__ == "__main__":
    unittest.main()
