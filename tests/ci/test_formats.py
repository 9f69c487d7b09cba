"""The results of a check in the forms of CI systems: valid to those who read them, whatever is in a budget."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml

import gate

SCHEMA = pathlib.Path(__file__).resolve().parent / "junit.xsd"
GOOD, BAD = gate.TRACES / "normalise_v3_streams.trace", gate.TRACES / "normalise_v1.trace"
BUDGET = gate.SOURCE / "examples" / "ci" / "perf-budget.json"
HOSTILE = "a\x1b[2J\n\r\t\x01 ]]> <x y='1'> \"&amp;\" | ` % : , \uffff \u202e \U0001f680 ::error::no"


class Formats(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gprof-ci-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check(self, *words, **more):
        return gate.check(*words, cwd=self.folder, **more)

    def text(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def hostile_budget(self):
        rules = {"kernels.count": [{"max": 0, "reason": HOSTILE}, {"max": 1000, "reason": HOSTILE}],
                 "nvtx.total_ns@nvtx:" + HOSTILE: {"max": 0, "reason": HOSTILE}}
        budget = {"schema": "gprof.budget/1", "name": HOSTILE, "rules": rules}
        path = self.folder / "hostile, %0A: budget.json"
        path.write_text(json.dumps(budget), encoding="utf-8")
        return path


class Junit(Formats):
    def problems(self, text):
        """What xmllint says against it; skips where there is none."""
        if shutil.which("xmllint") is None:
            self.skipTest("xmllint is not installed (libxml2-utils)")
        path = self.folder / "checked.xml"
        path.write_text(text, encoding="utf-8")
        done = subprocess.run(["xmllint", "--noout", "--nonet", "--schema", str(SCHEMA), str(path)], capture_output=True,
                              text=True, timeout=gate.TIME_LIMIT_S)
        return "" if done.returncode == 0 else done.stderr or "invalid"

    def junit(self, *words, code):
        done = self.check(*words, "--junit", "perf.xml")
        self.assertEqual(done.returncode, code, done.stderr)
        return self.text("perf.xml")

    def assert_counts(self, text):
        root = xml.fromstring(text)
        suite = root.find("testsuite")
        cases = suite.findall("testcase")
        for element in (root, suite):
            self.assertEqual(int(element.get("tests")), len(cases))
            self.assertEqual(int(element.get("failures")), sum(case.find("failure") is not None for case in cases))
            self.assertEqual(int(element.get("errors")), sum(case.find("error") is not None for case in cases))
        return cases

    def test_a_test_case_for_every_rule(self):
        cases = self.assert_counts(self.junit(BAD, "--budget", BUDGET, code=1))
        failed = {case.get("name") for case in cases if case.find("failure") is not None}
        self.assertEqual(len(cases), 6)
        self.assertIn("memcpy.pageable_bytes <= 0 B", failed)
        self.assertNotIn("kernels.count <= 240", failed)

    def test_a_rule_about_a_time_has_it_as_its_time(self):
        words = ("--fail-if", "gpu.window_ns > 1s", "--fail-if", "kernels.count > 1000", "--fail-if", "memory.peak_bytes > 1")
        cases = self.assert_counts(self.junit(BAD, *words, code=4))
        window = json.loads(gate.run(gate.COMMAND, "report", "--format", "json", BAD).stdout)
        ns = next(metric["value"] for metric in window["metrics"] if (metric["id"], metric["scope"]) == ("gpu.window_ns", ""))
        self.assertEqual([float(case.get("time")) for case in cases], [ns / 1e9, 0, 0])

    def test_of_good_and_bad_runs_is_what_the_schema_says(self):
        for trace, code in ((GOOD, 0), (BAD, 1)):
            self.assertEqual(self.problems(self.junit(trace, "--budget", BUDGET, code=code)), "")

    def test_of_hostile_text_is_what_the_schema_says(self):
        text = self.junit(BAD, "--budget", self.hostile_budget(), code=1)
        self.assertEqual(len(self.assert_counts(text)), 3)
        self.assertIn("\U0001f680", text)
        self.assertEqual(self.problems(text), "")

    def test_what_nobody_can_judge_is_an_error(self):
        text = self.junit(gate.TRACES / "nvtx_cpu.trace", "--fail-if", "kernels.count > 1", code=4)
        self.assertEqual(self.assert_counts(text)[0].find("error").get("type"), "inconclusive")
        self.assertEqual(self.problems(text), "")

    def test_what_went_wrong_takes_the_place_of_an_earlier_result(self):
        self.junit(GOOD, "--budget", BUDGET, code=0)
        for words, code in ((("none.trace", "--budget", BUDGET), 3), ((GOOD, "--fail-if", "kernel.count > 1"), 2)):
            text = self.junit(*words, code=code)
            self.assertIsNotNone(self.assert_counts(text)[0].find("error"))
            self.assertEqual(self.problems(text), "")

    def test_the_schema_takes_not_everything(self):
        good = self.junit(GOOD, "--budget", BUDGET, code=0)
        self.assertEqual(self.problems(good), "")
        for old, new in ((" name=\"memcpy.pageable_bytes", " file=\"x\" name=\"memcpy.pageable_bytes"),
                         (" tests=\"6\"", ""), ("<system-out>", "<stdout/><system-out>"),
                         (" failures=\"0\"", " failures=\"none\""), ("name=\"kernels.count &lt;= 240\"", "name=\"\"")):
            self.assertIn(old, good)
            self.assertNotEqual(self.problems(good.replace(old, new)), "", new)


class Summary(Formats):
    def test_begins_with_the_verdict_and_ends_with_what_passed(self):
        done = self.check(BAD, "--budget", BUDGET, "--summary", "perf.md")
        self.assertEqual(done.returncode, 1)
        text = self.text("perf.md")
        verdict = re.match(r"## (FAIL: .*)\n", text).group(1).replace("\\_", "_")
        self.assertEqual(" ".join(done.stdout.split()).endswith(verdict), True, verdict)
        self.assertLess(text.index("| **fail** |"), text.index("<details>"))
        self.assertEqual(text, gate.check(BAD, "--budget", BUDGET, "--format", "md").stdout)

    def test_is_appended_to_that_of_the_step(self):
        (self.folder / "step.md").write_text("before\n", encoding="utf-8")
        path = str(self.folder / "step.md")
        for _ in range(2):
            self.check(GOOD, "--budget", BUDGET, "--summary", "step.md", GITHUB_STEP_SUMMARY=path)
        self.assertEqual(self.text("step.md").count("## PASS"), 2)
        self.assertTrue(self.text("step.md").startswith("before\n"))
        self.check(GOOD, "--budget", BUDGET, "--summary", "step.md")
        self.assertTrue(self.text("step.md").startswith("## PASS"))

    def test_stays_small(self):
        rules = [{"max": 0, "reason": str(i) + "\u2713" * 5000} for i in range(400)]
        budget = {"schema": "gprof.budget/1", "rules": {"kernels.count": rules}}
        (self.folder / "large.json").write_text(json.dumps(budget), encoding="utf-8")
        self.assertEqual(self.check(BAD, "--budget", "large.json", "--summary", "perf.md").returncode, 1)
        self.assertLess((self.folder / "perf.md").stat().st_size, 65_536)
        self.assertIn("more rules are not shown", self.text("perf.md"))

    def test_keeps_hostile_text_in_its_cells(self):
        self.check(BAD, "--budget", self.hostile_budget(), "--summary", "perf.md")
        text = self.text("perf.md")
        self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f]")
        self.assertNotRegex(re.sub("(`+).*?\\1", "", text.replace("\\`", "")), r"(?<!\\)<x")

    def test_without_a_name_nothing_is_written(self):
        self.assertEqual(self.check(GOOD, "--budget", BUDGET, "--summary", "").returncode, 0)
        self.assertEqual(list(self.folder.iterdir()), [])


class Prometheus(Formats):
    LINE = re.compile(r'gprof_\w+\{(\w+="(\\.|[^"\\\n])*",?)*\} -?[\d.e+-]+')

    def samples(self, *words):
        self.check(*words, "--openmetrics", "perf.prom", "--commit", "0123abc")
        lines = self.text("perf.prom").splitlines()
        self.assertEqual(lines[-1], "# EOF")
        return [line for line in lines if not line.startswith("#")]

    def test_every_sample_has_its_labels(self):
        samples = self.samples(BAD, "--budget", BUDGET, "--fail-if", "kernels.median_ns@kernel:* > 1", "--fail-if",
                               "gpu.busy_percent@gpu0 < 1")
        for sample in samples:
            self.assertRegex(sample, self.LINE)
            for label in ('budget="normalise"', 'commit="0123abc"', 'gpu="NVIDIA H200"', 'host="'):
                self.assertIn(label, sample)
        self.assertTrue(any(",kernel=\"" in sample for sample in samples if sample.startswith("gprof_kernels_median_ns")))
        self.assertTrue(any(",device=\"gpu0\"" in sample for sample in samples))

    def test_hostile_names_stay_in_their_quotes(self):
        for sample in self.samples(BAD, "--budget", self.hostile_budget()):
            self.assertRegex(sample, rf"^{self.LINE.pattern}$")

    def test_what_gitlab_reads_has_no_commit(self):
        self.check(BAD, "--budget", BUDGET, "--gitlab-metrics", "metrics.txt", "--commit", "0123abc")
        self.assertNotIn("0123abc", self.text("metrics.txt"))


class Annotations(Formats):
    def annotations(self, *words, **more):
        done = self.check(*words, **more)
        self.assertNotRegex(done.stdout, "(?m)^::(error|warning) ")
        return [line for line in done.stderr.splitlines() if line.startswith("::")]

    def test_only_where_github_reads_them(self):
        words = (BAD, "--budget", BUDGET)
        self.assertEqual(self.annotations(*words), [])
        self.assertEqual(self.annotations(*words, GITHUB_ACTIONS="false"), [])
        self.assertEqual(len(self.annotations(*words, GITHUB_ACTIONS="true")), 4)
        self.assertEqual(self.annotations(*words, "--annotations", "none", GITHUB_ACTIONS="true"), [])
        self.assertEqual(len(self.annotations(*words, "--annotations", "github")), 4)

    def test_name_the_line_of_the_budget_in_the_repository(self):
        shutil.copy(BUDGET, self.folder / "b.json")
        (self.folder / "below").mkdir()
        done = gate.check(BAD, "--budget", "../b.json", cwd=self.folder / "below", GITHUB_ACTIONS="true",
                          GITHUB_WORKSPACE=str(self.folder))
        lines = BUDGET.read_text(encoding="utf-8").splitlines()
        for name, line in re.findall(r"file=b\.json,line=(\d+),title=\w+%3A ([\w.]+)", done.stderr):
            self.assertIn(f'"{line}"', lines[int(name) - 1])
        self.assertEqual(done.stderr.count("file=b.json,line="), 4)

    def test_a_mistake_in_the_budget_is_shown_where_it_is(self):
        (self.folder / "b: 9.json").write_text('{\n"rules": {\n"kernel.count": 1}}', encoding="utf-8")
        lines = self.annotations(BAD, "--budget", "b: 9.json", "--annotations", "github")
        self.assertEqual([line.split(",title")[0] for line in lines], ["::error file=b%3A 9.json,line=3"])

    def test_ten_at_most_and_the_worst_first(self):
        words = [word for i in range(1, 30) for word in ("--fail-if", f"kernels.count > {i}")]
        lines = self.annotations(BAD, *words, "--warn-if", "kernels.count > 0", "--annotations", "github")
        self.assertEqual(len(lines), 10)
        self.assertIn("kernels.count > 1", lines[0])
        self.assertIn("21 more rules", lines[-1])

    def test_hostile_text_makes_no_command_of_its_own(self):
        lines = self.annotations(BAD, "--budget", self.hostile_budget(), "--annotations", "github",
                                 GITHUB_WORKSPACE=str(self.folder))
        self.assertEqual(len(lines), 2)
        for line in lines:
            self.assertRegex(line, r"^::(error|warning) file=hostile%2C %250A%3A budget\.json,line=1,title=[^:,]*::")


class Gitlab(Formats):
    def test_code_quality_has_what_gitlab_reads(self):
        self.check(BAD, "--budget", self.hostile_budget(), "--gitlab-codequality", "q.json", CI_PROJECT_DIR=str(self.folder))
        issues = json.loads(self.text("q.json"))
        self.assertEqual(len(issues), 2)
        self.assertEqual(len({issue["fingerprint"] for issue in issues}), 2)
        for issue in issues:
            self.assertEqual(set(issue), {"description", "check_name", "fingerprint", "severity", "location"})
            self.assertIn(issue["severity"], {"info", "minor", "major", "critical", "blocker"})
            self.assertEqual(issue["location"]["path"], "hostile, %0A: budget.json")
            self.assertIsInstance(issue["location"]["lines"]["begin"], int)

    def test_a_good_run_has_no_issue(self):
        self.check(GOOD, "--budget", BUDGET, "--gitlab-codequality", "q.json")
        self.assertEqual(json.loads(self.text("q.json")), [])

    def test_metrics_are_open_metrics(self):
        for budget in (BUDGET, self.hostile_budget()):
            self.check(BAD, "--budget", budget, "--gitlab-metrics", "m.txt")
            self.assert_open_metrics(self.text("m.txt"))
        self.check(BAD, "--budget", BUDGET, "--gitlab-metrics", "m.txt")
        self.assertIn("\ngprof_kernels_count 240\n", self.text("m.txt"))
        self.assertIn('gprof_check_rules{verdict="fail"} 3\n', self.text("m.txt"))

    def assert_open_metrics(self, text):
        """Families in one piece each, type before samples, no sample twice, an end."""
        label = r'[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\n"])*"'
        sample = re.compile(rf"([a-zA-Z_:][\w:]*)(\{{{label}(?:,{label})*\}})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)")
        families, seen = [], set()
        lines = text.split("\n")
        self.assertEqual(lines[-2:], ["# EOF", ""])
        for line in lines[:-2]:
            if line.startswith("# TYPE "):
                families.append(line.split()[2])
            elif line.startswith("# HELP "):
                self.assertEqual(line.split()[2], families[-1])
            else:
                match = sample.fullmatch(line)
                self.assertIsNotNone(match, line)
                self.assertEqual(match.group(1), families[-1])
                self.assertNotIn(match.group(1, 2), seen)
                seen.add(match.group(1, 2))
        self.assertEqual(len(set(families)), len(families))


class Options(Formats):
    def test_files_are_written_whole_or_not_at_all(self):
        done = self.check(GOOD, "--budget", BUDGET, "--junit", "no/such/folder/perf.xml", "--summary", "perf.md")
        self.assertEqual(done.returncode, 3)
        self.assertIn("no/such/folder/perf.xml", done.stderr)
        self.assertIn("## PASS", self.text("perf.md"))
        self.assertTrue(done.stdout.splitlines()[-1].startswith("PASS"))
        self.assertEqual([path.name for path in self.folder.iterdir()], ["perf.md"])

    def test_a_full_disk_is_an_error(self):
        if not pathlib.Path("/dev/full").exists():
            self.skipTest("there is no /dev/full")
        for summary in ("", "/dev/full"):
            done = self.check(BAD, "--budget", BUDGET, "--summary", "/dev/full", GITHUB_STEP_SUMMARY=summary)
            self.assertEqual(done.returncode, 3)
            self.assertTrue(done.stdout.splitlines()[-1].startswith("FAIL"))

    def test_what_makes_no_sense_is_a_usage_error(self):
        for words in (("--junit", "-"), ("--junit", "x", "--summary", "x"), ("--annotations", "gitlab")):
            done = self.check(GOOD, "--budget", BUDGET, *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_the_verdict_is_the_last_line(self):
        for trace, code, word in ((GOOD, 0, "PASS"), (BAD, 1, "FAIL")):
            done = self.check(trace, "--budget", BUDGET, "--junit", "p.xml", "--annotations", "github")
            self.assertEqual(done.returncode, code)
            self.assertTrue(done.stdout.splitlines()[-1].startswith(word), done.stdout)


if __name__ == "__main__":
    unittest.main()
