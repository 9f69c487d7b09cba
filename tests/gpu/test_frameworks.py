"""Python frameworks: worker processes, their own profilers, their graphs, their ranges, and NCCL's payloads."""

import bisect
import collections
import importlib.util
import json
import sys
import unittest

import recorded
import support

PROGRAMS = support.SOURCE / "tests" / "gpu" / "programs"
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
START, STOP = 1, 2  # CaptureEvent


def needs(*modules):
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


class FrameworkTest(support.GpuTest):
    def run_both(self, program, *arguments, code, options=()):
        """Without and with us: the same output, which is kept, and exit code. Returns the records."""
        env = support.environment(PYTHONPATH=support.python_path(), XLA_PYTHON_CLIENT_PREALLOCATE="false")
        plain = support.run(sys.executable, "-B", PROGRAMS / program, *arguments, env=env)
        self.assertEqual(plain.returncode, code, f"without gprof-cli: {plain.stderr}")
        done = self.profile(sys.executable, "-B", PROGRAMS / program, *arguments, code=code, env=env, options=options)
        self.assertEqual(done.stdout, plain.stdout)
        self.printed = done.stdout
        records = recorded.Records.of(self.trace)
        self.assertEqual(records.problems, [])
        return records

    def pushes(self, records):
        return collections.Counter(r["message"] for r in records["nvtx"] if r["event"] == recorded.NVTX_PUSH)


