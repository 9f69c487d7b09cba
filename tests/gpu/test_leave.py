"""However a program ends, its trace can be read, holds what was recorded, and the exit code is the program's own."""


import collections

import recorded
import support

LAUNCHES = 500
OWN_CODE = 23
END_OF_THE_DEAD = 4  # EndReason
# Longer than two flush periods of 500 ms: by then everything that CUPTI had must be in the file.
WAIT_MS = 1500


class Leave(support.GpuTest):
    def leave(self, way, code, *more):
        done = self.profile(support.PROGRAMS / "gpu_leave", way, LAUNCHES, *more, code=code)
        self.assertIn("launched\n", done.stdout)
        return recorded.Records.of(self.trace)

    def check_all_is_there(self, records, times=1):
        self.assertEqual(len(records["kernel"]), times * LAUNCHES)
        self.check_what_is_ours(records, times)

    def check_what_is_ours(self, records, times=1):
        """API calls and ranges are recorded by the tracer itself, so none of them may be missing."""
        launches = [call for call in records["api"] if recorded.function(call) == "cudaLaunchKernel"]
        pushes = [event for event in records["nvtx"] if event["event"] == recorded.NVTX_PUSH]
        self.assertEqual(len(launches), times * LAUNCHES)
        self.assertEqual(len(pushes), times * LAUNCHES)

    def check_complete(self):
        self.assertEqual(recorded.Report.of(self.trace).metric("health.complete"), 1)

    def test_return(self):
        self.check_all_is_there(self.leave("return", OWN_CODE))
        self.check_complete()

    def test_exit(self):
        self.check_all_is_there(self.leave("exit", OWN_CODE))
        self.check_complete()

    def test_exit_of_another_thread(self):
        self.check_all_is_there(self.leave("thread_exit", OWN_CODE))
        self.check_complete()

    def test_after_device_reset(self):
        self.check_all_is_there(self.leave("reset", OWN_CODE))
        self.check_complete()

    def test_underscore_exit(self):
        self.check_all_is_there(self.leave("_exit", OWN_CODE, WAIT_MS))

    def test_quick_exit(self):
        self.check_all_is_there(self.leave("quick_exit", OWN_CODE, WAIT_MS))

    def test_abort(self):
        self.check_all_is_there(self.leave("abort", 128 + 6, WAIT_MS))

    def test_segmentation_fault(self):
        self.check_all_is_there(self.leave("segv", 128 + 11, WAIT_MS))

    def test_sigterm(self):
        self.check_all_is_there(self.leave("term", 128 + 15, WAIT_MS))

    def test_sigkill(self):
        self.check_all_is_there(self.leave("kill", 128 + 9, WAIT_MS))
        self.assertEqual(recorded.Report.of(self.trace).metric("health.complete"), 0)

    def test_sigkill_at_once(self):
        """What CUPTI had not delivered is lost: the trace must not claim to be complete."""
        records = self.leave("kill", 128 + 9)
        self.check_what_is_ours(records)
        self.assertLessEqual(len(records["kernel"]), LAUNCHES)
        self.assertEqual([end["reason"] for end in records["end"]], [END_OF_THE_DEAD])
        self.assertEqual(recorded.Report.of(self.trace).metric("health.complete"), 0)

    def test_exec(self):
        """Of the first image GPU work may be missing, nothing else; the second must be whole."""
        records = self.leave("exec", OWN_CODE)
        self.check_what_is_ours(records, times=2)
        launches = collections.Counter(kernel["process"] for kernel in records["kernel"])
        ended = {end["process"] for end in records["end"] if end["reason"] == recorded.END_BY_EXIT}
        self.assertEqual(len(ended), 1)
        self.assertEqual(launches[ended.pop()], LAUNCHES)
        self.assertLessEqual(len(records["kernel"]), 2 * LAUNCHES)

    def test_exec_after_a_flush(self):
        self.check_all_is_there(self.leave("exec", OWN_CODE, WAIT_MS), times=2)

    def test_children(self):
        self.check_all_is_there(self.leave("children", OWN_CODE), times=3)
        self.check_complete()


if __name__ == "__main__":
    support.main()
