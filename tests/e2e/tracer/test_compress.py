"""--compress with the real tracer: what every command finds in a compressed trace is what it finds in the plain one."""
import json
import re
import shutil
import subprocess

import harness

WORK = "mark begin launch 700 push step launch 300 pop step malloc 4096 mark end".split()


SALVAGED = 4  # EndReason
# The head of a report.
SIZE = re.compile(rb"[0-9.]+ [kM]?B(?=, [0-9,]+ records)")


class Compressed(harness.Case):
    def script(self, *commands):
        return ["-c", "; ".join(commands)]

    def scripted(self, *words):
        return " ".join(map(str, [harness.PROGRAMS / "scripted", *words]))

    def run_in(self, folder, *words):
        done = subprocess.run([str(harness.GPROF), *map(str, words)], capture_output=True, timeout=harness.DEADLINE_S, check=False,
                              cwd=folder, env=self.environment(None, None), stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout

    def both(self):
        """Folders with the same trace under the same name, plain and compressed."""
        (self.folder / "plain").mkdir()
        # What collectors sample, and the functions in stacks of long calls, is written behind the copy.
        run = self.profile("sh", *self.script(self.scripted(*WORK), self.scripted(*WORK), 'cp "$GPROF_OUTPUT" plain/run.trace'),
                           options=["--compress", "--only-trace", "-t", "cuda,nvtx", "--host-load", "off", "-s", "none", "--nvml", "off"])
        self.assertIn("(compressed from ", run.err)
        (self.folder / "packed").mkdir()
        shutil.move(run.trace_path, self.folder / "packed" / "run.trace")
        return self.folder / "plain", self.folder / "packed"

    def test_every_command_finds_the_same(self):
        plain, packed = self.both()
        self.assertEqual(harness.packed_chunks(plain / "run.trace"), 0)
        self.assertGreater(harness.packed_chunks(packed / "run.trace"), 5)
        sizes = [(folder / "run.trace").stat().st_size for folder in (plain, packed)]
        self.assertLess(sizes[1], sizes[0])
        for words in (["report", "run.trace"], ["report", "run.trace", "--format", "csv", "--table", "kernels.kernels"],
                      ["report", "run.trace", "--only", "idle,kernels"],
                      ["export", "run.trace", "--format", "jsonl", "--kind", "api", "-o", "-"],
                      ["export", "run.trace", "--format", "chrome", "-o", "-"]):
            with self.subTest(words=words):
                out = self.run_in(packed, *words)
                self.assertGreater(len(out), 100)
                self.assertEqual(SIZE.sub(b"", out), SIZE.sub(b"", self.run_in(plain, *words)))
        self.assertEqual(self.run_in(packed, "dump", "run.trace").replace(b" zstd=1", b""), self.run_in(plain, "dump", "run.trace"))
        self.assertIn(b" (compressed from ", self.run_in(packed, "info", "run.trace"))
        self.assertNotIn(b"compressed", self.run_in(plain, "info", "run.trace"))
        for words in (["report"], ["info"]):
            a, b = (json.loads(self.run_in(folder, *words, "run.trace", "--format", "json")) for folder in (plain, packed))
            self.assertEqual(self.without_sizes(a, sizes[0]), self.without_sizes(b, sizes[1]))

    def without_sizes(self, value, size):
        """A document without the size of the file and what is worked out of it."""
        if isinstance(value, dict):
            return {k: self.without_sizes(v, size) for k, v in value.items() if k not in ("bytes_per_record", "file_bytes") and v != size}
        return [self.without_sizes(v, size) for v in value] if isinstance(value, list) else value

    def test_merged_traces(self):
        """A report of several ranks."""
        plain, packed = self.both()
        for folder in (plain, packed):
            shutil.copy(folder / "run.trace", folder / "other.trace")
        words = ["report", "run.trace", "other.trace", "--only", "kernels"]
        self.assertEqual(SIZE.sub(b"", self.run_in(packed, *words)), SIZE.sub(b"", self.run_in(plain, *words)))

    def test_what_a_killed_process_had_not_written(self):
        run = self.profile("scripted", *WORK, "term", options=["--compress", "--flush-ms", "3600000"])
        self.assertEqual(run.code, 128 + 15)
        self.assertEqual((len(run.trace.calls("cudaLaunchKernel")), run.trace.problems), (1000, []))
        self.assertEqual(len(run.trace.of("end", reason=SALVAGED)), 1)
        self.assertGreater(harness.packed_chunks(run.trace_path), 0)

    def test_child_that_records_on(self):
        gate = self.folder / "gate"
        child = self.scripted("launch", 5, "say", "there", "wait", gate, "launch", 20, "exit", 0)
        run = self.profile("sh", *self.script(f"{child} > log 2>&1 < /dev/null & until grep -q there log; do sleep 0.01; done",
                                              self.scripted("launch", 7)), options=["--compress"])
        self.assertRegex(run.err, r"was not compressed: process \d+ \(scripted\) of the run is still running")
        self.assertEqual(harness.packed_chunks(run.trace_path), 0)
        gate.touch()
        harness.wait_for(lambda: len(harness.Trace(run.trace_path).of("end")) == 2, "the end of the child")
        self.assertEqual((len(run.trace.of("kernel")), run.trace.problems), (32, []))

    def test_series(self):
        words = ["profile", "--compress", "--repeat", "2", "--", *self.command("scripted", WORK)]
        done = subprocess.run([str(harness.GPROF), *words], capture_output=True, timeout=harness.DEADLINE_S, check=False,
                              cwd=self.folder, env=self.environment("13.0", None), stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        for name in ("run-1.trace", "run-2.trace"):
            self.assertGreater(harness.packed_chunks(self.folder / name), 2)
            self.assertEqual(len(harness.Trace(self.folder / name).of("kernel")), 1000)
        self.run_in(self.folder, "check", "run.runs.json", "--fail-if", "kernels.count != 1000")


if __name__ == "__main__":
    harness.main()
