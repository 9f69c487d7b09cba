"""Programs that use a profiler of their own run as without us: the same exit code, the same output, the same GPU times in
their profile. Our trace has the GPU work before and after it, everything else throughout, and says what is missing.

    tests/gpu/test_own_profilers.py [OwnProfilers.test_...]
"""

import sys

import recorded
import support
from test_frameworks import PROGRAMS, needs


class OwnProfilers(support.GpuTest):
    def run_both(self, *program, code, options=()):
        """Without and with us. Returns the records."""
        env = support.environment(PYTHONPATH=support.python_path(), XLA_PYTHON_CLIENT_PREALLOCATE="false",
                                  XLA_FLAGS="--xla_gpu_enable_command_buffer=")
        plain = support.run(*program, env=env)
        self.assertEqual(plain.returncode, code, f"without gprof-cli: {plain.stdout}\n{plain.stderr}")
        done = self.profile(*program, code=code, env=env, options=options)
        self.assertEqual(done.stdout, plain.stdout, done.stderr)
        self.printed = done.stdout
        records = recorded.Records.of(self.trace)
        self.assertEqual(records.problems, [])
        return records

    def python(self, program, code, options=()):
        return self.run_both(sys.executable, "-B", PROGRAMS / program, code=code, options=options)

    def pauses(self, records):
        """(start, end) of each; it is written when it begins, and again when it ends."""
        ended = [r for r in records["gpu_pause"] if r["end_ns"] != 0]
        self.assertEqual(len(records["gpu_pause"]), 2 * len(ended), records["gpu_pause"])
        return sorted((r["start_ns"], r["end_ns"]) for r in ended)

    def launches(self, records):
        """Outermost calls that launch a kernel: the driver's within one of the runtime is not recorded."""
        return [r for r in records["api"] if "LaunchKernel" in r["function"] and r["result"] == 0]

    def check_left(self, records, profiler, pauses=None):
        """GPU work is the profiler's within the pauses and ours around them, and the report says so."""
        times = self.pauses(records)
        self.assertGreater(len(times), 0)
        if pauses is not None:
            self.assertEqual(len(times), pauses)
        self.assertEqual({r["profiler"] for r in records["gpu_pause"]}, {profiler})
        kernels = {r["correlation"] for r in records["kernel"]}
        within, around = [], []
        for call in self.launches(records):
            inside = any(start <= call["start_ns"] <= end for start, end in times)
            (within if inside else around).append(call)
        self.assertGreater(len(within), 0)
        self.assertEqual([c for c in around if c["correlation"] not in kernels], [])
        self.assertTrue(any(c["start_ns"] < times[0][0] for c in around))
        self.assertTrue(any(c["start_ns"] > times[-1][1] for c in around))
        for kernel in records["kernel"]:
            self.assertFalse(any(start < kernel["start_ns"] < end for start, end in times), kernel)
        report = recorded.Report.of(self.trace)
        self.assertEqual((report.metric("health.gpu_pauses"), report.metric("health.complete")), (len(times), 0))
        self.assertEqual(report.metric("health.unmatched_launches"), 0)
        said = [f["message"] for f in report.document["findings"] if f["id"] == "health.gpu_pauses"]
        self.assertEqual(len(said), 1, report.findings_text())
        self.assertRegex(said[0], rf"^GPU work was not recorded from .* to .*, while .* \({profiler}\) recorded it$")

    @needs("torch")
    def test_torch(self):
        """A training script; its report divides by the GPU time that it got."""
        records = self.python("own_profiler_torch.py", code=3)
        self.assertRegex(self.printed, r"kernels [1-9][0-9]*, timed [1-9]")
        self.check_left(records, "torch.profiler")
        steps = [r for r in records["nvtx"] if r["event"] == recorded.NVTX_PUSH and r["message"] == "step"]
        self.assertEqual(len(steps), 3 + 5 + 3)

    @needs("torch")
    def test_torch_once(self):
        records = self.python("torch_profiler_program.py", code=3)
        self.check_left(records, "torch.profiler", pauses=1)

    @needs("jax")
    def test_jax(self):
        records = self.python("own_profiler_jax.py", code=5)
        self.assertRegex(self.printed, r"operations on streams [1-9][0-9]*, timed [1-9]")
        self.check_left(records, "JAX profiler", pauses=1)

    @needs("torch", "triton")
    def test_proton(self):
        records = self.python("own_profiler_proton.py", code=6)
        self.assertRegex(self.printed, r"launches 5, timed True")
        self.check_left(records, "Triton Proton", pauses=1)

    @needs("cupy")
    def test_cupy(self):
        """Its profiler needs nothing that we hold: nothing is missing."""
        records = self.python("own_profiler_cupy.py", code=4)
        self.assertEqual(records["gpu_pause"], [])
        kernels = {r["correlation"] for r in records["kernel"]}
        self.assertEqual([c for c in self.launches(records) if c["correlation"] not in kernels], [])
        self.assertEqual(recorded.Report.of(self.trace).metric("health.complete"), 1)

    def check_cupti(self, *arguments):
        program = support.PROGRAMS / "gpu_own_profiler"
        if not program.is_file():
            self.skipTest("gpu_own_profiler was not built")
        records = self.run_both(program, 3, *arguments, code=3)
        self.assertEqual(self.printed.count('"kernels":20,"timed":20'), 3, self.printed)
        self.check_left(records, "gpu_own_profiler", pauses=3)
        launched = 5 + 3 * 7 + 3
        self.assertEqual((len(records["kernel"]), len(self.launches(records))), (launched, launched + 3 * 20))

    def test_cupti_directly(self):
        self.check_cupti("keep", "-")

    def test_cupti_looked_up(self):
        """By dlopen and dlsym; it switches on kinds before it registers functions for buffers."""
        self.check_cupti("keep", "libcupti.so.13")

    def test_cupti_finalized(self):
        self.check_cupti("finalize", "-")

    def test_cupti_before_cuda(self):
        """A profiler that is there before us has CUPTI to itself; we begin when it has gone."""
        program = support.PROGRAMS / "gpu_own_profiler"
        if not program.is_file():
            self.skipTest("gpu_own_profiler was not built")
        records = self.run_both(program, 3, "early", code=3)
        self.assertEqual((len(records["gpu_pause"]), len(records["kernel"])), (1, 3))

    def test_cupti_subscribed_only(self):
        """A program that might record and does not costs us nothing."""
        program = support.PROGRAMS / "gpu_own_profiler"
        if not program.is_file():
            self.skipTest("gpu_own_profiler was not built")
        records = self.run_both(program, 3, "link", code=3)
        self.assertEqual((len(records["kernel"]), records["gpu_pause"]), (5 + 3, []))


if __name__ == "__main__":
    support.main()
