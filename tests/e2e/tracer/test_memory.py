"""The tracer's memory does not grow with the length of a capture."""

import json
import subprocess

import harness

EVENTS = 3_000_000
MIB = 1024


class LongCapture(harness.Case):
    def test_memory_is_bounded(self):
        """200 million events take no more. Times play no part: the program waits for the trace."""
        trace = self.folder / "run1.trace"
        run = self.profile("long_capture", EVENTS, 10, env={"LONG_CAPTURE_TRACE": str(trace)}, options=["--flush-ms", "20"])
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.violations, "")
        memory = run.facts("memory")
        self.assertEqual(len(memory), 11)
        plain = self.run_plain("long_capture", EVENTS, 10).facts("memory")
        for point, without in zip(memory[1:], plain[1:], strict=True):
            point["ours_kib"] = sum(point[kind] - without[kind] for kind in ("anonymous_kib", "shared_kib"))
            # Pages that rest 16 MB, pages ahead 4 MB, buffers of CUPTI, batches of records.
            self.assertLess(point["ours_kib"], 96 * MIB, memory)
        early = max(point["ours_kib"] for point in memory[1:4])
        late = max(point["ours_kib"] for point in memory[4:])
        self.assertLess(late, early + 16 * MIB, memory)
        self.check_complete(run)

    def check_complete(self, run):
        """Bounded, but not because something was thrown away."""
        done = subprocess.run([harness.GPROF, "report", "--only", "kernels,nvtx", "--format", "json", run.trace_path],
                              capture_output=True, timeout=harness.DEADLINE_S, check=True)
        report = json.loads(done.stdout)
        steps = run.facts("end")[0]["steps"]
        metrics = harness.total(report)
        self.assertEqual(report["health"]["lost_records"], 0)
        self.assertEqual((metrics["nvtx.ranges"], metrics["kernels.count"]), (2 * steps, 2 * steps))


if __name__ == "__main__":
    harness.main()
