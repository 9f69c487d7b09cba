"""A program that was started without us, under control of the test."""
import json
import pathlib
import subprocess
import sys
import threading

import harness

STOPPED = 3  # EndReason

STOP_AND_GO = """
import ctypes, os, sys
libc, pid = ctypes.CDLL(None, use_errno=True), int(sys.argv[1])
seize, interrupt, detach, any_thread = 0x4206, 0x4207, 17, 0x40000000
sys.exit(libc.ptrace(seize, pid, 0, 0) != 0 or libc.ptrace(interrupt, pid, 0, 0) != 0
         or os.waitpid(pid, any_thread)[0] != pid or libc.ptrace(detach, pid, 0, 0) != 0)
"""


def may_trace():
    """Whether a process may trace another of this user that is no child of it."""
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        return subprocess.run([sys.executable, "-c", STOP_AND_GO, str(sleeper.pid)], check=False, timeout=60).returncode == 0
    finally:
        sleeper.kill()
        sleeper.wait()


class AttachCase(harness.Case):
    def begin(self, *script, env=None, **more):
        self.program = subprocess.Popen(self.command("scripted", script), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL, cwd=self.folder,
                                        env=self.environment("13.0", {"MOCK_DRIVER_THREAD": "1", **(env or {})}), **more)
        self.follow()

    def follow(self):
        self.addCleanup(self.program.stdout.close)
        self.addCleanup(self.program.stderr.close)
        self.addCleanup(self.program.kill)
        self.read_until("ready")
        # What it says goes on for ever.
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.program.stdout), daemon=True)
        self.reader.start()

    def read_until(self, text):
        while True:
            line = self.program.stdout.readline()
            self.assertTrue(line, self.program.poll())
            if json.loads(line).get("text") == text:
                return

    def attach_command(self, *words):
        return [str(harness.GPROF), "attach", "--experimental", *map(str, words)]

    def attach(self, *words, code=0, **more):
        done = subprocess.run(self.attach_command(*words), capture_output=True, timeout=harness.DEADLINE_S, check=False, cwd=self.folder,
                              env=self.environment("13.0", None), stdin=subprocess.DEVNULL, **more)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stderr.decode()

    def finish(self, gate, code):
        gate.touch()
        self.reader.join(harness.DEADLINE_S)
        err = self.program.stderr.read()
        self.assertEqual((self.program.wait(harness.DEADLINE_S), err), (code, b""))
        violations = self.folder / "violations"
        self.assertEqual(violations.read_text() if violations.exists() else "", "")
        return [json.loads(line) for line in self.lines]

    def state(self):
        return pathlib.Path(f"/proc/{self.program.pid}/stat").read_text().rsplit(") ", 1)[1][0]

    def driver_thread(self):
        """(tid, number of the system call it is in)"""
        for task in pathlib.Path(f"/proc/{self.program.pid}/task").iterdir():
            if (task / "comm").read_text().strip() == "cuda-EvtHandlr":
                return int(task.name), (task / "syscall").read_text().split()[0]
        return None

    def check_trace(self, name, facts):
        """All launches that lie between the first and the last recorded one are in the trace: each is followed by a mark."""
        trace = harness.Trace(self.folder / name)
        self.assertEqual((trace.problems, trace.of("loss")), ([], []))
        calls = trace.calls("cudaLaunchKernel")
        # A launch that has begun when the recording does has no call in it, and so at its end. What was launched and had
        # not begun on the GPU when the recording ended is not in it either.
        self.assertIn(len(trace.of("kernel")) - len(calls), range(-3, 4))
        self.assertGreater(len(calls), 3)
        first, last = calls[0]["start_ns"], calls[-1]["start_ns"]
        between = [f for f in facts if f.get("name") == "work" and first <= f["before_ns"] <= last]
        self.assertEqual(len(calls) - 1, len(between))
        self.assertEqual([r["reason"] for r in trace.of("end")][:1], [STOPPED])
        for kind in ("process", "thread", "device", "context"):
            self.assertTrue(trace.of(kind), kind)
        trust = self.report(self.folder / name)["trust"]
        self.assertTrue(trust["complete"], trust)
        return trace
