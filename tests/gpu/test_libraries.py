"""Calls of cuSPARSE, cuFFT, cuBLAS, cuSOLVER and cuDNN on a GPU: how many of each, with the kernels that each launched."""

import bisect
import collections
import glob
import json
import os
import site
import sys
import sysconfig

import recorded
import support
from test_frameworks import PROGRAMS, FrameworkTest, needs

ROUNDS = 10
OPTIONS = ["--only-trace", "-t", "cuda,nvtx,cusparse,cufft,cusolver,cublas,cudnn"]


def library_path():
    """Where PyTorch's packages have the libraries: a machine with a driver need not have them anywhere else."""
    folders = {sysconfig.get_paths()["purelib"], *site.getsitepackages()}
    found = [path for folder in sorted(folders) for path in sorted(glob.glob(f"{folder}/nvidia/*/lib"))]
    return ":".join(filter(None, [*found, os.environ.get("LD_LIBRARY_PATH", "")]))


class Ranges:
    """The ranges of libraries, by domain and name, each with the kernels that were launched within it."""

    DOMAINS = ("cuSPARSE", "CUSPARSE", "cuFFT", "cuBLAS", "cusolverDn", "cuDNN")

    def __init__(self, records):
        self.calls, self.kernels, self.outside = collections.Counter(), collections.Counter(), collections.Counter()
        launches = {(r["process"], r["correlation"]): r for r in records["api"]}
        self.starts = collections.defaultdict(list)  # of kernels' launches, by thread
        for kernel in records["kernel"]:
            call = launches.get((kernel["process"], kernel["correlation"]))
            if call is None:
                self.outside["(no call)"] += 1
            else:
                self.starts[call["process"], call["tid"]].append((call["start_ns"], kernel["name"]))
        within = collections.defaultdict(set)
        for thread, domain, name, begin, end in self.closed(records):
            self.calls[domain, name] += 1
            starts = sorted(self.starts[thread])
            first, last = (bisect.bisect(starts, (ns,)) for ns in (begin, end))
            self.kernels[domain, name] += last - first
            within[thread].update(range(first, last))
        for thread, starts in self.starts.items():
            self.outside.update(name for i, (_, name) in enumerate(sorted(starts)) if i not in within[thread])

    def closed(self, records):
        stacks = collections.defaultdict(list)
        for record in sorted(records["nvtx"], key=lambda r: r["time_ns"]):
            domain, thread = records.domain(record), (record["process"], record["tid"])
            if domain not in self.DOMAINS:
                continue
            if record["event"] == recorded.NVTX_PUSH:
                stacks[thread, domain].append(record)
            elif record["event"] == recorded.NVTX_POP and stacks[thread, domain]:
                begin = stacks[thread, domain].pop()
                yield thread, domain, begin["message"], begin["time_ns"], record["time_ns"]

    def like(self, domain, *parts):
        """(calls, kernels) of the functions of a domain whose name has one of these parts."""
        names = [key for key in self.calls if key[0] == domain and any(part in key[1].lower() for part in parts)]
        return sum(self.calls[key] for key in names), sum(self.kernels[key] for key in names)

    def __str__(self):
        return ", ".join(f"{domain}/{name}: {count} with {self.kernels[domain, name]} kernels" for (domain, name), count in sorted(self.calls.items()))


