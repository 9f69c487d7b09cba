"""CUDA graphs that CUPTI has trouble with: the program must not notice, and nothing may be missing."""

import json

import recorded
import support


class Graphs(support.GpuTest):
    def run_one(self, what, level, launches):
        done = self.profile(support.PROGRAMS / "gpu_graphs", what, "--launches", str(launches),
                            options=("--cuda-graph-trace", level))
        return json.loads(done.stdout), recorded.Records.of(self.trace)

    def test_first_launch_after_a_copy_within_the_device(self):
        for level in ("graph", "node"):
            with self.subTest(level):
                known, records = self.run_one("after_copy", level, 3)
                self.assertEqual(records.problems, [])
                expected = (known["launches"], 0) if level == "graph" else (0, known["kernels"])
                self.assertEqual((len(records["graph_launch"]), len(records["kernel"])), expected)


if __name__ == "__main__":
    support.main()
