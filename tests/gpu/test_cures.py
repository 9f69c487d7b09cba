"""The cures of `try` on a GPU: each is found better where the problem is that it is there for, and nowhere else, and no
program computes anything else with it. Programs have a static CUDA runtime, as nvcc links it, or are PyTorch."""
import importlib.util
import json
import pathlib
import sys

from support import COMMAND, PROGRAMS, GpuTest, environment, main, python_path, run

CURES = ("pin-copies", "stream-waits", "pool-allocations", "prefetch-managed")


class Cures(GpuTest):
    def verdicts(self, *program, cures=CURES, options=(), env=None):
        done = run(COMMAND, "try", "-q", "-n", "7", "--format", "json", *options, *cures, "--", *program, env=env, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        for change in result["changes"]:
            print(f"  {program[-1]}: {change['name']} {change['verdict']} {change.get('effect_percent')} "
                  f"{change.get('why', '')}", file=sys.stderr, flush=True)
            self.assertNotIn(change["verdict"], ("failed", "other results", "does not apply"), change)
        return {change["name"]: change["verdict"] for change in result["changes"]}

    def helps(self, cure, problem, placebo, options=()):
        """With the problem it does; without the problem neither it does nor any other."""
        self.assertEqual(self.verdicts(PROGRAMS / "gpu_cures", problem, cures=[cure], options=options)[cure], "better", problem)
        if placebo:
            self.assertNotIn("better", self.verdicts(PROGRAMS / "gpu_cures", placebo, options=options).values(), placebo)

    def test_pin_copies(self):
        self.helps("pin-copies", "pageable", "pinned")

    def test_pin_asynchronous_copies(self):
        self.helps("pin-copies", "pageable_async", None)

    def test_stream_waits(self):
        """On an H200 a wait for the device takes no longer than one for the stream: it changes nothing, and that is said."""
        for program in ("waits", "stream_waits"):
            self.assertIn(self.verdicts(PROGRAMS / "gpu_cures", program)["stream-waits"], ("same", "better", "cannot tell"))

    def test_pool_allocations(self):
        self.helps("pool-allocations", "churn", "reuse")

    def test_prefetch_managed(self):
        self.helps("prefetch-managed", "managed", None)

    def test_by_the_clock_alone(self):
        """Without the tracer in it: what helps does not hang on what is recorded."""
        self.helps("pin-copies", "pageable", None, options=["-t", "none"])

    def test_findings_ask_for_them(self):
        self.profile(PROGRAMS / "gpu_cures", "pageable")
        done = run(COMMAND, "report", self.trace)
        self.assertIn("pin-copies", done.stdout)

    def test_torch(self):
        if importlib.util.find_spec("torch") is None:
            self.skipTest("no torch here")
        program = [sys.executable, pathlib.Path(__file__).resolve().parent / "programs" / "torch_pageable_program.py"]
        env = environment(PYTHONPATH=python_path())
        verdicts = self.verdicts(*program, cures=["pin-copies", "pool-allocations"], env=env)
        self.assertEqual(verdicts["pin-copies"], "better")
        self.assertNotEqual(verdicts["pool-allocations"], "better")


if __name__ == "__main__":
    main()
