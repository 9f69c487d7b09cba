"""The brief of every capture is short and true to the report, each finding can be explained, and queries agree with the report."""

import concurrent.futures
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

import support

sys.path.insert(0, str(support.SOURCE / "tests" / "schema"))
import json_schema  # noqa: E402

SCHEMA = json.loads((support.SOURCE / "docs" / "schema" / "brief.schema.json").read_text(encoding="utf-8"))
MOST_BYTES = 5000
OURS = [path for path in support.CAPTURES if path.suffix == ".trace"]


def for_all(captures, check):
    """Problems that check(path) yields, of all captures."""
    def of(capture):
        with support.Readable(capture) as path:
            return [f"{capture.name}: {problem}" for problem in check(path)]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return [problem for problems in pool.map(of, captures) for problem in problems]


def brief_problems(path):
    done = support.run("report", path, "--format", "brief")
    if done.returncode != 0:
        yield f"ended with {done.returncode}: {done.stderr}"
        return
    if len(done.stdout.encode()) > MOST_BYTES:
        yield f"{len(done.stdout.encode())} bytes"
    brief = json.loads(done.stdout)
    yield from json_schema.problems(brief, SCHEMA, is_strict=True)
    report = support.ask("report", path, "--format", "json", "--only", "findings")
    said = [finding["message"] for finding in report["findings"] if not finding["id"].startswith("health.")]
    if len(brief["findings"]) != min(len(said), 5) or brief["findings_left_out"] != max(len(said) - 5, 0):
        yield f"{len(brief['findings'])} findings and {brief['findings_left_out']} left out of {len(said)}"
    missing = {entry["fact"] for entry in report["not_recorded"]}
    if set(brief["not_recorded"]) != missing:
        yield f"not recorded: {set(brief['not_recorded']) ^ missing}"
    worth = [finding for finding in brief["findings"] if not finding.get("is_minor") and "same_time_as" not in finding]
    if brief["outcome"] == "no problem found" and (worth or "operations" in missing or not brief["data"]["complete"]):
        yield "no problem found, where there is one or nobody knows"
    yield from explanation_problems(path, brief)


def explanation_problems(path, brief):
    for finding in brief["findings"]:
        explanation = support.ask("explain", path, finding["evidence"], "--format", "json")
        if explanation["answer"] != "found" or not explanation["message"].startswith(finding["message"].removesuffix("...")):
            yield f"{finding['evidence']} is explained as {explanation['answer']}: {explanation.get('message')}"
        size = len(json.dumps(explanation))
        if size > 12000:
            yield f"the explanation of {finding['evidence']} has {size} bytes"
        if "check" in explanation:
            words = shlex.split(explanation["check"]["command"])
            done = support.run("query", path, *words[3:], "--format", "json")
            if done.returncode not in (0, support.CANNOT_TELL) or words[:2] != ["gprof-cli", "query"]:
                yield f"{explanation['check']['command']} ended with {done.returncode}: {done.stderr}"


class Brief(unittest.TestCase):
    def test_of_all_captures(self):
        self.assertGreater(len(support.CAPTURES), 60)
        self.assertEqual(for_all(support.CAPTURES, brief_problems), [])

    def test_cannot_tell_is_not_no_problem(self):
        brief = support.ask("report", support.SOURCE / "tests/data/nvtx_cpu.trace", "--format", "brief")
        # It has a finding about its steps; of the GPU nobody can tell.
        self.assertEqual((brief["outcome"], brief["time"]["gpu"]), ("findings", None))
        self.assertIn("operations", brief["not_recorded"])

    def test_what_was_not_recorded_has_no_cause(self):
        trace = support.SOURCE / "tests/data/starved_loader.trace"
        brief = support.ask("report", trace, "--format", "brief")
        self.assertIn("os_calls", brief["not_recorded"])
        self.assertNotIn("os", brief["time"]["gpu"]["idle_ns_by_cause"])
        self.assertEqual(support.ask("explain", trace, "os_calls", "--format", "json")["answer"], "not recorded")
        self.assertEqual(support.ask("explain", trace, "os.lock", "--format", "json")["answer"], "cannot tell")


