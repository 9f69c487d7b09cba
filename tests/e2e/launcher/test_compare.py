"""compare: both programs in turn, judged by what their traces say. The traces are made by hand, so the verdicts are exact."""

import json
import os
import shutil
import signal
import subprocess
import unittest

from launcher import ASSEMBLE, DEADLINE_S, LauncherTest
from test_series import SCHEMA, json_schema

# Says in a file that it ran, and records the trace that was made for it.
RECORDING = 'echo "$1" >> log; cat "$1.made" >> "$GPROF_OUTPUT"; echo "out of $1"; echo "err of $1" >&2'
# As that, but run number $2 of all ends with code 6.
FAILING = RECORDING + '; test "$(wc -l < log)" -ne "$2" || exit 6'


class CompareTest(LauncherTest):
    def setUp(self):
        super().setUp()
        # Temporary folders are made where the test can see them.
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.env["TMPDIR"] = str(self.temporary)
        self.make("slow", 3000)
        self.make("fast", 2000)
        self.make("fast_too", 2000)

    def make(self, name, kernel_us):
        end = 1_000_000 + kernel_us * 1000
        text = 'chunk pid=7\nprocess start_ns=100 pid=7 name="app"\n' \
            'kernel start_ns=1000000 duration_ns=1000 context=1 stream=7 correlation=4 name="first"\n' \
            f'kernel start_ns=1002000 duration_ns={end - 1002000} context=1 stream=7 correlation=5 name="saxpy"\n' \
            f'end time_ns={end + 1000} reason=1\n'
        done = subprocess.run([ASSEMBLE], input=text.encode(), capture_output=True, timeout=DEADLINE_S, check=True)
        (self.folder / f"{name}.made").write_bytes(done.stdout)

    def compare(self, *words, **options):
        return self.run_in_folder(self.cli, "compare", *words, **options)

    def recorded(self, name, script=RECORDING, *more):
        return ["sh", "-c", script, "sh", name, *more]

    def compare_made(self, *options, base="fast", new="slow"):
        return self.compare(*options, "--", *self.recorded(base), ":::", *self.recorded(new))

    def run_file(self, side):
        document = json.loads((self.folder / "kept" / f"{side}.runs.json").read_bytes())
        self.assertEqual(list(json_schema.problems(document, SCHEMA, is_strict=True)), [])
        return document

    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8").split()

    def check_gone(self):
        self.assertEqual(list(self.temporary.iterdir()), [])


class Verdicts(CompareTest):
    def check(self, base, new, code, word, *options):
        done = self.compare_made(*options, base=base, new=new)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout.decode().splitlines()[-1].split(":")[0], word)
        self.check_gone()

    def test_regressed(self):
        self.check("fast", "slow", 1, "regressed")

    def test_improved(self):
        self.check("slow", "fast", 0, "improved")

    def test_same(self):
        self.check("fast", "fast_too", 0, "same")

    def test_too_few_runs(self):
        self.check("fast", "slow", 4, "inconclusive", "-n", "2")

    def test_what_counts_can_be_chosen(self):
        self.check("fast", "slow", 0, "same", "--min-change", "60%")

    def test_formats(self):
        done = self.compare_made("--format", "json", "-n", "5")
        self.assertEqual(json.loads(done.stdout)["schema"].split("/")[0], "gprof.diff")
        self.assertIn(b"|", self.compare_made("--format", "md", "-n", "5").stdout)


class GitBisect(CompareTest):
    """Only a regression may be a bad commit: 1. What cannot be told is skipped: 125."""

    def code(self, *options, **sides):
        return self.compare_made("--git-bisect", *options, **sides).returncode

    def test_verdicts(self):
        self.assertEqual(self.code(), 1)
        self.assertEqual(self.code(base="slow", new="fast"), 0)
        self.assertEqual(self.code("-n", "2"), 125)

    def test_failures(self):
        one = self.recorded("fast")
        for words, code in (((*one, ":::", "no-such-program"), 125), ((*one, ":::", "sh", "-c", "exit 3"), 125),
                            (("true", ":::", "true"), 125), (one, 128)):
            self.assertEqual(self.compare("--git-bisect", "-n", "1", "--", *words).returncode, code, words)


class Order(CompareTest):
    def test_whoever_goes_first_goes_second_the_next_time(self):
        self.assertEqual(self.compare_made("-n", "4", "--warmup", "2", "-o", "kept").returncode, 4)
        a, b = "fast", "slow"
        self.assertEqual(self.log(), [a, b, b, a, a, b, b, a, a, b, b, a])
        base, new = self.run_file("base"), self.run_file("new")
        self.assertEqual([run["order"] for run in base["runs"]], [1, 4, 5, 8, 9, 12])
        self.assertEqual([run["order"] for run in new["runs"]], [2, 3, 6, 7, 10, 11])
        self.assertEqual([run["number"] for run in new["runs"]], [1, 2, 1, 2, 3, 4])
        self.assertEqual((base["label"], base["counterpart"]), ("base", "new.runs.json"))
        self.assertEqual((new["label"], new["counterpart"]), ("new", "base.runs.json"))
        self.assertEqual(new["command"], self.recorded("slow"))

    def test_ten_and_one_by_default(self):
        self.assertEqual(self.compare_made().returncode, 1)
        self.assertEqual(len(self.log()), 22)

    def test_separator(self):
        done = self.compare("-n", "1", "--warmup", "0", "--separator", "vs", "--", *self.recorded("fast", RECORDING, ":::"), "vs",
                            *self.recorded("slow"))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(self.log(), ["fast", "slow"])


