"""Snapshots of PyTorch's memory: what gprof-cli says of them against a replay of their own history; no code in them is run.

usage: snapshot_test.py GPROF_CLI
"""

import csv
import io
import json
import os
import pathlib
import pickle
import random
import subprocess
import sys
import tempfile
import unittest

GPROF_CLI = sys.argv[1]
SIZES = {"forward": 4096, "attention": 65536, "loss": 100}
LINES = {"forward": 12, "attention": 25, "loss": 31}


def frames_of(function):
    places = [("model.py", LINES[function], function), ("train.py", 40, "step"), ("train.py", 60, "<module>"), ("??", 0, "_start")]
    native = ["at::_ops::empty_memory_format::call(c10::ArrayRef<c10::SymInt>)", f"at::_ops::{function}_Tensor::call(at::Tensor const&)"]
    return ([{"filename": "??", "line": 0, "name": name} for name in native] +
            [{"filename": file, "line": line, "name": name} for file, line, name in places])


class History:
    """A device's history at random, and what stood in its memory at the peak."""

    def __init__(self, seed, base):
        self.random, self.entries, self.live, self.base = random.Random(seed), [], {}, base
        self.frames = {function: frames_of(function) for function in SIZES}
        self.time_us, self.next = 1_700_000_000_000_000, base + 4096
        self.live[base] = ("", 1000)  # from before the history
        self.peak, self.at_peak = 1000, dict(self.live)

    def add(self, action, address, size, frames=()):
        self.time_us += self.random.randint(1, 50)
        self.entries.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": self.time_us,
                             "frames": frames or []})

    def run(self, steps):
        self.add("snapshot", 0, 0)  # which neither gives nor takes
        self.add("segment_alloc", self.base + (1 << 30), 1 << 20)
        for _ in range(steps):
            if self.random.random() < 0.6 or len(self.live) < 2:
                function = self.random.choice(sorted(SIZES))
                self.add("alloc", self.next, SIZES[function], self.frames[function])
                self.live[self.next] = (function, SIZES[function])
                self.next += 1 << 17
            else:
                address = self.random.choice(sorted(self.live))
                _, size = self.live.pop(address)
                self.add("free_requested", address, size)
                self.add("free_completed", address, size)
            now = sum(size for _, size in self.live.values())
            if now > self.peak:
                self.peak, self.at_peak = now, dict(self.live)
        return self

    def segment(self, device):
        blocks = [{"address": address, "size": size + 512, "requested_size": size, "state": "active_allocated",
                   "frames": self.frames.get(function, [])} for address, (function, size) in self.live.items()]
        blocks.append({"address": 7, "size": 300_000, "requested_size": 0, "state": "inactive", "frames": []})
        return {"device": device, "address": self.base, "total_size": 1 << 30, "stream": 0, "blocks": blocks,
                "segment_pool_id": (0, 0), "is_expandable": False}


def snapshot(histories):
    return {"segments": [history.segment(device) for device, history in enumerate(histories)],
            "device_traces": [history.entries for history in histories], "external_annotations": [],
            "allocator_settings": {"max_split_size": -1, "garbage_collection_threshold": 0.5, "release_lock": None}}


