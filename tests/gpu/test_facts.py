"""What a program knows about itself must come out of its profile, to the last count and byte."""

import facts
import recorded
import support

# Durations of the trace against those of CUDA events, which include a little more than the kernel.
TOLERANCE = 0.01


class Facts(support.GpuTest):
    def record(self, *options):
        path = self.folder / "facts.json"
        self.example("known_facts", "--facts", path, options=options)
        return facts.Facts(support.read_json(path)), recorded.Records.of(self.trace), recorded.Report.of(self.trace)

    def test_records_equal_the_facts(self):
        known, records, _ = self.record()
        self.assertEqual(facts.differences(known, records), [])

    def test_report_equals_the_facts(self):
        known, _, report = self.record()
        self.assertEqual(facts.report_differences(known, report), [])
        self.assertEqual(report.metric("health.complete"), 1)
        self.assertEqual(report.metric("health.bad_times"), 0)
        self.assertEqual(report.metric("health.unmatched_ops"), 0)

    def test_graph_nodes_equal_the_facts(self):
        known, records, report = self.record("--cuda-graph-trace", "node")
        self.assertEqual(facts.differences(known, records, has_graph_nodes=True), [])
        self.assertEqual(report.metric("graphs.launches"), 0)

    def test_queries_are_recorded_when_asked_for(self):
        known, records, _ = self.record("--cuda-trace-all-apis")
        self.assertEqual(facts.differences(known, records, has_queries=True), [])

    def test_nothing_but_nvtx(self):
        known, records, _ = self.record("--only-trace", "-t", "nvtx")
        self.assertEqual(facts.nvtx_differences(known, records), [])
        for kind in ("kernel", "memcpy", "memset", "api"):
            self.assertEqual(records[kind], [], kind)

    def test_nothing_but_cuda(self):
        known, records, _ = self.record("--only-trace", "-t", "cuda")
        self.assertEqual(facts.gpu_differences(known, records), [])
        self.assertEqual(records["nvtx"], [])

    def test_durations_agree_with_cuda_events(self):
        known, records, _ = self.record()
        for shape, fact in known.items("timed_kernels"):
            threads = int(shape.split()[0])
            spins = [kernel for kernel in records["kernel"] if "SpinKernel" in kernel["name"] and
                     records.shape(kernel)["block_x"] == threads]
            self.assertEqual(len(spins), fact["count"])
            total_ns = sum(kernel["duration_ns"] for kernel in spins)
            self.assertAlmostEqual(total_ns / fact["event_ns"], 1, delta=TOLERANCE)


if __name__ == "__main__":
    support.main()
