"""Other tools in the same program: what the user had set still works, who holds CUPTI is said, and the program is never
the one that pays."""
import pathlib
import re
import subprocess

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
        run, log = self.run_with("CUDA_INJECTION64_PATH", options=["--only-trace", "-t", "nvtx"])
        self.assertEqual((run.code, log), (3, ["cuda"]), run.err)
        self.assertEqual(len(run.trace.of("nvtx", message="before the end")), EVENTS)

    def test_nvtx_tool_where_only_cuda_is_recorded(self):
        run, log = self.run_with("NVTX_INJECTION64_PATH", options=["--only-trace", "-t", "cuda"])
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

    def test_own_profiler_gets_nothing_where_it_is_told_so(self):
        run = self.profile("own_profiler", 3, "keep", options=["--yield-to-profiler=no"])
        self.assertEqual((run.code, run.facts("subscribed")[0]["answer"], run.facts("round")), (3, 39, []), run.err)
        self.assert_clean(run.trace)
        self.assertEqual((len(run.trace.of("kernel")), run.trace.of("gpu_pause")), (5 + 3, []))

    def pauses(self, trace):
        """Each is written when it begins, and again when it ends."""
        pauses = {}
        for record in trace.of("gpu_pause"):
            pauses.setdefault(record["number"], []).append(record)
        self.assertTrue(all(len(records) == 2 for records in pauses.values()), trace.of("gpu_pause"))
        return [max(records, key=lambda r: r["end_ns"]) for _, records in sorted(pauses.items())]

    def copy_of_cupti(self):
        """The same library in a place of its own, as Triton and others bring it."""
        copy = pathlib.Path(self.folder) / "libcupti.so"
        copy.write_bytes((harness.MOCK / "13.0" / "libcupti.so.13").read_bytes())
        return copy

    def check_left_to_profiler(self, run):
        """It got 20 kernels a round, and we what is around them, all calls and all ranges."""
        trace, pauses = run.trace, self.pauses(run.trace)
        self.assert_clean(trace)
        self.assertEqual([r["left"] for r in run.facts("buffers")], [0] * 3)
        self.assertEqual([(r["kernels"], r["timed"]) for r in run.facts("round")], [(20, 20)] * 3)
        self.assertEqual((len(trace.of("kernel")), len(trace.calls("cuLaunchKernel"))), (5 + 3 * 7 + 3, 5 + 3 * 27 + 3))
        self.assertEqual(len(trace.of("nvtx", message="within")), 3)
        self.assertEqual([p["profiler"] for p in pauses], ["own_profiler"] * 3)
        within = [c for c in trace.calls("cuLaunchKernel") if any(p["start_ns"] <= c["start_ns"] <= p["end_ns"] for p in pauses)]
        self.assertEqual(len(within), 3 * 20)
        self.assertEqual(trace.of("capture"), [])

    def test_gpu_work_is_left_to_own_profiler(self):
        """The program runs as without us, whichever way its profiler comes to libcupti and leaves it."""
        for end in ("keep", "finalize"):
            for library in ("-", self.copy_of_cupti(), "libcupti.so.13"):
                with self.subTest(end=end, library=str(library)):
                    plain = self.run_plain("own_profiler", 3, end, library)
                    run = self.profile("own_profiler", 3, end, library)
                    self.assertEqual((run.code, run.out), (plain.code, plain.out), run.err)
                    self.assertEqual(run.code, 3)
                    self.check_left_to_profiler(run)

    def test_report_says_what_own_profiler_recorded(self):
        report = self.report(self.profile("own_profiler", 1, "keep").trace_path)
        metrics = harness.total(report)
        self.assertEqual([metrics[f"health.{name}"] for name in ("gpu_pauses", "complete", "unmatched_launches")], [1, 0, 0])
        said = [f["message"] for f in report["findings"] if f["id"] == "health.gpu_pauses"]
        self.assertRegex("\n".join(said), r"^GPU work was not recorded from [0-9.]+ .?s to [0-9.]+ .?s, while the "
                                          r"program's own profiler \(own_profiler\) recorded it$")

    def test_profiler_that_only_subscribes(self):
        """As libraries do that may be asked for a profile later."""
        run = self.profile("own_profiler", 3, "link")
        self.assertEqual((run.code, run.facts("subscribed")[0]["answer"]), (3, 0), run.err)
        self.assert_clean(run.trace)
        self.assertEqual((len(run.trace.of("kernel")), run.trace.of("gpu_pause")), (5 + 3, []))
        self.assertEqual(harness.total(self.report(run.trace_path))["health.complete"], 1)

    def test_profiler_that_is_there_before_us(self):
        """We begin when it has gone; the program runs as without us."""
        plain = self.run_plain("own_profiler", 3, "early")
        run = self.profile("own_profiler", 3, "early")
        self.assertEqual((run.code, run.out), (plain.code, plain.out), run.err)
        (pause,) = run.trace.of("gpu_pause")
        self.assertEqual((pause["profiler"], len(run.trace.of("kernel"))), ("own_profiler", 3))
        self.assertTrue(all(k["start_ns"] > pause["end_ns"] for k in run.trace.of("kernel")))
        self.assertEqual(harness.total(self.report(run.trace_path))["health.unmatched_launches"], 0)

    def test_program_that_is_killed_while_its_profiler_records(self):
        run = self.profile("own_profiler", 3, "kill")
        self.assertEqual(run.code, 128 + 9, run.err)
        self.assertEqual([(p["number"], p["end_ns"]) for p in run.trace.of("gpu_pause")], [(1, 0)])
        said = [f["message"] for f in self.report(run.trace_path)["findings"] if f["id"] == "health.gpu_pauses"]
        self.assertRegex("\n".join(said), r"from [0-9.]+ .?s to the end, while")

    def test_profiler_that_forgets_to_flush(self):
        """Its kinds are off and nothing is asked for: GPU work is recorded again after a while."""
        end = pathlib.Path(self.folder) / "end"
        trace, command = self.profile_command("own_profiler", [1, "forget", "-", end], ["--flush-ms", "50"])
        process = subprocess.Popen(command, env=self.environment("13.0", None), cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)

        def is_back():
            read = harness.Trace(trace) if harness.has_records(trace) else None
            ends = [p["end_ns"] for p in read.of("gpu_pause") if p["end_ns"]] if read else []
            return ends and any(k["start_ns"] > ends[0] for k in read.of("kernel"))

        harness.wait_for(is_back, "kernels after the pause")
        end.touch()
        _, err = process.communicate(timeout=harness.DEADLINE_S)
        self.assertEqual(process.returncode, 3, err)

    def test_profiler_that_comes_first(self):
        run = self.profile("scripted", *SCRIPT.format("").split(), env={"MOCK_OCCUPIED": "1"})
        self.assertEqual(run.code, 3, run.err)
        trace = run.trace
        self.assertEqual((self.marks(trace), trace.of("kernel")), (["a", "b"], []))
        self.assertTrue(any("39" in text and "profiler" in text for text in self.warnings(trace)), run.err)

    def test_profiler_that_comes_later(self):
        """It is our guest, or it is told that we are there; we go on."""
        for option, answer in (("--yield-to-profiler", 0), ("--yield-to-profiler=no", 39)):
            with self.subTest(option=option):
                run = self.scripted("subscribe", options=[option])
                self.assertEqual(run.facts("subscribe")[0]["answer"], answer)
                trace = run.trace
                self.assert_clean(trace)
                self.assertEqual((self.marks(trace), len(trace.of("kernel"))), (["a", "b"], 10))

    def test_profiler_that_finalizes_cupti(self):
        """It ends what is its own. Where it ends CUPTI, what had been delivered is kept, the end of it is said, and
        nothing calls into what is gone."""
        for option in ("--yield-to-profiler=yes", "--yield-to-profiler=no"):
            with self.subTest(option=option):
                trace = self.scripted("finalize", options=[option]).trace
                self.assertEqual(trace.problems, [])
                self.assertEqual(self.marks(trace), ["a", "b"])
                missing = 10 - len(trace.of("kernel"))
                if option.endswith("yes"):
                    self.assertEqual(missing, 0)
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
