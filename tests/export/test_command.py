"""The command itself: names, formats, stdout, compression, what it refuses, and that it leaves nothing half done."""

import gzip
import json
import os
import pathlib
import signal
import subprocess
import time

import exporting
import recorded

TRACE = exporting.DATA / "normalise_v2.trace"
DEADLINE_S = 60


class Command(exporting.ExportTest):
    def run_export(self, *words, cwd=None, stdout=subprocess.PIPE):
        return subprocess.run([recorded.COMMAND, "export", *map(str, words)], stdout=stdout, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, timeout=240, cwd=cwd or self.folder)

    def refused(self, code, *words):
        before = sorted(self.folder.rglob("*"))
        done = self.run_export(*words)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(sorted(self.folder.rglob("*")), before)
        return done.stderr.decode()

    def test_list_names_every_format(self):
        listed = self.run_export("--list").stdout.decode().splitlines()
        names = [line.split()[0] for line in listed]
        self.assertEqual(names[:2], ["perfetto", "chrome"])
        for name in names:
            self.assertIn(f"`{name}`", (exporting.ROOT / "docs/commands/export.md").read_text(encoding="utf-8"))

    def test_the_name_says_the_format(self):
        for name in ("run.pftrace", "run.json", "run.json.gz", "run.pftrace.gz"):
            with self.subTest(name=name):
                done = self.run_export(TRACE, "-o", name)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout, b"")
                self.assertIn(f"wrote {name}", done.stderr.decode())
                self.assertNotIn(b"\r", done.stderr)  # progress is for terminals
        plain, packed = (self.folder / "run.json").read_bytes(), (self.folder / "run.json.gz").read_bytes()
        self.assertEqual(gzip.decompress(packed), plain)
        self.assertEqual(gzip.decompress((self.folder / "run.pftrace.gz").read_bytes()),
                         (self.folder / "run.pftrace").read_bytes())
        self.assertIn("traceEvents", json.loads(plain))

    def test_without_a_name_it_stands_beside_the_trace(self):
        trace = self.folder / "sub" / "run.trace"
        trace.parent.mkdir()
        trace.write_bytes(TRACE.read_bytes())
        for words, name in ((["--format", "perfetto"], "run.pftrace"), (["--format", "chrome"], "run.json"),
                            (["--format", "chrome", "--compress"], "run.json.gz"), (["--format", "csv"], "run-csv"),
                            (["--format", "csv", "--kind", "kernel"], "run.kernel.csv")):
            self.assertEqual(self.run_export(trace, *words).returncode, 0)
            self.assertTrue((trace.parent / name).exists(), name)

    def test_stdout_gets_the_same_bytes(self):
        self.export(TRACE, "chrome", name="file.json")
        done = self.run_export(TRACE, "--format", "chrome", "-o", "-")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(done.stdout, (self.folder / "file.json").read_bytes())
        packed = self.run_export(TRACE, "--format", "chrome", "-o", "-", "--compress").stdout
        self.assertEqual(gzip.decompress(packed), done.stdout)

    def test_a_reader_that_goes_is_no_error(self):
        read, write = os.pipe()
        os.close(read)
        try:
            self.assertEqual(self.run_export(TRACE, "--format", "chrome", "-o", "-", stdout=write).returncode, 0)
        finally:
            os.close(write)

    def test_what_is_there_is_kept_without_f(self):
        path = self.folder / "run.json"
        path.write_text("old")
        self.assertIn("already exists", self.refused(2, TRACE, "-o", path))
        self.assertEqual(path.read_text(), "old")
        self.assertEqual(self.run_export(TRACE, "-f", "-o", path).returncode, 0)
        self.assertIn("traceEvents", json.loads(path.read_text()))
        copy = self.folder / "copy.trace"
        copy.write_bytes(TRACE.read_bytes())
        self.assertIn("the trace itself", self.refused(2, copy, "-f", "--format", "chrome", "-o", copy))

    def test_wrong_words(self):
        self.assertIn("no export format given", self.refused(2, TRACE))
        self.assertIn("cannot tell the format from the name", self.refused(2, TRACE, "-o", "run.txt"))
        self.assertIn("did you mean chrome?", self.refused(2, TRACE, "--format", "chrom"))
        self.assertIn("no trace given", self.refused(2, "--format", "chrome"))
        self.assertIn("--kind works with csv", self.refused(2, TRACE, "--format", "chrome", "--kind", "api"))
        self.assertIn("--weight works with folded", self.refused(2, TRACE, "--format", "chrome", "--weight", "gpu"))
        self.assertIn("one file per record kind", self.refused(2, TRACE, "-o", "run.csv"))
        self.assertIn("cannot be compressed", self.refused(2, TRACE, "--format", "sqlite", "--compress"))
        self.assertIn("cannot be written to stdout", self.refused(2, TRACE, "--format", "sqlite", "-o", "-"))
        self.assertIn("a folder", self.refused(2, TRACE, "--format", "chrome", "-o", self.folder))
        self.refused(2, TRACE, "--format", "chrome", "-o", "run.json", "--device", "99")

    def test_what_cannot_be_read_or_written(self):
        self.refused(3, self.folder / "none.trace", "--format", "chrome")
        self.assertIn("the folder does not exist", self.refused(3, TRACE, "-o", "none/run.json"))
        if pathlib.Path("/dev/full").exists():
            self.assertIn("No space left", self.refused(3, TRACE, "--format", "chrome", "-o", "/dev/full"))

    def test_a_part_of_the_trace(self):
        whole = json.loads(self.export(TRACE, "chrome", name="whole.json").read_text())
        part = json.loads(self.export(TRACE, "chrome", "--kernel", "PartialReduce", name="part.json").read_text())
        count = lambda document: sum(event["cat"] == "kernel" for event in document["traceEvents"])
        self.assertEqual((count(whole), count(part)), (240, 80))

    def test_a_signal_leaves_nothing(self):
        # Into a pipe that is not read: it is in the middle of the work for certain when the signal comes.
        pipe = self.folder / "pipe.json"
        os.mkfifo(pipe)
        process = subprocess.Popen([recorded.COMMAND, "export", TRACE, "-o", pipe], stderr=subprocess.DEVNULL)
        reader = os.open(pipe, os.O_RDONLY)
        try:
            self.assertTrue(os.read(reader, 1))
            process.send_signal(signal.SIGINT)
            # The signal ends the work at its next step, which comes when the pipe moves on.
            end = time.monotonic() + DEADLINE_S
            while process.poll() is None and time.monotonic() < end:
                os.read(reader, 1 << 16)
            self.assertEqual(process.returncode, -signal.SIGINT)
        finally:
            os.close(reader)
            process.kill()
            process.wait()
        self.assertEqual([path.name for path in self.folder.iterdir()], ["pipe.json"])


if __name__ == "__main__":
    exporting.main()
