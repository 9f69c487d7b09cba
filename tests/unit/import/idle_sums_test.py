"""The causes that a report knows sum to the idle time, to the nanosecond, whoever recorded the capture: none of the time is
blamed on a cause whose metric is unknown.

usage: idle_sums_test.py GPROF_CLI SAMPLES DATA   SAMPLES: captures of other tools, those in reach; DATA: bundled captures
"""

import gzip
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

GPROF_CLI, SAMPLES, DATA = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
MS = 1_000_000
PID = (1 << 48) + (700 << 24)
TID = PID + 700

# Two kernels with 10 ms between them, of which the thread sleeps 7; the second launch waits for an event.
CAPTURE = f"""
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'k(int)'), (3, 'nanosleep'), (4, 'cudaStreamWaitEvent_v3020'),
  (5, 'cudaEventRecord_v3020');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, mangledName INTEGER,
  gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
  ({2 * MS}, {3 * MS}, 0, 1, 7, 1, {PID}, 2, 2, 2, 1, 1, 1, 32, 1, 1), ({13 * MS}, {14 * MS}, 0, 1, 7, 2, {PID}, 2, 2, 2, 1, 1, 1, 32, 1, 1),
  ({16 * MS}, {17 * MS}, 0, 1, 8, 4, {PID}, 2, 2, 2, 1, 1, 1, 32, 1, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({1 * MS}, {1 * MS + 5000}, 0, {TID}, 1, 1, 0), ({12 * MS}, {12 * MS + 5000}, 0, {TID}, 2, 1, 0),
  ({12 * MS + 6000}, {12 * MS + 7000}, 0, {TID}, 5, 5, 0), ({12 * MS + 8000}, {12 * MS + 9000}, 0, {TID}, 3, 4, 0),
  ({12 * MS + 10000}, {12 * MS + 15000}, 0, {TID}, 4, 1, 0);
"""
OS_CALLS = f"""
CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER);
INSERT INTO OSRT_API VALUES ({4 * MS}, {11 * MS}, 27, {TID}, 3, 0);
"""
STREAM_WAITS = f"""
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES ({12 * MS + 8000}, {12 * MS + 9000}, 0, 1, 8, 3, {PID}, 2, 5);
"""


def report(path):
    done = subprocess.run([GPROF_CLI, "report", "--format", "json", "--tables", path], capture_output=True, timeout=120, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{path}: exit code {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def captures():
    """Every capture in reach, by its name; packed databases unpacked."""
    for folder in (DATA, SAMPLES / "nsys", SAMPLES / "kineto", SAMPLES / "judgement"):
        endings = (".sqlite", ".sqlite.gz", ".json.gz", *([".trace"] if folder == DATA else []))
        yield from (path for path in sorted(folder.rglob("*") if folder.is_dir() else ()) if path.name.endswith(endings))


class IdleSums(unittest.TestCase):
    def check(self, name, path):
        found = report(path)
        metrics = {(m["scope"], m["id"]): m["value"] for m in found["metrics"]}
        scopes = {scope for scope, metric in metrics if metric == "gpu.idle_ns" and not scope.startswith("nvtx:")}
        causes = {scope: {metric: value for (of, metric), value in metrics.items() if of == scope and metric.startswith("idle.")
                          and metric.endswith("_ns") and metric != "idle.preempted_ns"} for scope in scopes}
        for scope in scopes:
            self.assertEqual(sum(causes[scope].values()), metrics[scope, "gpu.idle_ns"], f"{name} {scope}: {causes[scope]}")
        blamed = {row["cause"]: row["idle_ns"] for table in found["tables"] if table["id"] == "idle" for row in table["rows"]}
        for cause, idle_ns in blamed.items():
            self.assertEqual(causes.get("", {}).get(f"idle.{cause}_ns"), idle_ns, f"{name}: {cause} is blamed")
        return causes.get("", {})

    def test_captures_in_reach(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in captures():
                with self.subTest(path=path.name):
                    read = path
                    if path.name.endswith(".sqlite.gz"):
                        read = pathlib.Path(folder) / path.name[:-3]
                        read.write_bytes(gzip.decompress(path.read_bytes()))
                    self.check(path.name, read)

    def made(self, *sql):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "made.sqlite"
            with sqlite3.connect(path) as database:
                database.executescript("".join(sql))
            database.close()
            return self.check("made", path), report(path)

    def test_time_in_the_operating_system_is_known_where_it_was_recorded(self):
        causes, found = self.made(CAPTURE, OS_CALLS)
        self.assertEqual(causes["idle.os_ns"], 7 * MS)
        self.assertNotIn("os_calls", {entry["fact"] for entry in found["not_recorded"]})
        causes, found = self.made(CAPTURE)
        self.assertNotIn("idle.os_ns", causes)
        self.assertIn("os_calls", {entry["fact"] for entry in found["not_recorded"]})

    def test_nothing_depends_on_events_that_were_not_recorded(self):
        causes, found = self.made(CAPTURE, OS_CALLS, STREAM_WAITS)
        self.assertIn("events", {entry["fact"] for entry in found["not_recorded"]})
        self.assertNotIn("idle.dependency_ns", causes)
        self.assertGreaterEqual(causes["idle.queue_ns"], 2 * MS)

    def test_graphs_of_which_only_some_operations_are_there_are_said(self):
        """Between those the GPU may have worked."""
        events, start = [], 1000

        def add(category, name, at, duration, correlation):
            place = {"pid": 0, "tid": 7} if category == "kernel" else {"pid": 1, "tid": 1}
            events.append({"ph": "X", "cat": category, "name": name, **place, "ts": at, "dur": duration,
                           "args": {"device": 0, "stream": 7, "correlation": correlation}})
        for i in range(70):
            add("cuda_runtime", "cudaGraphLaunch", start, 50, 100 + i)
            add("cuda_runtime", "cudaStreamSynchronize", start + 60, 14900, 1000 + i)
            for k in range(5):
                add("kernel", "k", start + 60 + 2000 * k, 300, 100 + i)
            for k in range(12):
                add("kernel", "k", start + 10100 + 400 * k, 100, 0)
            start += 15000
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)
            file.flush()
            (queue,) = [f for f in report(file.name)["findings"] if f["id"] == "idle.queue"]
        self.assertIn("70 graph launches, 350 operations tied to them, 840 with no call", queue["advice"])


if __name__ == "__main__":
    for missing in (folder for folder in ("nsys", "kineto") if not (SAMPLES / folder).is_dir()):
        print(f"not tested: captures of {missing}, as {SAMPLES / missing} is not there")
    unittest.main(argv=sys.argv[:1])