class Frameworks(FrameworkTest):
    def check_workers(self, how):
        records = self.run_both("torch_workers_program.py", how, code=3)
        self.assertEqual(self.pushes(records)["batch"], 8)
        copies = [r for r in records["memcpy"] if r["copy_kind"] == HOST_TO_DEVICE and r["size_bytes"] == 8 * 16 * 4]
        self.assertEqual(len(copies), 8)
        # Workers that use neither CUDA nor NVTX leave nothing, and none of them may have called CUPTI.
        self.assertEqual(len({r["process"] for r in records["kernel"]}), 1)

    @needs("torch")
    def test_loader_with_forked_workers(self):
        self.check_workers("fork")

    @needs("torch")
    def test_loader_with_spawned_workers(self):
        self.check_workers("spawn")

    @needs("torch")
    def test_profiler_of_torch_inside(self):
        """Where GPU work is not left to it, the program runs, and we have all of it or say what is missing."""
        records = self.run_both("torch_profiler_program.py", "quiet", code=3, options=["--yield-to-profiler=no"])
        self.assertEqual({name: count for name, count in self.pushes(records).items() if name in ("before", "within", "after")},
                         {"before": 3, "within": 3, "after": 3})
        launches = [r for r in records["api"] if "LaunchKernel" in r["function"]]
        kernels = {r["correlation"] for r in records["kernel"]}
        missing = [r for r in launches if r["correlation"] not in kernels]
        if missing:  # then somebody must say so
            self.assertTrue([r for r in records["notice"] if r["level"] >= 2] or records["loss"], f"{len(missing)} kernels missing")

    @needs("torch")
    def test_workers_with_cuda_keep_all_kernels(self):
        """Two epochs of two spawned workers, which launch two kernels and a copy for each of 64 samples, and end."""
        records = self.run_both("torch_workers_program.py", "spawn", "cuda", code=3)
        self.assertEqual(self.pushes(records)["batch"], 2 * 8)
        main = {r["process"] for r in records["nvtx"] if r["message"] == "batch"}
        self.assertEqual(len(main), 1)
        kernels = collections.Counter(r["process"] for r in records["kernel"] if r["process"] not in main)
        copies = [r for r in records["memcpy"] if r["process"] not in main and r["copy_kind"] == DEVICE_TO_HOST]
        self.assertEqual((len(kernels), sum(kernels.values()), len(copies)), (4, 2 * 2 * 64, 2 * 64))
        self.assertEqual(recorded.Report.of(self.trace).metric("health.unmatched_launches"), 0)

    def launches_of_steps(self, records):
        """How many kernels each step launched that lies within a capture, and the rate of steps there, per second."""
        borders = sorted((r["time_ns"], r["event"]) for r in records["capture"])
        captures = list(zip([t for t, event in borders if event == START], [t for t, event in borders if event == STOP]))
        launches = sorted(r["start_ns"] for r in records["api"] if "LaunchKernel" in r["function"])
        events = sorted(((r["time_ns"], r["event"], r["message"]) for r in records["nvtx"]))
        steps, captured_ns = [], 0
        for begin, end in captures:
            inside = [(time, event) for time, event, _ in events if begin <= time <= end]
            pushes = [(a[0], b[0]) for a, b in zip(inside, inside[1:]) if (a[1], b[1]) == (recorded.NVTX_PUSH, recorded.NVTX_POP)]
            if pushes:
                captured_ns += pushes[-1][1] - pushes[0][0]
            steps += [bisect.bisect(launches, b) - bisect.bisect(launches, a) for a, b in pushes]
        return steps, len(steps) / (captured_ns / 1e9), len(captures)

    @needs("torch")
    def test_budget_of_a_training(self):
        """Windows see whole steps as they are, as often as the program says; the report says how much it has seen."""
        program = ("torch_training_program.py", 10)
        done = self.profile(sys.executable, "-B", PROGRAMS / program[0], program[1], code=3,
                            options=["--only-trace", "-t", "cuda,nvtx", "--overhead-budget", "10%"])
        known, records = json.loads(done.stdout), recorded.Records.of(self.trace)
        self.assertEqual((records.problems, records["loss"]), ([], []))
        steps, steps_per_s, captures = self.launches_of_steps(records)
        self.assertGreaterEqual(captures, 3)
        self.assertGreaterEqual(len(steps), 20)
        self.assertEqual(len(set(steps)), 1, collections.Counter(steps))
        self.assertLess(len(steps), known["steps"])
        # Windows are slower than the rest by what recording costs, and the program's own rate has both.
        self.assertAlmostEqual(steps_per_s * known["seconds"] / known["steps"], 1, delta=0.3)
        kernels = {r["correlation"] for r in records["kernel"]}
        launches = {r["correlation"] for r in records["api"] if "LaunchKernel" in r["function"]}
        said = f"of {len(launches)}; {len(kernels)} kernels, {captures} captures, {[r['message'] for r in records['notice']]}"
        self.assertEqual(len(launches - kernels), 0, said)
        # Of launches while a window opens, CUPTI may tell the kernels and not the calls: nine in each window on an H200.
        self.assertLess(len(kernels - launches), 30 * captures)
        report = recorded.Report.of(self.trace)
        self.assertNotIn("kernels.count", dict(report.totals()))
        self.assertEqual(report.document["trust"]["captures"], captures)
        self.assertRegex(recorded.ask("report", self.trace), rf"[0-9.]+% of the run in {captures} windows")

    @needs("torch")
    def test_children_with_cuda(self):
        records = self.run_both("torch_children_program.py", code=3)
        self.assertEqual(len({r["process"] for r in records["kernel"]}), 2)
        names = self.pushes(records)
        self.assertEqual((names["rank 0"], names["rank 1"]), (1, 1))
        kernels = collections.Counter(r["process"] for r in records["kernel"])
        for count in kernels.values():
            self.assertGreaterEqual(count, 50)

    @needs("torch")
    def test_graph_of_torch(self):
        records = self.run_both("torch_graph_program.py", code=3)
        self.assertEqual(len(records["graph_launch"]), 10)
        records = self.run_both("torch_graph_program.py", code=3, options=["--cuda-graph-trace", "node"])
        in_graphs = [r for r in records["kernel"] if r["graph_node"]]
        self.assertEqual(len(in_graphs), 40)
        known = {r["node"] for r in records["graph_node"]}
        self.assertEqual({r["graph_node"] for r in in_graphs} - known, set())

    @needs("torch")
    def test_capture_of_steps(self):
        """As torch.profiler's schedule: of eight batches the third and the fourth."""
        records = self.run_both("torch_workers_program.py", "fork", code=3,
                                options=["--sample-steps", "skip=1,wait=1,active=2,repeat=1", "-p", "batch"])
        self.assertEqual(len([r for r in records["memcpy"] if r["size_bytes"] == 8 * 16 * 4]), 2)

    @needs("cupy", "nvtx")
    def test_ranges_of_cupy_and_python(self):
        records = self.run_both("cupy_nvtx_program.py", code=4)
        self.assertEqual((self.pushes(records)["cupy range"], self.pushes(records)["python range"]), (5, 5))
        inner = [r for r in records["nvtx"] if r["message"] == "python range"]
        self.assertEqual({records.domain(r) for r in inner}, {"python domain"})
        self.assertEqual([r["payload"] for r in inner], list(range(5)))

    @needs("numba", "nvtx")
    def test_numba(self):
        records = self.run_both("numba_nvtx_program.py", code=5)
        self.assertEqual(len(records["kernel"]), 20)
        self.assertEqual(self.pushes(records)["launch"], 20)
        calls = {r["correlation"]: r for r in records["api"] if "cuLaunchKernel" in r["function"]}
        self.assertEqual({r["correlation"] for r in records["kernel"]} - set(calls), set())
        self.assertEqual(len({r["stream"] for r in records["kernel"]}), 2)


class Nccl(FrameworkTest):
    gpus = 2

    @needs("torch")
    def test_payloads(self):
        records = self.run_both("torch_nccl_program.py", code=3)
        events = [r for r in records["nvtx"] if records.domain(r) == "NCCL" and "AllReduce" in r["message"]]
        self.assertGreaterEqual(len(events), 2 * 3)
        schemas = {(r["process"], r["domain"], r["schema"]): r for r in records["nvtx_schema"]}
        self.assertTrue(schemas, "NCCL registered no layout")
        payloads = [r for r in records["nvtx_payload"] if (r["process"], r["domain"], r["schema"]) in schemas]
        self.assertGreaterEqual(len(payloads), 2 * 3)
        entries = [r["name"] for r in records["nvtx_schema_entry"]]
        self.assertTrue(any("size" in name.lower() for name in entries), entries)


if __name__ == "__main__":
    support.main()
