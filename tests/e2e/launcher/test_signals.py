"""Signals and job control: each signal arrives once, and stopping one stops both."""

import os
import pty
import select
import signal
import sys
import time
import unittest

from launcher import DEADLINE_S, LauncherTest, state_of, wait_until

# Writes a line for its pid and one for each signal it gets; ends at SIGTERM with code 40. It waits with sigwait: a signal
# that comes just before pause() would be noticed after the next one only.
PROGRAM = """
import os, signal
signals = [getattr(signal, name) for name in "SIGINT SIGQUIT SIGTERM SIGHUP SIGUSR1 SIGUSR2 SIGCONT".split()]
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
os.write(1, f"{os.getpid()}\\n".encode())
while True:
    number = signal.sigwait(signals)
    os.write(1, f"{signal.Signals(number).name}\\n".encode())
    if number == signal.SIGTERM:
        os._exit(40)
"""

# A shell with job control, as small as it gets: runs its arguments in the foreground, continues what stops.
SHELL = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    _, status = os.waitpid(pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        break
    os.write(1, b"shell: stopped\\n")
    os.tcsetpgrp(0, pid)
    os.killpg(pid, signal.SIGCONT)
os.write(1, f"shell: ended {os.waitstatus_to_exitcode(status)}\\n".encode())
"""


class Forwarding(LauncherTest):
    def setUp(self):
        super().setUp()
        script = self.write("program.py", PROGRAM)
        # A session of its own: nothing that this test sends reaches the test itself.
        self.process = self.start(self.cli, "profile", sys.executable, script, start_new_session=True)
        self.program = int(self.process.stdout.readline())

    def test_what_the_launcher_is_sent_arrives_once(self):
        for name in ("SIGUSR1", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR2", "SIGINT", "SIGUSR1", "SIGTERM"):
            os.kill(self.process.pid, getattr(signal, name))
            # The next line is this signal and no other: one that came twice would show here the next time.
            self.assertEqual(self.process.stdout.readline().decode().strip(), name)
        self.assertEqual(self.process.stdout.read(), b"")
        self.assertEqual(self.process.wait(DEADLINE_S), 40)

    def test_what_the_program_is_sent_is_its_own(self):
        os.kill(self.program, signal.SIGUSR1)
        self.assertEqual(self.process.stdout.readline(), b"SIGUSR1\n")
        os.kill(self.program, signal.SIGKILL)
        self.assertEqual(self.process.wait(DEADLINE_S), 128 + signal.SIGKILL)

    def test_program_outlives_a_killed_launcher(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(DEADLINE_S)
        os.kill(self.program, signal.SIGUSR1)
        self.assertEqual(self.process.stdout.readline(), b"SIGUSR1\n")
        os.kill(self.program, signal.SIGTERM)
        self.assertEqual(self.process.stdout.readline(), b"SIGTERM\n")

    def test_stopping_the_program_alone_does_not_stop_the_launcher(self):
        os.kill(self.program, signal.SIGSTOP)
        wait_until(lambda: state_of(self.program) == "T", "the program is stopped")
        # The launcher must still pass signals on, which a stopped one would not.
        os.kill(self.process.pid, signal.SIGUSR1)
        os.kill(self.program, signal.SIGCONT)
        self.assertEqual({self.process.stdout.readline(), self.process.stdout.readline()}, {b"SIGCONT\n", b"SIGUSR1\n"})
        os.kill(self.program, signal.SIGTERM)
        self.assertEqual(self.process.wait(DEADLINE_S), 40)

    def tearDown(self):
        try:
            os.kill(self.program, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Screen:
    """What comes out of a terminal, read until something is seen."""

    def __init__(self, descriptor):
        self.descriptor, self.text, self.at = descriptor, b"", 0

    def expect(self, wanted):
        end = time.monotonic() + DEADLINE_S
        while wanted not in self.text[self.at:]:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.descriptor], [], [], left)[0]:
                raise AssertionError(f"waited in vain for {wanted!r}, saw {self.text!r}")
            try:
                more = os.read(self.descriptor, 4096)
            except OSError:
                more = b""
            if not more:
                raise AssertionError(f"the terminal closed before {wanted!r}, after {self.text!r}")
            self.text += more
        self.at = self.text.index(wanted, self.at) + len(wanted)


class Terminal(LauncherTest):
    def setUp(self):
        super().setUp()
        script, shell = self.write("program.py", PROGRAM), self.write("shell.py", SHELL)
        words = [sys.executable, str(shell), str(self.cli), "profile", sys.executable, str(script)]
        try:
            self.pid, descriptor = pty.fork()
        except OSError as error:
            self.skipTest(f"no pseudo terminals here: {error}")
        if self.pid == 0:
            os.chdir(self.folder)
            os.execve(words[0], words, self.env)
        self.addCleanup(self.end_session, descriptor)
        self.descriptor = descriptor
        self.screen = Screen(descriptor)
        self.screen.expect(b"\r\n")
        self.program = int(self.screen.text.split()[0])

    def end_session(self, descriptor):
        for pid in (getattr(self, "program", 0), self.pid):
            try:
                if pid:
                    os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        os.close(descriptor)
        os.waitpid(self.pid, 0)

    def finish(self):
        os.kill(self.program, signal.SIGTERM)
        self.screen.expect(b"shell: ended 40")

    def test_interrupt_key_reaches_the_program_once(self):
        os.write(self.descriptor, b"\x03")
        self.screen.expect(b"SIGINT")
        self.finish()
        self.assertEqual(self.screen.text.count(b"SIGINT"), 1)

    def test_quit_key_reaches_the_program_once(self):
        os.write(self.descriptor, b"\x1c")
        self.screen.expect(b"SIGQUIT")
        self.finish()
        self.assertEqual(self.screen.text.count(b"SIGQUIT"), 1)

    def test_stop_key_stops_both_and_continuing_goes_on(self):
        for _ in range(2):
            os.write(self.descriptor, b"\x1a")
            self.screen.expect(b"shell: stopped")
            self.screen.expect(b"SIGCONT")
        self.finish()

    def test_program_that_stops_itself_is_continued_with_the_launcher(self):
        os.kill(self.program, signal.SIGTSTP)
        self.screen.expect(b"shell: stopped")
        self.screen.expect(b"SIGCONT")
        self.finish()


if __name__ == "__main__":
    unittest.main()
