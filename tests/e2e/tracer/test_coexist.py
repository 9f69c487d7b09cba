"""Other tools in the same program: what the user had set still works, who holds CUPTI is said, and the program is never
the one that pays."""
import pathlib
import re

import harness

EVENTS = 40
OTHER = harness.PROGRAMS / "other_tool.so"
SCRIPT = "mark a launch 5 {} mark b launch 5 exit 3"


class CoexistCase(harness.Case):
    def warnings(self, trace):
        return [n["message"] for n in trace.of("notice") if n["level"] >= 2]

    def marks(self, trace):
        return sorted(r["message"] for r in trace.of("nvtx", event=1))


class ToolsOfTheUser(CoexistCase):
    def setUp(self):
        super().setUp()
        self.log = self.folder / "other.log"

    def run_with(self, *names, options=(), program=("ways_out", "return", EVENTS), version="13.0"):
        env = {"OTHER_TOOL_LOG": str(self.log), **{name: str(OTHER) for name in names}}
        run = self.profile(*program, version=version, env=env, options=options)
        return run, self.log.read_text().split() if self.log.exists() else []

    def test_cuda_tool_where_only_nvtx_is_recorded(self):
        run, log = self.run_with("CUDA_INJECTION64_PATH", options=["-t", "nvtx"])
        self.assertEqual((run.code, log), (3, ["cuda"]), run.err)
        self.assertEqual(len(run.trace.of("nvtx", message="before the end")), EVENTS)

    def test_nvtx_tool_where_only_cuda_is_recorded(self):
        run, log = self.run_with("NVTX_INJECTION64_PATH", options=["-t", "cuda"])
        self.assertEqual((run.code, log), (3, ["nvtx"]), run.err)
        self.assertEqual(len(run.trace.of("kernel")), EVENTS)

    def test_tools_that_we_replace_are_named(self):
        run, log = self.run_with("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")
        self.assertEqual((run.code, log), (3, []), run.err)
        for name in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"):
            self.assertEqual(run.err.count(name), 1, run.err)
        self.assertEqual(len(run.trace.of("kernel")), EVENTS)
        self.assertEqual(len(run.trace.of("nvtx", message="before the end")), EVENTS)

    def test_children_that_are_not_recorded_have_them(self):
        run, log = self.run_with("NVTX_INJECTION64_PATH", options=["--trace-children", "false"],
                                 program=("family", "fork_exec"), version=None)
        self.assertEqual((run.code, log), (4, ["nvtx"]), run.err)
        self.assertEqual(len(run.trace.of("nvtx", message="parent")), 20)
        program = harness.PROGRAMS / "ways_out"
        self.log.unlink()
        run, log = self.run_with("CUDA_INJECTION64_PATH", options=["--trace-children", "false"],
                                 program=("/bin/sh", "-c", f"'{program}' return {EVENTS}; exit $?"))
        self.assertEqual((run.code, log), (3, ["cuda"]), run.err)

    def test_tool_that_is_not_there(self):
        run = self.profile("ways_out", "return", EVENTS, options=["--trace-children", "false"],
                           env={"NVTX_INJECTION64_PATH": str(self.folder / "nothing.so")})
        self.assertEqual(run.code, 3, run.err)
        self.assertEqual(len(run.trace.of("nvtx", message="before the end")), EVENTS)

    def test_preloaded_libraries_stay(self):
        script = f"echo \"$LD_PRELOAD\"; exec '{harness.PROGRAMS / 'ways_out'}' return {EVENTS}"
        run = self.profile("/bin/sh", "-c", script, env={"LD_PRELOAD": str(OTHER)})
        if "ASan runtime does not come first" in run.err:
            self.skipTest("a sanitized gprof-cli lets nobody be loaded before its runtime")
        self.assertEqual((run.code, run.out.splitlines()[0]), (3, str(OTHER)), run.err)
        self.assertEqual(len(run.trace.of("kernel")), EVENTS)


