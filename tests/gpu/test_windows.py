"""Windows on a real GPU. libcupti 13.0 loses kernels and crashes programs where its kinds of records are switched as a
whole while a program works (docs/tracer.md): no program may notice that recording begins and ends."""

import concurrent.futures
import sys
import threading

import recorded
import support
from test_frameworks import PROGRAMS, needs

AT_ONCE = 12  # crashes were more frequent where programs share the GPU
OPTIONS = ["--only-trace", "-t", "cuda,nvtx", "--measure-overhead"]


class Windows(support.GpuTest):
    def launches_without_kernel(self, trace):
        """How many, and of how many; there are windows enough to tell."""
        records = recorded.Records.of(trace)
        self.assertEqual((records.problems, records["loss"]), ([], []))
        self.assertGreater(len(records["capture"]), 20)
        kernels = {r["correlation"] for r in records["kernel"]}
        launches = {r["correlation"] for r in records["api"] if "LaunchKernel" in recorded.function(r)}
        self.assertTrue(launches)
        return len(launches - kernels), len(launches)

    @needs("torch")
    def test_trainings_beside_each_other(self):
        def record(number):
            trace = self.folder / f"{number}.trace"
            return trace, support.profile(trace, sys.executable, "-B", PROGRAMS / "torch_training_program.py", 5, options=OPTIONS)

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            runs = list(pool.map(record, range(AT_ONCE)))
        self.assertEqual([run.returncode for _, run in runs], [3] * AT_ONCE)
        for trace, _ in runs:
            self.assertEqual(self.launches_without_kernel(trace)[0], 0)

    def test_threads_that_launch_all_the_time(self):
        enough = self.folder / "enough"
        timer = threading.Timer(5, enough.touch)
        timer.start()
        self.addCleanup(timer.join)
        self.profile(support.PROGRAMS / "gpu_scripted", "crowd", enough, options=OPTIONS)
        missing, launches = self.launches_without_kernel(self.trace)
        # Of five threads that did nothing but launch, one in a thousand was lost.
        self.assertLess(missing, launches / 200)


if __name__ == "__main__":
    support.main()
