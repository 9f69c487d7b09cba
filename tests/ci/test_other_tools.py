"""What CI systems and clusters are given, read by their own tools: the parser of Prometheus, schemas of GitHub, GitLab and Kubernetes,
the linter of GitHub's workflows, the compiler of Groovy. Each test is skipped where its tool cannot be had.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import gate

sys.path.insert(0, str(gate.SOURCE / "tests/export"))
import packages

TRACE = gate.TRACES / "normalise_v3_bug.trace"
EXAMPLES = gate.SOURCE / "examples/ci"
WORKFLOWS = gate.SOURCE / ".github/workflows"
# Prints the samples of a file as both of Prometheus' formats know them.
READ_METRICS = """
import json, sys
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics
text = open(sys.argv[1], encoding="utf-8").read()
for reader in (parser, openmetrics):
    families = list(reader.text_string_to_metric_families(text))
    assert all(family.documentation for family in families), families
    print(json.dumps([[sample.name, sample.labels, sample.value] for family in families for sample in family.samples]))
"""
PARSE_GROOVY = """
def unit = new org.codehaus.groovy.control.CompilationUnit()
args.each { unit.addSource(new File(it)) }
unit.compile(org.codehaus.groovy.control.Phases.CONVERSION)
"""


def blocks(page, language):
    text = (gate.SOURCE / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.S | re.M)


class OtherTools(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gprof-tools-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def package(self, name):
        python, why = packages.python_with(name)
        if python is None:
            self.skipTest(f"{name}: {why}")
        return python

    def tool(self, name):
        if not shutil.which(name):
            self.skipTest(f"{name} is not installed")
        return name

    def passes(self, *words, **more):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=240,
                              check=False, **more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path


class Prometheus(OtherTools):
    def metrics(self):
        path = self.folder / "gprof.prom"
        done = gate.check(TRACE, "--budget", EXAMPLES / "perf-budget.json", "--fail-if", "kernels.median_ns@kernel:* > 1ms",
                          "--commit", "0123abc", "--format", "json", "--openmetrics", path)
        self.assertEqual(done.returncode, 1, done.stderr)
        return path, json.loads(done.stdout)

    def test_its_parser_reads_every_figure(self):
        path, verdict = self.metrics()
        wanted = sorted(("gprof_" + re.sub(r"\W", "_", rule["metric"]), rule["value"]) for rule in verdict["rules"])
        for line in self.passes(self.package("prometheus-client"), "-c", READ_METRICS, path).splitlines():
            samples = [sample for sample in json.loads(line) if sample[0] != "gprof_check_rules"]
            self.assertEqual({labels["commit"] for _, labels, _ in samples}, {"0123abc"})
            self.assertEqual(sorted(set((name, value) for name, _, value in samples)), sorted(set(wanted)))

    def test_its_linter_has_nothing_to_say_but_about_names(self):
        names = re.compile('"_count" suffix$|should not contain abbreviated units$')
        path, _ = self.metrics()
        said = subprocess.run([self.tool("promtool"), "check", "metrics"], input=path.read_text(), capture_output=True, text=True,
                              timeout=60, check=False).stderr
        self.assertEqual([line for line in said.splitlines() if not names.search(line)], [])


class Kubernetes(OtherTools):
    def validate(self, *paths):
        self.passes(self.package("kubernetes-validate").parent / "kubernetes-validate", "--strict", *paths)

    def test_manifests_of_the_docs_are_what_its_schemas_ask_for(self):
        (pod,), (job,) = blocks("works-with.md", "yaml"), blocks("cluster.md", "yaml")
        pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: app}\n" + pod
        self.validate(self.file("pod.yaml", pod), self.file("job.yaml", job))
        with self.assertRaises(AssertionError):
            self.validate(self.file("bad.yaml", job.replace("completionMode", "completion_mode")))


class Jobs(OtherTools):
    def check_schema(self, name, *paths):
        self.passes(self.package("check-jsonschema").parent / "check-jsonschema", "--builtin-schema", f"vendor.{name}", *paths)

    def test_github_workflows_and_the_action_follow_their_schemas(self):
        self.check_schema("github-workflows", *sorted(WORKFLOWS.glob("*.yml")), EXAMPLES / "github.yml")
        self.check_schema("github-actions", gate.SOURCE / ".github/actions/gprof-cli/action.yml")

    def test_gitlab_jobs_follow_their_schema(self):
        # Of the component, the first document declares its inputs, which the schema does not know.
        job = (EXAMPLES / "gitlab-component.yml").read_text(encoding="utf-8").split("\n---\n")[1]
        self.check_schema("gitlab-ci", EXAMPLES / "gitlab.yml", self.file("component.yml", job))

    def test_the_linter_of_workflows_knows_them(self):
        config = self.file("actionlint.yaml", "self-hosted-runner: {labels: [gpu, ubuntu-24.04-arm]}\n")
        self.passes(self.tool("actionlint"), "-config-file", config, *sorted(WORKFLOWS.glob("*.yml")), EXAMPLES / "github.yml")

    def test_groovy_parses_the_steps_of_jenkins(self):
        script = self.file("parse.groovy", PARSE_GROOVY)
        environment = dict(os.environ)
        environment.setdefault("JAVA_HOME", str(pathlib.Path(shutil.which("java") or "/").resolve().parents[1]))
        self.passes(self.tool("groovy"), script, EXAMPLES / "Jenkinsfile", EXAMPLES / "vars/gprofGate.groovy", env=environment)


if __name__ == "__main__":
    unittest.main()
