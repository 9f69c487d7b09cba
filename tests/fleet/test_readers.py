"""A partial in place of its trace: the same page for one rank, the same sums for many, and what it cannot tell is unknown."""

import collections
import csv
import gzip
import json
import math
import os
import pathlib
import shutil
import subprocess
import unittest

import fleet

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"


# With one clock 50 ms off, a run of traces lasts longer than its ranks, and its warm-up is not that of each.
OF_THE_RUN = (("nvtx", "percent"), ("kernel_lengths", "idle_before_ns"))


def lines_of(text):
    """Without those that name the file, and those on the rows of a table that are left out: a partial has fewer of them."""
    return [line for line in text.splitlines() if "one.trace" not in line and "one.gpart" not in line and "not shown" not in line]


class Readers(fleet.FleetTest):
    RANKS, STEPS = 16, 8

    def setUp(self):
        super().setUp()
        damaged = f"rank{self.faults.damaged}.trace"
        self.whole = [path for path in self.paths if path.name != damaged]

    def report(self, *words):
        return json.loads(self.cli("report", *words, "--format", "json", "--tables").stdout)


class OneRank(Readers):
    def setUp(self):
        super().setUp()
        self.trace, self.part = "one.trace", "one.gpart"  # in the folder that the commands run in
        shutil.copy(self.whole[3], self.folder / self.trace)
        self.partial(self.part, self.trace)

    def test_the_page_is_that_of_the_trace(self):
        for words in ([], ["--full"], ["--format", "md"], ["--only", "idle,api"]):
            of_trace, of_part = (self.cli("report", path, *words).stdout for path in (self.trace, self.part))
            self.assertIn("gemm", of_part)
            self.assertEqual(lines_of(of_part), lines_of(of_trace), words)

    def test_every_figure(self):
        of_trace, of_part = self.report(self.trace), self.report(self.part)
        for what in ("metrics", "findings", "not_recorded", "tables", "health", "processes", "devices"):
            self.assertEqual(of_part[what], of_trace[what], what)

    def test_pages_of_recorded_programs(self):
        compared = 0
        for trace in sorted(DATA.glob("*.trace")):
            part = self.partial(f"{trace.stem}.gpart", trace)
            if len(self.analyze(part)["tables"][0]["rows"]) != 1:
                continue  # several processes are several ranks
            self.assertEqual(self.report(part)["metrics"], self.report(trace)["metrics"], trace.name)
            compared += 1
        self.assertGreater(compared, 3)

    def test_gates_and_comparisons(self):
        self.cli("check", self.trace, "--init", "budget.json")
        self.assertEqual(*(lines_of(self.cli("check", path, "--budget", "budget.json").stdout) for path in (self.trace, self.part)))
        compared = json.loads(self.cli("diff", self.trace, self.part, "--format", "json").stdout)
        self.assertIn("idle.os", {part["part"] for part in compared["time"]})
        self.assertEqual({part["change_ns"] for part in compared["time"] + compared["kernels"] + compared["steps"]["parts"]}, {0})
        self.assertEqual(compared["metrics"], [])
        self.cli("baseline", "save", "main", self.part)
        self.cli("check", self.trace, "--baseline", "main", "--fail-if", "gpu.idle_percent > 100")

    def test_info_and_stats(self):
        of_trace, of_part = (json.loads(self.cli("info", path, "--format", "json").stdout) for path in (self.trace, self.part))
        for what in ("contents", "health", "devices", "processes"):
            self.assertEqual(of_part[what], of_trace[what], what)
        self.assertEqual(*(self.cli("stats", path).stdout for path in (self.trace, self.part)))
        for name in ("cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum"):
            of_trace, of_part = (self.cli("stats", path, "-r", name, "-f", "csv").stdout
                                 for path in (DATA / "normalise_v1.trace", self.partial("copies.gpart", DATA / "normalise_v1.trace")))
            self.assertEqual(of_part, of_trace)
            self.assertIn("[CUDA memcpy Host-to-Device]", of_part)
        made = self.cli("stats", self.part, "-r", "nvtx_sum,gpu_gaps")
        self.assertIn("not in a partial, use the trace: gpu_gaps", made.stderr)
        self.assertIn("--recipe", self.cli("stats", self.part, "-r", "gpu_gaps", code=2).stderr)

    def test_what_needs_the_records_says_so(self):
        for words in (["report", self.part, "--time-range", "0:1ms"], ["view", self.part, "--device", "0"],
                      ["report", self.part, "--step", "step"], ["report", self.part, "--min-gap", "1us"], ["view", self.part, "--perfetto"],
                      ["export", self.part, "--format", "chrome"], ["report", self.part, self.trace],
                      ["check", self.part, "--fail-if", "gpu.idle_ns > 1", "--step", "step"],
                      ["diff", self.part, self.part, "--device", "0"]):
            error = self.cli(*words, code=2).stderr
            self.assertRegex(error, "needs the records of a trace|cannot be read as one run")
            self.assertIn("hint:", error)

    def test_a_page_without_a_timeline_says_where_one_is(self):
        told = self.cli("report", self.part, "--format", "html", "-o", "a.html").stderr
        self.assertIn("its page has no timeline; 'gprof-cli view one.trace'", told)
        self.assertIn("<html", (self.folder / "a.html").read_text(encoding="utf-8"))
        self.assertNotIn('id="events-0"', (self.folder / "a.html").read_text(encoding="utf-8"))
        self.cli("view", self.part, "--no-open", env={**os.environ, "TMPDIR": str(self.folder)})

    def test_what_takes_no_partial_says_what_does(self):
        error = self.cli("dump", self.part, code=3).stderr
        self.assertIn("a partial, which has no records", error)
        self.assertIn("report, view, check, diff, info, stats and ranks read it", " ".join(error.split()))

    def test_in_a_folder_traces_go_before_the_partials_beside_them(self):
        folder = self.folder / "run"
        folder.mkdir()
        shutil.copy(self.folder / self.part, folder)
        condition = ["--fail-if", "gpu.idle_percent > 100"]
        self.cli("check", folder, *condition)
        for path in self.whole[:2]:
            shutil.copy(path, folder)
        done = self.cli("check", folder, *condition, "--merge")
        self.assertIn("1 partial in", " ".join((done.stdout + done.stderr).split()))


