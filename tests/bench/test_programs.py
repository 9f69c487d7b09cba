"""The figures of run_programs.py, and how it talks with the programs: no GPU, nothing that depends on time."""

import argparse
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent / "programs")]

import paired  # noqa: E402
import run_programs  # noqa: E402
import steady  # noqa: E402

COUNTING = f"""
import sys
sys.path.insert(0, {str(run_programs.PROGRAMS)!r})
import steady
def counting():
    done = [0]
    def step():
        done[0] += 1
    return steady.Workload(step, checksum=lambda: str(done[0]))
def missing():
    import no_such_module
steady.run({{"counting": counting, "missing": missing}}, steady.parser().parse_args())
"""


class Statistics(unittest.TestCase):
    def test_interval_of_ten_leaves_out_the_ends(self):
        # 1 - 2 * (1 + 10) / 1024 = 0.979; one further in it would be 0.891.
        self.assertEqual(paired.interval([10, 1, 9, 2, 8, 3, 7, 4, 6, 5]), (2, 9))
        self.assertEqual(paired.interval(range(1, 11), confidence=0.89), (3, 8))

    def test_interval_of_six_is_all_and_of_five_nothing(self):
        self.assertEqual(paired.interval([3, 1, 2, 6, 5, 4]), (1, 6))  # 1 - 2 / 64 = 0.969
        self.assertIsNone(paired.interval([1, 2, 3, 4, 5]))            # 1 - 2 / 32 = 0.938

    def test_ratios_are_those_of_rounds_that_both_have(self):
        self.assertEqual(paired.ratios({0: 11.0, 1: 30.0, 3: 5.0}, {0: 10.0, 1: 20.0, 2: 1.0}), [1.1, 1.5])

    def test_a_drift_of_the_machine_does_not_show(self):
        plain = {number: 1000.0 * (1 + number) for number in range(10)}
        cells = paired.slowdown_cells({number: value * 1.02 for number, value in plain.items()}, plain)
        self.assertEqual(cells, ["5.61 µs", "3.315 µs – 7.905 µs", "1.020", "1.020 – 1.020"])
        self.assertEqual(paired.slowdown_cells(plain, plain)[2:], ["", ""])

    def test_few_rounds_show_all_ratios(self):
        self.assertEqual(paired.slowdown_cells({0: 11.0, 1: 12.0}, {0: 10.0, 1: 10.0})[2:], ["1.150", "1.100 – 1.200 (all)"])

    def test_results(self):
        self.assertTrue(paired.agrees(["1.5", "1.5"], ["1.5"]))
        self.assertFalse(paired.agrees(["1.5", "1.6"], ["1.5", "1.5"]))
        self.assertTrue(paired.agrees(["1.55"], ["1.5", "1.6"]))   # untraced runs differ as much
        self.assertFalse(paired.agrees(["1.8"], ["1.5", "1.6"]))
        self.assertFalse(paired.agrees(["0 abc"], ["0 abd", "0 abe"]))
        self.assertEqual(run_programs.result_cell("gprof-cli", ["2"], ["1"]), "DIFFERENT")

    def test_units(self):
        self.assertEqual([paired.time_text(ns) for ns in (12, 1234, 5.6e6, 2e9)], ["12 ns", "1.234 µs", "5.6 ms", "2 s"])
        self.assertEqual([paired.bytes_text(size) for size in (12, 34500, 2e9)], ["12 B", "34.5 KB", "2 GB"])


class Programs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        script = self.folder / "counting.py"
        script.write_text(COUNTING)
        self.program = run_programs.Program([sys.executable, "-B", str(script)], {"counting": "counting"})
        self.arguments = argparse.Namespace(steady_ms=1.0, turns=3, serial=False, without=["gprof-cli", "nsys"], rounds=2,
                                            limit_s=600, out=self.folder / "out")

    def run_rounds(self):
        results = run_programs.Results(self.arguments)
        with mock.patch.dict(run_programs.KNOWN, {"counting": self.program}), contextlib.redirect_stderr(io.StringIO()):
            run_programs.run_all(["counting"], self.folder, self.arguments, results)
        return results

    def test_rounds(self):
        results = self.run_rounds()
        runs = results.steady["counting"]["counting"]["untraced"]
        self.assertEqual(sorted(runs), [0, 1])
        steps = runs[0]["steps"]
        self.assertEqual(runs[1]["steps"], steps)  # the run before the first round decided
        expected = steady.WARM_STEPS + self.arguments.turns * (max(steady.WARM_STEPS, steps // 10) + steps)
        self.assertEqual(len(runs[0]["turns"]), self.arguments.turns)
        self.assertEqual({run["checksum"] for run in runs.values()}, {str(expected)})
        self.assertEqual(len(results.ends["counting"]["untraced"]), 2)
        self.assertIn("no_such_module", results.failed["counting"]["missing"])
        with mock.patch.dict(run_programs.KNOWN, {"counting": self.program}):
            self.assertIn("| counting | untraced |", results.text())

    def test_a_program_that_fails_is_told(self):
        self.program.words.append("--no-such-option")
        results = self.run_rounds()
        self.assertEqual(results.steady, {})
        self.assertIn("no-such-option", results.failed["counting"]["untraced"])

    def test_every_variant_is_first_once(self):
        variants = ["a", "b", "c"]
        self.assertEqual([run_programs.turn(variants, number)[0] for number in range(4)], ["a", "b", "c", "a"])
        self.assertEqual(run_programs.turn(variants, 1), ["b", "c", "a"])

    def test_the_figure_of_a_run_is_the_median_of_its_turns(self):
        turns = [{"a": {"ns_per_step": ns, "steps": 5, "checksum": str(ns)}, "b": {"skipped": "why"}} for ns in (3, 90, 4)]
        found = run_programs.of_turns(turns)
        self.assertEqual((found["a"]["ns_per_step"], found["a"]["checksum"], found["b"]), (4, "4", {"skipped": "why"}))

    def test_steps_on_the_command_line(self):
        self.assertEqual(steady.parse_steps("a=3,b=4"), {"a": 3, "b": 4})


if __name__ == "__main__":
    unittest.main()
