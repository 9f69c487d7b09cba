"""Requests of a serving engine in Perfetto's format: rows of requests, rows of steps, and what leads from one to the other."""
import re

import exporting
import perfetto_wire

CASE = exporting.ROOT / "tests" / "cases" / "report" / "requests.test"


class Requests(exporting.ExportTest):
    def setUp(self):
        super().setUp()
        text = re.search(r"^--- trace run.trace\n(.*?)\n\n--- run", CASE.read_text(encoding="utf-8"), re.M | re.S).group(1)
        trace = exporting.assemble(text + "\n", self.folder / "run.trace")
        self.found = perfetto_wire.Perfetto(self.export(trace, "perfetto"))

    def of(self, category):
        return [s for s in self.found.slices if s.category == category]

    def test_each_request_is_a_slice_with_its_parts(self):
        chat_1, chat_2 = self.of("request")
        self.assertEqual((chat_1.name, chat_2.name), ("chat-1", "chat-2"))
        self.assertEqual((chat_1.start_ns, chat_1.end_ns), (2_000_000, 52_000_000))
        self.assertNotEqual(chat_1.track, chat_2.track, "they are there at the same time")
        parts = [(s.name, s.start_ns, s.end_ns) for s in self.of("request_part") if s.track == chat_2.track]
        self.assertEqual(parts, [("queue", 9_000_000, 10_000_000), ("prefill", 10_000_000, 50_000_000),
                                 ("decode", 50_300_000, 51_800_000)])

    def test_flows_lead_to_steps_and_from_there_to_the_gpu(self):
        steps = self.of("engine_step")
        self.assertEqual([s.name for s in steps], ["prefill", "decode", "mixed", "decode"])
        began = {flow: s for s in self.of("request_part") for flow in s.flows}
        self.assertEqual([len(s.ended_flows) for s in steps], [1, 1, 2, 2])
        for step in steps:
            for flow in step.ended_flows:
                self.assertEqual(began[flow].args["step"], step.args["step"])
            kernel, = (s for s in self.of("kernel") if set(s.ended_flows) & set(step.flows))
            self.assertGreater(kernel.start_ns, step.start_ns)


if __name__ == "__main__":
    exporting.main()