class ManyRanks(Readers):
    def setUp(self):
        super().setUp()
        self.parts = [self.partial(f"{path.stem}.gpart", path) for path in self.whole]
        self.all = self.partial("all.gpart", *self.whole)
        self.joined, self.merged = self.report(self.all), self.report(*self.whole)

    def figures(self, report):
        return {(metric["id"], metric["scope"]): metric["value"] for metric in report["metrics"]}

    def test_sums_are_those_of_the_merged_traces(self):
        joined, merged = self.figures(self.joined), self.figures(self.merged)
        self.assertGreater(len(joined), 150)
        wrong = {key: (value, merged.get(key)) for key, value in joined.items()
                 if key not in merged or not math.isclose(value, merged[key], rel_tol=1e-9)}
        self.assertEqual(wrong, {})

    def test_what_is_left_out_is_unknown_with_its_reason(self):
        joined, merged = self.figures(self.joined), self.figures(self.merged)
        missing = {key[0] for key in merged.keys() - joined.keys()}
        self.assertIn("step.median_ns", missing)
        self.assertIn("critical.window_ns", missing)
        self.assertNotIn("gpu.idle_ns", missing)
        why = {entry["fact"]: entry["why"] for entry in self.joined["not_recorded"]}
        self.assertIn("use their traces", why["one_trace"])
        judged = self.cli("check", self.all, "--fail-if", "step.median_ns > 1", code=4)
        self.assertIn("use their traces", " ".join(judged.stdout.split()))

    def test_kernels_and_calls_add_up(self):
        def rows(report, table, *columns):
            found = next(entry["rows"] for entry in report["tables"] if entry["id"] == table)
            return [tuple(row[column] for column in columns) for row in found]
        for table, name in (("kernels", "name"), ("api", "name"), ("nvtx", "path")):
            columns = ("total_ns", "count", "min_ns", "max_ns", name)
            self.assertEqual(sorted(rows(self.joined, table, *columns)), sorted(rows(self.merged, table, *columns)), table)
        for joined, merged in zip(rows(self.joined, "kernels", "percent", "mean_ns"), rows(self.merged, "kernels", "percent", "mean_ns")):
            self.assertTrue(all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(joined, merged)))
        for joined, merged in zip(rows(self.joined, "kernels", "median_ns"), rows(self.merged, "kernels", "median_ns")):
            self.assertTrue(math.isclose(joined[0], merged[0], rel_tol=0.008))

    def test_every_table_adds_up(self):
        """What it has of a row is what the traces together have. Rows are told apart by their texts."""
        of_traces = {table["id"]: table for table in self.merged["tables"]}
        compared = collections.Counter()
        for table in self.joined["tables"]:
            texts = [column["key"] for column in table["columns"]
                     if column["unit"] == "" and all(row[column["key"]] is not None for row in table["rows"])]
            wanted = collections.defaultdict(list)
            for row in of_traces[table["id"]]["rows"]:
                wanted[tuple(row[key] for key in texts)].append(row)
            for row in table["rows"]:
                same = wanted[tuple(row[key] for key in texts)]
                for key, value in row.items():
                    if len(same) == 1 and isinstance(value, (int, float)) and (table["id"], key) not in OF_THE_RUN:
                        bound = 0.008 if "median" in key else 1e-3
                        self.assertTrue(math.isclose(value, same[0][key], rel_tol=bound), (table["id"], key, row, same))
                        compared[table["id"]] += 1
        for table in ("os_files", "kernel_kinds", "nccl", "kernels", "idle_by_next"):
            self.assertGreater(compared[table], 0, (table, compared))

    def test_medians_and_deviations_of_joined_tables(self):
        """Each is there: medians within a bucket of their histogram, deviations as exact as the numbers they are made of."""
        traces = [DATA / "normalise_v1.trace", DATA / "known_facts.trace"]
        joined = self.report(self.partial("two.gpart", *traces))
        merged = {table["id"]: table for table in self.report(*traces)["tables"]}
        compared = collections.Counter()
        for table in joined["tables"]:
            self.assertFalse([column["key"] for column in table["columns"] if "histogram" in column["key"]])
            keys = [column["key"] for column in table["columns"] if "median" in column["key"] or "stddev" in column["key"]]
            texts = [column["key"] for column in table["columns"] if column["unit"] == ""]
            wanted = {tuple(row[key] for key in texts): row for row in merged[table["id"]]["rows"]}
            for row in (row for row in table["rows"] if tuple(row[key] for key in texts) in wanted):
                of_traces = wanted[tuple(row[key] for key in texts)]
                for key in (key for key in keys if of_traces[key] is not None):
                    bound = 0.008 if "median" in key else 1e-9
                    self.assertTrue(math.isclose(row[key], of_traces[key], rel_tol=bound, abs_tol=1), (table["id"], key, row, of_traces))
                    compared[table["id"]] += 1
            if table["id"] in ("api", "nvtx"):
                self.assertIn("medians are within 0.8%", table["note"])
        for table in ("api", "kernels", "kernel_launches", "memcpy", "nvtx", "sync", "graph_calls"):
            self.assertGreater(compared[table], 0, compared)

    def test_medians_and_deviations_of_stats(self):
        traces = [DATA / "normalise_v1.trace", DATA / "known_facts.trace"]
        part = self.partial("two.gpart", *traces)
        for name in ("nvtx_sum", "cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum"):
            done = self.cli("stats", part, "-r", name, "-f", "json")
            joined, merged = json.loads(done.stdout), json.loads(self.cli("stats", *traces, "-r", name, "-f", "json").stdout)
            self.assertIn("medians are accurate to 0.8%", done.stderr)
            self.assertEqual(len(joined), len(merged))
            texts = [key for key, value in merged[0].items() if isinstance(value, str)]
            wanted = {tuple(row[key] for key in texts): row for row in merged}
            for row in joined:
                of_traces = wanted[tuple(row[key] for key in texts)]
                self.assertEqual(row.keys(), of_traces.keys())
                for key in (key for key in row if key.startswith(("Med", "StdDev"))):
                    bound = 0.008 if key.startswith("Med") else 1e-6
                    self.assertTrue(math.isclose(row[key], of_traces[key], rel_tol=bound, abs_tol=1), (name, key, row, of_traces))

    def test_a_share_of_what_nobody_kept_is_left_out(self):
        def percent(*traces):
            part = self.partial("some.gpart", *traces)
            rows = next(entry["rows"] for entry in self.report(part)["tables"] if entry["id"] == "idle_by_os")
            return {row["function"]: row["percent"] for row in rows}
        self.assertGreater(percent(*self.whole[:2])["read"], 0)
        other = self.assemble(900, ['kernel start_ns=1000 duration_ns=100 context=1 stream=7 name="a"',
                                    'kernel start_ns=9000 duration_ns=100 context=1 stream=7 name="a"'])
        self.assertIsNone(percent(self.whole[0], other)["read"])

    def test_calls_of_libraries(self):
        def records(gpu_ns):
            gemm = 'start_ns=1000 duration_ns=50 tid=70 function="cublasSgemm_v2" m=64 n=32 k=16 batch=1 lda=64 ldb=16 ldc=64 compute_type=68'
            return [f"gemm {gemm}", 'api start_ns=1010 duration_ns=20 tid=70 correlation=1 function="cuLaunchKernel" domain=2',
                    f'kernel start_ns=1100 duration_ns={gpu_ns} context=1 stream=7 correlation=1 name="sgemm"',
                    f'mpi_call start_ns=9000 duration_ns={gpu_ns} tid=70 function="MPI_Allreduce" communicator=1 sent_bytes=8 received_bytes=8']
        traces = [self.assemble(rank, records(1000 * (rank + 1))) for rank in range(2)]
        part = self.partial("two.gpart", *traces)
        joined, merged = ({table["id"]: table["rows"] for table in self.report(*paths)["tables"]} for paths in ([part], traces))
        self.assertEqual([(row["total_ns"], row["count"], row["sent_bytes"], row["percent"]) for row in joined["mpi_sum"]], [(3000, 2, 16, 100)])
        self.assertEqual([row["total_bytes"] for row in joined["mpi_sizes"]], [16])
        of_nsys = json.loads(self.cli("stats", part, "-r", "mpi_event_sum", "--format", "json").stdout)
        self.assertEqual([(row["Name"], row["Total Time (ns)"], row["Instances"]) for row in of_nsys], [("MPI_Allreduce", 3000, 2)])
        (gemm,) = joined["gemms"]
        self.assertEqual((gemm["m"], gemm["n"], gemm["k"], gemm["gpu_ns"], gemm["calls"], gemm["device"]), (64, 32, 16, 3000, 2, None))
        flop = sum(row["tflops"] * row["gpu_ns"] for row in merged["gemms"])
        self.assertTrue(math.isclose(gemm["tflops"], flop / 3000, rel_tol=1e-6))

    def assemble(self, rank, records):
        """A trace of one rank, which has these records."""
        text = ["chunk pid=9", f'process start_ns=5 pid={9 + rank} name="app" host="n{rank}" rank={rank} world_size=901', 'device name="GPU"',
                "context context=1 null_stream=7", 'thread tid=70 name="main"', *records, "end time_ns=20000 reason=1"]
        path = self.folder / f"made{rank}.trace"
        path.write_bytes(subprocess.run([fleet.ASSEMBLE], input="\n".join(text).encode(), capture_output=True, check=True).stdout)
        return path

    def test_tables_of_nsys_stats(self):
        def rows(name, *paths):
            return {row[text]: row for text in ("Range", "Operation", "Name") for row in json.loads(
                self.cli("stats", *paths, "-r", name, "-f", "json").stdout) if text in row}
        copies = [self.assemble(900 + rank, [f'memcpy start_ns={1000 * (rank + 1)} duration_ns={100 * (rank + 1)} context=1 stream=7 copy_kind=1 '
                                             f'size_bytes={4096 * (rank + 1)}']) for rank in range(2)]
        part = self.partial("copies.gpart", *copies)
        for name, joined, traces in (("nvtx_sum", self.all, self.whole), ("cuda_gpu_mem_time_sum", part, copies), ("cuda_gpu_mem_size_sum", part, copies)):
            of_part, of_traces = rows(name, joined), rows(name, *traces)
            self.assertEqual(of_part.keys(), of_traces.keys())
            self.assertGreater(len(of_part), 0, name)
            for key, row in of_part.items():
                wanted = {column: value for column, value in of_traces[key].items() if column[:3] not in ("Med", "Std")}
                self.assertEqual({column: row[column] for column in wanted}, wanted)

    def test_the_page_of_all_ranks_is_that_of_analyze(self):
        environment = {**os.environ, "TMPDIR": str(self.folder)}
        shown = pathlib.Path(self.cli("view", self.all, "--no-open", env=environment).stdout.strip())
        self.cli("ranks", self.all, "--format", "html", "-o", "page.html")
        self.assertEqual(shown.read_bytes(), (self.folder / "page.html").read_bytes())
        self.assertIn("compares its ranks", self.cli("report", self.all, "--format", "html", "-o", "joined.html").stderr)

    def test_the_page(self):
        text = self.cli("report", self.all).stdout
        self.assertIn(f"{len(self.whole)} ranks", text)
        for words in ("Findings", "Kernels", "gemm", "rank"):
            self.assertIn(words, text)

    def test_files_are_a_set(self):
        once = self.report(*self.parts)
        self.assertEqual(once["metrics"], self.joined["metrics"])
        self.assertEqual(self.report(self.all, self.parts[0])["metrics"], self.joined["metrics"])
        self.assertEqual(self.report(*reversed(self.parts))["metrics"], self.joined["metrics"])

    def test_tables_of_the_ranks(self):
        for form in ("csv", "jsonl", "parquet"):
            self.cli("export", self.all, "--format", form, "-o", f"tables-{form}")
            self.assertEqual(sorted(path.stem for path in (self.folder / f"tables-{form}").iterdir()),
                             ["calls", "collectives", "copies", "idle", "kernels", "ranges", "ranks", "steps"])
        with open(self.folder / "tables-csv" / "ranks.csv", newline="", encoding="utf-8") as file:
            ranks = list(csv.DictReader(file))
        self.assertEqual(len(ranks), len(self.whole))
        self.assertEqual(sum(int(row["busy_ns"]) for row in ranks), self.figures(self.joined)["gpu.busy_ns", ""])
        with open(self.folder / "tables-csv" / "steps.csv", newline="", encoding="utf-8") as file:
            self.assertEqual(len(list(csv.DictReader(file))), len(self.whole) * self.STEPS)

    def test_without_results_it_is_for_the_verdict_alone(self):
        small = self.partial("small.gpart", *self.whole, "--no-results")
        self.assertLess(small.stat().st_size, self.all.stat().st_size / 2)
        self.assertEqual(self.analyze(small), self.analyze(self.all))
        self.assertIn("--no-results", self.cli("report", small, code=3).stderr)

    def test_ranks_of_one_run_in_a_gate(self):
        parts = json.loads(self.cli("diff", self.all, self.all, "--format", "json").stdout)["time"]
        self.assertIn("idle.os", {part["part"] for part in parts})
        condition = ["--fail-if", "gpu.idle_percent > 100"]
        self.assertIn("--merge", self.cli("check", *self.parts, *condition, code=2).stderr)
        self.cli("check", *self.parts, *condition, "--merge")


