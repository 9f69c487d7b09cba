"""gprof-cli against Python's json module: on a capture of torch.profiler both give the same counts and sums.

usage: kineto_sums_test.py GPROF_CLI FOLDER   FOLDER: real captures, left out where it is not there
"""

import collections
import decimal
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

GPROF_CLI, SAMPLES = sys.argv[1], pathlib.Path(sys.argv[2])


def gprof(*arguments):
    result = subprocess.run([GPROF_CLI, *map(str, arguments)], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise AssertionError(f"gprof-cli {arguments}: {result.returncode}: {result.stderr}")
    return result.stdout


def events_of(path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        document = json.load(file, parse_float=decimal.Decimal)
    return document if isinstance(document, list) else document["traceEvents"]


def sums(events, *categories):
    """Name to (count, nanoseconds)."""
    found = collections.defaultdict(lambda: [0, 0])
    for event in events:
        if event.get("ph") == "X" and event.get("cat") in categories:
            found[event["name"]][0] += 1
            found[event["name"]][1] += int(decimal.Decimal(event["dur"]) * 1000)
    return {name: tuple(pair) for name, pair in found.items()}


class Sums(unittest.TestCase):
    def metrics(self, path):
        report = json.loads(gprof("report", path, "--format", "json", "--tables"))
        return {m["id"]: m["value"] for m in report["metrics"] if not m.get("scope")}

    def check(self, path):
        events = events_of(path)
        metrics = self.metrics(path)
        kernels, copies = sums(events, "kernel"), sums(events, "gpu_memcpy")
        calls = sums(events, "cuda_runtime", "cuda_driver")
        with self.subTest(path=path.name):
            if kernels:
                self.assertEqual(metrics["kernels.count"], sum(count for count, _ in kernels.values()))
                self.assertEqual(metrics["kernels.total_ns"], sum(ns for _, ns in kernels.values()))
            if calls:
                self.assertEqual(metrics["api.calls"], sum(count for count, _ in calls.values()))
            if copies:
                moved = sum(e["args"]["bytes"] for e in events if e.get("cat") == "gpu_memcpy")
                self.assertEqual(sum(v for k, v in metrics.items()
                                     if k in ("memcpy.h2d_bytes", "memcpy.d2h_bytes", "memcpy.d2d_bytes")), moved)


class RealCaptures(Sums):
    def test_samples(self):
        for path in sorted(SAMPLES.glob("*.json.gz")):
            self.check(path)


class MadeCaptures(Sums):
    def test_made(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "made.json"
            path.write_text(json.dumps(made_capture()), encoding="utf-8")
            self.check(path)
            packed = pathlib.Path(folder) / "made.json.gz"
            packed.write_bytes(gzip.compress(path.read_bytes()))
            self.check(packed)


class RoundTrip(Sums):
    """What gprof-cli exports and reads again says the same."""

    METRICS = ("kernels.count", "kernels.total_ns", "api.calls", "launches.count", "memcpy.h2d_bytes",
               "memcpy.d2h_bytes", "memcpy.pageable_bytes", "memset.count", "gpu.busy_ns", "gpu.idle_ns")

    def test_own_traces(self):
        data = pathlib.Path(__file__).resolve().parents[2] / "data"
        with tempfile.TemporaryDirectory() as folder:
            for name in ("known_facts", "graph_built", "nccl_beside"):
                copy = pathlib.Path(folder) / f"{name}.json"
                gprof("export", data / f"{name}.trace", "--format", "chrome", "-o", copy)
                before, after = (self.metrics(path) for path in (data / f"{name}.trace", copy))
                with self.subTest(trace=name):
                    self.assertGreater(before["kernels.count"], 0)
                    self.assertEqual({k: before.get(k) for k in self.METRICS}, {k: after.get(k) for k in self.METRICS})


def made_capture():
    events, state, now = [], 7, 5_000_000_000
    for number in range(1, 2000):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        value = state >> 33
        now += 5000 + value % 9000
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 900, "tid": 900 + value % 3,
                       "ts": now / 1000, "dur": (value % 4000) / 1000, "args": {"correlation": number}})
        args = {"device": value % 2, "context": 1 + value % 2, "stream": 7 + value % 4, "correlation": number}
        if value % 5 == 0:
            name = ("Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pageable)")[value % 2]
            event = {"cat": "gpu_memcpy", "name": name, "args": args | {"bytes": value % 70000}}
        else:
            event = {"cat": "kernel", "name": f"kernel_{value % 7}(float*, int)", "args": args}
        events.append({"ph": "X", "pid": value % 2, "tid": 7 + value % 4, "ts": (now + 5000) / 1000,
                       "dur": (1 + value % 99000) / 1000} | event)
    return {"schemaVersion": 1, "traceEvents": events}


if __name__ == "__main__":
    has_samples = SAMPLES.is_dir()
    cases = [MadeCaptures, RoundTrip] + ([RealCaptures] if has_samples else [])
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(case) for case in cases)
    result = unittest.TextTestRunner().run(suite)
    if not result.wasSuccessful():
        sys.exit(1)
    if not has_samples:
        print(f"real captures were skipped: {SAMPLES} is not there")
