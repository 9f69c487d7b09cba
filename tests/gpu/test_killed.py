"""Programs at work on a GPU that are killed at any moment, or their recorders: what tests/e2e/tracer/test_kills.py does on doubles."""

import os
import sys

import support

os.environ["GPROF_TEST_BUILD"] = str(support.BUILD)
os.environ.setdefault("GPROF_TEST_KEEP_S", "4")  # a context of CUDA takes a second of it
sys.path.insert(1, str(support.SOURCE / "tests" / "e2e" / "tracer"))

import test_kills  # noqa: E402  (needs the build)


class Killed(test_kills.Kills):
    cupti = None

    def command(self, program, arguments):
        return [str(support.PROGRAMS / f"gpu_{program}"), *map(str, arguments)]

    def environment(self, version, env):
        """Without doubles, and on the GPU that was asked for."""
        gpus = os.environ.get("CUDA_VISIBLE_DEVICES")
        return {**super().environment(version, env), **({} if gpus is None else {"CUDA_VISIBLE_DEVICES": gpus})}


if __name__ == "__main__":
    support.main()
