"""A program that is recorded always, under control of the test."""
import json
import pathlib
import subprocess
import threading

import harness


class RecorderCase(harness.Case):
    def setUp(self):
        super().setUp()
        self.number_of_gates = 0

    def gate(self):
        self.number_of_gates += 1
        return self.folder / f"gate{self.number_of_gates}"

    def record(self, *script, options=(), flush_ms=20, env=None):
        command = [str(harness.GPROF), "record", "--flush-ms", str(flush_ms), *map(str, options), "--", *self.command("scripted", script)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                        cwd=self.folder, env=self.environment("13.0", env))
        self.addCleanup(self.process.stdout.close)
        self.addCleanup(self.process.stderr.close)
        self.addCleanup(self.process.kill)
        return self.process

    def read_until(self, text):
        while True:
            line = self.process.stdout.readline()
            self.assertTrue(line, self.process.poll())
            fact = json.loads(line)
            if fact.get("text") == text:
                return
            if "pid" in fact:
                self.program = fact["pid"]

    def drain(self):
        """From here on a thread reads what the program says, which goes on for ever."""
        self.reader = threading.Thread(target=self.process.stdout.read, daemon=True)
        self.reader.start()

    def end(self, gate):
        gate.touch()
        self.reader.join(harness.DEADLINE_S)
        self.process.stderr.read()
        self.process.wait(harness.DEADLINE_S)

    def finish(self, code=0):
        _, err = self.process.communicate(timeout=harness.DEADLINE_S)
        self.assertEqual(self.process.returncode, code, err.decode())
        self.assertEqual(self.left_overs(), [])
        return err.decode()

    def left_overs(self):
        return [path for path in pathlib.Path(self.run_base).glob("*/*") if path.is_dir()]

    def cli(self, *words, code=0):
        done = subprocess.run([str(harness.GPROF), *map(str, words)], capture_output=True, timeout=harness.DEADLINE_S, check=False,
                              cwd=self.folder, env=self.environment(None, None), stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stderr.decode()

    def snapshots(self):
        return sorted(path.name for path in self.folder.glob("*.trace"))

    def written(self):
        """A snapshot is there before it has anything in it."""
        return [name for name in self.snapshots() if harness.has_records(self.folder / name)]

    def load(self, name):
        trace = harness.Trace(self.folder / name)
        self.assertEqual((trace.problems, trace.of("loss")), ([], []))
        return trace

    def marks(self, trace):
        return [r["message"] for r in trace.of("nvtx", event=1)]

    def reason(self, trace):
        (notice,) = [n["message"] for n in trace.of("notice", level=4)]
        return notice
