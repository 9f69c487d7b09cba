"""gprof-cli against plain SQL: on an export of Nsight Systems both give the same counts and sums, to the nanosecond.

usage: sums_test.py GPROF_CLI FOLDER   FOLDER: real captures (skipped with 77 where it is not there)
"""

import collections
import csv
import io
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

GPROF_CLI, SAMPLES = sys.argv[1], pathlib.Path(sys.argv[2])

SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,
  shortName INTEGER, mangledName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER,
  blockY INTEGER, blockZ INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER,
  srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER,
  memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,
  globalTid INTEGER, textId INTEGER, domainId INTEGER);
"""


def make_capture(path, seed, processes=2, calls=400):
    """A capture of several processes, threads, streams and GPUs, from a generator of its own."""
    state = seed

    def random(below):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % below

    names = ["cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "cudaMemcpy_v3020", "cudaMemsetAsync_v3020"]
    kernels = [f"kernel_{i}(float *, int)" for i in range(7)]
    db = sqlite3.connect(path)
    db.executescript(SCHEMA)
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(names + kernels + ["registered"], start=1))
    for process in range(processes):
        pid = (1 << 48) + ((700 + process) << 24)
        now, correlation, gpu_free = 1000, 0, {}
        for _ in range(calls):
            correlation += 1
            tid = pid + 700 + random(2)
            what = random(4)
            now += 1 + random(5000)
            end = now + 100 + random(3000)
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0)",
                       (now, end, tid, correlation, what + 1))
            device, stream = random(2), 7 + random(3)
            start = max(now + 50, gpu_free.get((device, stream), 0))
            stop = gpu_free[(device, stream)] = start + 1 + random(9000)
            place = (start, stop, device, 1, stream, correlation, pid)
            if what == 0:
                name = len(names) + 1 + random(len(kernels))
                db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,?,?,?,?,?,?,?,NULL,?,1,1,?,1,1)",
                           place + (name, name, 1 + random(99), 32 * (1 + random(8))))
            elif what == 3:
                db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (?,?,?,?,?,?,?,0,?,2)",
                           place + (random(100000),))
            else:
                kind = (1, 2, 8)[random(3)]
                host = random(2)
                ends = {1: (host, 2), 2: (2, host), 8: (2, 2)}[kind]
                db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?,?,?,?,?,?,?,?,?,?,?)",
                           place + (random(1 << 20), kind) + ends)
            if random(3) == 0:
                text = (f"range {random(5)}", None) if random(2) else (None, len(names) + len(kernels) + 1)
                db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?, 0)",
                           (now - 1, end + 1 + random(20000), (59, 60)[random(2)], text[0], tid, text[1]))
            now = end
    db.commit()
    db.close()


def tables_of(path):
    """Every table of the report, by name, as rows of text."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ("report", path, "--only", "kernels,memcpy,api,nvtx", "--full-names", "--format", "csv", "-o", folder)
        result = subprocess.run([GPROF_CLI, *map(str, arguments)], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise AssertionError(f"gprof-cli {arguments}: {result.returncode}: {result.stderr}")
        return {file.stem: list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))
                for file in pathlib.Path(folder).glob("*.csv")}


