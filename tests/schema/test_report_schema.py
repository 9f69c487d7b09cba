"""Every report in JSON is what docs/schema/report.schema.json says, and the schema knows what is no report."""

import copy
import json
import os
import pathlib
import subprocess
import unittest

import json_schema

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", SOURCE / "build" / "release"))
COMMAND = BUILD.resolve() / "bin" / "gprof-cli"
SCHEMA = json.loads((SOURCE / "docs" / "schema" / "report.schema.json").read_text(encoding="utf-8"))
TRACES = sorted((SOURCE / "tests" / "data").glob("*.trace"))


def run(*words):
    done = subprocess.run([str(word) for word in (COMMAND, *words)], capture_output=True, stdin=subprocess.DEVNULL,
                          timeout=240, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{words} ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode("utf-8")


def report(*words):
    return json.loads(run("report", "--format", "json", "--tables", *words))


class Reports(unittest.TestCase):
    def check(self, value):
        self.assertEqual(list(json_schema.problems(value, SCHEMA, is_strict=True)), [])

    def test_of_recorded_traces(self):
        self.assertTrue(TRACES)
        for trace in TRACES:
            with self.subTest(trace=trace.name):
                self.check(report(trace, "--rows", "5"))

    def test_of_parts_of_a_trace(self):
        trace = SOURCE / "tests" / "data" / "starved_loader.trace"
        for words in (["--only", "health"], ["--time-range", "207ms:209ms"], ["--time-range", "1ms:2ms"],
                      ["--nvtx", "step/*"], ["--kernel", "Saxpy", "--sort", "total_ns"], ["--min-gap", "100us"]):
            with self.subTest(words=words):
                self.check(report(trace, *words))

    def test_of_several_traces(self):
        merged = report(*TRACES[:3])
        self.check(merged)
        self.assertEqual([trace["path"] for trace in merged["traces"]], [str(trace) for trace in TRACES[:3]])
        self.assertNotIn("traces", report(TRACES[0]))

    def test_without_tables_it_says_how_many_there_are(self):
        whole, plain = report(TRACES[0]), json.loads(run("report", "--format", "json", TRACES[0]))
        self.check(plain)
        self.assertEqual(plain.pop("tables_left_out"), len(whole.pop("tables")))
        self.assertEqual(plain, whole)

    def test_findings_alone_are_those_of_all_analyses(self):
        whole, alone = report(TRACES[0]), json.loads(run("report", "--format", "json", "--only", "findings", TRACES[0]))
        self.check(alone)
        self.assertEqual(alone["findings"], whole["findings"])
        self.assertFalse({"metrics", "tables", "tables_left_out"} & alone.keys())

    def test_rows_have_the_columns_of_their_table(self):
        for table in report(TRACES[0])["tables"]:
            keys = {column["key"] for column in table["columns"]}
            for row in table["rows"]:
                self.assertEqual(set(row), keys, table["id"])

    def test_twice_the_same(self):
        self.assertEqual(run("report", "--format", "json", TRACES[0]), run("report", "--format", "json", TRACES[0]))


class Schema(unittest.TestCase):
    """A schema that takes everything would say nothing."""

    def setUp(self):
        self.report = report(SOURCE / "tests" / "data" / "starved_loader.trace", "--rows", "2")

    def refused(self, change, is_strict=False):
        changed = copy.deepcopy(self.report)
        change(changed)
        return list(json_schema.problems(changed, SCHEMA, is_strict))

    def test_takes_the_report(self):
        self.assertEqual(self.refused(lambda r: None), [])

    def test_every_key_is_needed(self):
        for key in self.report.keys() - {"metrics", "tables"}:  # which --only findings leaves out
            self.assertEqual(self.refused(lambda r, key=key: r.pop(key)), [f"$: has no {key}"])

    def test_refuses_what_is_no_report(self):
        def set_in(*path):
            def change(r):
                for step in path[:-2]:
                    r = r[step]
                r[path[-2]] = path[-1]
            return change

        for path in (["schema", "gprof.report/2"], ["trace", "records", "many"], ["trace", "records", -1],
                     ["health", "complete", 1], ["findings", 0, "severity", "fatal"], ["findings", 0, "gain_ns", 1.5],
                     ["metrics", 0, "unit", "ms"], ["metrics", 0, "id", "Idle"], ["tables", 0, "columns", 0, "key", ""],
                     ["tables", 0, "rows", 0, "device", ["gpu0"]], ["devices", 0, "compute_capability", "9"],
                     ["processes", 0, "end", "vanished"], ["processes", 0, "rank", "0"]):
            with self.subTest(path=path):
                self.assertEqual(len(self.refused(set_in(*path))), 1)

    def test_new_keys_are_borne_by_readers_but_must_be_in_the_schema(self):
        def add(r):
            r["health"]["brand_new"] = 1

        self.assertEqual(self.refused(add), [])
        self.assertEqual(self.refused(add, is_strict=True), ["$.health: the schema does not name brand_new"])

    def test_the_validator_knows_every_keyword(self):
        with self.assertRaises(ValueError):
            list(json_schema.problems(1, {"maximum": 3}))


if __name__ == "__main__":
    unittest.main(verbosity=2)
