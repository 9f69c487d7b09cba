"""try: which change of the environment helps. The programs record traces made by hand, so that their times are known."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import unittest

from launcher import ASSEMBLE, DEADLINE_S, LauncherTest, wait_until
from test_series import SOURCE, json_schema

# Records a trace of which the kernel is long, or short where the condition holds; each run has noise of its own.
APP = 'echo x >> "$MADE/log"\nn=$(($(wc -l < "$MADE/log") % {variants}))\n' \
    'if {condition}; then s=short; else s=long; fi\ncat "$MADE/$s-$n.made" >> "$GPROF_OUTPUT"\necho result\n'
TROUBLE = pathlib.Path(os.environ["GPROF_TEST_TROUBLE_LIBRARY"])  # does nothing unless it is asked to
SCHEMA = json.loads((SOURCE / "docs" / "schema" / "try.schema.json").read_text(encoding="utf-8"))
VARIANTS = 23  # shares no factor with the number of runs in a round

# A condition that a change of the catalogue makes true.
PLANTED = {
    "eager-loading": '[ "$CUDA_MODULE_LOADING" = EAGER ]',
    "connections": '[ "$CUDA_DEVICE_MAX_CONNECTIONS" = 32 ]',
    "expandable-segments": 'case $PYTORCH_CUDA_ALLOC_CONF in *expandable_segments:True*) ;; *) false;; esac',
    "tf32": '[ "$NVIDIA_TF32_OVERRIDE" = 1 ]',
    "one-thread": '[ "$OMP_NUM_THREADS" = 1 ]',
    "bound-threads": '[ "$OMP_PROC_BIND" = close ]',
    "huge-pages": 'case $GLIBC_TUNABLES in *hugetlb=1*) ;; *) false;; esac',
    "few-arenas": '[ "$MALLOC_ARENA_MAX" = 2 ]',
    "nccl-tree": '[ "$NCCL_ALGO" = Tree ]',
    "xla-overlap": 'case $XLA_FLAGS in *latency_hiding*) ;; *) false;; esac',
}


class TryTest(LauncherTest):
    def setUp(self):
        super().setUp()
        self.env["MADE"] = str(self.folder)
        for name in ("OMP_NUM_THREADS", "XLA_FLAGS", "GLIBC_TUNABLES", "PYTORCH_CUDA_ALLOC_CONF", "OMP_PROC_BIND"):
            self.env.pop(name, None)

    def make_variants(self):
        noise = random.Random(1)
        for number in range(VARIANTS):
            for name, kernel_us in (("long", 2000), ("short", 1700)):
                self.make(f"{name}-{number}", kernel_us * (1 + noise.gauss(0, 0.02)))

    def make(self, name, kernel_us):
        end = 1_000_000 + int(kernel_us * 1000)
        text = 'chunk pid=7\nprocess start_ns=100 pid=7 name="app"\n' \
            f'kernel start_ns=1000000 duration_ns={end - 1000000} context=1 stream=7 correlation=5 name="saxpy"\n' \
            f'end time_ns={end + 1000} reason=1\n'
        done = subprocess.run([ASSEMBLE], input=text.encode(), capture_output=True, timeout=DEADLINE_S, check=True)
        (self.folder / f"{name}.made").write_bytes(done.stdout)

    def app(self, condition="false", more=""):
        (self.folder / "log").unlink(missing_ok=True)
        return self.write("app.sh", APP.format(variants=VARIANTS, condition=condition) + more)

    def tried(self, *words, script, code=0):
        done = self.run_in_folder(self.cli, "try", "-q", "--format", "json", *words, "--", "sh", script)
        self.assertEqual(done.returncode, code, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(list(json_schema.problems(document, SCHEMA, is_strict=True)), [])
        return document

    @staticmethod
    def verdicts(result):
        return {change["name"]: change["verdict"] for change in result["changes"]}


class Verdicts(TryTest):
    def test_planted_changes_are_found(self):
        self.make_variants()
        names, found = list(PLANTED), []
        for at, name in enumerate(names):
            others = [names[(at + 1) % len(names)], names[(at + 2) % len(names)]]
            result = self.tried("-n", "7", "--warmup", "0", name, *others, script=self.app(PLANTED[name]))
            verdicts = self.verdicts(result)
            self.assertNotIn("better", [verdicts[other] for other in others], verdicts)
            if verdicts[name] == "better":
                found.append(name)
        self.assertGreaterEqual(len(found), 8, found)

    def test_no_placebo_is_better(self):
        self.make_variants()
        placebos = [word for number in range(20) for word in ("--set", f"PLACEBO_{number}=1")]
        result = self.tried("-n", "10", "--warmup", "0", *placebos, script=self.app())
        self.assertEqual(len(result["changes"]), 20)
        self.assertNotIn("better", self.verdicts(result).values())
        self.assertEqual(result["together"], [])

    def test_those_that_help_are_tried_together(self):
        self.make("long-0", 2000)
        self.make("half-0", 1500)
        self.make("both-0", 1000)
        script = self.write("app.sh", 's=long; [ -z "$A" ] || s=half; [ -z "$B" ] || s=half; [ -z "$A$B" ] || '
                            '[ "$A$B" != 11 ] || s=both\ncat "$MADE/$s-0.made" >> "$GPROF_OUTPUT"\n')
        result = self.tried("-n", "6", "--set", "A=1", "--set", "B=1", script=script)
        self.assertEqual(self.verdicts(result), {"A=1": "better", "B=1": "better"})
        (together,) = result["together"]
        self.assertEqual((together["verdict"], together["variables"]), ("better", {"A": "1", "B": "1"}))
        self.assertAlmostEqual(together["effect_percent"], -50, delta=1)

    def test_cures_are_tried_together(self):
        """They share a library, which may be any file here, and a variable, which has the names of both."""
        library = pathlib.Path(self.cli).parent.parent / "lib" / "gprof-cli" / "libgprof-cures.so"
        shutil.copyfile(TROUBLE, library)
        self.make("long-0", 2000)
        self.make("half-0", 1500)
        self.make("both-0", 1000)
        script = self.write("app.sh", 'case $GPROF_CURES in *,*) s=both;; ?*) s=half;; *) s=long;; esac\n'
                            'cat "$MADE/$s-0.made" >> "$GPROF_OUTPUT"\n')
        result = self.tried("-n", "6", "pin-copies", "pool-allocations", script=script)
        self.assertEqual(self.verdicts(result), {"pin-copies": "better", "pool-allocations": "better"})
        (together,) = result["together"]
        self.assertEqual(together["variables"]["GPROF_CURES"], "pin-copies,pool-allocations")
        self.assertEqual(together["variables"]["LD_PRELOAD"], result["changes"][0]["variables"]["LD_PRELOAD"])
        self.assertAlmostEqual(together["effect_percent"], -50, delta=1)

    def test_text_says_how_to_keep_it(self):
        self.make_variants()
        done = self.run_in_folder(self.cli, "try", "-n", "7", "few-arenas", "--", "sh", self.app(PLANTED["few-arenas"]))
        self.assertEqual(done.returncode, 0, done.stderr)
        text = " ".join(done.stdout.decode().split())
        self.assertIn("MALLOC_ARENA_MAX=2. To keep it: set the variable", text)
        self.assertIn(b"about", done.stderr)  # what it costs, before it is spent


class WhatIsNeverBetter(TryTest):
    def check(self, more, verdict, *options):
        self.make_variants()
        result = self.tried("-n", "5", "--set", "FAST=1", *options, script=self.app('[ -n "$FAST" ]', more))
        self.assertEqual(self.verdicts(result), {"FAST=1": verdict})
        return result["changes"][0]

    def test_other_output(self):
        self.check('[ -z "$FAST" ] || echo other\n', "other results")

    def test_failure(self):
        change = self.check('[ -z "$FAST" ] || exit 3\n', "failed")
        self.assertIn("exit code 3", change["why"])

    def test_hang(self):
        change = self.check('[ -z "$FAST" ] || sleep 100\n', "failed")
        self.assertIn("ran longer", change["why"])

    def test_other_file(self):
        self.check('echo "$FAST" > out\n', "other results", "--compare-file", "out")

    def test_lines_may_be_ignored(self):
        self.check('echo "took $FAST $$ ms"\n', "better", "--ignore-lines", "^took")


class Refusals(TryTest):
    def refused(self, code, text, *words, script=None):
        done = self.run_in_folder(self.cli, "try", *words, "--", "sh", script or self.app())
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr.decode())

    def test_output_that_differs_each_time(self):
        self.make_variants()
        self.refused(4, "--ignore-lines", "tf32", script=self.app(more='echo $$\n'))

    def test_program_that_fails(self):
        self.refused(125, "as it is ended with exit code 6", "tf32", script=self.write("fails.sh", "exit 6\n"))

    def test_words_that_are_no_change(self):
        self.make_variants()
        self.refused(2, "did you mean huge-pages?", "huge-page")
        self.refused(2, "--set needs NAME=VALUE", "--set", "nothing")
        self.refused(2, "use -n 6 or more", "-n", "2", *[w for i in range(20) for w in ("--set", f"P{i}=1")])

    def test_list(self):
        done = self.run_in_folder(self.cli, "try", "--list")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"expandable-segments", done.stdout)

    def test_program_without_findings_has_nothing_to_try(self):
        self.refused(4, "no finding of this program asks for a change", script=self.write("true.sh", "true\n"))

    def test_ctrl_c(self):
        self.make_variants()
        script = self.app(more='[ "$(wc -l < "$MADE/log")" -lt 8 ] || { touch "$MADE/waits"; sleep 100; }\n')
        process = self.start(self.cli, "try", "tf32", "--", "sh", script)
        wait_until((self.folder / "waits").exists, "the program waits")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 128 + signal.SIGINT, err)
        self.assertIn(b"SIGINT ended it early", out)


if __name__ == "__main__":
    unittest.main()