class Capture:
    def __init__(self, path):
        self.path = path
        self.db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        self.tables = {row[0] for row in self.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        self.report = tables_of(path)
        self.metrics = {m["id"]: float(m["value"]) for m in self.report["metrics"] if not m["scope"]}

    def one(self, name, sql, otherwise=0):
        if name not in self.tables:
            return otherwise
        return self.db.execute(sql.replace("TABLE", name)).fetchone()[0] or 0

    def rows(self, name, sql):
        return self.db.execute(sql.replace("TABLE", name)).fetchall() if name in self.tables else []


class Sums(unittest.TestCase):
    def check(self, capture):
        kernel, memcpy = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"
        memset, runtime = "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_RUNTIME"
        expected = {
            "kernels.count": capture.one(kernel, "SELECT count(*) FROM TABLE"),
            "kernels.total_ns": capture.one(kernel, "SELECT sum(end - start) FROM TABLE"),
            "memcpy.count": capture.one(memcpy, "SELECT count(*) FROM TABLE WHERE copyKind <= 10"),
            "memcpy.total_ns": capture.one(memcpy, "SELECT sum(end - start) FROM TABLE WHERE copyKind <= 10"),
            "memcpy.bytes": capture.one(memcpy, "SELECT sum(bytes) FROM TABLE WHERE copyKind <= 10"),
            "memcpy.h2d_ns": capture.one(memcpy, "SELECT sum(end - start) FROM TABLE WHERE copyKind = 1"),
            "memcpy.d2h_bytes": capture.one(memcpy, "SELECT sum(bytes) FROM TABLE WHERE copyKind = 2"),
            "memcpy.d2d_count": capture.one(memcpy, "SELECT count(*) FROM TABLE WHERE copyKind = 8"),
            "memcpy.pageable_count": capture.one(
                memcpy, "SELECT count(*) FROM TABLE WHERE copyKind < 10 AND (srcKind = 0 OR dstKind = 0)"),
            "memcpy.pageable_bytes": capture.one(
                memcpy, "SELECT sum(bytes) FROM TABLE WHERE copyKind < 10 AND (srcKind = 0 OR dstKind = 0)"),
            "memset.count": capture.one(memset, "SELECT count(*) FROM TABLE"),
            "memset.total_ns": capture.one(memset, "SELECT sum(end - start) FROM TABLE"),
            "memset.bytes": capture.one(memset, "SELECT sum(bytes) FROM TABLE"),
            "api.calls": capture.one(runtime, "SELECT count(*) FROM TABLE"),
        }
        for name, value in expected.items():
            self.assertEqual(capture.metrics.get(name, 0), value, f"{capture.path.name}: {name}")

    def check_tables(self, capture):
        # Kernels of one name in the table have one demangled name, whatever the text of it.
        kernels = capture.rows("CUPTI_ACTIVITY_KIND_KERNEL", """
            SELECT s.value, count(*), sum(k.end - k.start), min(k.end - k.start), max(k.end - k.start)
            FROM TABLE k JOIN StringIds s ON s.id = k.demangledName GROUP BY s.value""")
        sums = lambda rows: sorted(tuple(map(int, row[1:])) for row in rows)
        ours = [(r["name"], r["count"], r["total_ns"], r["min_ns"], r["max_ns"])
                for r in capture.report["kernels.kernels"]]
        self.assertEqual(sums(ours), sums(kernels), capture.path.name)
        rows = capture.rows("CUPTI_ACTIVITY_KIND_RUNTIME", """
            SELECT s.value, r.end - r.start FROM TABLE r JOIN StringIds s ON s.id = r.nameId""")
        durations = collections.defaultdict(list)
        for name, duration_ns in rows:  # functions of the runtime without their version
            durations[re.sub(r"^(cuda.*)_v\d{4,}$", r"\1", name)].append(duration_ns)
        calls = [(name, len(of), sum(of), min(of), max(of)) for name, of in durations.items()]
        ours = [(r["name"], int(r["count"]), int(r["total_ns"]), int(r["min_ns"]), int(r["max_ns"]))
                for r in capture.report["api.api"]]
        self.assertEqual(sorted(ours), sorted(calls), capture.path.name)

    def check_ranges(self, capture):
        total = capture.one("NVTX_EVENTS", "SELECT sum(end - start) FROM TABLE WHERE eventType IN (59, 60, 70, 71)")
        count = capture.one("NVTX_EVENTS", "SELECT count(*) FROM TABLE WHERE eventType IN (59, 60, 70, 71)")
        self.assertEqual(capture.metrics.get("nvtx.ranges", 0), count, capture.path.name)
        if count:
            self.assertEqual(sum(int(row["total_ns"]) for row in capture.report["nvtx.nvtx"]), total)

    def test_made_captures(self):
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(3):
                path = pathlib.Path(folder) / f"made{seed}.sqlite"
                make_capture(path, seed)
                capture = Capture(path)
                self.check(capture)
                self.check_tables(capture)
                self.check_ranges(capture)

    def test_every_reader_takes_a_capture(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(pathlib.Path(folder) / name) for name in ("a.sqlite", "b.sqlite")]
            for seed, path in enumerate(paths):
                make_capture(path, seed, calls=60)
            out = str(pathlib.Path(folder) / "out.json")
            for code, arguments in (
                    (0, ["info", paths[0]]), (0, ["report", *paths]), (0, ["diff", *paths]),
                    (0, ["export", paths[0], "--format", "chrome", "-o", out]),
                    (0, ["check", paths[0], "--fail-if", "memcpy.pageable_count>100000"]),
                    (1, ["check", paths[0], "--fail-if", "memcpy.pageable_count>1"]),
                    (4, ["check", paths[0], "--fail-if", "streams.created>100000"]),
                    (4, ["check", paths[0], "--fail-if", "run.wall_ns>100000000000"]),
                    (3, ["dump", paths[0]])):
                result = subprocess.run([GPROF_CLI, *arguments], capture_output=True, text=True, check=False)
                self.assertEqual(result.returncode, code, f"{arguments[0]}: {result.stdout}{result.stderr}")

    def test_real_captures(self):
        captures = sorted(SAMPLES.glob("*.sqlite"))
        if not captures:
            self.skipTest(f"no captures in {SAMPLES.name}")
        for path in captures:
            capture = Capture(path)
            self.check(capture)
            self.check_tables(capture)
            self.check_ranges(capture)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
