"""What CI systems include: the action of GitHub, the component of GitLab, the step of Jenkins. They are well-formed, and their
scripts do what they promise in an environment made up here: doubles of curl and gh, and of gprof-cli where a GPU is needed.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import gate

ACTION = gate.SOURCE / ".github/actions/gprof-cli"
EXAMPLES = gate.SOURCE / "examples/ci"
GOOD, BAD, NO_GPU = (gate.TRACES / f"{name}.trace" for name in ("normalise_v3_streams", "normalise_v3_bug", "nvtx_cpu"))

RECORDER = """#!{python}
import json, os, pathlib, shutil, subprocess, sys
words = sys.argv[1:]
if words[0] != "profile":
    os.execv({command!r}, [{command!r}, *words])
code = subprocess.run(words[words.index("--") + 1:]).returncode
if code:
    sys.exit(code)
runs, stem, made = int(words[words.index("--repeat") + 1]), words[words.index("-o") + 1].removesuffix(".trace"), []
for number in range(1, runs + 1):
    shutil.copy(os.environ["DOUBLE_TRACE"], f"{{stem}}-{{number}}.trace")
    made.append({{"trace": pathlib.Path(f"{{stem}}-{{number}}.trace").name, "warm_up": False, "number": number, "order": number,
                 "outcome": "good", "exit_code": 0, "signal": 0, "start_unix_ns": 1, "wall_ns": 100000000}})
document = {{"schema": "gprof.runs/1", "gprof_cli": "0", "label": "", "counterpart": None, "command": ["app"],
            "planned_runs": runs, "planned_warm_ups": 0, "runs": made}}
pathlib.Path(stem + ".runs.json").write_text(json.dumps(document))
"""
# Comments are kept in a file; --jq is answered as the expression of comment.sh asks.
GH = """#!{python}
import json, os, pathlib, sys
words, store = sys.argv[1:], pathlib.Path(os.environ["DOUBLE_COMMENTS"])
comments = json.loads(store.read_text()) if store.is_file() else []
assert words[0] == "api", words
if words[1] == "graphql":
    print("github-actions")
    sys.exit(0)
if "--method" not in words:
    asked = words[words.index("--jq") + 1]
    ours = [c for c in comments if c["body"].startswith(os.environ["MARKER"])]
    assert "startswith(env.MARKER)" in asked, words
    if '.user.login == env.AUTHOR + "[bot]"' in asked:
        ours = [c for c in ours if c["user"]["login"] in (os.environ["AUTHOR"], os.environ["AUTHOR"] + "[bot]")]
    print("\\n".join(str(c["id"]) for c in ours))
    sys.exit(0)
method, target = words[2], words[3]
body = pathlib.Path(words[words.index("-F") + 1].removeprefix("body=@")).read_text()
if method == "POST":
    assert target == "repos/me/app/issues/7/comments", target
    comments.append({{"id": 100 + len(comments), "body": body, "user": {{"login": "github-actions[bot]"}}}})
else:
    number = int(target.removeprefix("repos/me/app/issues/comments/"))
    next(c for c in comments if c["id"] == number)["body"] = body
store.write_text(json.dumps(comments))
"""
CURL = """#!{python}
import os, pathlib, shutil, sys
source = pathlib.Path(os.environ["DOUBLE_SITE"]) / sys.argv[-1].removeprefix("https://example.invalid/releases/")
if not source.is_file():
    sys.exit(22)