class OtherProfilers(CoexistCase):
    def scripted(self, word, env=None, **more):
        cupti = harness.MOCK / "13.0" / "libcupti.so.13"
        env = {"TEST_CUPTI": str(cupti), **(env or {})}
        plain = self.run_plain("scripted", *SCRIPT.format(word).split(), env=env)
        traced = self.profile("scripted", *SCRIPT.format(word).split(), env=env, **more)
        self.assertEqual((plain.code, traced.code), (3, 3), traced.err)
        return traced

    def own_profiler(self, end, *options):
        """The trace of a program with a profiler of its own, and what that saw in three recordings."""
        run = self.profile("own_profiler", 3, end, options=["-t", "cuda,nvtx", *options])
        self.assertEqual(run.code, 0, run.err)
        self.assert_clean(run.trace)
        return run, run.facts("round")

    def test_own_profiler_gets_nothing_while_we_record(self):
        run, rounds = self.own_profiler("keep")
        self.assertEqual((run.facts("subscribed")[0]["answer"], rounds), (39, []))
        self.assertEqual(len(run.trace.of("kernel")), 5 + 3)

    def test_recording_yields_to_own_profiler(self):
        """Each gets what ran while it recorded, whole: 20 kernels a recording, and 5, 7, 7, 7 and 3 around them."""
        for end in ("keep", "finalize"):
            with self.subTest(end=end):
                run, rounds = self.own_profiler(end, "--yield-to-profiler")
                self.assertEqual([(r["kernels"], r["buffers"]) for r in rounds], [(20, 0)] * 3)
                self.assertEqual([r["callbacks"] for r in rounds], [20, 40, 60])
                trace = run.trace
                self.assertEqual(len(trace.of("kernel")), 5 + 3 * 7 + 3)
                self.assertEqual({k["correlation"] for k in trace.of("kernel")},
                                 {c["correlation"] for c in trace.calls("cuLaunchKernel")})
                borders = [(r["event"], r["trigger"]) for r in sorted(trace.of("capture"), key=lambda r: r["time_ns"])]
                self.assertEqual(borders, [(2, 10), (1, 10)] * 3)
                self.assertTrue(any("--yield-to-profiler" in n["message"] for n in trace.of("notice")))
                self.assertIn("captures", self.report(run.trace_path)["trust"])

    def test_profiler_that_comes_first(self):
        run = self.profile("scripted", *SCRIPT.format("").split(), env={"MOCK_OCCUPIED": "1"})
        self.assertEqual(run.code, 3, run.err)
        trace = run.trace
        self.assertEqual((self.marks(trace), trace.of("kernel")), (["a", "b"], []))
        self.assertTrue(any("39" in text and "profiler" in text for text in self.warnings(trace)), run.err)

    def test_profiler_that_comes_later(self):
        """It is told that we are there, and we go on."""
        run = self.scripted("subscribe")
        self.assertEqual(run.facts("subscribe")[0]["answer"], 39)
        trace = run.trace
        self.assert_clean(trace)
        self.assertEqual((self.marks(trace), len(trace.of("kernel"))), (["a", "b"], 10))

    def test_profiler_that_finalizes_cupti(self):
        """What had been delivered is kept, the end of it is said, and nothing calls into what is gone."""
        run = self.scripted("finalize")
        trace = run.trace
        self.assertEqual(trace.problems, [])
        self.assertEqual(self.marks(trace), ["a", "b"])
        missing = 10 - len(trace.of("kernel"))
        if missing:  # what CUPTI had not delivered goes with it
            self.assertTrue(self.warnings(trace) or trace.of("loss"), f"nobody says that {missing} kernels are missing")

    def test_profiler_inside_a_capture(self):
        """Switching on and off goes on while another profiler tries its luck."""
        script = "pstart mark a launch 5 pstop subscribe pstart mark b launch 5 pstop exit 3"
        run = self.profile("scripted", *script.split(), options=["-c", "cudaProfilerApi", "--capture-range-end", "repeat"],
                           env={"TEST_CUPTI": str(harness.MOCK / "13.0" / "libcupti.so.13")})
        self.assertEqual(run.code, 3, run.err)
        self.assertEqual((self.marks(run.trace), len(run.trace.of("kernel"))), (["a", "b"], 10))

    def test_two_libcuptis(self):
        both = [harness.MOCK / "12.8" / "libcupti.so.12", harness.MOCK / "13.0" / "libcupti.so.13"]
        copy = pathlib.Path(self.folder) / "libcupti.so.13"
        copy.write_bytes(both[1].read_bytes())  # the same library, twice in the process
        for name, preload in (("of two versions", both), ("of one version", [both[1], copy])):
            with self.subTest(name):
                run = self.profile("ways_out", "return", EVENTS, options=["-e", "LD_PRELOAD=" + ":".join(map(str, preload))])
                self.assertEqual(run.code, 3, run.err)
                trace = run.trace
                self.assertEqual(len(trace.of("nvtx", message="before the end")), EVENTS)
                if len(trace.of("kernel")) < EVENTS:
                    self.assertTrue(self.warnings(trace), "nobody says why kernels are missing")
                self.assertIn(trace.of("process")[-1]["cupti_path"], list(map(str, preload)))
                said = [n["message"] for n in trace.of("notice") if re.search("two|second|another.*libcupti|more than one", n["message"])]
                self.assertTrue(said, "nobody says that there are two")


class TroubleWithCupti(CoexistCase):
    def test_flush_that_hangs_in_the_middle(self):
        """Host events go on to be recorded, the end does not wait, and what is missing is said."""
        for first in ("1", "3"):
            with self.subTest(first=first):
                run = self.profile("cuda_threads_13.0", 4, 2000, env={"MOCK_FLUSH_HANG": first}, options=["--flush-ms", "10"])
                self.assertEqual(run.code, 0, run.err)
                trace = run.trace
                self.assertEqual(trace.problems, [])
                self.assertEqual(len(trace.calls("cudaLaunchKernel")), 8000)
                if len(trace.of("kernel")) < 8000:
                    complete = harness.total(self.report(run.trace_path))["health.complete"]
                    self.assertEqual(complete, 0)
                    self.assertTrue(self.warnings(trace) or trace.of("loss"), "nobody says what is missing")

    def test_flush_that_hangs_when_a_capture_ends(self):
        script = "pstart mark a launch 5 pstop mark out launch 5 exit 3"
        run = self.profile("scripted", *script.split(), options=["-c", "cudaProfilerApi"], env={"MOCK_FLUSH_HANG": "1"})
        self.assertEqual(run.code, 3, run.err)
        self.assertEqual(self.marks(run.trace), ["a"])
        self.assertEqual(len(run.trace.calls("cudaLaunchKernel")), 5)

    def test_slow_flush_while_captures_come_and_go(self):
        script = "".join(f"pstart mark in{i} launch 3 pstop launch 2 " for i in range(5)) + "exit 3"
        run = self.profile("scripted", *script.split(), env={"MOCK_FLUSH_SLEEP_MS": "50"},
                           options=["-c", "cudaProfilerApi", "--capture-range-end", "repeat", "--flush-ms", "5"])
        self.assertEqual(run.code, 3, run.err)
        self.assertEqual(len(run.trace.of("kernel")), 15)
        self.assert_clean(run.trace)


if __name__ == "__main__":
    harness.main()
