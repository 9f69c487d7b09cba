"""Calls of cuSPARSE and cuFFT: a range of each in the trace, by name, and the program gets the same from them."""

import json
import pathlib
import subprocess
import unittest

import harness

SOURCE = pathlib.Path(__file__).resolve().parent / "programs" / "library_facts.c"
SPARSE = [("cuSPARSE", name) for name in ("cusparseSpMM", "cusparseSpSM_solve", "cusparseSbsrsm2_solve")]
# cufftExecR2C calls cufftXtExec itself: that is a part of it. The program's arguments are evaluated in any order.
FFT = [("cuFFT", name) for name in ("cufftExecR2C", "cufftXtExec")]


class LibraryRanges(harness.Case):
    def setUp(self):
        super().setUp()
        library, self.program = self.folder / "libfake_math.so", self.folder / "library_facts"
        for words in (["-DAS_LIBRARY", "-shared", "-fPIC", "-o", library, SOURCE],
                      ["-o", self.program, SOURCE, library, f"-Wl,-rpath,{self.folder}", "-ldl"]):
            subprocess.run(["cc", "-O1", *words], timeout=harness.DEADLINE_S, check=True)

    def ranges(self, *options):
        """[(domain, name)] in the order of their starts."""
        run = self.profile(self.program, options=options)
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.out, self.run_plain(self.program).out)
        self.assertEqual(run.trace.problems, [])
        done = subprocess.run([harness.GPROF, "export", run.trace_path, "--format", "jsonl", "--kind", "nvtx_range", "-o", "-"],
                              capture_output=True, text=True, timeout=harness.DEADLINE_S, check=True)
        found = sorted(map(json.loads, done.stdout.splitlines()), key=lambda one: one["start_ns"])
        self.assertTrue(all(not one["is_open"] and one["depth"] == 0 for one in found), found)
        return [(one["domain"], one["name"]) for one in found]

    def test_of_cusparse(self):
        self.assertEqual(self.ranges("--only-trace", "-t", "cuda,cusparse"), SPARSE)

    def test_of_cufft(self):
        self.assertEqual(sorted(self.ranges("--only-trace", "-t", "cuda,cufft")), FFT)

    def test_of_both(self):
        found = self.ranges("--only-trace", "-t", "cusparse,cufft")
        self.assertEqual((found[:3], sorted(found[3:])), (SPARSE, FFT))

    def test_only_when_asked_for(self):
        self.assertEqual(self.ranges(), [])
        self.assertEqual(self.ranges("--only-trace", "-t", "cuda,nvtx,ucx"), [])


if __name__ == "__main__":
    harness.main()
