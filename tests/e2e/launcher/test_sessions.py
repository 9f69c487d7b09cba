"""Interactive sessions: several captures of one run, by commands from elsewhere."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import unittest

from launcher import DEADLINE_S, wait_until
from test_salvage import TRACED, TracedTest

COMMAND, END = 6, 8


class SessionTest(TracedTest):
    def launch(self, *options, leaving=None):
        self.begin(*options, command="launch", leaving=leaving)
        self.assertTrue(self.line().startswith("idle"))

    def do(self, *words, code=0):
        done = self.run_in_folder(self.cli, *words)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr.decode()

    def status(self, *words):
        done = self.run_in_folder(self.cli, "status", "--format", "json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["sessions"]

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())


class Captures(SessionTest):
    def test_several_each_in_its_own_file(self):
        self.launch()
        self.assertEqual(self.files(), [])
        self.assertIn("recording to 'run.trace': 1 process", self.do("start"))
        self.assertTrue(self.line().startswith(f"record {COMMAND} run.trace"))
        self.do("stop")
        self.assertTrue(self.line().startswith(f"idle {COMMAND} "))
        # stop returns when everything is written.
        self.assertEqual(self.trace(), "written at stop\n")
        self.assertIn("run.2.trace", self.do("start"))
        self.do("stop")
        self.assertIn("mine.trace", self.do("start", "-o", "mine.trace"))
        self.do("stop")
        self.assertEqual(self.files(), ["mine.trace", "run.2.trace", "run.trace"])
        self.assertEqual(self.trace("mine.trace"), "written at stop\n")
        self.assertEqual(self.finish(), 3)
        self.assertEqual(self.runs(), [])

    def test_the_end_of_the_program_ends_the_capture(self):
        self.launch()
        self.do("start")
        self.assertEqual(self.finish("_exit"), 4)
        self.assertEqual(self.trace(), "rest now\n")

    def test_what_was_killed_meanwhile_is_in_the_trace_when_stop_returns(self):
        self.launch()
        self.do("start")
        self.tell("fork")
        self.do("stop")
        self.assertIn("child now\n", self.trace())
        self.finish()

    def test_cancel_removes_the_file_and_what_dead_processes_left_for_it(self):
        self.launch()
        self.do("start")
        os.kill(self.program, signal.SIGSTOP)
        canceller = threading.Thread(target=self.do, args=("cancel",))
        canceller.start()
        wait_until(lambda: self.status()[0]["state"] != "recording", "it is being cancelled")
        os.kill(self.program, signal.SIGKILL)
        canceller.join(DEADLINE_S)
        self.wait()
        self.assertEqual(self.files(), [])
        self.assertNotIn("could not be recovered", self.err)

    def test_cancel_and_start_again(self):
        self.launch()
        self.do("start")
        self.assertIn("removed", self.do("cancel"))
        self.assertEqual(self.files(), [])
        self.do("start", "-o", "run.trace")
        self.do("stop")
        self.assertEqual(self.trace(), "written at stop\n")
        self.finish()

    def test_trace_without_anything_in_it_yet(self):
        self.launch()
        self.do("start")
        for command in (("report",), ("info",), ("dump",), ("partial", "-q", "-o", "run.gpart")):
            with self.subTest(command=command):
                done = self.run_in_folder(self.cli, *command, "run.trace")
                self.assertEqual(done.returncode, 3)
                said = done.stderr.decode()
                self.assertIn("'run.trace' is still being recorded", said)
                self.assertNotIn("record it again", said)
        self.do("cancel")
        self.finish()

    def test_default_name_counts_up(self):
        self.launch()
        for name in ("run.trace", "run.2.trace"):
            (self.folder / name).write_text("precious", encoding="utf-8")
        self.assertIn("run.3.trace", self.do("start"))
        self.do("stop")
        self.assertEqual(self.trace(), "precious")
        self.finish()

    def test_existing_file_is_refused_and_kept(self):
        self.launch()
        (self.folder / "run.trace").write_text("precious", encoding="utf-8")
        self.assertIn("already exists", self.do("start", "-o", "run.trace", code=2))
        self.assertEqual(self.trace(), "precious")
        self.assertEqual(self.status()[0]["state"], "idle")
        self.do("start", "-f", "-o", "run.trace")
        # While it is being recorded, -f must not cost the file that is recorded into.
        self.assertIn("already", self.do("start", "-f", "-o", "run.trace", code=2))
        self.do("stop")
        self.assertEqual(self.trace(), "written at stop\n")
        self.finish()

    def test_patterns_are_about_the_program(self):
        self.launch()
        self.do("start", "-o", "p%p-%n.trace")
        self.assertEqual(self.files(), [f"p{self.program}-1.trace"])
        self.finish()

    def test_name_of_any_bytes(self):
        self.launch()
        self.run_in_folder(self.cli, "start", "-o", os.fsdecode(b"\xff\xe9 '.trace"))
        self.do("stop")
        self.assertEqual(self.recorded(os.fsdecode(b"\xff\xe9 '.trace")), b"written at stop\n")
        self.assertEqual(self.status()[0]["state"], "idle")
        self.finish()

    def test_slow_process_is_said(self):
        self.launch()
        self.tell("stall")
        self.assertIn("1 of 1 process have not started", self.do("start"))
        self.finish("_exit")


class Names(SessionTest):
    def test_name_of_the_program_by_default(self):
        self.launch()
        session = self.status()[0]
        self.assertTrue(session["session"].startswith("python"), session)
        self.assertEqual((session["program_pid"], session["launcher_pid"]), (self.program, self.process.pid))
        self.finish()
        self.assertEqual(self.status(), [])

    def test_several_need_a_name(self):
        self.launch("--session", "one")
        first = self.process
        self.launch("--session", "two")
        self.assertEqual({session["session"] for session in self.status()}, {"one", "two"})
        said = self.do("start", code=2)
        self.assertIn("one, two", said)
        self.do("start", "--session", "one", "-o", "1.trace")
        self.do("start", "--session", "two", "-o", "2.trace")
        self.do("stop", "--session", "one")
        self.assertEqual([session["state"] for session in self.status()], ["idle", "recording"])
        self.assertIn("no session 'three'", self.do("stop", "--session", "three", code=2))
        self.assertIn("already", self.run_in_folder(self.cli, "launch", "--session", "one", "true").stderr.decode())
        self.finish()
        first.communicate(b"exit\n", timeout=DEADLINE_S)

    def test_text(self):
        self.launch("--session", "train")
        self.do("start")
        done = self.run_in_folder(self.cli, "status")
        self.assertIn("train", done.stdout.decode())
        self.assertIn("recording", done.stdout.decode())
        self.finish()


class Ends(SessionTest):
    def test_shutdown_ends_the_capture_and_the_program(self):
        self.launch()
        self.do("start")
        self.assertIn("SIGTERM", self.do("shutdown"))
        self.assertEqual(self.wait(), 128 + signal.SIGTERM)
        self.assertTrue(self.trace().startswith("written at stop\n"))
        self.assertEqual(self.status(), [])

    def test_shutdown_with_another_signal(self):
        self.launch()
        self.do("shutdown", "--kill", "sigkill")
        self.assertEqual(self.wait(), 128 + signal.SIGKILL)

    def test_shutdown_that_spares_the_program(self):
        self.launch()
        self.do("shutdown", "--kill", "none")
        self.assertEqual(self.status(), [])
        self.do("start", code=2)
        self.assertEqual(self.finish(), 3)

    def test_killed_launcher_is_no_session(self):
        self.launch()
        self.do("start")
        self.process.kill()
        self.process.wait(DEADLINE_S)
        # A collector that has just been started may still hold what it inherited.
        wait_until(lambda: self.status() == [], "the session is over")
        os.kill(self.program, signal.SIGKILL)
        wait_until(lambda: "recovered" in self.run_in_folder(self.cli, "info", "run.trace").stderr.decode(),
                   "what is left is recovered")
        self.assertEqual(self.trace(), "rest some time ago\n")


class Hostile(SessionTest):
    def talk(self, text):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(DEADLINE_S)
            connection.connect(str(next(path for path in self.runs()) / "socket"))
            try:
                connection.sendall(text)
                return connection.makefile("rb").readline()
            except OSError:
                return b""

    def test_nonsense_is_answered_or_cut_off(self):
        self.launch()
        victim = self.folder / "victim"
        victim.write_text("precious", encoding="utf-8")
        status = os.stat(victim)
        requests = [b"\n", b"null\n", b"[]\n", b"{\n", b"\xff\xfe\n", b'{"do": 5}\n', b'{"do": "dance"}\n', b"[" * 50000 + b"\n",
                    b'{"do": "start"}\n', b'{"do": "start", "output": "relative", "device": 1, "inode": 1}\n',
                    b'{"do": "start", "output": "/dev/null", "device": 1, "inode": 1}\n',
                    b'{"do": "start", "output": "%s", "device": %d, "inode": 1}\n' % (str(victim).encode(), status.st_dev),
                    b'{"do": "start", "output": {"a": 1}, "device": "x", "inode": -1}\n',
                    b'{"do": "shutdown", "signal": 1000000}\n', b'{"do": "shutdown", "signal": 99}\n', b'{"do": "stop"}\n']
        for request in requests:
            with self.subTest(request=request[:60]):
                self.assertFalse(json.loads(self.talk(request))["ok"])
        self.assertEqual(self.talk(b"x" * 1_000_000), b"")
        self.assertEqual(self.talk(b'{"do": "status"}\n')[:11], b'{"ok":true,')
        self.assertEqual(victim.read_text(encoding="utf-8"), "precious")
        self.assertEqual(self.status()[0]["state"], "idle")
        self.assertEqual(self.finish(), 3)

    def test_socket_is_private(self):
        self.launch()
        run = pathlib.Path(self.runs()[0])
        # Programs of root may go on as another user, who can enter the folders and read the control page.
        open_to_others = {run.parent: 0o011, run: 0o011, run / "control": 0o044} if os.geteuid() == 0 else {}
        for path in (run.parent, run, run / "socket", run / "control"):
            self.assertEqual(path.lstat().st_mode & 0o077, open_to_others.get(path, 0), path)
        self.finish()

    def test_who_hangs_up_does_no_harm(self):
        self.launch()
        for _ in range(40):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(self.runs()[0] / "socket"))
                connection.sendall(b'{"do": "status"}')
        self.assertEqual(self.status()[0]["state"], "idle")
        self.assertEqual(self.finish(), 3)


class Program(SessionTest):
    def test_runs_as_with_profile(self):
        done = self.run_in_folder(self.cli, "launch", "sh", "-c", "cat; echo err >&2; exit 7", input=b"text")
        self.assertEqual((done.returncode, done.stdout), (7, b"text"))
        self.assertIn(b"err\n", done.stderr)
        self.assertEqual(self.files(), [])
        self.assertEqual(self.run_in_folder(self.cli, "launch", "no-such-program").returncode, 127)

    def test_environment(self):
        done = self.run_in_folder(self.cli, "launch", "-q", "env")
        found = dict(line.split("=", 1) for line in done.stdout.decode().splitlines() if line.startswith("GPROF_"))
        self.assertEqual((found["GPROF_CAPTURE"], found["GPROF_OUTPUT"]), ("command", str(self.folder / "run.trace")))
        self.assertNotIn("GPROF_RUN_ID", found)
        self.assertEqual(done.stderr, b"")

    def test_no_descriptor_of_ours_leaks(self):
        words = ("sh", "-c", "exec ls /proc/self/fd")
        bare = self.run_in_folder(*words)
        self.assertEqual(self.run_in_folder(self.cli, "launch", *words).stdout, bare.stdout)

    def test_signals_are_passed_on(self):
        self.process = self.start(self.cli, "launch", sys.executable, "-B", TRACED, stdin=subprocess.PIPE,
                                  start_new_session=True)
        self.line()
        os.kill(self.process.pid, signal.SIGHUP)
        self.assertEqual(self.wait(), 128 + signal.SIGHUP)


if __name__ == "__main__":
    unittest.main()
