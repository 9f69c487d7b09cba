"""Python programs run as they do without us, and their kernels are recorded."""

import importlib.util
import sys
import unittest

import recorded
import support

PROGRAMS = support.SOURCE / "tests" / "gpu" / "programs"
TUTORIAL = support.EXAMPLES / "normalise_python"
SMALL = ("-n", 1 << 20, "-s", 4, "-r", 3)
LARGE = ("-n", 1 << 24, "-s", 4, "-r", 5)  # a warm-up takes next to nothing of it


def needs(*modules):
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


class Python(support.GpuTest):
    def check(self, *program, code=0):
        """Runs a program without and with us; returns the report."""
        env = support.environment(PYTHONPATH=support.python_path(), XLA_PYTHON_CLIENT_PREALLOCATE="false")
        plain = support.run(sys.executable, *program, env=env)
        self.assertEqual(plain.returncode, code, f"without gprof-cli: {plain.stderr}")
        done = self.profile(sys.executable, *program, code=code, env=env)
        self.assertEqual(done.stdout, plain.stdout)
        report = recorded.Report.of(self.trace)
        self.assertGreater(report.metric("kernels.count"), 0)
        self.assertEqual(report.metric("health.complete"), 1)
        return report

    @needs("numba", "numpy")
    def test_numba_v1(self):
        report = self.check(TUTORIAL / "v1_pageable.py", *SMALL)
        self.assertEqual(report.metric("kernels.count"), 3 * 4 * 3)
        self.assertGreaterEqual(report.metric("memcpy.pageable_count"), 2 * 4 * 3)

    @needs("numba", "numpy")
    def test_numba_v2(self):
        report = self.check(TUTORIAL / "v2_pinned_nvtx.py", *SMALL)
        self.assertEqual(report.metric("kernels.count"), 3 * 4 * 3)
        if importlib.util.find_spec("nvtx"):
            self.assertEqual(report.metric("nvtx.ranges"), 3 * (1 + 4 * 4))

    @needs("numba", "numpy")
    def test_numba_v3_bug(self):
        report = self.check(TUTORIAL / "v3_bug.py", *LARGE)
        # One stream and, for the warm-up, the default stream.
        self.assertEqual(report.metric("streams.created"), 1)
        self.assertEqual(report.metric("streams.used"), 2)
        self.assertEqual(report.metric("streams.max_concurrency"), 1)
        self.assertIn("streams.one_only", report.finding_ids())

    @needs("numba", "numpy")
    def test_numba_v3_streams(self):
        report = self.check(TUTORIAL / "v3_streams.py", *SMALL)
        self.assertEqual(report.metric("streams.created"), 4)
        self.assertEqual(report.metric("streams.used"), 5)
        self.assertNotIn("streams.one_only", report.finding_ids())

    @needs("torch")
    def test_torch(self):
        report = self.check(PROGRAMS / "torch_program.py", code=3)
        self.assertEqual(report.metric("nvtx.ranges", "nvtx:torch step"), 5)

    @needs("cupy")
    def test_cupy(self):
        self.check(PROGRAMS / "cupy_program.py", code=4)

    @needs("jax")
    def test_jax(self):
        self.check(PROGRAMS / "jax_program.py", code=5)

    @needs("triton", "torch")
    def test_triton(self):
        report = self.check(PROGRAMS / "triton_program.py", code=6)
        self.assertIn("add_kernel", report.table_text("kernels"))


if __name__ == "__main__":
    support.main()
