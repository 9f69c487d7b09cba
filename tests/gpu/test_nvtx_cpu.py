"""The example for machines without a GPU: its ranges come out exactly as it made them, on any machine."""

import sys
import unittest

import facts
import recorded
import support


class NvtxCpu(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = self.enterContext(support.temporary_folder())
        self.trace = self.folder / "run.trace"

    def profile(self, *arguments):
        path = self.folder / "facts.json"
        done = support.profile(self.trace, support.EXAMPLES / "nvtx_cpu", "--facts", path, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("pictures, checksum", done.stdout)
        return facts.Facts(support.read_json(path)), recorded.Records.of(self.trace), recorded.Report.of(self.trace)

    def test_profile_equals_the_facts(self):
        known, records, report = self.profile("-n", 40)
        self.assertEqual(facts.nvtx_differences(known, records), [])
        self.assertEqual(facts.report_differences(known, report), [])
        self.assertEqual(records.problems, [])
        self.assertEqual(report.metric("health.complete"), 1)

    def test_more_threads_than_frames(self):
        known, records, _ = self.profile("-n", 3, "-t", 5)
        self.assertEqual(facts.nvtx_differences(known, records), [])

    def test_ranges_have_the_paths_that_the_program_gave_them(self):
        _, _, report = self.profile("-n", 20)
        ranges = {scope.removeprefix("nvtx:"): value for (name, scope), value in report.metrics.items()
                  if name == "nvtx.ranges" and scope}
        for path in ("frame", "frame/encode", "frame in flight"):
            self.assertEqual(ranges.get(path), 20, ranges)


if __name__ == "__main__":
    for needed in (support.COMMAND, support.EXAMPLES / "nvtx_cpu"):
        if not needed.is_file():
            print("skipped: not built:", needed.name)
            sys.exit(support.SKIP)
    unittest.main(verbosity=2)
