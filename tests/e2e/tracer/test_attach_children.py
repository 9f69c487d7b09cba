"""A process that uses no CUDA itself, with children that do, in one trace."""
import json
import subprocess
import threading
import time

import attach_case
import harness

TREE = """
"$0" launch 2 say ready work gate exit 0 & "$0" launch 2 say ready work gate exit 0 &
while [ ! -e late ]; do sleep 0.02; done
"$0" launch 2 say late work gate exit 0 &
wait
"""


@harness.unittest.skipUnless(attach_case.may_trace(), "ptrace is not permitted here")
class Children(attach_case.AttachCase):
    def begin_tree(self, script=TREE):
        self.program = subprocess.Popen(["sh", "-c", script, str(harness.PROGRAMS / "scripted")], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL, cwd=self.folder, env=self.environment("13.0", {"MOCK_DRIVER_THREAD": "1"}))
        for close in (self.program.stdout.close, self.program.stderr.close, self.program.kill):
            self.addCleanup(close)

    def attach_tree(self, *words):
        attached = subprocess.Popen(self.attach_command(self.program.pid, "--children", "-o", "a.trace", *words), stderr=subprocess.PIPE, cwd=self.folder,
                                    env=self.environment("13.0", None), text=True)
        self.addCleanup(attached.stderr.close)
        self.addCleanup(attached.kill)
        return attached

    def said(self, attached, words, count):
        lines = []
        while len(lines) < count:
            line = attached.stderr.readline()
            self.assertTrue(line, lines)
            if words in line:
                lines.append(line)

    def test_all_of_a_tree_and_those_that_come_later(self):
        self.begin_tree()
        self.read_until("ready")
        self.read_until("ready")
        attached = self.attach_tree("-d", "2")
        self.said(attached, "recording 'scripted'", 2)
        (self.folder / "late").touch()
        self.said(attached, "recording 'scripted'", 1)
        facts = self.wait_and_end(attached)
        trace = harness.Trace(self.folder / "a.trace")
        self.assertEqual((trace.problems, trace.of("loss")), ([], []))
        self.assertEqual(len({r["chunk_pid"] for r in trace.of("kernel")}), 3)
        for pid in {r["chunk_pid"] for r in trace.of("kernel")}:
            calls = [r for r in trace.calls("cudaLaunchKernel") if r["chunk_pid"] == pid]
            first, last = calls[0]["start_ns"], calls[-1]["start_ns"]
            own = [f for f in facts if f.get("pid") == pid and first <= f["before_ns"] <= last]
            self.assertEqual(len(calls) - 1, len(own))
        self.assertTrue(self.report(self.folder / "a.trace")["trust"]["complete"])

    def wait_and_end(self, attached):
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(self.program.stdout), daemon=True)
        reader.start()
        self.assertEqual(attached.wait(harness.DEADLINE_S), 0, attached.stderr.read())
        (self.folder / "gate").touch()
        reader.join(harness.DEADLINE_S)
        self.assertEqual((self.program.wait(harness.DEADLINE_S), self.program.stderr.read()), (0, b""))
        return [json.loads(line) for line in lines]

    def test_a_tree_in_which_nobody_uses_cuda(self):
        self.begin_tree("while [ ! -e gate ]; do sleep 0.02; done")
        attached = self.attach_tree()
        self.said(attached, "waiting for one", 1)
        (self.folder / "gate").touch()
        self.assertEqual(attached.wait(harness.DEADLINE_S), 0)
        self.assertIn("no process of the tree used CUDA", attached.stderr.read())
        self.assertEqual(self.program.wait(harness.DEADLINE_S), 0)

    def test_it_ends_with_the_tree(self):
        self.begin_tree('"$0" launch 2 say ready work gate exit 0 & wait')
        self.read_until("ready")
        attached = self.attach_tree()
        self.said(attached, "recording 'scripted'", 1)
        time.sleep(0.2)
        (self.folder / "gate").touch()
        self.program.stdout.read()
        self.program.wait(harness.DEADLINE_S)
        self.assertEqual(attached.wait(harness.DEADLINE_S), 0)
        self.assertIn("the program has ended", attached.stderr.read())

    def test_no_such_process(self):
        self.assertIn("there is no process 99999999", self.attach(99999999, "--children", code=2))
        self.assertEqual(list(self.folder.glob("*.trace")), [])


if __name__ == "__main__":
    harness.main()