class FoldersOfOtherTools(Readers):
    """Files that torch.profiler leaves have any name."""

    def setUp(self):
        super().setUp()
        self.run = self.folder / "run"
        self.run.mkdir()
        for number, path in enumerate(self.whole[:3]):
            made = self.folder / "made.json"
            self.cli("export", path, "--format", "chrome", "-q", "-o", made)
            (self.run / f"rank{number}.json.gz").write_bytes(gzip.compress(made.read_bytes(), 1))
            made.unlink()
        (self.run / "budget.json").write_text('{"schema": "gprof.budget/1", "rules": {"kernels.count": 0}}')
        (self.run / "notes.json.gz").write_bytes(gzip.compress(b'{"traces": []}'))
        (self.run / "broken.json.gz").write_bytes(b"\x1f\x8bno gzip")

    def test_traces_are_told_by_their_contents(self):
        named = self.analyze(*sorted(self.run.glob("rank*")))
        self.assertEqual(named["ranks"], 3)
        self.assertEqual(self.analyze(self.run), named)
        plain = self.run / "rank0.json.gz"
        (self.run / "first.json").write_bytes(gzip.decompress(plain.read_bytes()))
        plain.unlink()
        self.assertEqual(self.analyze(self.run)["ranks"], 3)

    def test_exports_beside_traces_are_left_out(self):
        shutil.copy(self.whole[0], self.run / "run.trace")
        self.assertEqual(self.analyze(self.run)["ranks"], 1)

    def test_a_folder_without_traces(self):
        for path in self.run.glob("rank*"):
            path.unlink()
        self.assertIn("*.json.gz of torch.profiler", " ".join(self.cli("ranks", self.run, code=3).stderr.split()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
