#!/usr/bin/env python3
"""A small file cannot take much memory: what it would take is said, and it is read only where that is wanted."""
import gzip
import json
import os
import pathlib
import resource
import struct
import subprocess
import tempfile
import unittest
import zlib

BUILD = pathlib.Path(os.environ["GPROF_TEST_BUILD"])
PROGRAM = BUILD / "bin/gprof-cli"
ASSEMBLE = BUILD / "tests/bin/assemble_trace"
SANITIZED = any(mark in PROGRAM.read_bytes() for mark in (b"__asan_init", b"__tsan_init"))
ALIKE = 16384  # records of a chunk, at the most
CHUNKS = 1000
HEADER_BYTES = 96
SEQUENCE_AT, RECORDS_AT, BODY_BYTES_AT = 56, 16, 20
RECORDS = {
    "api": 'api start_ns=200 duration_ns=50 tid=70 correlation=5 function="cudaLaunchKernel_v7000" domain=1',
    "kernel": 'kernel start_ns=300 duration_ns=100 context=1 stream=7 correlation=5 name="k" shape={grid_x=4 block_x=256}',
    "os_call": "os_call start_ns=5 duration_ns=5 tid=7",
    "cpu_sample": "cpu_sample time_ns=5 tid=70",
}


def chunks_of(trace):
    at = 0
    while at < len(trace):
        end = at + HEADER_BYTES + struct.unpack_from("<I", trace, at + BODY_BYTES_AT)[0]
        yield trace[at:end]
        at = end


def with_header(chunk, sequence, records=None):
    chunk = bytearray(chunk)
    struct.pack_into("<Q", chunk, SEQUENCE_AT, sequence)
    if records is not None:
        struct.pack_into("<I", chunk, RECORDS_AT, records)
    struct.pack_into("<I", chunk, HEADER_BYTES - 4, zlib.crc32(chunk[:HEADER_BYTES - 4]))
    return bytes(chunk)


def amplified(record, claimed=None):
    """A thousand chunks of records that are all alike, which take no bytes of their own. `claimed`: what headers say of their number."""
    text = f"chunk pid=7\nprocess start_ns=1 pid=7 name=\"app\"\n{(record + chr(10)) * ALIKE}"
    made = subprocess.run([ASSEMBLE], input=text.encode(), capture_output=True, check=True).stdout
    first, alike = chunks_of(made)
    return first + b"".join(with_header(alike, 1 + i, claimed) for i in range(CHUNKS))


class Amplification(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gprof-memory-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_within_limit(self, *words, path, code=3):
        """Twice what is promised: libraries, stacks and what was freed are in it, and the kernel counts address space."""
        limit = 2 * (100_000_000 + 60 * path.stat().st_size)
        limits = None if SANITIZED else (lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=240, preexec_fn=limits, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def refused(self, path, *commands, says):
        for command in commands or (["report", path.name], ["info", path.name], ["export", path.name, "--format", "csv", "-o", "out"]):
            done = self.run_within_limit(*command, path=path)
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr, f"^gprof-cli: cannot read '{path.name}': it would take {says} of memory, far more than is usual")
            self.assertIn("hint: ", done.stderr)
            self.assertIn("--ignore-memory-limit", done.stderr)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def test_records_that_are_all_alike(self):
        for kind, record in RECORDS.items():
            with self.subTest(kind):
                self.refused(self.write("run.trace", amplified(record)), says=r"about [\d.]+ GB")

    def test_headers_that_tell_less_than_there_is(self):
        self.refused(self.write("run.trace", amplified(RECORDS["api"], claimed=1)), ["report", "run.trace"], says=r"more than 10\d\.\d+ MB")

    def test_names_and_events_that_gzip_packed(self):
        names = [{"ph": "X", "ts": 1, "dur": 1, "pid": 1, "tid": 1, "name": f"{i}" + "n" * (1 << 16)} for i in range(4000)]
        self.refused(self.write("names.json.gz", gzip.compress(json.dumps(names).encode())), says=r"more than 1\d\d\.\d+ MB")
        events = b"[" + b'{"ph":"X","ts":1,"dur":1,"pid":1,"tid":1,"name":"n"},' * 3_000_000
        self.refused(self.write("events.json.gz", gzip.compress(events)), ["report", "events.json.gz"], says=r"more than 1\d\d\.\d+ MB")

    def test_csv_that_gzip_packed(self):
        row = b'"0","1","app","host","' + b"k" * 4000 + b'","1","7","(1, 1, 1)","(1, 1, 1)","0","9.0","5"\n'
        head = (b'"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",'
                b'"gpu__time_duration.sum"\n"","","","","","","","","","","","ns"\n')
        self.refused(self.write("ncu.csv.gz", gzip.compress(head + row * 60_000)), ["report", "ncu.csv.gz"], says=r"more than 1\d\d\.\d+ MB")

    def test_a_pickle_of_nothing(self):
        path = self.write("snapshot.pickle", b"\x80\x04(" + b"]" * 8_000_000 + b"l.")
        self.refused(path, ["report", "snapshot.pickle"], says=r"more than 5\d\d\.\d+ MB")

    @unittest.skipIf(SANITIZED, "takes too long with a sanitizer")
    def test_it_is_read_where_that_is_wanted(self):
        path = self.write("run.trace", amplified(RECORDS["kernel"]))
        for words, env in ((["--ignore-memory-limit"], {}), ([], {"GPROF_IGNORE_MEMORY_LIMIT": "1"})):
            done = subprocess.run([PROGRAM, "info", path.name, *words], capture_output=True, text=True, timeout=240, cwd=self.folder, env=os.environ | env)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"{ALIKE * CHUNKS + 1:,} records", done.stdout)


if __name__ == "__main__":
    unittest.main()
