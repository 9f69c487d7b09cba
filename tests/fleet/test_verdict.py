"""1,024 ranks of which some are not as the others: each of them is named, with the reason, and nobody else is."""

import csv
import math
import random
import shutil
import subprocess
import sys
import unittest

import fleet
import ranks

HOST = ranks.RANKS_OF_A_HOST
MERGE_LIMIT_BYTES = 64 << 20
# Of a process that is started by a small one: what a process had before it ran another program counts as well.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


class Verdict(fleet.FleetTest):
    RANKS, STEPS = 1024, 16

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.all = cls.base / "all.gpart"
        done = fleet.run(fleet.CLI, "ranks", cls.traces, "--rows", 0, "--format", "json", "-o", cls.all)
        assert done.returncode == 0, done.stderr
        cls.verdict = fleet.json.loads(done.stdout)
        cls.found = {finding["id"]: finding for finding in cls.verdict["findings"]}

    def rows(self, table):
        return next(entry["rows"] for entry in self.verdict["tables"] if entry["id"] == table)

    def test_nobody_else_is_named(self):
        self.assertEqual(sorted(finding["id"] for finding in self.verdict["findings"]),
                         ["fleet.damaged", "fleet.late_host", "fleet.missing", "fleet.more_work", "fleet.skewed_clock",
                          "fleet.slow_gpu"])

    def test_the_slow_gpu(self):
        slow = self.found["fleet.slow_gpu"]
        self.assertEqual(slow["about"], f"rank {self.faults.slow_gpu}")
        self.assertIn("the same kernels take", slow["message"])
        self.assertIn("(29%)", slow["message"])  # 1.3 times, of which a part is chance

    def test_the_late_host_with_its_file(self):
        late, first = self.found["fleet.late_host"], self.faults.late_host * HOST
        self.assertEqual(late["about"], f"node{self.faults.late_host:03}")
        self.assertIn(f"ranks {first}-{first + HOST - 1}", late["message"])
        self.assertIn("read of /data/shard.bin", late["message"])
        # Three more reads of 0.15 ms in each step.
        self.assertAlmostEqual(late["gain_ns"], 3 * ranks.READ_NS * self.STEPS, delta=0.1 * 3 * ranks.READ_NS * self.STEPS)

    def test_more_work(self):
        self.assertEqual(self.found["fleet.more_work"]["about"], f"rank {self.faults.more_work}")

    def test_the_skewed_clock(self):
        name = f"node{self.faults.skewed_host:03}"
        self.assertIn(name, self.found["fleet.skewed_clock"]["message"])
        offsets = {row["host"]: row["offset_ns"] for row in self.rows("hosts")}
        self.assertEqual(len(offsets), self.RANKS // HOST)
        self.assertAlmostEqual(offsets.pop(name), ranks.SKEW_NS, delta=40_000)
        self.assertLess(max(map(abs, offsets.values())), 100_000)
        self.assertLess(self.verdict["alignment"]["residual_p95_ns"], 2_000)

    def test_who_is_missing_or_damaged(self):
        self.assertEqual(self.verdict["missing"], [self.faults.missing])
        self.assertEqual([rank["rank"] for rank in self.verdict["incomplete"]], [self.faults.damaged])
        self.assertEqual((self.verdict["ranks"], self.verdict["world_size"]), (self.RANKS - 1, self.RANKS))

    def test_ranks_by_step(self):
        steps = self.verdict["steps"]
        self.assertEqual(len(steps["ranks"]), self.RANKS - 2)
        median = steps["median_own_ns"]
        self.assertEqual(len(median), self.STEPS)
        late = {rank["rank"] for rank in steps["ranks"] if rank["own_ns"][3] > 1.1 * median[3]}
        host = range(self.faults.late_host * HOST, self.faults.late_host * HOST + HOST)
        self.assertEqual(late, {*host, self.faults.slow_gpu, self.faults.more_work})
        for rank in steps["ranks"]:
            parts = [rank["kernel_ns"], rank["copy_ns"], *rank["idle_ns"].values()]
            # The first and the last one reach out of the time from the first GPU operation to the last.
            self.assertEqual([sum(column) for column in zip(*parts)][1:-1], rank["wall_ns"][1:-1])

    def test_the_critical_path_of_the_run(self):
        path, steps = self.verdict["critical_path"], self.verdict["steps"]
        host = range(self.faults.late_host * HOST, self.faults.late_host * HOST + HOST)
        self.assertTrue(path["ranks_wait_for_one_another"])
        self.assertTrue(set(path["slowest"]) <= set(host), path["slowest"])
        own = {rank["rank"]: rank["own_ns"] for rank in steps["ranks"]}
        for entry, slowest in enumerate(path["slowest"]):
            self.assertEqual(own[slowest][entry], max(column[entry] for column in own.values()))
        self.assertEqual(path["above_median_ns"], sum(own[rank][i] - steps["median_own_ns"][i] for i, rank in enumerate(path["slowest"])))
        parts = path["parts"]
        self.assertEqual(sum(parts["idle_ns"].values()) + sum(ns for key, ns in parts.items() if key != "idle_ns"), path["wall_ns"])
        self.assertEqual(max(parts["idle_ns"], key=parts["idle_ns"].get), "os")
        table = {row["part"]: row["time_ns"] for row in self.rows("critical_path")}
        self.assertEqual((table["idle: os"], table["exposed NCCL"]), (parts["idle_ns"]["os"], parts["exposed_ns"]))
        self.assertEqual(sum(row["entries"] for row in self.rows("critical_ranks")), self.STEPS)
        self.assertEqual({row["mostly"] for row in self.rows("critical_ranks")}, {"idle: os"})

    def test_times_of_steps(self):
        steps = self.verdict["steps"]
        times = {row["part"]: row for row in self.rows("step_times")}
        of_all = sorted(ns for rank in steps["ranks"] for ns in rank["own_ns"])
        self.assertEqual((times["own time"]["min_ns"], times["own time"]["max_ns"]), (of_all[0], of_all[-1]))
        self.assertEqual(times["own time"]["p95_ns"], of_all[math.ceil(0.95 * len(of_all)) - 1])
        slow = self.rows("steps")
        self.assertEqual(sorted(int(row["step"]) for row in slow), list(range(1, self.STEPS + 1)))
        host = {str(self.faults.late_host * HOST + i) for i in range(HOST)}
        for row in slow:
            first, second, third, _ = row["slowest"].split(", ")
            self.assertTrue({first, second, third} <= host)
            self.assertEqual(row["own_ns"] - row["median_ns"], row["above_median_ns"])

    def test_peak_memory_by_rank(self):
        text = ["chunk pid=9", 'process start_ns=5 pid=9 name="app" host="n" rank={} world_size=2', 'device name="GPU" memory_bytes=10000',
                "context context=1 null_stream=7", 'kernel start_ns=1000 duration_ns=100 context=1 stream=7 name="k"',
                "memory time_ns=900 address=4096 size_bytes={} context=1 operation=1 memory=3", "end time_ns=20000 reason=1"]
        for rank in range(2):
            made = "\n".join(text).format(rank, 1000 * (rank + 2))
            (self.folder / f"{rank}.trace").write_bytes(subprocess.run([fleet.ASSEMBLE], input=made.encode(), capture_output=True, check=True).stdout)
        tables = {table["id"]: table["rows"] for table in self.analyze(self.folder / "0.trace", self.folder / "1.trace")["tables"]}
        self.assertEqual([(row["rank"], row["allocated_bytes"], row["percent"]) for row in tables["memory"]], [("1", 3000, 30), ("0", 2000, 20)])

    def test_a_rank_given_twice(self):
        copy = self.folder / "copy.trace"
        shutil.copy(self.paths[0], copy)
        found = self.analyze(self.all, copy)
        self.assertEqual([rank["trace"] for rank in found["duplicates"]], ["rank0.trace"])
        self.assertEqual(found["ranks"], self.RANKS - 1)

    def test_partials_in_any_order_and_any_tree_give_the_same_verdict(self):
        chance = random.Random(11)
        paths, parts = [*self.paths], []
        chance.shuffle(paths)
        while paths:  # partials of as many traces as it happens, some of which are in two of them
            size = chance.randrange(40, 160)
            parts.append(self.partial(f"part{len(parts)}.gpart", *paths[:size]))
            paths = paths[size:] if chance.random() < 0.7 or size > len(paths) else paths[size - 10:]
        self.assertGreater(len(parts), 6)
        self.assertEqual(self.analyze(*parts, "--rows", 0), self.verdict)
        while len(parts) > 1:
            chance.shuffle(parts)
            parts = [self.merge(f"tree{len(parts)}.gpart", *parts[:3]), *parts[3:]]
        self.assertEqual(parts[0].read_bytes(), self.all.read_bytes())
        self.assertEqual(self.analyze(parts[0], "--rows", 0), self.verdict)

    def test_the_text_names_them(self):
        text = self.cli("ranks", self.all, "--full").stdout
        for words in ("1,023 of 1,024 on 128 hosts, 1 missing, 1 incomplete", "[fleet.slow_gpu]", "Ranks by step: step"):
            self.assertIn(words, text)

    def test_tables_of_the_ranks(self):
        for form in ("csv", "jsonl", "parquet"):
            self.cli("export", self.all, "--format", form, "-o", f"tables-{form}")
            self.assertEqual(sorted(path.stem for path in (self.folder / f"tables-{form}").iterdir()),
                             ["calls", "collectives", "copies", "idle", "kernels", "ranges", "ranks", "steps"])
        with open(self.folder / "tables-csv" / "ranks.csv", newline="", encoding="utf-8") as file:
            rows = {row["rank"]: row for row in csv.DictReader(file)}
        self.assertEqual(len(rows), self.RANKS - 1)
        busy = {str(row["rank"]): row["busy_ns"] for row in self.rows("ranks")}
        self.assertEqual({rank: int(row["busy_ns"]) for rank, row in rows.items()}, busy)
        self.assertIn("needs the records", self.cli("export", self.all, "--format", "chrome", code=2).stderr)

    def test_recipes_have_one_table_and_the_sums_of_the_report(self):
        report = fleet.json.loads(self.cli("report", self.all, "--full", "--rows", 0, "--format", "json").stdout)
        of_report = {table["id"]: table["rows"] for table in report["tables"]}
        for recipe, table, of_table, name, sums in (
                ("nvtx_gpu_proj_sum", "ranges", "nvtx", "path", ("total_ns", "count", "gpu_busy_ns", "kernels")),
                ("cuda_api_sum", "api_calls", "api", "name", ("total_ns", "count")),
                ("cuda_gpu_kern_sum", "kernels", "kernels", "name", ("total_ns", "count"))):
            found = self.analyze(self.all, "--rows", 0, "--recipe", recipe)["tables"]
            self.assertEqual([entry["id"] for entry in found], [table])
            rows = {row[name]: [row[key] for key in sums] for row in found[0]["rows"]}
            self.assertEqual(rows, {row[name]: [row[key] for key in sums] for row in of_report[of_table]})
        step = next(row for row in self.rows("ranges") if row["path"] == "step")
        self.assertEqual((step["ranks"], step["most_rank"]), (self.RANKS - 1, max(self.rows("ranks"), key=lambda row: row["busy_ns"])["rank"]))

    def test_recipes_as_text(self):
        text = self.cli("ranks", self.all, "--recipe", "nvtx_gpu_proj_sum").stdout
        self.assertEqual(text.splitlines()[0], "NVTX ranges of all ranks")
        self.assertNotIn("Findings", text)
        done = self.cli("ranks", self.all, "--recipe", "cuda_gpu_mem_size_sum")
        self.assertEqual((done.stdout, "no rank has events for cuda_gpu_mem_size_sum" in done.stderr), ("", True))

    def test_a_partial_is_small_and_so_is_what_joins_them(self):
        self.assertLess(self.all.stat().st_size / self.RANKS, 256_000)
        copies = [self.folder / f"copy{i}.gpart" for i in range(1 + 3 * MERGE_LIMIT_BYTES // self.all.stat().st_size)]
        for path in copies:
            shutil.copy(self.all, path)
        measured = fleet.run(sys.executable, "-c", MEASURE, fleet.CLI, "merge", *copies, "-o", self.folder / "merged.gpart")
        self.assertEqual(measured.returncode, 0, measured.stderr)
        self.assertLess(int(measured.stdout), MERGE_LIMIT_BYTES)
        self.assertEqual((self.folder / "merged.gpart").read_bytes(), self.all.read_bytes())


class Operations(fleet.FleetTest):
    """Ranks whose NCCL told when their hosts called it."""

    def test_by_how_much_a_host_called_later(self):
        told = self.folder / "told"
        steps = 8
        faults = ranks.write(told, fleet.ASSEMBLE, self.RANKS, steps, with_operations=True)
        found = {finding["id"]: finding["message"] for finding in self.analyze(told)["findings"]}
        self.assertIn(f"node{faults.late_host:03}", found["fleet.late_host"])
        later_ms = 3 * ranks.READ_NS * steps / 1e6
        self.assertRegex(found["fleet.late_host"], rf"its host called NCCL later by {later_ms:.1f}\d? ms")
        self.assertNotIn("its host called", self.analyze(self.traces)["findings"][0]["message"])


class Alike(fleet.FleetTest):
    """Ranks of which nobody is worse than the others."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.calm = cls.base / "calm"
        ranks.write(cls.calm, fleet.ASSEMBLE, 16, 12, with_faults=False)

    def test_nobody_is_named(self):
        self.assertEqual(self.analyze(self.calm)["findings"], [])
        self.assertIn("No rank stands out.", self.cli("ranks", self.calm).stdout)


class Rail(fleet.FleetTest):
    """The same slot of each host."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.slow = cls.base / "slow_rail"
        ranks.write(cls.slow, fleet.ASSEMBLE, 64, 12, faults=ranks.SlowRail())

    def test_it_is_one_finding(self):
        found = self.analyze(self.slow)["findings"]
        self.assertEqual([(finding["id"], finding["about"]) for finding in found], [("fleet.slow_gpu", "local rank 3")])
        self.assertIn("ranks 3, 11, 19", found[0]["message"])


class Exact(fleet.FleetTest):
    """Percentiles by a second look at the traces."""

    RANKS, STEPS = 16, 8

    def test_they_are_those_of_all_kernels(self):
        paths = [path for path in self.paths if path.name != f"rank{self.faults.damaged}.trace"]
        times = []
        for path in paths:
            lines = self.cli("export", path, "--format", "jsonl", "--kind", "kernel", "-o", "-").stdout.splitlines()
            times += [row["duration_ns"] for row in map(fleet.json.loads, lines) if row["name"] == "gemm"]
        times.sort()
        row = next(row for table in self.analyze(*paths, "--exact")["tables"] if table["id"] == "kernels"
                   for row in table["rows"] if row["name"] == "gemm")
        for percent, column in ((50, "median_ns"), (95, "p95_ns"), (99, "p99_ns")):
            self.assertEqual(row[column], times[-(-len(times) * percent // 100) - 1], column)

    def test_it_needs_the_traces(self):
        part = self.partial("all.gpart", self.traces)
        self.assertIn("needs the traces of all ranks", self.cli("ranks", part, "--exact", code=2).stderr)
        self.analyze(part, self.traces, "--exact")
        self.cli("ranks", self.traces, "--exact", "--engine", "dask", code=2)


class WithoutSteps(fleet.FleetTest):
    """Ranks without NVTX ranges are compared over slices of their time."""

    RANKS, STEPS = 32, 8

    def test_the_late_host_stands_out_over_time(self):
        folder = self.folder / "plain"
        folder.mkdir()
        for name, text in ranks.texts(self.RANKS, self.STEPS, self.faults):
            text = "\n".join(line for line in text.splitlines() if not line.startswith("nvtx ")) + "\n"
            made = fleet.subprocess.run([fleet.ASSEMBLE], input=text.encode(), capture_output=True, check=True).stdout
            (folder / name).write_bytes(made)
        steps = self.analyze(folder)["steps"]
        self.assertEqual((steps["path"], len(steps["median_own_ns"])), ("(slices of time)", 128))
        for rank in steps["ranks"]:
            parts = [rank["kernel_ns"], rank["copy_ns"], *rank["idle_ns"].values()]
            self.assertEqual([sum(column) for column in zip(*parts)], rank["wall_ns"])
        own = {rank["rank"]: sum(rank["own_ns"]) for rank in steps["ranks"]}
        late = range(self.faults.late_host * HOST, self.faults.late_host * HOST + HOST)
        self.assertGreater(min(own[rank] for rank in late), sorted(own.values())[len(own) // 2])
        self.assertIn("Ranks over time", self.cli("ranks", folder).stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