def totals(path):
    report = support.ask("report", path, "--format", "json")
    return {metric["id"]: metric["value"] for metric in report["metrics"] if metric["scope"] == ""}


def value(path, sql):
    done = support.run("query", path, sql, "--format", "json")
    return None if done.returncode == support.CANNOT_TELL else json.loads(done.stdout)["rows"][0][0] or 0


def sum_problems(path):
    figures = totals(path)
    for metric, sql in (("kernels.count", "SELECT count(*) FROM kernel"), ("kernels.total_ns", "SELECT sum(duration_ns) FROM kernel"),
                        ("gpu.idle_ns", "SELECT sum(duration_ns) FROM gpu_gap"),
                        ("memcpy.h2d_bytes", "SELECT sum(size_bytes) FROM memcpy WHERE direction = 'host to device'")):
        found = value(path, sql)
        if metric in figures and found is not None and found != figures[metric]:
            yield f"{metric} is {figures[metric]} in the report and {found} by {sql}"


class Query(unittest.TestCase):
    TRACE = support.SOURCE / "tests" / "data" / "starved_loader.trace"

    def test_sums_are_those_of_the_report(self):
        self.assertEqual(for_all(OURS, sum_problems), [])
        self.assertGreater(value(self.TRACE, "SELECT sum(duration_ns) FROM gpu_gap"), 1_000_000)

    def test_writes_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "run.trace"
            trace.write_bytes(self.TRACE.read_bytes())
            for sql in ("DELETE FROM kernel", "ATTACH 'made.db' AS made", "VACUUM INTO 'made.db'", "PRAGMA journal_mode = WAL",
                        "CREATE TABLE made (a)", "SELECT load_extension('./made.so')", "SELECT 1; DELETE FROM kernel"):
                done = support.run("query", trace, sql, folder=folder)
                self.assertEqual((done.returncode, done.stdout), (2, ""), sql)
                self.assertRegex(done.stderr, r"^gprof-cli: .*\n")
            self.assertEqual([path.name for path in pathlib.Path(folder).iterdir()], ["run.trace"])
            self.assertEqual(trace.read_bytes(), self.TRACE.read_bytes())

    def test_ends(self):
        forever = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c"
        done = support.run("query", self.TRACE, forever, "--time-limit", "1")
        self.assertEqual((done.returncode, done.stdout), (support.CANNOT_TELL, ""))
        self.assertIn("longer than 1 s", done.stderr)

    def test_rows_are_bounded(self):
        answer = support.ask("query", self.TRACE, "SELECT start_ns FROM kernel", "--format", "json", "--most", "7")
        self.assertEqual((len(answer["rows"]), answer["has_more"]), (7, True))
        answer = support.ask("query", self.TRACE, "SELECT start_ns FROM kernel", "--format", "json", "--most", "1000")
        self.assertEqual((len(answer["rows"]), answer["has_more"]), (320, False))

    def test_a_table_that_was_not_recorded_is_not_empty(self):
        done = support.run("query", self.TRACE, "SELECT count(*) FROM os_call")
        self.assertEqual((done.returncode, done.stdout), (support.CANNOT_TELL, ""))
        self.assertIn("not recorded", done.stderr)

    def test_the_examples_of_the_schema_work(self):
        schema = support.ask("query", self.TRACE, "--schema", "--format", "json")
        self.assertIn("report_gaps", [table["name"] for table in schema["tables"]])
        self.assertGreater(len(schema["examples"]), 3)
        for example in schema["examples"]:
            self.assertTrue(support.ask("query", self.TRACE, example["sql"], "--format", "json")["rows"], example)

    def test_tables_have_the_columns_of_the_schema(self):
        for table in support.ask("query", "--schema", "--format", "json")["tables"]:
            columns = ", ".join(f'"{column}"' for column in table["columns"])
            done = support.run("query", self.TRACE, f'SELECT {columns} FROM "{table["name"]}"', "--format", "csv")
            self.assertIn(done.returncode, (0, support.CANNOT_TELL), done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
