"""When results go through a pager, and which: on a pseudo terminal, with a pager that leaves notes."""

import fcntl
import os
import pathlib
import pty
import select
import shutil
import struct
import subprocess
import tempfile
import termios
import time
import unittest

CLI = os.environ["GPROF_TEST_CLI"]
DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
TRACE = "normalise_v1.trace"  # from DATA, as lines are wrapped by the length of paths
OTHER = "normalise_v3_streams.trace"
DEADLINE_S = 60
NOTING = "echo PAGER; cat"


class Pager(unittest.TestCase):
    def on_terminal(self, *words, rows=20, columns=80, keys=b"", **variables):
        """Exit code and what was on the screen."""
        env = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        env |= {"LC_ALL": "C.UTF-8", "TERM": "xterm"} | variables
        try:
            pid, screen = pty.fork()
        except OSError as error:
            self.skipTest(f"no pseudo terminals here: {error}")
        if pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.chdir(DATA)
            os.execve(CLI, ["gprof-cli", *words], env)
        self.addCleanup(os.close, screen)
        if keys:
            os.write(screen, keys)
        shown, deadline = b"", time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            if not select.select([screen], [], [], 1)[0]:
                continue
            try:
                shown += os.read(screen, 1 << 16)
            except OSError:  # the terminal has nobody left
                break
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode().replace("\r\n", "\n")

    def test_long_results_are_paged(self):
        for words in (["report", TRACE], ["stats", TRACE], ["info", TRACE], ["help", "report"], ["report", "--help"],
                      ["diff", TRACE, OTHER]):
            code, shown = self.on_terminal(*words, GPROF_PAGER=NOTING)
            self.assertEqual(code, 0, shown)
            self.assertTrue(shown.startswith("PAGER\n"), (words, shown[:200]))

    def test_short_results_are_not(self):
        code, shown = self.on_terminal("report", TRACE, "--format", "line", GPROF_PAGER=NOTING)
        self.assertEqual((code, "PAGER" in shown), (0, False), shown)
        self.assertNotIn("PAGER", self.on_terminal("report", TRACE, rows=400, GPROF_PAGER=NOTING)[1])
        lines = self.on_terminal("version", columns=400, rows=3, GPROF_PAGER=NOTING)[1]
        self.assertNotIn("PAGER", lines)

    def test_wrapped_lines_and_colours_are_counted_as_shown(self):
        shown = self.on_terminal("report", TRACE, rows=400, GPROF_PAGER=NOTING)[1]
        height = shown.count("\n")
        self.assertIn("\033[", shown)
        self.assertNotIn("PAGER", self.on_terminal("report", TRACE, rows=height + 1, GPROF_PAGER=NOTING)[1])
        self.assertIn("PAGER", self.on_terminal("report", TRACE, rows=height, GPROF_PAGER=NOTING)[1])
        self.assertIn("PAGER", self.on_terminal("report", TRACE, rows=height + 1, columns=40, COLUMNS="80",
                                                GPROF_PAGER=NOTING)[1])

    def test_which(self):
        self.assertIn("mine", self.on_terminal("report", TRACE, GPROF_PAGER="echo mine; cat", PAGER="echo theirs")[1])
        self.assertIn("theirs", self.on_terminal("report", TRACE, PAGER="echo theirs; cat")[1])
        with tempfile.TemporaryDirectory() as folder:
            less = pathlib.Path(folder) / "less"
            less.write_text("#!/bin/sh\necho LESS=$LESS\ncat\n", encoding="utf-8")
            less.chmod(0o755)
            path = f"{folder}:{os.environ['PATH']}"
            self.assertIn("LESS=FRX\n", self.on_terminal("report", TRACE, PATH=path)[1])
            self.assertIn("LESS=S\n", self.on_terminal("report", TRACE, PATH=path, LESS="S")[1])

    def test_none(self):
        for variables in ({"GPROF_PAGER": ""}, {"GPROF_PAGER": "cat"}, {"PAGER": "cat"}, {"TERM": "dumb"}, {"CI": "true"}):
            variables = {"PAGER": NOTING} | variables
            code, shown = self.on_terminal("report", TRACE, **variables)
            self.assertEqual((code, "PAGER" in shown, "Findings" in shown), (0, False, True), variables)
        self.assertNotIn("PAGER", self.on_terminal("report", TRACE, "--no-pager", PAGER=NOTING)[1])

    def test_pipes_have_none(self):
        env = os.environ | {"GPROF_PAGER": NOTING, "TERM": "xterm"}
        env.pop("CI", None)
        done = subprocess.run([CLI, "report", TRACE], cwd=DATA, env=env, capture_output=True, check=False, timeout=DEADLINE_S)
        self.assertEqual((done.returncode, b"PAGER" in done.stdout), (0, False))

    def test_missing_pager_hides_nothing(self):
        code, shown = self.on_terminal("report", TRACE, columns=200, GPROF_PAGER="gprof-no-such-pager")
        self.assertEqual(code, 0)
        self.assertIn("Findings", shown)
        self.assertIn("gprof-cli view ", shown)

    def test_leaving_early_keeps_the_exit_code(self):
        code, shown = self.on_terminal("report", TRACE, "--full", "--rows", "0", GPROF_PAGER="head -n 3")
        self.assertEqual((code, shown.count("\n")), (0, 3), shown)
        code, shown = self.on_terminal("diff", OTHER, TRACE, "--require-verdict", GPROF_PAGER="head -n 1")
        self.assertEqual((code, shown.count("\n")), (4, 1), shown)

    @unittest.skipUnless(shutil.which("less"), "no less here")
    def test_less(self):
        code, shown = self.on_terminal("report", TRACE, "--full", columns=200, keys=b"q")
        self.assertEqual(code, 0)
        self.assertIn("Trace", shown)
        self.assertNotIn("gprof-cli view ", shown)


if __name__ == "__main__":
    unittest.main()
