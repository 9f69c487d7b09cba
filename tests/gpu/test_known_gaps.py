"""What the report says of time, against programs that measured it with clocks of their own: within 2 percent."""

import json

import recorded
import support

PERCENT = 2


class KnownGaps(support.GpuTest):
    def run_one(self, what):
        done = self.profile(support.PROGRAMS / "gpu_known_gaps", what)
        return json.loads(done.stdout), recorded.Report.of(self.trace)

    def assert_close(self, found_ns, known_ns):
        off = 100 * (found_ns - known_ns) / known_ns
        print(f"{self.id()}: report {found_ns} ns, program {known_ns} ns, {off:+.2f} %")
        self.assertLessEqual(abs(off), PERCENT, (found_ns, known_ns))

    def test_own_code_of_the_host(self):
        known, report = self.run_one("host")
        self.assert_close(report.metric("idle.host_ns"), known["own_ns"])
        tables = [table for table in report.document["tables"] if table["id"] == "idle_by_nvtx"]
        self.assertIn("think", json.dumps(tables), "idle time is not where the program spent it")

    def test_waits(self):
        known, report = self.run_one("sync")
        self.assertGreaterEqual(report.metric("sync.count"), known["rounds"])
        self.assert_close(report.metric("sync.host_blocked_ns"), known["waited_ns"])

    def test_blocking_copies(self):
        known, report = self.run_one("pageable")
        self.assertEqual(report.metric("memcpy.pageable_bytes"), known["bytes"] * (known["copies"] + 1))
        records = recorded.Records.of(self.trace)
        calls = sorted((r for r in records["api"] if recorded.function(r) == "cudaMemcpy"), key=lambda r: r["start_ns"])
        self.assert_close(sum(r["duration_ns"] for r in calls[1:]), known["blocked_ns"])
        self.assertIn("memcpy.pageable", report.finding_ids())

    def test_overlap(self):
        known, report = self.run_one("overlap")
        self.assert_close(report.metric("streams.overlap_ns"), known["overlap_ns"])


if __name__ == "__main__":
    support.main()
