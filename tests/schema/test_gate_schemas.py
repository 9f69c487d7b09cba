"""Verdicts and baselines in JSON, and budgets, are what docs/schema says, and the schemas know what is none."""

import copy
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import json_schema

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", SOURCE / "build" / "release"))
COMMAND = BUILD.resolve() / "bin" / "gprof-cli"
DATA = SOURCE / "tests" / "data"
TRACES = [DATA / name for name in ("normalise_v1.trace", "normalise_v2.trace", "captures.trace", "nvtx_cpu.trace",
                                   "starved_loader.trace", "memory.trace")]
# Of budgets, everything that is not in a text.
COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.S)


def schema_of(name):
    return json.loads((SOURCE / "docs" / "schema" / f"{name}.schema.json").read_text(encoding="utf-8"))


def problems(value, name, is_strict=True):
    return list(json_schema.problems(value, schema_of(name), is_strict))


def without_comments(text):
    return COMMENT.sub(lambda match: match.group(1) or "", text)


def run(*words, codes=(0,), folder=None):
    done = subprocess.run([str(word) for word in (COMMAND, *words)], capture_output=True, stdin=subprocess.DEVNULL,
                          timeout=240, check=False, cwd=folder)
    if done.returncode not in codes:
        raise RuntimeError(f"{words} ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode("utf-8")


class Gates(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gprof-schema-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def save(self, *traces):
        run("baseline", "save", "main", *traces, "--dir", self.folder, "--by", "ann", "-f")
        return json.loads((self.folder / "main.json").read_text(encoding="utf-8"))


class Histories(Gates):
    def test_of_a_baseline_that_was_accepted_again(self):
        self.save(DATA / "gates/v3.json")
        for name in ("v3", "v3", "v3", "v3_bug", "v3_bug", "v3_bug", "v3_bug"):
            run("baseline", "accept", "main", DATA / f"gates/{name}.json", "--dir", self.folder, "--by", "ann", "--reason", name)
        words = ("baseline", "history", "main", "--dir", self.folder)
        document = json.loads(run(*words, "--format", "json"))
        self.assertEqual(problems(document, "history"), [])
        window, = (figure for figure in document["figures"] if figure["id"] == "gpu.window_ns")
        self.assertEqual(window["change_point"]["point"], 4)
        self.assertEqual(window["text"], "change +56.5% at 5 (worse)")
        self.assertEqual(len(document["points"]), 8)
        page = run(*words, "--format", "html", "--figure", "gpu.window_ns")
        self.assertEqual((page.count("<svg"), page.count("<circle"), page.count('class="step"')), (1, 8, 1))
        self.assertNotRegex(page, "<script|https?:|url\\(")


class Verdicts(Gates):
    RULES = ["--fail-if", "kernels.count > 1", "--warn-if", "gpu.idle_percent@gpu* > 1", "--fail-if",
             "memory.peak_bytes > 1GB", "--fail-if", "api.errors > 0"]

    def test_of_recorded_traces(self):
        for trace in TRACES:
            with self.subTest(trace=trace.name):
                verdict = json.loads(run("check", trace, *self.RULES, "--format", "json", codes=(0, 1, 4)))
                self.assertEqual(problems(verdict, "check"), [])
                self.assertEqual(len(verdict["rules"]),
                                 sum(verdict[key] for key in ("passed", "warned", "failed", "inconclusive")))

    def test_against_a_baseline(self):
        self.save(TRACES[0])
        verdict = json.loads(run("check", TRACES[0], TRACES[1], "--baseline", self.folder / "main.json", "--fail-if",
                                 "run.wall_ns > baseline + 5%", "--fail-if", "kernels.count > baseline", "--format",
                                 "json", codes=(0, 1, 4)))
        self.assertEqual(problems(verdict, "check"), [])
        self.assertEqual(verdict["baseline_runs"], 1)

    def test_the_schema_refuses_what_is_none(self):
        good = json.loads(run("check", TRACES[0], *self.RULES, "--format", "json", codes=(1, 4)))
        for path in (["schema", "gprof.check/2"], ["verdict", "good"], ["exit_code", 2], ["rules", 0, "unit", "ms"],
                     ["rules", 0, "value", "1"], ["rules", 0, "metric", "Idle"], ["failed", -1], ["notes", "text"]):
            with self.subTest(path=path):
                bad = copy.deepcopy(good)
                place = bad
                for step in path[:-2]:
                    place = place[step]
                place[path[-2]] = path[-1]
                self.assertEqual(len(problems(bad, "check")), 1)
        for key in good:
            self.assertEqual(problems({name: value for name, value in good.items() if name != key}, "check"),
                             [f"$: has no {key}"])


class Baselines(Gates):
    def test_of_recorded_traces(self):
        for trace in TRACES:
            with self.subTest(trace=trace.name):
                self.assertEqual(problems(self.save(trace), "baseline"), [])
        self.assertEqual(problems(self.save(*TRACES[:2]), "baseline"), [])

    def test_with_a_history(self):
        self.save(TRACES[0])
        run("baseline", "accept", "main", TRACES[1], "--reason", "faster", "--dir", self.folder)
        baseline = json.loads((self.folder / "main.json").read_text(encoding="utf-8"))
        self.assertEqual(problems(baseline, "baseline"), [])
        self.assertEqual([change["runs"] for change in baseline["history"]], [1])

    def test_the_schema_refuses_what_is_none(self):
        good = self.save(TRACES[0])
        for change in (lambda b: b.pop("runs"), lambda b: b["made"].update(time="yesterday"),
                       lambda b: b["runs"][0].update(complete="yes"), lambda b: b["metrics"].update({"a.b": 5})):
            bad = copy.deepcopy(good)
            change(bad)
            self.assertEqual(len(problems(bad, "baseline")), 1)


class Budgets(Gates):
    """What the schema takes, the program takes, and the other way round."""

    GOOD = '{"$schema": "x", "schema": "gprof.budget/1", "name": "n", "step": "s", "rules": {"kernels.count": 1200}}'

    def is_taken(self, budget):
        (self.folder / "perf.json").write_text(budget, encoding="utf-8")
        done = subprocess.run([str(COMMAND), "check", str(TRACES[0]), "--budget", str(self.folder / "perf.json"),
                               "--baseline", str(TRACES[0])], capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=240, check=False)
        self.assertIn(done.returncode, (0, 1, 2, 4), done.stderr)
        return done.returncode != 2

    def test_that_init_writes(self):
        for words in ((TRACES[0],), TRACES[:2], (TRACES[4],), (TRACES[0], "--baseline", TRACES[1])):
            text = run("check", *words, "--init", "-")
            self.assertEqual(problems(json.loads(without_comments(text)), "budget"), [])
            self.assertTrue(self.is_taken(text))

    def test_of_every_form(self):
        for rule in ('0', '"5"', '{"max": 5, "warn": 4}', '{"min": 1, "severity": "warn", "reason": "r"}',
                     '{"equals": 5, "allow_missing": true}', '{"max_increase": "5%", "and": 5}', '{"warn": 5}',
                     '[{"max": 5}, {"max_decrease": 3}]'):
            with self.subTest(rule=rule):
                budget = self.GOOD.replace("1200", rule)
                self.assertEqual(problems(json.loads(budget), "budget"), [])
                self.assertTrue(self.is_taken(budget))

    def test_that_are_none(self):
        for bad in ('{"maxx": 5}', 'null', 'true', '{"max": true}', '{"severity": "fatal", "max": 5}',
                    '{"max": 5, "reason": 5}', '[[null]]', '{"max": 5, "allow_missing": "yes"}'):
            with self.subTest(rule=bad):
                budget = self.GOOD.replace("1200", bad)
                self.assertNotEqual(problems(json.loads(budget), "budget"), [])
                self.assertFalse(self.is_taken(budget))
        for bad in ('{"rule": {}}', '{"schema": "gprof.budget/2", "rules": {"kernels.count": 1}}', '[]', '{}',
                    '{"rules": []}', '{"rules": {"kernels.count": 1}, "baseline": 5}'):
            with self.subTest(budget=bad):
                self.assertNotEqual(problems(json.loads(bad), "budget"), [])
                self.assertFalse(self.is_taken(bad))

    def test_that_stand_in_the_docs(self):
        page = (SOURCE / "docs" / "commands" / "check.md").read_text(encoding="utf-8")
        shown = [text for text in re.findall(r"```jsonc\n(.*?)```", page, re.S) if '"rules"' in text]
        self.assertTrue(shown)
        for text in shown:
            self.assertEqual(problems(json.loads(without_comments(text)), "budget"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
