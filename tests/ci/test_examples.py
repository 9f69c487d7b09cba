"""The examples of jobs: they parse, and their steps do what they promise, without the service and without a GPU.

What needs a GPU is done by a double: a `gprof-cli` that answers `profile`, `compare` and `doctor` with recorded traces and hands
everything else to the real one; `cmake` does nothing.
"""

import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

import gate

EXAMPLES = gate.SOURCE / "examples" / "ci"
GOOD, BAD, NO_GPU = (gate.TRACES / f"{name}.trace" for name in ("normalise_v3_streams", "normalise_v3_bug", "nvtx_cpu"))

DOUBLE = """#!{python}
import json, os, pathlib, shutil, sys
words, trace = sys.argv[1:], os.environ["DOUBLE_TRACE"]
if words[0] == "doctor":
    sys.exit(0)
if words[0] == "compare":
    assert "--" in words and ":::" in words, words
    with open(words[words.index("--summary") + 1], "a") as summary:
        summary.write("## compared\\n")
    sys.exit(int(os.environ.get("DOUBLE_COMPARES", "0")))
if words[0] != "profile":
    os.execv({command!r}, [{command!r}, *words])
assert words[words.index("--") + 1:] == ["./build/app"], words
runs, output = int(words[words.index("--repeat") + 1]), words[words.index("-o") + 1]
stem, made = output.removesuffix(".trace"), []
for number in range(1, runs + 1):
    shutil.copy(trace, f"{{stem}}-{{number}}.trace")
    made.append({{"trace": f"{{stem}}-{{number}}.trace", "warm_up": False, "number": number, "order": number, "outcome": "good",
                 "exit_code": 0, "signal": 0, "start_unix_ns": 1, "wall_ns": 100000000}})
document = {{"schema": "gprof.runs/1", "gprof_cli": "0", "label": "", "counterpart": None, "command": ["./build/app"],
            "planned_runs": runs, "planned_warm_ups": 0, "runs": made}}
pathlib.Path(stem + ".runs.json").write_text(json.dumps(document))
"""


def blocks(text, opening):
    """The lines of indented blocks behind lines that match `opening`, without the indentation of the first of them."""
    found, lines = [], text.splitlines()
    for number, line in enumerate(lines):
        if not re.search(opening, line):
            continue
        block = []
        indent = re.match(" *", lines[number + 1]).group()
        for below in lines[number + 1:]:
            if below.strip() and not below.startswith(indent):
                break
            block.append(below[len(indent):])
        found.append("\n".join(block).rstrip() + "\n")
    return found


class Example(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gprof-ci-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "ci").mkdir()
        shutil.copy(EXAMPLES / "perf-budget.json", self.folder / "ci")
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        self.double("gprof-cli", DOUBLE.format(python=sys.executable, command=str(gate.COMMAND)))
        self.double("cmake", "#!/bin/sh\nexit 0\n")

    def double(self, name, text):
        path = self.bin / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def shell(self, script, trace, **more):
        path = f"{self.bin}:{os.environ.get('PATH', '/usr/bin:/bin')}"
        return gate.run("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script, cwd=self.folder, PATH=path,
                        DOUBLE_TRACE=str(trace), **more)

    def steps(self, scripts, trace, **more):
        """Exit code of the first step that fails, 0 when none does."""
        for script in scripts:
            done = self.shell(script, trace, **more)
            if done.returncode != 0:
                return done.returncode
        return 0

    def yaml(self, name):
        try:
            import yaml
        except ImportError:
            self.skipTest("python has no yaml")
        return yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))


class Github(Example):
    def setUp(self):
        super().setUp()
        self.text = (EXAMPLES / "github.yml").read_text(encoding="utf-8")
        self.scripts = blocks(self.text, r"^ +run: \|$")

    def test_parses_and_runs_what_was_read(self):
        workflow = self.yaml("github.yml")
        jobs = workflow["jobs"]
        self.assertEqual(list(jobs), ["gate", "compare"])
        scripts = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
        self.assertEqual(scripts, self.scripts)
        for job in jobs.values():
            self.assertIn("timeout-minutes", job)
            for step in job["steps"]:
                self.assertEqual(len({"run", "uses"} & set(step)), 1, step)

    def test_the_gate_passes_and_fails_as_the_run_does(self):
        self.assertEqual(len(self.scripts), 5)
        summary = self.folder / "summary.md"
        github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_WORKSPACE": str(self.folder)}
        for trace, code, verdict in ((GOOD, 0, "PASS"), (BAD, 1, "FAIL"), (NO_GPU, 4, "INCONCLUSIVE")):
            with self.subTest(trace=trace.name):
                summary.write_text("", encoding="utf-8")
                self.assertEqual(self.steps(self.scripts[:3], trace, **github), code)
                self.assertTrue(summary.read_text(encoding="utf-8").startswith(f"## {verdict}"))
                self.assertTrue((self.folder / "perf.xml").is_file())

    def test_annotations_stand_at_the_budget(self):
        self.steps(self.scripts[:2], BAD)
        done = self.shell(self.scripts[2], BAD, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(self.folder / "s.md"))
        self.assertIn("::error file=ci/perf-budget.json,line=", done.stderr)

    def test_a_comparison_without_a_verdict_stops_nobody(self):
        summary = self.folder / "summary.md"
        for compares, code in ((0, 0), (1, 1), (4, 0), (125, 125)):
            done = self.shell(self.scripts[4], GOOD, DOUBLE_COMPARES=str(compares), GITHUB_STEP_SUMMARY=str(summary))
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual("::warning" in done.stdout, compares == 4)
        self.assertEqual(summary.read_text(encoding="utf-8").count("## compared"), 4)

    def test_the_files_it_keeps_are_those_that_are_made(self):
        self.steps(self.scripts[:3], GOOD, GITHUB_STEP_SUMMARY=str(self.folder / "s.md"))
        patterns = blocks(self.text, r"^ +path: \|$")[0].split()
        self.assertEqual(len(patterns), 3)
        for pattern in patterns:
            self.assertTrue(list(self.folder.glob(pattern)), pattern)


