"""Measurements of real programs on an H200: improvements, a regression and repeats of one build are told apart.

gates/NAME.json    five runs each, made by tests/gpu/run_gates.sh
"""

import json
import os
import pathlib
import subprocess
import unittest

GATES = pathlib.Path(__file__).resolve().parent / "gates"
SOURCE = GATES.parents[2]
COMMAND = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", SOURCE / "build" / "release")) / "bin" / "gprof-cli"


def run(*words):
    return subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=200)


class Gates(unittest.TestCase):
    def diff(self, base, new, *options):
        done = run("diff", GATES / f"{base}.json", GATES / f"{new}.json", "--format", "json", *options)
        return json.loads(done.stdout), done.returncode

    def check(self, name):
        done = run("check", GATES / f"{name}.json", "--budget", GATES / "increase.budget.json", "--baseline",
                   GATES / "v3.json", "--format", "json")
        return json.loads(done.stdout), done.returncode

    def test_each_version_of_the_tutorial_is_better_than_the_one_before(self):
        for base, new in (("v1", "v2"), ("v2", "v3")):
            with self.subTest(base=base, new=new):
                document, code = self.diff(base, new)
                self.assertEqual((document["verdict"], code), ("improved", 0))

    def test_the_bug_is_a_regression(self):
        document, code = self.diff("v3", "v3_bug")
        self.assertEqual((document["verdict"], code), ("regressed", 1))
        result, code = self.check("v3_bug")
        self.assertEqual((result["verdict"], code), ("fail", 1))
        self.assertEqual([rule["metric"] for rule in result["rules"] if rule["verdict"] == "fail"], ["gpu.window_ns"])

    def test_repeats_of_one_build_are_the_same(self):
        document, code = self.diff("v3", "v3_again", "--require-verdict")
        self.assertEqual((document["verdict"], code), ("same", 0))
        result, code = self.check("v3_again")
        self.assertEqual((result["verdict"], code), ("pass", 0))


if __name__ == "__main__":
    unittest.main(verbosity=2)
