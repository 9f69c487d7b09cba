"""bisect: which commit, variable or setting changed a figure. The traces are made by hand, so that the truth is known."""

import json
import shutil
import signal
import subprocess
import unittest

from launcher import ASSEMBLE, DEADLINE_S, LauncherTest, wait_until
from test_series import SOURCE, json_schema

COMMITS = 12
SCHEMA = json.loads((SOURCE / "docs" / "schema" / "bisect.schema.json").read_text(encoding="utf-8"))
# Records the trace whose name is in the file that the build made.
APP = '#!/bin/sh\necho "$BISECT_VERSION" >> "$LOG"\ncat "$MADE/$(cat built).made" >> "$GPROF_OUTPUT"\n'


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class BisectTest(LauncherTest):
    def setUp(self):
        super().setUp()
        self.repository = self.folder / "repository"
        self.repository.mkdir()
        self.env.update(XDG_CACHE_HOME=str(self.folder / "cache"), MADE=str(self.folder), LOG=str(self.folder / "log"),
                        GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@b")
        self.make("fast", 2000, 2)
        self.make("slow", 2600, 3)

    def make(self, name, kernel_us, kernels):
        lines = ["chunk pid=7", 'process start_ns=100 pid=7 name="app"']
        for i in range(kernels):
            start, end = 1_000_000 + i * 2000, 1_000_000 + (kernel_us * 1000 if i == kernels - 1 else i * 2000 + 1000)
            lines.append(f'kernel start_ns={start} duration_ns={end - start} context=1 stream=7 correlation={i + 4} name="k{i}"')
        lines.append("end time_ns=9000000 reason=1\n")
        done = subprocess.run([ASSEMBLE], input="\n".join(lines).encode(), capture_output=True, timeout=DEADLINE_S, check=True)
        (self.folder / f"{name}.made").write_bytes(done.stdout)

    def git(self, *words):
        done = self.run_in_folder("git", "-c", "init.defaultBranch=main", *words, cwd=self.repository)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode().strip()

    def history(self, culprit, broken=()):
        """Commits 0 to COMMITS; from `culprit` on it is slow; those of `broken` cannot be built."""
        self.git("init", "-q")
        for number in range(COMMITS + 1):
            (self.repository / "app.sh").write_text(APP, encoding="utf-8")
            (self.repository / "speed").write_text("slow" if culprit and number >= culprit else "fast", encoding="utf-8")
            (self.repository / "number").write_text(str(number), encoding="utf-8")
            (self.repository / "works").write_text("no" if number in broken else "yes", encoding="utf-8")
            self.git("add", ".")
            self.git("commit", "-qm", f"Commit {number}")
        return self.git("log", "--format=%H", "--reverse").split()

    def bisect(self, *options, **more):
        words = ["--build", "grep -q yes works && cp speed built", *options, "--", "sh", "app.sh"]
        return self.run_in_folder(self.cli, "bisect", *words, cwd=self.repository, **more)

    def answer(self, *options, code=0):
        done = self.bisect("--good", f"HEAD~{COMMITS}", "--format", "json", *options)
        self.assertEqual(done.returncode, code, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(list(json_schema.problems(document, SCHEMA, is_strict=True)), [])
        return document

    def runs(self):
        return (self.folder / "log").read_text(encoding="utf-8").split()


class Commits(BisectTest):
    def test_finds_the_commit_by_its_time(self):
        commits = self.history(culprit=5)
        found = self.answer()
        self.assertTrue(found["is_known"])
        self.assertEqual([[v["id"] for v in change["versions"]] for change in found["changes"]], [[commits[5]]])
        change = found["changes"][0]
        self.assertGreaterEqual(change["probability"], 0.95)
        self.assertAlmostEqual(change["effect_percent"], 30, delta=1)
        self.assertEqual(found["figure"], "GPU window")
        self.assertTrue(any("kernels" in text for text in found["explanation"]), found["explanation"])
        self.assertEqual(found["builds"], len(set(self.runs())))

    def test_leaves_the_checkout_alone(self):
        self.history(culprit=3)
        self.answer()
        self.assertEqual(self.git("status", "--porcelain"), "")
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 1)
        self.assertEqual(list((self.folder / "cache" / "gprof-cli").iterdir()), [])

    def test_text_has_a_line_for_the_log_of_git(self):
        commits = self.history(culprit=7)
        done = self.bisect("--good", f"HEAD~{COMMITS}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"# first bad commit: [{commits[7]}]", " ".join(done.stdout.decode().split()))
        self.assertIn(b"to choose from", done.stderr)

    def test_exact_metrics_take_one_run_each(self):
        commits = self.history(culprit=9)
        found = self.answer("--metric", "kernels.count")
        self.assertEqual(found["changes"][0]["versions"][0]["id"], commits[9])
        self.assertEqual(found["changes"][0]["effect_percent"], 50)
        self.assertLessEqual(found["runs"], 7)

    def test_no_change(self):
        self.history(culprit=0)
        found = self.answer("--metric", "kernels.count")
        self.assertEqual((found["is_known"], found["changes"]), (True, []))
        self.assertEqual(found["runs"], 3)

    def test_what_cannot_be_built_is_skipped(self):
        commits = self.history(culprit=6, broken=(5, 6))
        found = self.answer("--metric", "kernels.count")
        self.assertEqual([v["id"] for v in found["changes"][0]["versions"]], commits[5:8])
        self.assertEqual({skip["id"] for skip in found["skipped"]}, set(commits[5:7]))

    def test_good_version_has_to_work(self):
        self.history(culprit=6, broken=(0,))
        done = self.bisect("--good", f"HEAD~{COMMITS}")
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"cannot be measured", done.stderr)

    def test_same_answer_twice(self):
        self.history(culprit=4)
        first, second = self.answer(), self.answer()
        for found in (first, second):
            self.assertEqual(found["changes"][0]["versions"][0]["title"], "Commit 4")


class Interruptions(BisectTest):
    def test_goes_on_where_it_ended(self):
        commits = self.history(culprit=5)
        part = self.answer("--max-runs", "5", "--metric", "kernels.count", code=4)
        self.assertEqual((part["is_known"], part["runs"]), (False, 5))
        self.assertIn("no more runs", part["why_not"])
        before = len(self.runs())
        done = self.bisect("--good", f"HEAD~{COMMITS}", "--metric", "kernels.count", "--format", "json")
        self.assertIn(b"going on with 5 runs", done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["changes"][0]["versions"][0]["id"], commits[5])
        self.assertEqual(len(self.runs()) - before, found["runs"] - 5)

    def test_ctrl_c_says_what_is_known(self):
        self.history(culprit=5)
        script = self.write("wait.sh", APP + '[ "$(wc -l < "$LOG")" -lt 9 ] || { touch "$MADE/waits"; sleep 100; }\n')
        bisect = self.start(self.cli, "bisect", "--good", f"HEAD~{COMMITS}", "--build", "cp speed built", "--", "sh", script,
                            cwd=self.repository)
        wait_until((self.folder / "waits").exists, "the program waits")
        bisect.send_signal(signal.SIGINT)
        out, err = bisect.communicate(timeout=DEADLINE_S)
        self.assertEqual(bisect.returncode, 128 + signal.SIGINT, err)
        self.assertIn(b"cannot tell: SIGINT stopped it", out)
        self.assertIn(b"Likely", out)

    def test_another_question_is_not_mixed_in(self):
        self.history(culprit=5)
        folder = str(self.folder / "kept")
        self.answer("--metric", "kernels.count", "-o", folder)
        done = self.bisect("--good", f"HEAD~{COMMITS}", "-o", folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"--restart", done.stderr)
        self.answer("-o", folder, "--restart")


class Lists(BisectTest):
    def run_list(self, *words):
        return self.run_in_folder(self.cli, "bisect", *words, "--format", "json", "--", "sh", self.folder / "app.sh")

    def test_environment(self):
        self.write("app.sh", 'cat "$MADE/${SPEED:-fast}.made" >> "$GPROF_OUTPUT"\n')
        self.write("good.env", "A=1\nB=2\nSPEED=fast\nGONE=1\n")
        self.write("bad.env", "A=2\nB=2\nSPEED=slow\nC=5\n")
        done = self.run_list("--of", "environment", "--good", "good.env", "--bad", "bad.env", "--metric", "kernels.count")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual([v["id"] for v in found["changes"][0]["versions"]], ["SPEED=slow"])
        self.assertEqual(found["versions"], 4)

    def test_packages_are_applied_by_a_command(self):
        self.write("app.sh", 'grep -q numpy==2 "$MADE/installed" && s=slow || s=fast; cat "$MADE/$s.made" >> "$GPROF_OUTPUT"\n')
        self.write("good.txt", "# packages\nnumpy==1.26\nscipy==1.11\ntorch==2.1\n")
        self.write("bad.txt", "numpy==2.1\nscipy==1.14\ntorch==2.4\n")
        done = self.run_list("--of", "packages", "--good", "good.txt", "--bad", "bad.txt", "--metric", "kernels.count", "--apply",
                             'cp "$BISECT_FILE" installed')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([v["id"] for v in json.loads(done.stdout)["changes"][0]["versions"]], ["numpy==2.1"])

    def test_any_versions_by_a_command(self):
        self.write("app.sh", 'cat "$MADE/$(cat state).made" >> "$GPROF_OUTPUT"\n')
        self.write("versions", "r1\nr2\nr3\nr4\nr5\n")
        done = self.run_list("--versions", "versions", "--metric", "kernels.count", "--apply",
                             'case $BISECT_VERSION in r1|r2|r3) echo fast;; *) echo slow;; esac > state')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([v["id"] for v in json.loads(done.stdout)["changes"][0]["versions"]], ["r4"])


class Refusals(BisectTest):
    def check(self, words, text):
        done = self.run_in_folder(self.cli, "bisect", *words, "--", "true", cwd=self.repository)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(text, done.stderr.decode())

    def test_command_lines_that_make_no_sense(self):
        self.history(culprit=2)
        for words, text in ((["--bad", "HEAD"], "no --good version"), (["--good", "nonsense"], "is no commit"),
                            (["--good", "HEAD"], "no commits between"), (["--good", "HEAD", "--bad", "HEAD~2"], "is no ancestor"),
                            (["--good", "HEAD~2", "--metric", "kernels.cuont"], "did you mean kernels.count?"),
                            (["--good", "HEAD~2", "--confidence", "2"], "--confidence needs a percentage"),
                            (["--of", "packages", "--good", "a", "--bad", "b"], "how to change to a version")):
            with self.subTest(words=words):
                self.check(words, text)


if __name__ == "__main__":
    unittest.main()
