"""Captures on a real GPU: what is recorded is exactly the work between their ends."""

import recorded
import support

START, STOP = 1, 2


class CaptureRanges(support.GpuTest):
    def scripted(self, script, *options, code=0):
        self.profile(support.PROGRAMS / "gpu_scripted", *script.split(), options=options, code=code)
        records = recorded.Records.of(self.trace)
        self.assertEqual(records.problems, [])
        self.assertEqual(records["loss"], [])
        return records

    def check(self, script, options, marks, kernels, captures, code=0):
        records = self.scripted(script, *options, code=code)
        found = sorted(r["message"] for r in records["nvtx"] if r["event"] == recorded.NVTX_MARK)
        self.assertEqual(found, sorted(marks))
        launches = [r for r in records["api"] if recorded.function(r) == "cudaLaunchKernel"]
        self.assertEqual((len(records["kernel"]), len(launches)), (kernels, kernels))
        self.assertEqual({r["correlation"] for r in records["kernel"]}, {r["correlation"] for r in launches})
        self.assertEqual(len([r for r in records["capture"] if r["event"] == START]), captures)
        return records

    def test_profiler_api(self):
        script = "launch 20 mark out pstart mark in launch 500 pstop mark out launch 30 pstart mark in2 launch 7 pstop launch 3"
        options = ["-c", "cudaProfilerApi"]
        self.check(script, options, ["in"], 500, 1)
        self.check(script, [*options, "--capture-range-end", "repeat"], ["in", "in2"], 507, 2)
        self.check(script, [*options, "--capture-range-end", "none"], ["in", "out", "in2"], 540, 1)

    def test_nvtx_range(self):
        for made, asked in (("cap", "cap"), ("cap@train", "cap@train"), ("cap@train", "cap@*")):
            for push, pop in (("push", "pop"), ("rpush", "rpop"), ("start", "end"), ("rstart", "rend")):
                with self.subTest(made=made, asked=asked, push=push):
                    script = f"launch 10 mark out {push} {made} mark in launch 200 {pop} {made} mark out launch 20"
                    self.check(script, ["-c", "nvtx", "-p", asked], ["in"], 200, 1)

    def test_steps(self):
        script = "".join(f"push step mark s{i} launch {i + 1} pop step " for i in range(12))
        records = self.scripted(script, "--sample-steps", "skip=1,wait=1,warmup=1,active=2,repeat=2", "-p", "step")
        self.assertEqual(sorted(r["message"] for r in records["nvtx"] if r["event"] == recorded.NVTX_MARK),
                         ["s3", "s4", "s7", "s8"])
        self.assertEqual(len(records["kernel"]), 4 + 5 + 8 + 9)

    def test_many_captures(self):
        """CUPTI switched on and off a thousand times: no record too few, none too many."""
        script = "".join(f"pstart mark in launch {1 + i % 5} pstop launch 3 " for i in range(1000))
        self.check(script, ["-c", "cudaProfilerApi", "--capture-range-end", "repeat"], ["in"] * 1000,
                   sum(1 + i % 5 for i in range(1000)), 1000)

    def test_capture_with_node_level_graphs_and_memory(self):
        script = "malloc 1048576 pstart malloc 2097152 launch 5 pstop malloc 4194304"
        records = self.scripted(script, "-c", "cudaProfilerApi", "--cuda-memory-usage", "--cuda-graph-trace", "node")
        self.assertEqual({r["size_bytes"] for r in records["memory"] if r["memory"] == 3} & {1 << 20, 2 << 20, 4 << 20}, {2 << 20})

    def test_shutdown(self):
        self.check("pstart mark in launch 50 pstop wait /nonexistent/file",
                   ["-c", "cudaProfilerApi", "--capture-range-end", "stop-shutdown"], ["in"], 50, 1, code=128 + 15)

    def test_nothing_within_reach(self):
        """Idle to the end: the program runs, and nothing is recorded."""
        self.profile(support.PROGRAMS / "gpu_scripted", *"launch 1000 exit 5".split(), options=["-c", "cudaProfilerApi"], code=5)
        if self.trace.stat().st_size > 96:  # more than its first chunk
            self.assertEqual(recorded.Records.of(self.trace)["kernel"], [])


if __name__ == "__main__":
    support.main()
