"""The full screen of `tree`, in a terminal that tmux is: what is on it, and that the terminal is as before afterwards."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

CLI = os.environ["GPROF_TEST_CLI"]
DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
TRACE = "normalise_v1.trace"
DEADLINE_S = 120
FOOT = "? help  q quit"


@unittest.skipUnless(shutil.which("tmux"), "no tmux here")
class TreeScreen(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-screen-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.addCleanup(self.tmux, "kill-server")

    def tmux(self, *words):
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        return subprocess.run(["tmux", "-u", "-S", self.server, "-f", "/dev/null", *words], capture_output=True, text=True,
                              env={**kept, "LC_ALL": "C.UTF-8", "TERM": "xterm", "SHELL": "/bin/sh"}, timeout=DEADLINE_S, check=False)

    def start(self, *options, trace=TRACE, columns=80, rows=24, variables="", ready=FOOT):
        """A shell that says what the command left: its exit code, and the modes of the terminal before and after it."""
        script = self.folder / "script"
        script.write_text(f"trap : INT HUP\ncd {DATA}\necho before\nstty -g >{self.folder}/before\n"
                          f"sh -c 'echo $$ >{self.folder}/pid; {variables} exec {CLI} tree {trace} {' '.join(options)}'\n"
                          f"echo code=$?\nstty -g >{self.folder}/after\necho gone\nsleep 1000\n", encoding="utf-8")
        self.server = tempfile.mktemp(dir=self.folder)  # a server that is told to end does not at once
        done = self.tmux("new-session", "-d", "-x", str(columns), "-y", str(rows), f"sh {script}")
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.wait_for(ready)

    def screen(self):
        return self.tmux("capture-pane", "-p").stdout

    def wait_for(self, text):
        deadline = time.monotonic() + DEADLINE_S
        while text not in (shown := self.screen()):
            self.assertLess(time.monotonic(), deadline, f"no {text!r} in\n{shown}")
            time.sleep(0.05)
        return shown

    def press(self, *keys, then):
        self.tmux("send-keys", *keys)
        return self.wait_for(then)

    def assert_restored(self, code, cleared=True):
        shown = self.wait_for("gone")
        self.assertIn(f"code={code}\n", shown)
        self.assertEqual((self.folder / "before").read_text(), (self.folder / "after").read_text())
        self.assertEqual(self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{keypad_cursor_flag}").stdout, "0 1 0\n")
        self.assertEqual("before" in shown, cleared, shown)  # what was on the screen is there again

    def test_a_reader_walks_through(self):
        shown = self.start()
        self.assertEqual(shown.split("\n")[0], "normalise_v1.trace  work by module, idle time by cause  sorted by time")
        self.assertIn("  47.33 ms  56.5%       80      copy host to device\n", shown)
        self.assertNotIn("cudaLaunchKernel", shown)
        self.press("/", "LAUNCHK", then="/LAUNCHK")
        shown = self.press("Enter", then="> cudaLaunchKernel")
        self.assertEqual(shown.count("- queue"), 1, shown)
        self.press("n", then="profiler > cudaLaunchKernel")
        self.press("N", then="queue > cudaLaunchKernel")
        self.press("s", then="sorted by count")
        self.press("Left", then="queue\nEnter open")
        self.press("Left", then="+ queue")
        self.press("z", then="GPU idle (pieces of gaps)\nEnter open")
        self.press("b", then="by NVTX range")
        self.press("?", then="fold everything")
        self.press("q", then="by NVTX range")
        self.tmux("send-keys", "q")
        self.assert_restored(0)

    def test_the_findings_of_a_row(self):
        self.start()
        self.press("/", "pageable", then="not found")
        self.press("Escape", "/", "SingleThread", then="SingleThreadSumKernel\n/SingleThread")
        shown = self.press("Enter", "f", then="occupancy.small_grid#1")
        self.assertTrue(shown.startswith("Findings about SingleThreadSumKernel\n"), shown)
        self.assertNotIn("idle.copy", shown)
        self.press("q", then=FOOT)
        self.press("Tab", "f", then="Findings about GPU idle")
        self.press("q", then=FOOT)
        self.press("Home", "Down", "f", then="memcpy.pageable#1")

    def test_another_size(self):
        self.start(columns=160, rows=40)
        self.press("f", then="Findings about GPU time")
        self.tmux("resize-window", "-x", "60", "-y", "12")
        self.wait_for("potential saving of pinned\n           memory\n")
        self.assertLessEqual(max(map(len, self.screen().split("\n"))), 60)
        shown = self.press("q", then=FOOT)
        self.assertEqual(shown.count("\n"), 12)
        self.tmux("resize-window", "-x", "30", "-y", "5")
        deadline = time.monotonic() + DEADLINE_S
        while "share" in (shown := self.screen()) or FOOT not in shown:
            self.assertLess(time.monotonic(), deadline, shown)
        self.assertIn("- GPU", shown)

    def test_every_end_restores_the_terminal(self):
        for end, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGSEGV, 139), ("C-c", 130)):
            with self.subTest(end):
                self.start()
                if end == "C-c":
                    self.tmux("send-keys", end)
                else:
                    os.kill(int((self.folder / "pid").read_text()), end)
                self.assert_restored(code)
                self.tmux("kill-server")

    def test_terminals_without_colour_and_without_an_alternate_screen(self):
        self.start(variables="NO_COLOR=1 TERM=vt100 LC_ALL=C")
        self.press("Down", then="copy host to device\nEnter open")
        self.assertNotRegex(self.tmux("capture-pane", "-p", "-e").stdout, r"\033\[[\d;]*[34][0-7][;m]")
        self.tmux("send-keys", "q")
        self.assert_restored(0, cleared=False)

    def test_terminals_that_the_machine_does_not_know(self):
        self.start(variables="TERM=xterm-of-tomorrow TERMINFO=/nowhere TERMINFO_DIRS=/nowhere HOME=/nowhere")
        self.press("End", then="  1    + ")
        self.tmux("send-keys", "q")
        self.assert_restored(0)

    def test_elsewhere_it_prints(self):
        for variables, options in (("TERM=dumb", ()), ("TERM=no-such", ()), ("TERM=unknown", ()), ("CI=1", ()), ("", ("--plain",)),
                                   ("", ("--no-pager",)), ("PAGER=cat", ())):
            with self.subTest((variables, options)):
                shown = self.start(*options, variables=variables, rows=40, ready="gone")
                self.assertIn("code=0\n", shown)
                self.assertIn("  83.78 ms 100.0%      400  GPU time (operations)\n  47.33 ms  56.5%       80    copy host to device\n", shown)
                self.tmux("kill-server")
        piped = subprocess.run([CLI, "tree", TRACE], cwd=DATA, env={**os.environ, "TERM": "xterm"}, capture_output=True, check=False)
        self.assertEqual((piped.returncode, piped.stdout.count(b"\033")), (0, 0))


if __name__ == "__main__":
    unittest.main()