shutil.copy(source, sys.argv[sys.argv.index("-o") + 1])
"""


def load_yaml(path):
    try:
        import yaml
    except ImportError:
        raise unittest.SkipTest("python has no yaml") from None
    documents = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    return documents[0] if len(documents) == 1 else documents


class Kit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gprof-kit-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        (self.folder / "ci").mkdir()
        shutil.copy(EXAMPLES / "perf-budget.json", self.folder / "ci")
        for name, text in (("gprof-cli", RECORDER), ("gh", GH), ("curl", CURL)):
            path = self.bin / name
            path.write_text(text.format(python=sys.executable, command=str(gate.COMMAND)), encoding="utf-8")
            path.chmod(0o755)

    def bash(self, *words, **variables):
        path = f"{self.bin}:{os.environ.get('PATH', '/usr/bin:/bin')}"
        environment = gate.environment(PATH=path)
        environment.update(variables)  # some begin with GPROF_, which environment() takes out
        return subprocess.run(["bash", *map(str, words)], capture_output=True, text=True, errors="replace", cwd=self.folder,
                              stdin=subprocess.DEVNULL, timeout=gate.TIME_LIMIT_S, env=environment)


class Action(Kit):
    def setUp(self):
        super().setUp()
        self.files = {name: self.folder / name for name in ("outputs", "summary.md", "path", "comments.json")}

    def step(self, script, **more):
        return self.bash(ACTION / script, GITHUB_OUTPUT=str(self.files["outputs"]), GITHUB_PATH=str(self.files["path"]),
                         GITHUB_STEP_SUMMARY=str(self.files["summary.md"]), GITHUB_WORKSPACE=str(self.folder),
                         GITHUB_ACTIONS="true", RUNNER_TEMP=str(self.folder), **more)

    def gate(self, trace, program="true", **more):
        for file in self.files.values():
            if file.suffix != ".json":
                file.unlink(missing_ok=True)
        done = self.step("gate.sh", DOUBLE_TRACE=str(trace), GPROF_ACTION_RUN=program, GPROF_ACTION_WARMUP="1",
                         **{"GPROF_ACTION_BUDGET": "ci/perf-budget.json", "GPROF_ACTION_BASELINE": "", "GPROF_ACTION_REPEAT": "3",
                            **more})
        self.assertEqual(done.returncode, 0, done.stderr)
        outputs = dict(line.split("=", 1) for line in self.files["outputs"].read_text().splitlines())
        return outputs, done

    def test_is_well_formed(self):
        action = load_yaml(ACTION / "action.yml")
        self.assertLessEqual({"name", "description", "inputs", "outputs", "runs"}, set(action))
        self.assertEqual(action["runs"]["using"], "composite")
        for name, given in action["inputs"].items():
            self.assertIn("description", given, name)
            self.assertEqual(given.get("required", False), "default" not in given, name)
        steps = action["runs"]["steps"]
        ids = {step["id"] for step in steps if "id" in step}
        for step in steps:
            self.assertEqual(len({"run", "uses"} & set(step)), 1, step)
            self.assertEqual("shell" in step, "run" in step, "GitHub wants a shell for each run of an action")
        text = (ACTION / "action.yml").read_text(encoding="utf-8")
        self.assertEqual(set(re.findall(r"inputs\.([\w-]+)", text)), set(action["inputs"]))
        self.assertLessEqual(set(re.findall(r"steps\.([\w-]+)\.", text)), ids)
        # What a pull request can choose is no part of a script: it comes through the environment.
        for step in steps:
            self.assertNotIn("${{", step.get("run", ""))

    def test_every_variable_is_given_and_used(self):
        steps = load_yaml(ACTION / "action.yml")["runs"]["steps"]
        for step in (step for step in steps if "run" in step):
            script = (ACTION / re.search(r"([\w]+\.sh)", step["run"]).group(1)).read_text(encoding="utf-8")
            self.assertEqual(set(re.findall(r"GPROF_ACTION_\w+", script)),
                             {name for name in step["env"] if name.startswith("GPROF_ACTION_")}, step["name"])

    def test_scripts_are_sound(self):
        if not shutil.which("shellcheck"):
            self.skipTest("shellcheck is not installed")
        done = subprocess.run(["shellcheck", *map(str, sorted(ACTION.glob("*.sh")))], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_judges_annotates_and_keeps_the_page_of_what_failed(self):
        for trace, verdict, code in ((GOOD, "pass", "0"), (BAD, "fail", "1"), (NO_GPU, "inconclusive", "4")):
            with self.subTest(trace=trace.name):
                outputs, done = self.gate(trace)
                self.assertEqual(outputs, {"verdict": verdict, "exit-code": code})
                kept = {path.name for path in (self.folder / "gprof-ci").iterdir()}
                self.assertLessEqual({"perf-1.trace", "perf.runs.json", "perf.xml", "perf.md", "perf.prom"}, kept)
                self.assertEqual("perf.html" in kept, verdict != "pass")
                self.assertEqual("::error file=ci/perf-budget.json" in done.stderr, verdict != "pass")
                heading = {"pass": "PASS", "fail": "FAIL", "inconclusive": "INCONCLUSIVE"}[verdict]
                self.assertTrue(self.files["summary.md"].read_text(encoding="utf-8").startswith(f"## {heading}"))

    def test_a_program_that_fails_is_no_pass(self):
        outputs, done = self.gate(GOOD, program="exit 7")
        self.assertEqual(outputs, {"verdict": "error", "exit-code": "7"})
        self.assertIn("::error", done.stdout)
        self.assertEqual(self.step("verdict.sh", GPROF_ACTION_CODE="7", GPROF_ACTION_INCONCLUSIVE="warn").returncode, 7)

    def test_the_program_is_given_as_to_a_shell(self):
        self.gate(GOOD, program="printf '%s|' \"two words\" $HOME > said")
        self.assertEqual((self.folder / "said").read_text().split("|")[0], "two words")

    def test_takes_a_baseline(self):
        budget = self.folder / "ci/increase.json"
        budget.write_text('{"schema": "gprof.budget/1", "rules": {"kernels.count": {"max_increase": 0}}}')
        done = gate.run(gate.COMMAND, "baseline", "save", "main", GOOD, "--by", "ann", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        outputs, _ = self.gate(GOOD, GPROF_ACTION_BUDGET=str(budget), GPROF_ACTION_BASELINE="main")
        self.assertEqual(outputs["verdict"], "pass")
        outputs, _ = self.gate(GOOD, GPROF_ACTION_BUDGET=str(budget))
        self.assertEqual(outputs, {"verdict": "error", "exit-code": "2"})

    def test_ends_as_the_check_did(self):
        for code, inconclusive, ends in (("0", "fail", 0), ("1", "warn", 1), ("4", "fail", 4), ("4", "warn", 0), ("3", "warn", 3)):
            done = self.step("verdict.sh", GPROF_ACTION_CODE=code, GPROF_ACTION_INCONCLUSIVE=inconclusive)
            self.assertEqual(done.returncode, ends)
            self.assertEqual("NOT JUDGED" in done.stdout, (code, ends) == ("4", 0))

    def comment(self, name="gpu-performance"):
        done = self.step("comment.sh", DOUBLE_COMMENTS=str(self.files["comments.json"]), GPROF_ACTION_PULL="7",
                         GPROF_ACTION_NAME=name, GITHUB_REPOSITORY="me/app", GITHUB_SERVER_URL="https://example.invalid",
                         GITHUB_RUN_ID="1")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(self.files["comments.json"].read_text())

    def test_there_is_one_comment_whatever_the_number_of_runs(self):
        self.files["comments.json"].write_text(json.dumps([
            {"id": 1, "body": "looks good to me", "user": {"login": "me"}},
            {"id": 2, "body": "<!-- gprof-cli: gpu-performance --> nothing to see here", "user": {"login": "somebody"}}]))
        self.gate(BAD)
        self.assertIn("## FAIL", self.comment()[2]["body"])
        self.gate(GOOD)
        comments = self.comment()
        self.assertEqual([comment["id"] for comment in comments], [1, 2, 102])
        self.assertIn("nothing to see here", comments[1]["body"])
        self.assertIn("## PASS", comments[2]["body"])
        self.assertNotIn("FAIL", comments[2]["body"])
        self.assertEqual(len(self.comment("another-gate")), 4)

    def release(self, spoiled=False):
        """A site with version 0.2.0, whose command is a script."""
        site = self.folder / "site/v0.2.0"
        site.mkdir(parents=True)
        name = f"gprof-cli-0.2.0-Linux-{os.uname().machine}.tar.gz"
        program = self.folder / "gprof-cli-0.2.0-Linux/bin/gprof-cli"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\necho gprof-cli 0.2.0\n")
        program.chmod(0o755)
        with tarfile.open(site / name, "w:gz") as archive:
            archive.add(self.folder / "gprof-cli-0.2.0-Linux", "gprof-cli-0.2.0-Linux")
        digest = hashlib.sha256((site / name).read_bytes()).hexdigest()
        (site / "SHA256SUMS").write_text(f"{'0' * 64}  other.deb\n{digest}  {name}\n")
        if spoiled:
            (site / name).write_bytes(b"something else")
        return digest

    def install(self, **more):
        return self.step("install.sh", DOUBLE_SITE=str(self.folder / "site"),
                         **{"GPROF_ACTION_VERSION": "0.2.0", "GPROF_ACTION_URL": "https://example.invalid/releases",
                            "GPROF_ACTION_SHA256": "", **more})

    def test_installs_the_version_that_was_released(self):
        digest = self.release()
        for sha256 in ("", digest):
            done = self.install(GPROF_ACTION_SHA256=sha256)
            self.assertEqual((done.returncode, done.stdout.strip()), (0, "gprof-cli 0.2.0"), done.stderr)
        folder = pathlib.Path(self.files["path"].read_text().splitlines()[0])
        self.assertTrue((folder / "gprof-cli").is_file())

    def test_installs_nothing_else(self):
        self.release(spoiled=True)
        for more in ({}, {"GPROF_ACTION_SHA256": "1" * 64}, {"GPROF_ACTION_VERSION": "0.9.9"}, {"GPROF_ACTION_VERSION": "../x"}):
            with self.subTest(**more):
                done = self.install(**more)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn("::error title=gprof-cli::", done.stdout)
                self.assertFalse(self.files["path"].exists())

    def test_takes_the_command_of_the_runner(self):
        done = self.install(GPROF_ACTION_VERSION="none")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("gprof-cli ", done.stdout)


class GitlabComponent(Kit):
    def setUp(self):
        super().setUp()
        self.spec, jobs = load_yaml(EXAMPLES / "gitlab-component.yml")
        (self.name, self.job), = jobs.items()
        self.inputs = self.spec["spec"]["inputs"]

    def filled(self, text, **given):
        values = {name: str((settings or {}).get("default", "")) for name, settings in self.inputs.items()} | given
        return re.sub(r"\$\[\[ inputs\.([\w-]+) \]\]", lambda match: values[match.group(1)], text)

    def test_is_well_formed(self):
        text = (EXAMPLES / "gitlab-component.yml").read_text(encoding="utf-8")
        self.assertEqual(set(re.findall(r"\$\[\[ inputs\.([\w-]+) \]\]", text)), set(self.inputs))
        self.assertEqual({name for name, settings in self.inputs.items() if "default" not in settings}, {"run", "budget"})
        self.assertEqual(set(self.job["artifacts"]["reports"]), {"junit", "codequality", "metrics"})
        self.assertEqual(self.job["allow_failure"], {"exit_codes": [4]})
        for line in self.job["script"]:
            self.assertNotIn("$[[", line, "an input in a script is a way to put commands into it")

    def test_judges(self):
        for trace, code in ((GOOD, 0), (BAD, 1), (NO_GPU, 4)):
            with self.subTest(trace=trace.name):
                variables = {name: self.filled(text, run="test 1 = 1", budget="ci/perf-budget.json")
                             for name, text in self.job["variables"].items()}
                done = self.bash("-eo", "pipefail", "-c", "\n".join(self.job["script"]), DOUBLE_TRACE=str(trace), **variables)
                self.assertEqual(done.returncode, code, done.stderr)
                patterns = [*self.job["artifacts"]["paths"], *self.job["artifacts"]["reports"].values()]
                missing = {pattern for pattern in patterns if not list(self.folder.glob(pattern))}
                self.assertEqual(missing, {"perf.html"} if code == 0 else set())
                for path in self.folder.glob("perf*"):
                    path.unlink()


class JenkinsStep(Kit):
    def setUp(self):
        super().setUp()
        self.text = (EXAMPLES / "vars/gprofGate.groovy").read_text(encoding="utf-8")
        self.scripts = re.findall(r"'''\n(.*?)'''", self.text, re.S)

    def test_brackets_and_quotes_come_in_pairs(self):
        code = re.sub(r"(?m)^ *//.*$", "", self.text)
        code = re.sub(r"'''.*?'''|'[^'\n]*'|\"[^\"\n]*\"", "", code, flags=re.S)
        self.assertNotRegex(code, "['\"]")
        for pair in ("()", "[]", "{}"):
            self.assertEqual(code.count(pair[0]), code.count(pair[1]))
        # What a job can choose is no part of a script: it comes through the environment.
        for script in self.scripts:
            self.assertNotIn("${with", script)
        self.assertEqual(set(re.findall(r"GPROF_\w+", "".join(self.scripts))), set(re.findall(r'"(GPROF_\w+)=', self.text)))

    def test_judges(self):
        self.assertEqual(len(self.scripts), 3)
        given = {"GPROF_RUN": "true", "GPROF_BUDGET": "ci/perf-budget.json", "GPROF_BASELINE": "", "GPROF_REPEAT": "2", "GPROF_WARMUP": "1"}
        for trace, code in ((GOOD, 0), (BAD, 1), (NO_GPU, 4)):
            with self.subTest(trace=trace.name):
                self.assertEqual(self.bash("-ec", self.scripts[0], DOUBLE_TRACE=str(trace), **given).returncode, 0)
                self.assertEqual(self.bash("-ec", self.scripts[1], DOUBLE_TRACE=str(trace), **given).returncode, code)
                self.assertEqual(self.bash("-ec", self.scripts[2], DOUBLE_TRACE=str(trace), **given).returncode, 0)
                self.assertTrue((self.folder / "perf.html").is_file())
                self.assertTrue((self.folder / "perf.prom").is_file())


if __name__ == "__main__":
    unittest.main()
