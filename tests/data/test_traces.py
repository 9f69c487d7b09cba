"""Recorded traces, read again without a GPU: the report must say what the program knew and what it said when recorded.

NAME.trace        recorded by tests/gpu/run_all.py on a machine with a GPU
NAME.facts.json   what the program said about its own work
NAME.report.json  exact metrics and findings of the report of that day: none may be lost
"""

import json
import pathlib
import re
import sys
import unittest

DATA = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(DATA.parent / "gpu"))

import facts  # noqa: E402
import recorded  # noqa: E402

SKIP = 77


def names(ending):
    return {path.name.removesuffix(ending) for path in DATA.glob(f"*{ending}")}


class Traces(unittest.TestCase):
    maxDiff = None

    def test_every_trace_has_something_to_compare_with(self):
        compared = names(".facts.json") | names(".report.json")
        self.assertEqual(sorted(names(".trace") - names(".report.json")), [], "traces without a report")
        self.assertEqual(sorted(compared - names(".trace")), [], "facts or reports without a trace")

    def test_facts(self):
        for name in sorted(names(".facts.json")):
            with self.subTest(trace=name):
                known = facts.Facts(json.loads((DATA / f"{name}.facts.json").read_text(encoding="utf-8")))
                has_graph_nodes = name.endswith("_graph_nodes")
                trace = DATA / f"{name}.trace"
                self.assertEqual(facts.all_differences(known, recorded.Records.of(trace), has_graph_nodes), [])
                self.assertEqual(facts.report_differences(known, recorded.Report.of(trace), has_graph_nodes), [])

    def test_reports(self):
        for name in sorted(names(".report.json")):
            with self.subTest(trace=name):
                then = recorded.Report(json.loads((DATA / f"{name}.report.json").read_text(encoding="utf-8")))
                now = recorded.Report.of(DATA / f"{name}.trace")
                exact = now.deterministic()
                # What is not known was 0 in reports up to 0.2.
                was = {metric: value for metric, value in then.deterministic().items()
                       if value != 0 or metric in exact or not now.document["not_recorded"]}
                self.assertEqual({metric: exact.get(metric) for metric in was}, was)
                self.assertEqual(sorted(then.finding_ids() - now.finding_ids()), [], "findings that are gone")

    def test_traces_of_earlier_versions_are_read_with_the_figures_of_then(self):
        """Sums, counts and times that no analysis has an opinion on: they are what the file says, for ever."""
        versions = json.loads((DATA / "versions.json").read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(versions), 2)
        for version in versions:
            for trace, figures in version["traces"].items():
                with self.subTest(recorded=version["recorded"], trace=trace):
                    now = dict(recorded.Report.of(DATA.parents[1] / trace).totals())
                    self.assertEqual({metric: now.get(metric) for metric in figures}, figures)

    def test_what_streams_and_copies_are_told(self):
        told = {"python_v3_bug": {"streams.one_only", "memcpy.overlap"},
                "normalise_v1": {"memcpy.pageable"},
                "normalise_v2": {"streams.one_only", "memcpy.overlap"},
                "normalise_v3_bug": {"streams.one_used", "memcpy.overlap"},
                "normalise_v3_streams": {"streams.overlap"},
                "many_small_copies": {"memcpy.small"}}
        for name, findings in told.items():
            with self.subTest(trace=name):
                report = recorded.Report.of(DATA / f"{name}.trace")
                about = {finding for finding in report.finding_ids() if finding.startswith(("streams.", "memcpy."))}
                self.assertEqual(about, findings)

    def test_collectives_are_exposed_as_the_programs_made_them(self):
        """Each rank reduces 64 MiB in each of 6 steps, and the program puts that after its other kernel or beside it."""
        for name, exposed_percent in (("nccl_after", 100), ("nccl_beside", 0)):
            with self.subTest(trace=name):
                report = recorded.Report.of(DATA / f"{name}.trace", "--nvtx", "step")
                self.assertEqual(report.metric("nccl.kernels"), 2 * 6)
                self.assertEqual(report.metric("nccl.exposed_percent"), exposed_percent)
                (row,) = report.table("nccl_messages")
                self.assertEqual((row["count"], row["bytes"], row["ranks"]), (2 * 6, 2 * 6 * (64 << 20), 2))
                waits = report.table("nccl_waits")
                self.assertEqual([row["collectives"] for row in waits], [6, 6])
                self.assertEqual(sum(row["last"] for row in waits), 6)
                self.assertGreaterEqual(report.metric("step.count") + report.metric("step.warmup_count"), 5)

    def test_waits_have_the_idle_time_of_their_cause(self):
        for name in sorted(names(".trace")):
            with self.subTest(trace=name):
                report = recorded.Report.of(DATA / f"{name}.trace")
                self.assertEqual(report.metric("sync.idle_ns"), report.metric("idle.sync_ns"))

    def test_idle_time_adds_up(self):
        for name in sorted(names(".trace")):
            with self.subTest(trace=name):
                report = recorded.Report.of(DATA / f"{name}.trace")
                causes = [value for metric, value in report.totals() if re.fullmatch(r"idle\.\w+_ns", metric)]
                self.assertEqual(sum(causes), report.metric("gpu.idle_ns"))
                self.assertEqual(report.metric("gpu.idle_ns") + report.metric("gpu.busy_ns"),
                                 report.metric("gpu.window_ns"))


if __name__ == "__main__":
    if not names(".trace") | names(".facts.json") | names(".report.json"):
        print("skipped: there are no recorded traces in tests/data")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
