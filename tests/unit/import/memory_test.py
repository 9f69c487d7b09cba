"""Files of other tools that are made to take much memory: it stays within a small multiple of their size.

usage: memory_test.py GPROF_CLI
"""

import json
import pathlib
import resource
import sqlite3
import subprocess
import sys
import tempfile
import unittest

GPROF_CLI = pathlib.Path(sys.argv[1])
FILE_BYTES = 2_000_000
MOST_TIMES = 40
ALWAYS_BYTES = 48 << 20  # whatever the file is: windows, tables, stacks


def event(number, phase="X", **members):
    made = {"ph": phase, "ts": 1, **members}
    return json.dumps(made, separators=(",", ":")).replace('"#"', str(number)).replace("#", str(number))


EVENTS = {
    "small ones": lambda i: event(i, dur=1),
    "marks": lambda i: event(i, "i"),
    "threads": lambda i: event(i, tid="#"),
    "names": lambda i: event(i, name="n#"),
    "categories": lambda i: event(i, cat="c#"),
    "never ended": lambda i: event(i, "B"),
    "never ended, with arguments": lambda i: event(i, "B", args={"a": "x" * 1000}),
    "never ended, apart": lambda i: event(i, "b", id="#"),
    "arrows": lambda i: event(i, "s", id="#"),
    "kernels": lambda i: event(i, cat="kernel", dur=1),
    "shapes": lambda i: event(i, cat="kernel", dur=1, args={"grid": [i + 1]}),
    "streams": lambda i: event(i, cat="kernel", dur=1, tid="#"),
    "devices": lambda i: event(i, cat="kernel", dur=1, pid="#"),
    "calls": lambda i: event(i, cat="cuda_runtime", args={"correlation": i}),
    "names of threads": lambda i: event(i, "M", name="thread_name", tid="#", args={"name": "n#"}),
    "nesting": lambda i: event(i).replace('"ts":1', '"ts":1,"args":' + "[" * 400 + "]" * 400),
    "one of a megabyte": lambda i: event(i, args={"a": "x" * 1_000_000}),
}

RANGES = "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, domainId INTEGER, jsonText TEXT)"
TABLES = {
    "ranges": (RANGES, "INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, NULL, 1, NULL, NULL)"),
    "threads": (RANGES, "INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, NULL, :i, NULL, NULL)"),
    "names": (RANGES, "INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, 'n' || :i, 1, NULL, NULL)"),
    "domains": (RANGES, "INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, NULL, 1, :i, NULL)"),
    "layouts": (RANGES, "INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, NULL, 1, NULL, '{\"' || :i || '\":1}')"),
    "kernels": ("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER)",
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2)"),
    "shapes": ("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, gridX INTEGER, streamId INTEGER)",
               "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 1 + :i, :i)"),
    "calls": ("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, correlationId INTEGER, nameId INTEGER)",
              "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, :i, :i)"),
}


class Memory(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gprof-memory-")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "made"

    def read_within(self, most_bytes):
        """The exit code of a command that may not have more memory of its own than that."""
        limit = lambda: resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, most_bytes))
        done = subprocess.run([GPROF_CLI, "info", self.path], capture_output=True, text=True, errors="replace", preexec_fn=limit, timeout=240)
        return done.returncode, done.stderr

    def check(self, what):
        code, error = self.read_within(ALWAYS_BYTES + MOST_TIMES * self.path.stat().st_size)
        self.assertEqual(code, 0, f"{what}: {error}")

    def test_the_limit_is_one(self):
        self.path.write_text("[" + ",".join([EVENTS["never ended"](0)] * 500_000) + "]", encoding="utf-8")
        self.assertNotEqual(self.read_within(ALWAYS_BYTES)[0], 0)

    def test_json(self):
        for what, make in EVENTS.items():
            with self.subTest(events=what):
                events, size = [], 0
                while size < FILE_BYTES:
                    events.append(make(len(events)))
                    size += len(events[-1]) + 1
                self.path.write_text("[" + ",".join(events) + "]", encoding="utf-8")
                self.check(what)

    def test_sqlite(self):
        for what, (table, insert) in TABLES.items():
            with self.subTest(rows=what):
                self.path.unlink(missing_ok=True)
                database = sqlite3.connect(self.path)
                database.execute(table)
                database.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
                rows = 0
                while database.execute("PRAGMA page_count").fetchone()[0] * 4096 < FILE_BYTES:
                    database.executemany(insert, ({"i": number} for number in range(rows, rows + 5000)))
                    rows += 5000
                database.commit()
                database.close()
                self.check(what)


if __name__ == "__main__":
    if b"__asan_init" in GPROF_CLI.read_bytes():
        print("skipped: the sanitizer keeps what was freed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