class Libraries(FrameworkTest):
    def check_trace(self, records):
        self.assertEqual(records["loss"], [])
        report = recorded.Report.of(self.trace)
        self.assertEqual(report.metric("health.unmatched_launches"), 0)
        return {row["path"]: row for row in report.table("nvtx")}

    def check_exact(self, ranges, table, expected):
        """{(domain, name): calls}: in the records, and in the report's table with their kernels."""
        for key, count in expected.items():
            with self.subTest("/".join(key)):
                self.assertEqual(ranges.calls[key], count, str(ranges))
                rows = [row for path, row in table.items() if path.endswith("/".join(key))]
                self.assertEqual((sum(row["count"] for row in rows), sum(row["kernels"] for row in rows)),
                                 (count, ranges.kernels[key]), sorted(table))

    def check_some(self, ranges, domain, *parts):
        """The library says itself what it annotates: a range for each call at least, and kernels within them."""
        with self.subTest(domain):
            calls, kernels = ranges.like(domain, *parts)
            self.assertGreaterEqual(calls, ROUNDS, str(ranges))
            self.assertGreaterEqual(kernels, ROUNDS, str(ranges))

    def test_of_a_program_that_links_them(self):
        program = support.PROGRAMS / "gpu_library_calls"
        if not program.exists():
            self.skipTest("gpu_library_calls was not built (no cuSPARSE, cuFFT, cuBLAS or cuSOLVER when CMake ran)")
        env = support.environment(LD_LIBRARY_PATH=library_path())
        plain = support.run(program, ROUNDS, env=env)
        if plain.returncode == 127:
            self.skipTest(plain.stderr)
        self.assertEqual(plain.returncode, 3, plain.stderr)
        done = self.profile(program, ROUNDS, code=3, env=env, options=OPTIONS)
        self.assertEqual(done.stdout, plain.stdout)
        records = recorded.Records.of(self.trace)
        ranges, table = Ranges(records), self.check_trace(records)
        self.check_exact(ranges, table, {
            ("cuSPARSE", "cusparseSpMV"): ROUNDS, ("cuSPARSE", "cusparseSpMM"): ROUNDS,
            ("cuFFT", "cufftPlan1d"): 3, ("cuFFT", "cufftDestroy"): 3, ("cuFFT", "cufftExecR2C"): ROUNDS,
            ("cuFFT", "cufftExecC2R"): ROUNDS, ("cuFFT", "cufftExecC2C"): ROUNDS})
        for key in (("cuSPARSE", "cusparseSpMV"), ("cuSPARSE", "cusparseSpMM"), ("cuFFT", "cufftExecR2C")):
            self.assertGreaterEqual(ranges.kernels[key], ROUNDS, str(ranges))
        self.check_some(ranges, "cuBLAS", "gemm", "matmul")
        self.check_some(ranges, "cusolverDn", "potrf")
        # The program launches none itself.
        self.assertEqual(ranges.outside, {}, str(ranges))
        text = recorded.ask("report", self.trace, "--only", "nvtx")
        for name in ("cusparseSpMV", "cusparseSpMM", "cufftExecR2C"):
            self.assertIn(name, text)
        self.assertIn("cusparseSpMV", recorded.ask("stats", self.trace, "-r", "nvtx_gpu_proj_sum"))

    def test_only_when_asked_for(self):
        program = support.PROGRAMS / "gpu_library_calls"
        env = support.environment(LD_LIBRARY_PATH=library_path())
        if not program.exists() or support.run(program, 1, env=env).returncode == 127:
            self.skipTest("as above")
        self.profile(program, ROUNDS, code=3, env=env)
        self.assertEqual(Ranges(recorded.Records.of(self.trace)).calls, {})

    @needs("torch")
    def test_through_torch(self):
        records = self.run_both("torch_libraries_program.py", ROUNDS, code=3, options=OPTIONS)
        self.assertEqual(json.loads(self.printed), {"spmv": 3, "spmm": 3, "rfft": 4096, "fft": 4096, "potrf": 2, "gemm": 16, "convolution": 72})
        ranges, table = Ranges(records), self.check_trace(records)
        self.check_exact(ranges, table, {("cuSPARSE", "cusparseSpMV"): ROUNDS, ("cuSPARSE", "cusparseSpMM"): ROUNDS,
                                         ("cuFFT", "cufftXtExec"): 2 * ROUNDS, ("cuFFT", "cufftXtMakePlanMany"): 2})
        self.check_some(ranges, "cuSPARSE", "spmv", "spmm")
        self.check_some(ranges, "cuFFT", "exec")
        self.check_some(ranges, "cuBLAS", "gemm", "matmul")
        self.check_some(ranges, "cusolverDn", "potrf")
        self.check_some(ranges, "cuDNN", "")

    @needs("cupy")
    def test_cusparse_annotates_the_calls_of_cupy(self):
        records = self.run_both("cupy_sparse_program.py", ROUNDS, code=3, options=["--only-trace", "-t", "cuda,nvtx,cusparse-verbose"])
        self.assertEqual(float(self.printed), 3)
        ranges = Ranges(records)
        self.check_trace(records)
        self.assertEqual(ranges.calls["CUSPARSE", "cusparseSpMV"], ROUNDS, str(ranges))
        self.assertGreaterEqual(ranges.kernels["CUSPARSE", "cusparseSpMV"], ROUNDS, str(ranges))


if __name__ == "__main__":
    support.main()
