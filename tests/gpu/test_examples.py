"""The report must tell the examples apart: each says what is wrong with its program, and nothing of the others."""

import re

import recorded
import support

CHUNKS = 8
ROUNDS = 10
ELEMENTS = 1 << 24
BYTES = 4 * ELEMENTS * ROUNDS  # in each direction


class Examples(support.GpuTest):
    def report(self, name, *arguments, says):
        done = self.example(name, *arguments)
        self.assertIn(says, done.stdout)
        report = recorded.Report.of(self.trace)
        self.assertEqual(report.metric("health.complete"), 1)
        self.check_idle_time_adds_up(report)
        return report

    def check_idle_time_adds_up(self, report):
        # Time in which the launching thread was preempted is part of that of the host.
        causes = [value for metric, value in report.totals()
                  if re.fullmatch(r"idle\.\w+_ns", metric) and metric != "idle.preempted_ns"]
        self.assertEqual(sum(causes), report.metric("gpu.idle_ns"))
        self.assertEqual(report.metric("gpu.idle_ns") + report.metric("gpu.busy_ns"), report.metric("gpu.window_ns"))

    def check_has_none_of(self, report, *findings):
        self.assertEqual(report.finding_ids() & set(findings), set())

    def check_copies(self, report, chunks, pageable):
        for direction in ("h2d", "d2h"):
            self.assertEqual(report.metric(f"memcpy.{direction}_count"), chunks * ROUNDS)
            self.assertEqual(report.metric(f"memcpy.{direction}_bytes"), BYTES)
        self.assertEqual(report.metric("memcpy.pageable_count"), 2 * chunks * ROUNDS if pageable else 0)
        self.assertEqual(report.metric("memcpy.pageable_bytes"), 2 * BYTES if pageable else 0)
        self.assertEqual(report.metric("kernels.count"), 3 * chunks * ROUNDS)
        self.assertEqual(report.metric("launches.count"), 3 * chunks * ROUNDS)

    def test_v1_has_pageable_copies(self):
        report = self.report("normalise_v1_pageable", says="correct")
        self.check_copies(report, CHUNKS, pageable=True)
        self.assertGreater(report.metric("memcpy.pageable_blocked_ns"), 0)
        self.assertIn("memcpy.pageable", report.finding_ids())
        self.check_has_none_of(report, "streams.one_used", "streams.no_overlap", "memcpy.small")

    def test_v2_has_pinned_copies_and_ranges(self):
        report = self.report("normalise_v2_pinned_nvtx", says="correct")
        self.check_copies(report, CHUNKS, pageable=False)
        self.check_has_none_of(report, "memcpy.pageable", "memcpy.small", "streams.one_used", "streams.no_overlap")
        self.assertEqual(report.metric("nvtx.ranges"), ROUNDS * (1 + 4 * CHUNKS))
        self.assertEqual(report.metric("nvtx.ranges", "nvtx:round/chunk/normalise"), ROUNDS * CHUNKS)
        self.assertEqual(report.metric("nvtx.kernels", "nvtx:round/chunk/normalise"), 3 * ROUNDS * CHUNKS)
        self.assertEqual(report.metric("streams.max_concurrency"), 1)

    def test_v3_bug_asks_for_streams_and_uses_one(self):
        report = self.report("normalise_v3_bug", "-s", 4, says="correct")
        self.check_copies(report, 4, pageable=False)
        self.assertEqual(report.metric("streams.created"), 4)
        self.assertEqual(report.metric("streams.used"), 1)
        self.assertEqual(report.metric("streams.max_concurrency"), 1)
        self.assertEqual(report.metric("streams.overlap_ns"), 0)
        self.assertIn("streams.one_used", report.finding_ids())
        self.assertIn("4 streams requested, 1 used, no overlap", report.findings_text())

    def test_v3_streams_really_overlap(self):
        report = self.report("normalise_v3_streams", "-s", 8, says="correct")
        self.check_copies(report, 8, pageable=False)
        self.assertEqual(report.metric("streams.created"), 8)
        self.assertEqual(report.metric("streams.used"), 8)
        self.assertGreaterEqual(report.metric("streams.max_concurrency"), 2)
        self.assertGreater(report.metric("streams.overlap_percent"), 20)
        self.assertGreater(report.metric("streams.copy_compute_ns"), 0)
        self.assertIn("streams.overlap", report.finding_ids())
        self.check_has_none_of(report, "streams.one_used", "streams.no_overlap", "memcpy.pageable", "memcpy.small")

    def test_starved_loader_waits_for_the_host(self):
        report = self.report("starved_loader", says="40 steps of 262144 elements: correct")
        idle_ns = report.metric("gpu.idle_ns")
        self.assertGreater(report.metric("gpu.idle_percent"), 50)
        self.assertGreater(report.metric("idle.host_ns"), 0.8 * idle_ns)
        self.assertIn("idle.host", report.finding_ids())
        self.check_has_none_of(report, "memcpy.pageable", "memcpy.small", "streams.one_used", "streams.no_overlap")
        self.assertIn("in step/load", report.findings_text())
        self.assertEqual(report.metric("nvtx.ranges", "nvtx:step/load"), 40)
        self.assertEqual(report.metric("nvtx.kernels", "nvtx:step/compute"), 40 * 8)

    def test_many_small_copies_are_counted(self):
        report = self.report("many_small_copies", says="correct")
        self.assertEqual(report.metric("memcpy.h2d_count"), 4096)
        self.assertEqual(report.metric("memcpy.h2d_bytes"), 4096 * 256)
        self.assertGreaterEqual(report.metric("memcpy.small_count"), 4096)
        self.assertIn("memcpy.small", report.finding_ids())
        self.check_has_none_of(report, "memcpy.pageable", "streams.one_used", "streams.no_overlap")

    def test_one_large_copy_instead(self):
        report = self.report("many_small_copies", "--batched", says="correct")
        self.assertEqual(report.metric("memcpy.h2d_count"), 1)
        self.assertEqual(report.metric("memcpy.h2d_bytes"), 4096 * 256)
        self.check_has_none_of(report, "memcpy.small", "memcpy.pageable")


if __name__ == "__main__":
    support.main()