class Output(CompareTest):
    def test_stdout_is_the_result_alone(self):
        done = self.compare_made("-n", "2")
        for words in (b"out of fast", b"err of slow"):
            self.assertNotIn(words, done.stdout + done.stderr)
        self.assertEqual(done.stderr.decode().splitlines()[:2], ["gprof-cli: warm-up round 1 of 1", "gprof-cli: round 1 of 2"])

    def test_what_the_programs_write_is_shown_on_stderr(self):
        done = self.compare_made("-n", "2", "-w", "true")
        self.assertNotIn(b"out of", done.stdout)
        for words in (b"out of slow\n", b"err of fast\n"):
            self.assertEqual(done.stderr.count(words), 3)

    def test_quiet(self):
        self.assertEqual(self.compare_made("-n", "2", "-q").stderr, b"")

    def test_kept_folder_can_be_moved_and_compared_again(self):
        done = self.compare_made("-o", "a/b")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(len(list((self.folder / "a" / "b").glob("*.trace"))), 20)
        shutil.move(self.folder / "a" / "b", self.folder / "moved")
        again = self.run_in_folder(self.cli, "diff", "moved/base.runs.json", "moved/new.runs.json")
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertEqual(again.stdout.splitlines()[-1], done.stdout.splitlines()[-1])

    def test_earlier_comparison_is_not_overwritten(self):
        self.assertEqual(self.compare_made("-n", "1", "-o", "kept").returncode, 4)
        done = self.compare_made("-n", "1", "-o", "kept")
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"already exists", done.stderr)
        self.assertEqual(self.compare_made("-n", "1", "-f", "-o", "kept").returncode, 4)
        self.assertEqual(len(self.log()), 8)

    def test_percent_sign_in_the_name_of_the_folder(self):
        self.assertEqual(self.compare_made("-n", "1", "-o", "100%n").returncode, 4)
        self.assertTrue((self.folder / "100%n" / "new-1.trace").exists())


class Failures(CompareTest):
    def test_failing_program_is_named_with_its_run(self):
        # One warm-up round and three others are eight runs; base is second in the fourth.
        words = self.recorded("slow", FAILING, "9")
        done = self.compare("-n", "6", "-o", "kept", "--", *self.recorded("fast"), ":::", *words)
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertIn(b"run 4 of 'sh' (new) ended with exit code 6; no verdict", done.stderr)
        self.assertIn(b"-w true", done.stderr)
        self.assertEqual(len(self.log()), 9)
        self.assertEqual([run["outcome"] for run in self.run_file("new")["runs"]], ["good"] * 4 + ["failed"])

    def test_failing_warm_up_costs_no_time(self):
        done = self.compare("--", *self.recorded("fast", FAILING, "1"), ":::", *self.recorded("slow"))
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"warm-up run 1 of 'sh' (base)", done.stderr)
        self.assertEqual(self.log(), ["fast"])
        self.check_gone()

    def test_programs_that_cannot_be_run_are_found_out_at_once(self):
        self.write("plain", "text")
        for words, code in ((["no-such-program-of-ours"], 127), (["./plain"], 126)):
            done = self.compare("-o", "kept", "--", *self.recorded("fast"), ":::", *words)
            self.assertEqual(done.returncode, code)
            self.assertFalse((self.folder / "log").exists())
            self.assertFalse((self.folder / "kept").exists())

    def test_folder_that_cannot_be_made(self):
        self.write("plain", "text")
        done = self.compare_made("-o", "plain/x")
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"cannot create the folder 'plain/x': Not a directory", done.stderr)

    def test_no_room_for_a_temporary_folder(self):
        self.env["TMPDIR"] = str(self.folder / "absent")
        done = self.compare_made()
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"cannot create a temporary folder (in TMPDIR): No such file", done.stderr)
        self.assertFalse((self.folder / "log").exists())

    def test_nothing_recorded(self):
        done = self.compare("-n", "1", "--", *self.recorded("fast"), ":::", "true")
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"nothing was recorded in any run of 'true' (new)", done.stderr)
        self.check_gone()

    def test_traces_survive_what_cannot_be_judged(self):
        (self.folder / "slow.made").write_bytes(b"no trace" * 100)
        overwrites = RECORDING.replace(">> \"$GPROF_OUTPUT\"", "> \"$GPROF_OUTPUT\"")
        done = self.compare("-n", "1", "-s", "none", "--", *self.recorded("fast"), ":::", *self.recorded("slow", overwrites))
        self.assertEqual(done.returncode, 3)
        kept = list(self.temporary.iterdir())
        self.assertEqual(len(kept), 1)
        self.assertIn(f"traces kept in '{kept[0]}'", done.stderr.decode())

    def test_interrupted(self):
        # The third program waits; the signal is for us and reaches it as well.
        waiting = RECORDING + '; test "$(wc -l < log)" -ne 3 || { echo waits >&2; exec sleep 1000; }'
        process = self.start(self.cli, "compare", "-w", "true", "--", *self.recorded("fast", waiting), ":::",
                             *self.recorded("slow"), start_new_session=True)
        while process.stderr.readline() != b"waits\n":
            self.assertIsNone(process.poll())
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=DEADLINE_S)
        self.assertEqual((process.returncode, out), (130, b""))
        self.assertIn(b"SIGINT stopped the comparison after 3 runs; no verdict", err)
        self.check_gone()


if __name__ == "__main__":
    unittest.main()
