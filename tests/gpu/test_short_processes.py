"""Many short processes on one GPU, several at a time, as in a test suite: each is recorded whole, and leaves as it does alone."""
import recorded
import support

PROCESSES, AT_ONCE, LAUNCHES = 64, 8, 10


class ShortProcesses(support.GpuTest):
    def test_each_is_whole(self):
        program = f"'{support.PROGRAMS / 'gpu_scripted'}' launch {LAUNCHES}"
        # xargs ends with 123 when one of them ends with another code than 0.
        self.profile("sh", "-c", f"seq {PROCESSES} | xargs -P {AT_ONCE} -I NUMBER {program}")
        records = recorded.Records.of(self.trace)
        self.assertEqual((records.problems, records["loss"]), ([], []))
        launches = [r for r in records["api"] if recorded.function(r) == "cudaLaunchKernel"]
        self.assertEqual((len(records["kernel"]), len(launches)), (PROCESSES * LAUNCHES, PROCESSES * LAUNCHES))
        self.assertEqual(len({r["process"] for r in launches}), PROCESSES)


if __name__ == "__main__":
    support.main()
