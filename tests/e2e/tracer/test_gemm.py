"""Matrix multiplications: what a program handed to cuBLAS is in the trace, and what it got back is the same."""
import unittest

import harness

FP32, FP64, FP16, BF16 = 0, 1, 2, 14
COMPUTE_32, COMPUTE_64, TF32 = 68, 70, 77
FIELDS = ("function", "m", "n", "k", "batch", "lda", "ldb", "ldc", "a_type", "c_type", "compute_type", "a_transposed",
          "b_transposed", "alignment")
EXPECTED = [
    ("cublasSgemm_v2", 64, 32, 16, 1, 64, 32, 64, FP32, FP32, COMPUTE_32, 0, 1, 16),
    ("cublasSgemm_v2", 65, 33, 17, 1, 17, 17, 65, FP32, FP32, TF32, 1, 0, 4),
    ("cublasDgemmBatched", 8, 9, 10, 5, 8, 10, 8, FP64, FP64, COMPUTE_64, 0, 0, 0),
    ("cublasSgemmStridedBatched", 4, 5, 6, 7, 4, 6, 4, FP32, FP32, COMPUTE_32, 0, 0, 16),
    ("cublasGemmEx", 128, 256, 512, 1, 128, 512, 128, FP16, FP16, COMPUTE_32, 0, 0, 16),
    ("cublasGemmEx_64", 128, 256, 1 << 31, 1, 128, 4096, 128, BF16, BF16, COMPUTE_32, 0, 0, 16),
    ("cublasGemmStridedBatchedEx", 11, 12, 13, 3, 11, 13, 11, FP16, FP16, COMPUTE_32, 0, 0, 2),
    ("cublasLtMatmul", 48, 24, 96, 2, 96, 96, 48, BF16, FP16, COMPUTE_32, 1, 0, 16),
    ("cublasXtSgemm", 70, 71, 72, 1, 72, 72, 70, FP32, FP32, COMPUTE_32, 1, 0, 16),
    ("cublasSgemmGroupedBatched", 10, 30, 50, 2, 50, 30, 10, FP32, FP32, COMPUTE_32, 0, 0, 0),
    ("cublasSgemmGroupedBatched", 20, 40, 60, 3, 60, 40, 20, FP32, FP32, COMPUTE_32, 1, 1, 0),
]


class MatrixMultiplications(harness.Case):
    def rows_of(self, trace):
        return [tuple(g[field] for field in FIELDS) for g in sorted(trace.of("gemm"), key=lambda g: g["start_ns"])]

    def test_sizes_types_and_layouts(self):
        run = self.profile("gemm_facts")
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.facts("me")[0]["sum"], 0)
        self.assertEqual(run.facts("me")[0]["failed"], 7)
        self.assertEqual(self.rows_of(run.trace), EXPECTED)
        tid = run.facts("me")[0]["tid"]
        calls = [c for c in run.trace.of("api") if c["function"].startswith("cuLaunchKernel")]
        # Both groups of the last one are of one call.
        for gemm, call in zip(run.trace.of("gemm"), [*calls, calls[-1]], strict=True):
            self.assertEqual(gemm["tid"], tid)
            self.assertLessEqual(gemm["start_ns"], call["start_ns"])
            self.assertGreaterEqual(gemm["start_ns"] + gemm["duration_ns"], call["start_ns"] + call["duration_ns"])
        self.assert_clean(run.trace)

    def test_of_a_program_that_dies(self):
        run = self.profile("gemm_facts", "die")
        self.assertNotEqual(run.code, 0)
        self.assertEqual(self.rows_of(run.trace), EXPECTED)

    def test_only_when_asked_for(self):
        run = self.profile("gemm_facts", options=["--only-trace", "-t", "cuda,nvtx"])
        self.assertEqual(run.trace.of("gemm"), [])
        run = self.profile("gemm_facts", options=["--only-trace", "-t", "cublas"])
        self.assertEqual(self.rows_of(run.trace), EXPECTED)


if __name__ == "__main__":
    unittest.main()