class Harm:
    """A pickle of it makes a folder when it is loaded."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (self.folder,)


class Snapshots(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gprof-snapshot-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "memory_snapshot.pickle"

    def gprof(self, *words):
        return subprocess.run([GPROF_CLI, *map(str, words)], capture_output=True, text=True, check=False)

    def table(self, name):
        done = self.gprof("report", self.path, "--only", "memory", "--format", "csv", "--table", name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def test_the_peak_and_what_stood_at_it_are_those_of_the_history(self):
        for protocol in (2, 3, 4, 5):
            histories = [History(protocol, 0x7F00_0000_0000).run(300), History(9, 0x7E00_0000_0000).run(100)]
            self.path.write_bytes(pickle.dumps(snapshot(histories), protocol))
            peaks = {row["scope"]: int(row["value"]) for row in self.table("metrics") if row["id"] == "memory.peak_bytes"}
            self.assertEqual((peaks["gpu0"], peaks["gpu1"]), tuple(history.peak for history in histories))
            for device, history in enumerate(histories):
                expected, by_operator = {}, {}
                for function, size in history.at_peak.values():
                    line = f"model.py:{LINES[function]} ({function})" if function else ""
                    expected[line] = expected.get(line, 0) + size
                    name = f"aten::{function}" if function else "(no operator)"
                    by_operator[name] = by_operator.get(name, 0) + size
                rows = [row for row in self.table("memory.memory_at_peak") if row["device"] == f"gpu{device}"]
                self.assertEqual({row["line"]: int(row["bytes"]) for row in rows}, expected)
                rows = [row for row in self.table("memory.tensors_by_operator") if row["device"] == f"gpu{device}"]
                self.assertEqual({row["operator"]: int(row["bytes"]) for row in rows}, by_operator)

    def test_allocated_and_reserved_memory_are_tracks(self):
        history = History(1, 0x7F00_0000_0000).run(200)
        self.path.write_bytes(pickle.dumps(snapshot([history])))
        out = self.folder / "out.json"
        self.assertEqual(self.gprof("export", self.path, "--format", "chrome", "-o", out).returncode, 0)
        tracks = {}
        for event in json.loads(out.read_text())["traceEvents"]:
            if event["ph"] == "C":
                tracks.setdefault(event["name"], []).extend(event["args"].values())
        allocated = next(values for name, values in tracks.items() if "allocated" in name)
        reserved = next(values for name, values in tracks.items() if "reserved" in name)
        self.assertEqual((max(allocated), allocated[-1]), (history.peak, sum(size for _, size in history.live.values())))
        self.assertEqual((reserved[0], reserved[-1]), ((1 << 30) - (1 << 20), 1 << 30))
        self.assertIn("largest free block 300.00 kB", " ".join(self.gprof("info", self.path).stdout.split()))

    def test_without_a_history_there_is_what_is_in_use(self):
        history = History(3, 0x7F00_0000_0000).run(50)
        self.path.write_bytes(pickle.dumps({**snapshot([history]), "device_traces": [[]]}))
        self.assertEqual(sum(int(row["bytes"]) for row in self.table("memory.memory_at_peak")),
                         sum(size for _, size in history.live.values()))

    def test_running_out_of_memory_is_told(self):
        history = History(5, 0x7F00_0000_0000).run(50)
        oom = {"action": "oom", "device_free": 3 << 20, "size": 5 << 30, "stream": 0, "time_us": history.time_us, "frames": []}
        told = snapshot([history])
        told["device_traces"][0].append(oom)
        told["segments"][0]["blocks"].append({"address": 8, "size": 900_000, "requested_size": 0, "state": "active_pending_free",
                                              "frames": []})
        self.path.write_bytes(pickle.dumps(told))
        said = " ".join(self.gprof("info", self.path).stdout.split())
        self.assertIn("cuda:0 ran out of memory: 5.37 GB requested with 1.07 GB reserved by PyTorch", said)
        self.assertIn("3.15 MB free on the device", said)
        self.assertIn("largest free block 300.00 kB", said)

    def test_no_code_is_run(self):
        made = self.folder / "made"
        for harm in (Harm(str(made)), {"segments": [Harm(str(made))]}):
            for protocol in (2, 4):
                self.path.write_bytes(pickle.dumps(harm, protocol))
                done = self.gprof("report", self.path)
                self.assertEqual((done.returncode, made.exists()), (3, False), done.stdout)
                self.assertIn("run code", done.stderr)

    def test_other_pickles_are_refused(self):
        self.path.write_bytes(pickle.dumps({"a": [1, 2.5, None, True, -(2**70)]}))
        done = self.gprof("report", self.path)
        self.assertEqual(done.returncode, 3)
        self.assertIn("not a PyTorch memory snapshot", done.stderr)

    def test_damaged_files_are_read_or_refused(self):
        whole = pickle.dumps(snapshot([History(2, 0x7F00_0000_0000).run(20)]))
        chance = random.Random(5)
        for turn in range(150):
            damaged = bytearray(whole[:chance.randrange(3, len(whole))] if turn % 3 == 0 else whole)
            for _ in range(0 if turn % 3 == 0 else chance.randint(1, 8)):
                damaged[chance.randrange(2, len(damaged))] = chance.randrange(256)
            self.path.write_bytes(damaged)
            done = self.gprof("report", self.path, "--only", "memory")
            self.assertIn(done.returncode, (0, 3), f"turn {turn}: {done.stderr}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
