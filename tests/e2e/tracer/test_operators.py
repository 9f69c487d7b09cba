"""Operators of PyTorch: what a double of libtorch ran is in the trace, and a build that cannot be read is left alone."""
import collections
import unittest

import harness

FACTS = harness.PROGRAMS / "operator_facts"
FORWARD = [
    ("aten::conv2d, sizes = [[4, 3, 8, 8], []], types = [c10::Half, Scalar]", 0, 0),
    ("aten::convolution, sizes = [[4, 3, 8, 8], [6, 3, 3, 3], [], [], [], []], "
     "types = [c10::Half, c10::Half, , ScalarList, Scalar, Scalar], inputs = [, , , [2, -1], False, 1]", 0, 1),
    ("aten::stack, sizes = [[[4, 3, 8, 8], [1, 2, 3, 4, 5, 6, 7]], []], types = [TensorList, ScalarList]", 1, 1),
]
MARK, DEVICE = 1, 4  # a kind of event, a scope of tracks
ENGINE = "autograd::engine::evaluate_function: ConvolutionBackward0"


@unittest.skipUnless(FACTS.is_file(), "the tracer or the doubles were not built")
class Operators(harness.Case):
    def ranges(self, trace):
        """(process, thread) → [(name, sequence number, depth)], as their events say."""
        found, depth = collections.defaultdict(list), collections.Counter()
        for event in trace.of("nvtx"):
            thread = (event["chunk_pid"], event["tid"])
            if event["event"] == 3:
                depth[thread] -= 1
                self.assertGreaterEqual(depth[thread], 0)
                continue
            number = event.get("payload", 0) if event.get("payload_type", 0) else None
            found[thread].append((event["message"], number, depth[thread]))
            depth[thread] += 1
        self.assertEqual([d for d in depth.values() if d != 0], [])
        return found

    def record(self, *arguments, options=()):
        run = self.profile(FACTS, *arguments, options=options)
        self.assertEqual((run.code, run.trace.problems), (0, []), run.err)
        return run

    def test_what_each_operator_was_about(self):
        run = self.record("good")
        self.assertEqual(run.out.split(), ["started", "1", "called", "1"])
        forward, backward = sorted(self.ranges(run.trace).values(), key=len, reverse=True)
        self.assertEqual(forward, FORWARD * 3)
        # What was begun within another and ends after it ends with it.
        self.assertEqual(backward, [(ENGINE, 0, 0), ("ConvolutionBackward0", 0, 1), ("early", None, 1), ("late", None, 2)])
        self.assertEqual([d["name"] for d in run.trace.of("nvtx_domain")], ["PyTorch"])

    def test_the_child_of_a_fork_goes_on(self):
        run = self.record("good", "fork")
        ranges = self.ranges(run.trace)
        self.assertEqual(len({process for process, _ in ranges}), 2)
        self.assertEqual(sorted(map(len, ranges.values())), [4, 4, 9, 9])

    def tracks_of(self, trace):
        """name → values"""
        tracks = {s["id"]: s["name"] for s in trace.of("metric_source") if s["origin"] == "PyTorch" and s["scope"] == DEVICE}
        values = collections.defaultdict(list)
        for sample in sorted(trace.of("metric_block"), key=lambda sample: sample["start_ns"]):
            if sample["source"] in tracks:
                values[tracks[sample["source"]]].append(sample["value"])
        return values

    def test_what_the_allocator_holds(self):
        trace, large = self.record("good", "memory", options=["--pytorch-memory"]).trace, 2 << 20
        self.assertEqual(self.tracks_of(trace), {"PyTorch memory allocated": [512, large + 512, large, large // 2],
                                                 "PyTorch memory reserved": [1 << 20, 3 << 20, 3 << 20, 3 << 20]})
        small, big = 0x7F0000000000, 0x7F0000200000
        blocks = collections.defaultdict(list)
        for block in trace.of("tensor_block"):
            self.assertEqual((block["device"], block["stack"]), (0, 0))
            blocks[block["tid"]].append((block["address"], block["size_bytes"]))
        self.assertEqual(sorted(blocks.values()), [[(small, 512), (big, large), (small, -512)], [(big, -large // 2)]])
        self.assertEqual(trace.of("nvtx", event=MARK), [])

    def test_without_the_option_allocations_are_not_recorded(self):
        self.assertEqual(self.tracks_of(self.record("good", "memory").trace), {})

    def test_objects_that_are_laid_out_differently_are_left_alone(self):
        run = self.record("other")
        self.assertEqual(run.out.split(), ["started", "0", "called", "0"])
        self.assertEqual(run.trace.of("nvtx"), [])
        said = [n["message"] for n in run.trace.of("notice") if "PyTorch" in n["message"]]
        self.assertEqual(len(said), 1, run.err)
        self.assertIn("emit_nvtx()", said[0])


if __name__ == "__main__":
    harness.main()
