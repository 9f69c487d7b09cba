"""Comparisons in JSON are what docs/schema/diff.schema.json says, their sums hold, and the schema refuses what is none."""

import copy
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import json_schema

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", SOURCE / "build" / "release"))
COMMAND = BUILD.resolve() / "bin" / "gprof-cli"
SCHEMA = json.loads((SOURCE / "docs" / "schema" / "diff.schema.json").read_text(encoding="utf-8"))
DATA = SOURCE / "tests" / "data"
# Improvements, a regression, several GPUs, captures, different programs altogether.
PAIRS = [("normalise_v1", "normalise_v2"), ("normalise_v2", "normalise_v3_streams"),
         ("normalise_v3_streams", "normalise_v3_bug"), ("peer_copy", "peer_copy"), ("captures", "normalise_v2"),
         ("memory", "managed"), ("known_facts", "known_facts_graph_nodes"), ("nvtx_cpu", "normalise_v1"),
         ("starved_loader", "many_small_copies")]


def diff(base, new, *words):
    done = subprocess.run([str(word) for word in (COMMAND, "diff", base, new, "--format", "json", *words)],
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=240, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{base} {new} ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
    return json.loads(done.stdout)


def trace(name):
    return DATA / f"{name}.trace"


class Comparisons(unittest.TestCase):
    def check(self, value):
        self.assertEqual(list(json_schema.problems(value, SCHEMA, is_strict=True)), [])

    def check_sums(self, value):
        def total(table, key="change_ns"):
            return sum(row[key] for row in value[table])

        in_window = sum(row["change_ns"] for row in value["time"] if row["in_window"])
        self.assertEqual(in_window, value["window"]["change_ns"])
        self.assertEqual(total("time"), value["gpu_wall"]["change_ns"])
        self.assertEqual(total("paths"), value["window"]["change_ns"])
        self.assertEqual(total("gpus"), value["window"]["change_ns"])
        parts = {row["part"]: row["change_ns"] for row in value["time"]}
        self.assertEqual(total("kernels"), parts.get("kernels", 0) + parts.get("graphs", 0))
        self.assertEqual(total("transfers"), parts.get("copies", 0) + parts.get("fills", 0))
        for table in ("gpus", "paths"):
            for row in value[table]:
                self.assertEqual(row["busy_change_ns"] + row["idle_change_ns"], row["change_ns"])
        if value["steps"] is not None:
            for side in ("base_total_ns", "new_total_ns"):
                self.assertEqual(sum(row[side] for row in value["steps"]["parts"]), value["steps"][side])

    def test_of_recorded_traces(self):
        for base, new in PAIRS:
            with self.subTest(base=base, new=new):
                value = diff(trace(base), trace(new))
                self.check(value)
                self.check_sums(value)

    def test_of_parts_of_traces(self):
        for words in (["--nvtx", "round"], ["--device", "0"], ["--time-range", "250ms:260ms"], ["--step", "round"]):
            with self.subTest(words=words):
                value = diff(trace("normalise_v2"), trace("normalise_v3_streams"), *words)
                self.check(value)
                self.check_sums(value)

    def test_of_sets(self):
        with tempfile.TemporaryDirectory(prefix="gprof-diff-") as folder:
            sides = [pathlib.Path(folder) / "base", pathlib.Path(folder) / "new"]
            for side, name in zip(sides, ("normalise_v3_streams", "normalise_v3_bug")):
                side.mkdir()
                for number in range(6):
                    shutil.copy(trace(name), side / f"run-{number}.trace")
            value = diff(*sides)
        self.check(value)
        self.check_sums(value)
        self.assertEqual(value["verdict"], "regressed")
        self.assertEqual(value["window"]["judged"]["verdict"], "regressed")

    def test_selected_tables_alone(self):
        value = diff(trace("normalise_v1"), trace("normalise_v2"), "--only", "kernels", "--top", "1")
        self.check(value)
        self.assertEqual(len(value["kernels"]), 1)
        self.assertNotIn("time", value)

    def test_twice_the_same(self):
        self.assertEqual(diff(trace("normalise_v1"), trace("normalise_v2")), diff(trace("normalise_v1"), trace("normalise_v2")))


class RealCases(unittest.TestCase):
    """What the programs were changed for is what the comparison names."""

    def first_part(self, base, new):
        value = diff(trace(base), trace(new), "--only", "time")
        return value["time"][0]["part"], value["window"]["change_ns"], value["explanation"]

    def test_pinned_memory(self):
        part, change_ns, explanation = self.first_part("normalise_v1", "normalise_v2")
        self.assertEqual(part, "copies")
        self.assertLess(change_ns, 0)
        self.assertTrue(any("pageable -> pinned" in text for text in explanation), explanation)

    def test_streams(self):
        part, change_ns, _ = self.first_part("normalise_v2", "normalise_v3_streams")
        self.assertEqual(part, "overlap")
        self.assertLess(change_ns, 0)

    def test_streams_that_are_one(self):
        part, change_ns, explanation = self.first_part("normalise_v3_streams", "normalise_v3_bug")
        self.assertEqual(part, "overlap")
        self.assertGreater(change_ns, 0)
        self.assertTrue(any("lost overlap" in text for text in explanation), explanation)


class Schema(unittest.TestCase):
    def setUp(self):
        self.diff = diff(trace("normalise_v1"), trace("normalise_v2"))

    def refused(self, change):
        changed = copy.deepcopy(self.diff)
        change(changed)
        return list(json_schema.problems(changed, SCHEMA))

    def test_takes_the_comparison(self):
        self.assertEqual(self.refused(lambda d: None), [])

    def test_refuses_what_is_none(self):
        def set_in(*path):
            def change(value):
                for step in path[:-2]:
                    value = value[step]
                value[path[-2]] = path[-1]
            return change

        for path in (["schema", "gprof.diff/2"], ["verdict", "better"], ["window", "base_ns", 1.5], ["time", 0, "part", "Kernels"],
                     ["kernels", 0, "presence", "moved"], ["metrics", 0, "unit", "ms"], ["base", "complete", 1],
                     ["gpus", 0, "device", "GPU"], ["worse_counters", -1], ["time", 0, "in_window", 1]):
            with self.subTest(path=path):
                self.assertEqual(len(self.refused(set_in(*path))), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
