"""Constructs of OpenMP and OpenACC: what programs did with real runtimes is in the trace, and their results are the same."""
import collections
import pathlib
import shutil
import subprocess
import unittest

import harness

SOURCES = pathlib.Path(__file__).resolve().parent / "programs"


class Directives(harness.Case):
    def build(self, compiler, source, *options):
        if shutil.which(compiler) is None:
            self.skipTest(f"{compiler} is not installed")
        program = self.folder / source.removesuffix(".c")
        done = subprocess.run([compiler, "-O1", "-o", program, SOURCES / source, *options], check=False,
                              capture_output=True, timeout=harness.DEADLINE_S)
        if done.returncode != 0:
            self.skipTest(f"{compiler} {' '.join(options)} does not work here: {done.stderr.decode()[-300:]}")
        return program

    def openmp(self, **more):
        for compiler in ("clang", "clang-14"):
            if shutil.which(compiler) is not None:
                return self.profile(self.build(compiler, "omp_facts.c", "-fopenmp"), version=None, **more)
        return self.skipTest("clang is not installed")

    def test_regions_and_waits_of_openmp(self):
        run = self.openmp(options=["--only-trace", "-t", "openmp"])
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.facts("me")[0]["sum"], 4950)
        self.assert_clean(run.trace)
        rows = run.trace.of("directive")
        self.assertEqual({r["model"] for r in rows}, {"OpenMP"})
        regions = sorted((r for r in rows if r["construct"] == "parallel"), key=lambda r: r["start_ns"])
        self.assertEqual([r["threads"] for r in regions], [3, 3, 2, 2])
        self.assertEqual(len({r["region"] for r in regions}), 4)
        for region, fact in zip(regions, run.facts("region")):
            self.check_uneven(region, fact, [r for r in rows if r["region"] == region["region"]])
        self.assertEqual(len([r for r in rows if r["construct"] == "taskwait"]), 1)

    def check_uneven(self, region, fact, rows):
        end = region["start_ns"] + region["duration_ns"]
        self.assertEqual(region["tid"], fact["tid"])
        self.assertGreaterEqual(region["start_ns"], fact["before"] - 1000)
        self.assertLessEqual(end, fact["after"] + 1000)
        self.assertGreaterEqual(region["duration_ns"], 50_000_000)
        waits = collections.defaultdict(int)
        for row in rows:
            if row["construct"] == "barrier":
                self.assertEqual(row["is_wait"], 1)
                waits[row["tid"]] += row["duration_ns"]
        # The other two wait for the one that sleeps for 30 ms, as far as they have begun by then.
        self.assertEqual(len(waits), 3)
        self.assertGreater(sum(waits.values()), 0)

    def test_report(self):
        report = self.report(self.openmp(options=["--only-trace", "-t", "openmp"]).trace_path)
        metrics = harness.total(report)
        self.assertEqual(metrics["openmp.regions"], 4)
        # Of 3 x 50 ms in each of two regions, 2 x 30 ms and 2 x 20 ms are waiting where all threads run at once.
        self.assertGreater(metrics["openmp.waiting_percent"], 5)
        self.assertLess(metrics["openmp.waiting_percent"], 95)

    def test_of_openmp_only_when_asked_for(self):
        run = self.openmp()
        self.assertEqual(run.facts("me")[0]["sum"], 4950)
        self.assertNotIn(b"OpenMP", run.trace_path.read_bytes() if run.trace_path.exists() else b"")

    def test_constructs_of_openacc(self):
        run = self.profile(self.build("gcc", "acc_facts.c", "-fopenacc"), version=None, options=["--only-trace", "-t", "openacc"])
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.facts("me")[0]["sum"], 999000)
        self.assert_clean(run.trace)
        rows = run.trace.of("directive")
        self.assertEqual({r["model"] for r in rows}, {"OpenACC"})
        count = collections.Counter(r["construct"] for r in rows)
        # GCC's runtime takes a kernels construct for a parallel one.
        self.assertEqual(count["parallel"] + count["kernels"], 3, count)
        self.assertEqual((count["enter data"], count["exit data"]), (1, 1), count)


if __name__ == "__main__":
    harness.main()
