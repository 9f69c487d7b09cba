"""A partial in place of its trace: the same page for one rank, the same sums for many, and what it cannot tell is unknown."""

import csv
import gzip
import json
import math
import pathlib
import shutil
import unittest

import fleet

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"


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
        return json.loads(self.cli("report", *words, "--format", "json").stdout)


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
        for name in ("cuda_gpu_kern_sum", "cuda_api_sum"):
            self.assertEqual(*(self.cli("stats", path, "-r", name).stdout for path in (self.trace, self.part)))
        made = self.cli("stats", self.part)
        self.assertIn("not in a partial, use the trace: nvtx_sum, osrt_sum", made.stderr)

    def test_what_needs_the_records_says_so(self):
        for words in (["report", self.part, "--time-range", "0:1ms"], ["report", self.part, "--format", "html", "-o", "a.html"],
                      ["report", self.part, "--step", "step"], ["report", self.part, "--min-gap", "1us"], ["view", self.part],
                      ["export", self.part, "--format", "chrome"], ["report", self.part, self.trace],
                      ["check", self.part, "--fail-if", "gpu.idle_ns > 1", "--step", "step"],
                      ["diff", self.part, self.part, "--device", "0"]):
            error = self.cli(*words, code=2).stderr
            self.assertRegex(error, "needs the records of a trace|cannot be read as one run")
            self.assertIn("hint:", error)


    def test_what_takes_no_partial_says_what_does(self):
        error = self.cli("dump", self.part, code=3).stderr
        self.assertIn("a partial, which has no records", error)
        self.assertIn("report, check, diff, info, stats and analyze read it", " ".join(error.split()))

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
                             ["calls", "collectives", "copies", "idle", "kernels", "ranks", "steps"])
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
        self.assertIn("*.json.gz of torch.profiler", " ".join(self.cli("analyze", self.run, code=3).stderr.split()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
