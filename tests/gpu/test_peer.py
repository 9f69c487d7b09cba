"""Copies between two GPUs: counts, bytes and devices as the program knows them. Graphs on two GPUs: every kernel."""

import json

import facts
import recorded
import support


class Peer(support.GpuTest):
    gpus = 2

    def test_copies_equal_the_facts(self):
        path = self.folder / "facts.json"
        self.example("peer_copy", "--facts", path)
        known, records = facts.Facts(support.read_json(path)), recorded.Records.of(self.trace)
        self.assertEqual(facts.peer_differences(known, records), [])
        self.assertEqual(facts.report_differences(known, recorded.Report.of(self.trace)), [])

    def test_graphs_of_both_gpus(self):
        """`auto` records them node by node: of whole ones that are launched together, CUPTI has left some without times."""
        for what in ("two", "pair"):
            with self.subTest(what=what):
                done = self.profile(support.PROGRAMS / "gpu_graphs", what, options=["--cuda-graph-trace", "auto"])
                known, records = json.loads(done.stdout), recorded.Records.of(self.trace)
                timed = [r for r in records["kernel"] if r["start_ns"] and r["duration_ns"]]
                self.assertEqual((len(timed), {r["device"] for r in timed}), (known["kernels"], {0, 1}))
                self.assertEqual((records.problems, records["loss"]), ([], []))
                self.assertEqual(recorded.Report.of(self.trace).metric("health.unmatched_launches"), 0)


if __name__ == "__main__":
    support.main(gpus=2)
