"""Folded stacks: lines that flame graph programs read, and sums that are those of the trace."""

import re

import exporting

LINE = re.compile(r"(?P<stack>[^\n]+) (?P<weight>\d+)")


class Folded(exporting.ExportTest):
    def stacks(self, trace, *options):
        lines = self.export(trace, "folded", *options).read_text(encoding="utf-8").split("\n")
        self.assertEqual(lines.pop(), "")
        found = {}
        for line in lines:
            match = LINE.fullmatch(line)
            self.assertTrue(match, line)
            frames = tuple(match["stack"].split(";"))
            self.assertTrue(all(frames), line)
            self.assertNotIn(frames, found)
            found[frames] = int(match["weight"])
        return found

    def test_gpu_time_is_that_of_all_operations(self):
        for number, trace in enumerate(exporting.TRACES):
            with self.subTest(trace=trace.stem):
                metrics = {metric["id"]: metric["value"] for metric in exporting.report(trace)["metrics"]
                           if not metric["scope"]}
                graphs = exporting.csv_rows(self.export(trace, "csv", "--kind", "graph_launch", name=f"{number}.csv"))
                expected = sum(metrics.get(f"{kind}.total_ns", 0) for kind in ("kernels", "memcpy", "memset"))
                expected += sum(int(row["duration_ns"]) for row in graphs)
                self.assertEqual(sum(self.stacks(trace).values()), expected)

    def test_frames_are_ranges_then_the_operation(self):
        stacks = self.stacks(exporting.DATA / "starved_loader.trace")
        self.assertIn(("step", "compute", "gprof::kernels::SaxpyKernel"), stacks)
        self.assertIn(("step", "compute", "copy host to device"), stacks)
        full = self.stacks(exporting.DATA / "starved_loader.trace", "--full-names", "-f")
        self.assertIn(("step", "compute", "gprof::kernels::SaxpyKernel(float, float const*, float*, unsigned long)"), full)

    def test_host_time_adds_up_to_ranges_and_calls(self):
        trace = exporting.DATA / "starved_loader.trace"
        stacks = self.stacks(trace, "--weight", "host")
        ranges = exporting.csv_rows(self.export(trace, "csv", "--kind", "nvtx_range", name="r.csv"))
        calls = exporting.csv_rows(self.export(trace, "csv", "--kind", "api", name="a.csv"))
        outermost = sum(int(row["duration_ns"]) for row in ranges if row["depth"] == "0")
        outside = sum(int(row["duration_ns"]) for row in calls if not row["nvtx_path"])
        self.assertEqual(sum(stacks.values()), outermost + outside)
        threads = {frames[0] for frames in stacks}
        self.assertTrue(all(re.fullmatch(r".+ \(\d+\)|thread \d+", thread) for thread in threads), threads)

    def test_processes_are_told_apart(self):
        roots = {frames[0] for frames in self.stacks(exporting.DATA / "nccl_after.trace")}
        self.assertEqual(len(roots), 2)
        self.assertTrue(all(re.match(r"rank [01] ", root) for root in roots), roots)

    def test_hostile_names_break_no_line(self):
        stacks = self.stacks(self.hostile())
        self.assertEqual(len(stacks), len(exporting.HOSTILE) + 1)
        self.assertTrue(all(len(frames) == 2 for frames in stacks), stacks)
        self.assertIn(("a,b c", "a,b c"), stacks)

    def test_an_empty_trace(self):
        self.assertEqual(self.stacks(self.empty()), {})


if __name__ == "__main__":
    exporting.main()
