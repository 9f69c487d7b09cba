"""GPU work of a program that goes on as a user who may not write to the trace: the launcher writes for it."""
import os
import shutil
import unittest

import recorded
import support

NOBODY = "65534"
AS_NOBODY = ("setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups")


@unittest.skipIf(os.geteuid() != 0 or shutil.which("setpriv") is None, "needs root, and setpriv")
class ShutOut(support.GpuTest):
    def check(self, *words, kernels):
        self.profile(*words)
        records = recorded.Records.of(self.trace)
        self.assertEqual((records.problems, records["loss"]), ([], []))
        launches = [r for r in records["api"] if recorded.function(r) == "cudaLaunchKernel"]
        self.assertEqual((len(records["kernel"]), len(launches)), (kernels, kernels))

    def test_from_the_beginning(self):
        self.check(*AS_NOBODY, support.PROGRAMS / "gpu_scripted", "launch", "1000", kernels=1000)

    def test_in_the_middle(self):
        self.check(support.PROGRAMS / "gpu_scripted", "launch", "1000", "user", NOBODY, "launch", "2000", kernels=3000)


if __name__ == "__main__":
    support.main()