class Gitlab(Example):
    def setUp(self):
        super().setUp()
        text = (EXAMPLES / "gitlab.yml").read_text(encoding="utf-8")
        script = blocks(text, r"^  script:$")[0]
        self.scripts = [line.removeprefix("- ") for line in script.splitlines()]

    def test_parses_and_runs_what_was_read(self):
        job = self.yaml("gitlab.yml")["gpu-performance"]
        self.assertEqual(job["script"], self.scripts)
        self.assertEqual(job["allow_failure"], {"exit_codes": [4]})
        self.assertEqual(set(job["artifacts"]["reports"]), {"junit", "codequality", "metrics"})

    def test_the_gate_passes_and_fails_as_the_run_does(self):
        self.assertEqual(len(self.scripts), 5)
        gitlab = {"CI_PROJECT_DIR": str(self.folder), "GITLAB_CI": "true"}
        for trace, code in ((GOOD, 0), (BAD, 1), (NO_GPU, 4)):
            with self.subTest(trace=trace.name):
                self.assertEqual(self.steps(self.scripts, trace, **gitlab), code)
                issues = json.loads((self.folder / "perf-quality.json").read_text(encoding="utf-8"))
                self.assertEqual(bool(issues), code != 0)
                self.assertEqual({issue["location"]["path"] for issue in issues} - {"ci/perf-budget.json"}, set())

    def test_the_files_it_keeps_are_those_that_are_made(self):
        self.steps(self.scripts, GOOD)
        artifacts = self.yaml("gitlab.yml")["gpu-performance"]["artifacts"]
        for pattern in [*artifacts["paths"], *artifacts["reports"].values()]:
            self.assertTrue(list(self.folder.glob(pattern)), pattern)


class Jenkins(Example):
    def setUp(self):
        super().setUp()
        self.text = (EXAMPLES / "Jenkinsfile").read_text(encoding="utf-8")
        self.scripts = blocks(self.text, r"(sh|script:) '''$")

    def test_brackets_and_quotes_come_in_pairs(self):
        code = re.sub(r"(?m)^ *//.*$", "", self.text)
        code = re.sub(r"'''.*?'''|'[^'\n]*'|\"[^\"\n]*\"", "", code, flags=re.S)
        self.assertNotRegex(code, "['\"]")
        opened = []
        for c in code:
            if c in "([{":
                opened.append(c)
            elif c in ")]}":
                self.assertEqual(opened.pop() + c, {")": "()", "]": "[]", "}": "{}"}[c])
        self.assertEqual(opened, [])
        for word in ("pipeline", "agent", "stages", "post"):
            self.assertRegex(code, rf"\b{word}\b")

    def test_the_gate_passes_and_fails_as_the_run_does(self):
        self.assertEqual(len(self.scripts), 3)
        for trace, code in ((GOOD, 0), (BAD, 1), (NO_GPU, 4)):
            with self.subTest(trace=trace.name):
                self.assertEqual(self.steps(self.scripts, trace), code)
                self.assertTrue((self.folder / "perf.xml").is_file())


class ShellGate(Example):
    def gate(self, *words, **more):
        path = f"{gate.COMMAND.parent}:{os.environ.get('PATH', '/usr/bin:/bin')}"
        return gate.run("bash", EXAMPLES / "gate.sh", *words, cwd=self.folder, PATH=path, **more)

    def test_passes_and_fails_as_the_traces_do(self):
        for words, code in (((), 0), ((GOOD,), 0), ((BAD,), 1), ((NO_GPU,), 4), (("none.trace",), 3)):
            with self.subTest(words=words):
                done = self.gate(*words, OUT="out")
                self.assertEqual(done.returncode, code, done.stderr)
                for name in ("perf.xml", "perf.md", "perf-quality.json", "perf-metrics.txt"):
                    self.assertTrue((self.folder / "out" / name).is_file(), name)
                shutil.rmtree(self.folder / "out")

    def test_takes_another_budget(self):
        budget = self.folder / "none.json"
        budget.write_text('{"schema": "gprof.budget/1", "rules": {"kernels.count": 0}}', encoding="utf-8")
        self.assertEqual(self.gate(BUDGET=str(budget)).returncode, 1)

    def test_shows_what_changed_where_a_rule_failed(self):
        plain, with_diff = self.gate(BAD), self.gate(BAD, LAST_GOOD=str(GOOD))
        self.assertEqual((plain.returncode, with_diff.returncode), (1, 1))
        self.assertGreater(len(with_diff.stdout), len(plain.stdout) + 500)
        self.assertEqual(self.gate(GOOD, LAST_GOOD=str(GOOD)).stdout.count("PASS"), 1)


if __name__ == "__main__":
    unittest.main()
