"""Kernel counters, on doubles whose values follow from the kernel: 100 a block, its duration, 12.5 %."""
import collections
import csv
import json
import os
import pty
import shutil
import subprocess

import harness

KERNELS = {"_Z5alphaPf": "alpha", "_ZN3lib4betaIN3foo3barELi16EEEvPT_": "beta", "_Z24ncclDevKernel_AllReducev": "reduce"}


class Counters(harness.Case):
    def counters(self, *arguments, version="13.0", env=None, options=(), program="counter_facts"):
        self.runs += 1
        trace = self.folder / f"run{self.runs}.trace"
        command = [str(harness.GPROF), "counters", "-o", str(trace), *options, "--",
                   *self.command(f"{program}_{version}", arguments)]
        done = subprocess.run(command, capture_output=True, timeout=harness.DEADLINE_S, check=False, cwd=self.folder,
                              env=self.environment(version, env), stdin=subprocess.DEVNULL)
        violations = self.folder / "violations"
        self.assertEqual(violations.read_text() if violations.exists() else "", "", done.stderr.decode())
        return harness.Run(command, done.returncode, done.stdout.decode(), done.stderr.decode(), trace, "")

    def values(self, trace):
        """Of each range by its metrics; a range without values has none."""
        found = {r["id"]: {} for r in trace.of("counter_range")}
        for v in trace.of("counter_values"):
            found[v["range"]][v["metric"]] = v["value"] * 10.0 ** v["scale"]
        return found

    def launches(self, trace):
        """(kernel, blocks) of every range in order, with its values checked."""
        values, found = self.values(trace), []
        for r in sorted(trace.of("counter_range"), key=lambda r: r["id"]):
            of_range = values[r["id"]]
            blocks = of_range["launch__grid_size"]
            self.assertEqual(of_range["smsp__inst_executed.sum"], 100 * blocks)
            self.assertEqual(of_range["gpu__time_duration.sum"], 1000 + 10 * blocks)
            self.assertAlmostEqual(of_range["sm__warps_active.avg.pct_of_peak_sustained_active"], 12.5)
            found.append((KERNELS[r["name"]], int(blocks)))
        return found

    def measured(self, *arguments, **more):
        run = self.counters(*arguments, **more)
        self.assertEqual(run.code, 0, run.err)
        trace = run.trace
        self.assert_clean(trace)
        self.assertEqual({of_range["device__memory_in_use"] for of_range in self.values(trace).values()}, {3e9})
        return self.launches(trace)


class Launches(Counters):
    def test_three_of_each_kernel_and_grid_without_those_of_nccl(self):
        for version in ("12.8", "13.0"):
            with self.subTest(version=version):
                run = self.counters("loop", 5, version=version)
                self.assertEqual(run.code, 0, run.err)
                self.assertEqual(self.launches(run.trace), [("alpha", 10), ("alpha", 20), ("beta", 30)] * 3)
                self.assertIn("kernels of NCCL and NVSHMEM are not measured", run.err)
                plan, = run.trace.of("counter_plan")
                self.assertEqual((plan["chip"], plan["metric_set"], plan["passes"], plan["replay"]), ("GH100", "light", 1, 1))
                units = {v["metric"]: v["unit"] for v in run.trace.of("counter_values")}
                self.assertEqual(units["gpu__time_duration.sum"], "ns")
                self.assertEqual(units["gpc__cycles_elapsed.avg.per_second"], "hz")
                self.assertEqual(units["dram__throughput.avg.pct_of_peak_sustained_elapsed"], "%")
                self.assertIn("alpha(float*)", run.out)

    def test_filters(self):
        both = [("alpha", 10), ("alpha", 20)]
        for options, expected in (
                (["-k", "beta", "-c", "2"], [("beta", 30)] * 2),
                (["-k", "bet", "-c", "2"], None),
                (["-k", "regex:^al", "-c", "3"], [*both, both[0]]),
                (["-k", "regex:^lib", "-c", "3"], None),
                (["-k", "regex:4beta", "--kernel-name-base", "mangled", "-c", "1"], [("beta", 30)]),
                (["-k", "alpha", "-s", "1", "-c", "2"], [both[1], both[0]]),
                (["-s", "1", "-c", "2", "--launch-skip-before-match", "2"], [both[0], both[1]]),
                (["-k", "alpha", "-s", "1", "-c", "1", "--filter-mode", "per-launch-config"], both),
                (["--kernel-id", "::beta:2"], [("beta", 30)]),
                (["--kernel-id", "::regex:^a:3"], [both[0]]),
                (["-k", "regex:nccl"], [("reduce", 1)] * 3),
                (["-k", "alpha", "--like-ncu", "--set", "light"], both * 5),
        ):
            with self.subTest(options=options):
                run = self.counters("loop", 5, options=options)
                if expected is None:
                    self.assertEqual(run.code, 4)
                    self.assertIn("no kernel was measured", run.err)
                    continue
                self.assertEqual(run.code, 0, run.err)
                self.assertEqual(self.launches(run.trace), expected)

    def test_a_bad_expression_is_refused_before_the_program_starts(self):
        run = self.counters("loop", 1, options=["-k", "regex:("])
        self.assertEqual((run.code, run.out), (2, ""))
        self.assertIn("'(' is not a valid regular expression", run.err)

    def test_devices(self):
        """Launches that alternate between two GPUs of one process: each has a plan, and a profiler of its own."""
        both = [("alpha", 10), ("beta", 20), ("alpha", 10), ("beta", 21)]
        for options in ([], ["--set", "full"]):
            with self.subTest(options=options):
                run = self.counters("devices", 5, options=options)
                self.assertEqual(run.code, 0, run.err)
                self.assertEqual(self.launches(run.trace), both * 3)
                ranges = sorted(run.trace.of("counter_range"), key=lambda r: r["id"])
                self.assertEqual([r["device"] for r in ranges], [0, 0, 1, 1] * 3)
                self.assertEqual({(r["plan"], r["device"]) for r in ranges}, {(1, 0), (2, 1)})
                self.assertEqual(len(run.trace.of("counter_plan")), 2)

    def test_some_devices(self):
        run = self.counters("devices", 5, options=["--devices", "1", "-c", "4"])
        self.assertEqual([r["device"] for r in run.trace.of("counter_range")], [1] * 4)
        run = self.counters("devices", 5, options=["--filter-mode", "per-gpu", "-c", "1"])
        self.assertEqual([r["device"] for r in run.trace.of("counter_range")], [0, 1])

    def test_the_profiler_api(self):
        self.assertEqual(self.measured("profiler", options=["--profile-from-start", "off"]), [("beta", 2)])

    def test_launches_that_are_left_out_end_a_batch(self):
        """Where that happens again and again, launches are measured one by one."""
        run = self.counters("loop", 20, options=["-k", "beta", "-c", "20"])
        self.assertEqual(self.launches(run.trace), [("beta", 30)] * 20)

    def test_threads(self):
        """A range is of its launch alone, whatever others launch meanwhile."""
        found = self.measured("threads", 50, options=["-k", "beta", "-c", "50"])
        self.assertEqual(found, [("beta", 4)] * 50)
        found = collections.Counter(self.measured("threads", 50, options=["-c", "200"]))
        self.assertEqual(found, {("alpha", 1): 50, ("alpha", 2): 50, ("alpha", 3): 50, ("beta", 4): 50})

    def test_processes_wait_for_each_other(self):
        """The monitors have one owner, which is 26 for the others."""
        program = harness.PROGRAMS / "counter_facts_13.0"
        script = f"{program} loop 100 & {program} loop 100; wait"
        for name in ("light", "basic"):
            self.runs += 1
            trace = self.folder / f"run{self.runs}.trace"
            done = subprocess.run([str(harness.GPROF), "counters", "-o", str(trace), "--set", name, "-k", "alpha", "-c", "40", "--",
                                   "sh", "-c", script], capture_output=True, timeout=harness.DEADLINE_S, check=False,
                                  env=self.environment("13.0", {"MOCK_MONITORS": str(self.folder / "monitors")}))
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            found = collections.Counter(r["chunk_pid"] for r in harness.Trace(trace).of("counter_range"))
            self.assertEqual(sorted(found.values()), [40, 40], done.stderr.decode())

    def test_more_than_the_ring_holds(self):
        self.assertEqual(len(self.measured("loop", 200, options=["-c", "600"])), 600)


class Sets(Counters):
    def test_several_passes_by_kernel_replay(self):
        run = self.counters("loop", 1, options=["--set", "full"])
        plan, = run.trace.of("counter_plan")
        self.assertEqual((plan["metric_set"], plan["replay"]), ("full", 2))
        self.assertGreater(plan["passes"], 1)
        self.assertEqual(self.launches(run.trace), [("alpha", 10), ("alpha", 20), ("beta", 30)])

    def test_several_passes_are_refused_where_nothing_is_to_run_again(self):
        run = self.counters("loop", 1, options=["--set", "full", "--replay-mode", "none"])
        self.assertEqual(run.code, 4)
        self.assertRegex(run.err, r"take \d+ passes")

    def test_metrics_that_the_chip_lacks(self):
        """The next name of a metric is taken, and what has none is counted."""
        first = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
        second = "sm__pipe_tensor_cycles_active_v2.avg.pct_of_peak_sustained_elapsed"
        lost = "sm__pipe_tma_cycles_active.avg.pct_of_peak_sustained_elapsed"
        for variable in ("MOCK_UNKNOWN_METRICS", "MOCK_REFUSED_METRICS"):
            with self.subTest(variable):
                run = self.counters("loop", 1, options=["--section", "compute"], env={variable: f"{first},{lost}"})
                self.assertEqual(run.code, 0, run.err)
                of_first = self.values(run.trace)[1]
                self.assertIn(second, of_first)
                self.assertNotIn(first, of_first)
                self.assertNotIn(lost, of_first)
                self.assertEqual([n["message"].split(";")[0] for n in run.trace.of("notice") if "chip" in n["message"]],
                                 [f"the chip GH100 lacks 1 of the requested metrics, {lost}"])

    def test_metrics_by_name(self):
        run = self.counters("loop", 1, options=["--metrics", "dram__bytes.sum,lts__t_bytes"])
        metrics = {m for m in self.values(run.trace)[1] if not m.startswith(("launch__", "device__"))}
        self.assertLessEqual({"dram__bytes.sum", "lts__t_bytes.sum", "lts__t_bytes.max"}, metrics)
        self.assertRegex(run.out, r"dram__bytes\.sum +1,000 +byte")

    def test_metrics_that_no_section_has_are_on_the_details_page(self):
        run = self.counters("loop", 1, options=["--set", "light", "--metrics", "fe__output_ops.sum", "--page", "details"])
        self.assertRegex(run.out, r"Other metrics\n(.*\n)+? +fe__output_ops\.sum +1,000\n")


class Words(Counters):
    """Words of --metrics that a chip has to answer: that of the GPUs that are there."""

    def metrics(self, word, **more):
        run = self.counters("loop", 1, options=["--metrics", word], **more)
        self.assertEqual(run.code, 0, run.err)
        return sorted(m for m in self.values(run.trace)[1] if not m.startswith(("launch__", "device__")))

    def test_expressions(self):
        self.assertEqual(self.metrics("regex:^dram__bytes$"), [f"dram__bytes.{rollup}" for rollup in ("avg", "max", "min", "sum")])
        self.assertEqual(self.metrics("regex:^l1tex"), ["l1tex__t_sector_hit_rate.pct", "l1tex__t_sector_hit_rate.ratio"])

    def test_breakdowns(self):
        self.assertEqual(self.metrics("breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed"),
                         [f"{name}.avg.pct_of_peak_sustained_elapsed" for name in
                          ("sm__issue_active", "sm__throughput", "smsp__inst_executed")])

    def test_the_metrics_of_the_chip_that_is_there(self):
        def query(**env):
            return subprocess.run([str(harness.GPROF), "counters", "--query-metrics", "--cupti",
                                   str(harness.MOCK / "13.0" / "libcupti.so.13")], capture_output=True, text=True, check=False,
                                  timeout=harness.DEADLINE_S, env=self.environment("13.0", env))
        done = query()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("dram__bytes\tcounter\tbyte", done.stdout)
        done = query(MOCK_CUINIT_RESULT="100")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("'--query-metrics' needs a chip", done.stderr)

    def test_a_breakdown_of_no_throughput(self):
        run = self.counters("loop", 1, options=["--metrics", "breakdown:dram__bytes"])
        self.assertEqual(run.code, 2)
        self.assertIn("'dram__bytes' is no throughput of GH100", run.err)

    def test_without_a_driver_a_chip_has_to_be_named(self):
        run = self.counters("loop", 1, options=["--metrics", "regex:^dram"], env={"MOCK_CUINIT_RESULT": "100"})
        self.assertEqual(run.code, 2)
        self.assertIn("name the chip, for example --chip GH100", run.err)


class Graphs(Counters):
    def test_they_run_unmeasured_and_it_is_said(self):
        """libcupti 13.0 spoils a graph launch that it measures: the double has it as a violation."""
        for options in ([], ["--set", "basic"]):
            run = self.counters("graph", options=options)
            self.assertEqual(run.code, 4)
            self.assertIn("kernels of CUDA graphs are not measured individually", run.err)

    def graphs(self, *options):
        run = self.counters("graph", options=["--graph-profiling", "graph", "--metrics", "smsp__inst_executed.sum", *options])
        values = self.values(run.trace)
        return run, [(r["name"], r["scope"], values[r["id"]].get("smsp__inst_executed.sum")) for r in
                     sorted(run.trace.of("counter_range"), key=lambda r: r["id"])]

    def test_none_is_made_while_another_thread_is_measured(self):
        """The double aborts where one is."""
        for options in ([], ["--replay-mode", "kernel", "--set", "basic"]):
            with self.subTest(options=options):
                run = self.counters("graphs_beside", 1000, options=[*options, "-c", "1000000"])
                self.assertEqual(run.code, 0, run.err)
                self.assertGreater(len(run.trace.of("counter_range")), 0)

    def test_each_launch_as_one(self):
        one = ("graph 1", 3, 100 * (5 + 6 + 7))
        for options in ([], ["-k", "graph 1"], ["--replay-mode", "none"]):
            with self.subTest(options=options):
                run, found = self.graphs(*options)
                self.assertEqual(run.code, 0, run.err)
                self.assertEqual(found, [one, one], run.err)
                self.assertNotIn("launch__grid_size", {v["metric"] for v in run.trace.of("counter_values")})
        self.assertEqual(self.graphs("-c", "1")[1], [one])
        self.assertEqual(self.graphs("-k", "alpha")[1], [])

    def test_several_passes_are_refused(self):
        run, found = self.graphs("--set", "basic")
        self.assertEqual((run.code, found), (4, []))
        self.assertRegex(run.err, r"graphs are not measured: these metrics take \d+ passes.*Use --set light")

    def test_kernels_beside_them_are_left_out(self):
        """An object of the profiler that is used in two ways crashes the program."""
        run = self.counters("graph_and_kernels", options=["--graph-profiling", "graph", "--metrics", "smsp__inst_executed.sum"])
        self.assertEqual(run.code, 0, run.err)
        found = [(r["scope"], self.values(run.trace)[r["id"]]["smsp__inst_executed.sum"]) for r in
                 sorted(run.trace.of("counter_range"), key=lambda r: r["id"])]
        self.assertEqual(found, [(1, 300), (1, 300)])
        self.assertIn("CUDA graphs and kernels cannot be measured in the same run", run.err)

    def test_a_range_has_them(self):
        run = self.counters("graph", options=["--replay-mode", "range"])
        self.assertEqual([v["smsp__inst_executed.sum"] for v in self.values(run.trace).values()], [100 * 2 * (5 + 6 + 7)])


class Ranges(Counters):
    """All that runs in a range is one, in a single pass, and launches are not touched."""

    def ranges(self, *arguments, options):
        run = self.counters(*arguments, options=["--replay-mode", "range", *options])
        self.assertEqual(run.code, 0, run.err)
        values = self.values(run.trace)
        plan, = run.trace.of("counter_plan")
        self.assertEqual(plan["replay"], 4)
        return [(r["name"], r["scope"], values[r["id"]]["smsp__inst_executed.sum"] / 100)
                for r in sorted(run.trace.of("counter_range"), key=lambda r: r["id"])]

    def test_the_whole_run(self):
        self.assertEqual(self.ranges("loop", 2, options=[]), [("the whole run", 2, 2 * (10 + 20 + 30 + 1))])

    def test_nvtx_ranges(self):
        self.assertEqual(self.ranges("ranges", options=["--nvtx-include", "step/"]), [("step", 2, 4), ("step", 2, 6)])

    def test_places(self):
        """With the grammar of ncu: from where a filter begins to match until the range closes with which it did."""
        for options, expected in (
                (["outer/", "started"], [("outer", 14), ("started", 6)]), (["inner/"], [("inner", 7), ("inner", 5), ("inner", 7)]),
                (["outer/+/inner/"], [("inner", 5)]), (["[inner"], [("inner", 7)]), (["lib@part/", "regex:^mid"], [("part", 4), ("middle", 5)]),
                (["outer,inner"], [("inner", 7), ("inner", 5)])):
            with self.subTest(options=options):
                words = [word for place in options for word in ("--nvtx-include", place)]
                self.assertEqual(self.ranges("places", options=words), [(name, 2, blocks) for name, blocks in expected])

    def test_places_that_are_left_out_and_counts(self):
        self.assertEqual(self.ranges("places", options=["--nvtx-include", "inner/", "--nvtx-exclude", "outer/"]), [("inner", 2, 7)])
        self.assertEqual(self.ranges("places", options=["--nvtx-include", "inner/", "-s", "1", "-c", "1"]), [("inner", 2, 5)])

    def test_the_profiler_api(self):
        self.assertEqual(self.ranges("profiler", options=["--profile-from-start", "off"]), [("the whole run", 2, 2)])
        found = self.ranges("both", options=["--profile-from-start", "off"])
        self.assertEqual(found, [("the whole run", 2, 5), ("the whole run", 2, 5)])
        self.assertEqual(self.ranges("both", options=["--profile-from-start", "off", "-c", "1"]), found[:1])

    def test_nvtx_ranges_within_those_of_the_profiler_api(self):
        self.assertEqual(self.ranges("both", options=["--profile-from-start", "off", "--nvtx-include", "step/"]),
                         [("step", 2, 2), ("step", 2, 5)])

    def test_several_passes_are_refused(self):
        run = self.counters("loop", 1, options=["--replay-mode", "range", "--set", "full"])
        self.assertEqual(run.code, 4)
        self.assertRegex(run.err, r"take \d+ passes")

    def test_launches_in_an_nvtx_range(self):
        found = self.measured("ranges", options=["--nvtx-include", "step"])
        self.assertEqual(found, [("alpha", 2), ("beta", 2), ("alpha", 3), ("beta", 3)])
        self.assertEqual(self.counters("ranges", options=["--nvtx-include", "other"]).code, 4)


class NvtxFilters(Counters):
    """The grammar of ncu, on launches whose blocks say where they are."""

    def found(self, *options):
        run = self.counters("places", options=options)
        self.assertIn(run.code, (0, 4), run.err)
        return [blocks for _, blocks in self.launches(run.trace)]

    def test_places(self):
        for place, expected in (
                ("inner/", [3, 4, 5, 7]), ("outer/inner/", [3, 4]), ("outer/*/inner", [3, 4, 5]), ("outer/+/inner/", [5]),
                ("[inner", [7]), ("outer]", [2]), ("[outer/*/inner]", [3, 4, 5]), ("lib@part/", [4]), ("part", []),
                ("started", [6]), ("started/", []), ("outer", [2, 3, 4, 5]), ("outer,inner", [3, 4, 5]),
                ("regex:^out/mid", [5]), ("regex:^l.b$@^part$/", [4])):
            with self.subTest(place=place):
                self.assertEqual(self.found("--nvtx-include", place), expected)

    def test_several(self):
        self.assertEqual(self.found("--nvtx-include", "started", "--nvtx-include", "[inner"), [6, 7])
        self.assertEqual(self.found("--nvtx-include", "outer/", "--nvtx-exclude", "inner/"), [2])
        self.assertEqual(self.found("--nvtx-exclude", "outer/", "--nvtx-exclude", "started"), [1, 7])

    def test_skipping_counts_launches_that_match(self):
        self.assertEqual(self.found("--nvtx-include", "inner/", "-s", "1", "-c", "2"), [4, 5])

    def test_the_trace_says_where_a_launch_is(self):
        run = self.counters("places")
        self.assertEqual([r["nvtx"] or "" for r in sorted(run.trace.of("counter_range"), key=lambda r: r["id"])],
                         ["", "outer", "outer/inner", "outer/inner/lib@part", "outer/middle/inner", "", "inner"])

    def test_what_cannot_be(self):
        run = self.counters("places", options=["--nvtx-include", "regex:(/"])
        self.assertEqual(run.code, 2)
        self.assertIn("is not a valid regular expression", run.err)


class Source(Counters):
    """Samples of instructions: at 0x00, 0x10 and 0x20 of each kernel, in lines 10 to 12 of /src/facts.cu."""

    BLOCKS = {"alpha": 30 * 5, "beta": 30 * 5, "reduce": 5}

    def disassembler(self):
        """A stand-in for nvdisasm, in a folder for the PATH."""
        tool = self.folder / "tools" / "nvdisasm"
        tool.parent.mkdir()
        tool.write_text("#!/bin/sh\n[ \"$1\" = --version ] && exit 0\ncat <<'END'\n" + "".join(
            f".text.{kernel}:\n        /*0000*/                   S2R R0, SR_TID.X ;\n        //## File \"facts.cu\"\n"
            f"        /*0010*/              @!P0 LDG.E  R2, desc[UR4][R2.64] ;\n" for kernel in KERNELS) + "END\n")
        tool.chmod(0o755)
        return {"PATH": f"{tool.parent}:/usr/bin:/bin", "CUDA_HOME": None, "CUDA_PATH": None}

    def samples(self, trace):
        found = collections.Counter()
        for s in trace.of("pc_sample"):
            self.assertEqual((s["file"], s["line"]), ("/src/facts.cu", 10 + s["offset"] // 16))
            found[KERNELS[s["kernel"]], s["offset"], s["reason"]] += s["samples"]
        return found

    def expected(self):
        wanted = {}
        for kernel, blocks in self.BLOCKS.items():
            wanted |= {(kernel, 0, "selected"): blocks, (kernel, 16, "long_scoreboard"): 8 * blocks,
                       (kernel, 32, "long_scoreboard"): blocks, (kernel, 32, "selected"): blocks}
        return wanted

    def test_every_sample_has_its_line_and_instruction(self):
        run = self.counters("loop", 5, options=["--page", "source"], env=self.disassembler())
        self.assertEqual(run.code, 0, run.err)
        self.assert_clean(run.trace)
        self.assertEqual(self.samples(run.trace), self.expected())
        texts = {(KERNELS[i["kernel"]], i["offset"]): i["text"] for i in run.trace.of("instruction")}
        self.assertEqual(texts, {(kernel, offset): text for kernel in KERNELS.values() for offset, text in
                                 ((0, "S2R R0, SR_TID.X"), (16, "@!P0 LDG.E R2, desc[UR4][R2.64]"))})
        for part in ("facts.cu:11", "long scoreboard"):
            self.assertIn(part, run.out)

    def test_without_a_disassembler_lines_are_there(self):
        run = self.counters("loop", 5, options=["--page", "source"], env={"PATH": "/nowhere", "CUDA_HOME": "/nowhere"})
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(self.samples(run.trace), self.expected())
        self.assertIn("facts.cu:11", run.out)

    def test_a_gpu_that_cannot_be_sampled(self):
        run = self.counters("loop", 1, options=["--page", "source"], env={"MOCK_PC_ENABLE": "35"})
        self.assertEqual(run.code, 4)
        self.assertIn("to administrators (error 35)", run.err)
        self.assertIn("no instruction was sampled", run.err)


class Controls(Counters):
    """Of caches and clocks, which libcupti has from CUDA 13.4 on."""
    BOTH = ("--cache-control", "all", "--clock-control", "boost")

    def controlled(self, *options, before="", env=(), arguments=("loop", 5)):
        self.controls = self.folder / "controls"
        self.controls.write_text(before)
        return self.counters(*arguments, options=options, env={"MOCK_CUPTI_VERSION": "130400",
                                                               "MOCK_CONTROLS": str(self.controls), **dict(env)})

    def plan(self, run):
        plan, = run.trace.of("counter_plan")
        return plan["caches"], plan["clocks"]

    def test_caches_are_flushed_and_clocks_are_locked_and_released(self):
        for options in ((), ("--set", "full"), ("--replay-mode", "range")):
            with self.subTest(options=options):
                run = self.controlled(*self.BOTH, "--page", "details", *options)
                self.assertEqual(run.code, 0, run.err)
                self.assertEqual(self.controls.read_text().split("\n"), ["clocks 2", "caches 1", "clocks 0", ""])
                self.assertEqual(self.plan(run), (2, 3))
                self.assertIn("L2 flushed before each pass, clocks locked to the boost clock", " ".join(run.out.split()))

    def test_values_are_those_without(self):
        run = self.controlled("--cache-control", "all", "--clock-control", "base")
        self.assertEqual(self.launches(run.trace), [("alpha", 10), ("alpha", 20), ("beta", 30)] * 3)
        self.assertEqual(self.controls.read_text().split("\n"), ["clocks 1", "caches 1", "clocks 0", ""])

    def test_nothing_is_touched_without_being_asked_for(self):
        run = self.controlled("--cache-control", "none", "--clock-control", "none")
        self.assertEqual((run.code, self.controls.read_text(), self.plan(run)), (0, "", (1, 1)))

    def test_clocks_are_released_before_a_program_is_ended(self):
        run = self.controlled("--clock-control", "base", "--kill", "on", "-c", "2")
        self.assertEqual((run.code, self.controls.read_text()), (0, "clocks 1\nclocks 0\n"), run.err)

    def test_clocks_that_somebody_else_locked_stay_locked(self):
        run = self.controlled("--clock-control", "base", before="clocks 2\n")
        self.assertEqual((run.code, self.controls.read_text(), self.plan(run)), (0, "clocks 2\n", (1, 0)), run.err)
        self.assertIn("the clocks of the GPU were already locked and are left as they are", run.err)

    def test_what_cannot_be_is_not_measured(self):
        for env, message in (({"MOCK_CUPTI_VERSION": "130001"}, "cannot flush caches or lock clocks; use the libcupti of CUDA 13.4 or later"),
                             ({"MOCK_CLOCK_LOCK": "35"}, "the clocks cannot be locked: cuptiClockControlLock returned")):
            with self.subTest(env=env):
                run = self.controlled(*self.BOTH, env=env.items())
                self.assertEqual((run.code, self.controls.read_text()), (4, ""), run.err)
                self.assertIn(message, run.err)
                self.assertEqual(run.trace.of("counter_range"), [])

    def test_a_killed_program_leaves_them_locked_and_it_is_said(self):
        run = self.controlled("--clock-control", "base", arguments=("killed", 3))
        self.assertEqual((run.code, self.controls.read_text()), (137, "clocks 1\n"), run.err)
        self.assertIn("the clocks of the GPU may still be locked: nvidia-smi --reset-gpu-clocks", run.err)


class Trouble(Counters):
    def check_unharmed(self, run, message):
        self.assertEqual(run.code, 4, run.err)
        self.assertEqual(run.err.count(message), 1, run.err)
        self.assertEqual(run.trace.of("counter_range"), [])
        self.assertTrue(any(message in n["message"] for n in run.trace.of("notice")))

    def test_monitors_of_somebody_else(self):
        owner = self.folder / "dcgm-exporter"
        shutil.copy(shutil.which("sleep"), owner)
        with subprocess.Popen([owner, "600"]) as other:
            run = self.counters("loop", 3, env={"MOCK_RANGE_START": "26"})
            other.kill()
        self.check_unharmed(run, "dcgmi profile --pause")
        self.assertRegex(run.err, rf"the performance monitors probably belong to .*dcgm-exporter \({other.pid}\)")

    def test_no_permission(self):
        self.check_unharmed(self.counters("loop", 3, env={"MOCK_RANGE_ENABLE": "35"}), "NVreg_RestrictProfilingToAdminUsers=0")

    def test_a_cupti_without_the_profiler(self):
        self.check_unharmed(self.counters("loop", 3, version="12.0"), "CUDA 12.8 or later is needed")

    def test_no_nvperf(self):
        alone = self.folder / "alone"
        alone.mkdir()
        for path in (harness.MOCK / "13.0").iterdir():
            if "nvperf" not in path.name:
                shutil.copy(path, alone / path.name)
        run = self.counters("loop", 3, options=["--cupti", str(alone / "libcupti.so.13")],
                            env={"LD_LIBRARY_PATH": str(alone)})
        self.check_unharmed(run, "libnvperf_host.so is not next to")

    def test_killed(self):
        """What was measured is in the trace, whatever ends the program."""
        run = self.counters("killed", 3)
        self.assertEqual(run.code, 137)
        self.assertEqual(self.launches(run.trace), [("alpha", 10), ("alpha", 20), ("beta", 30)] * 3)

    def test_a_launch_that_hangs_is_named(self):
        for options, env in ((["--set", "full"], {"MOCK_LAUNCH_US": "2500000"}), ([], {"MOCK_RANGE_STOP_MS": "2500"})):
            with self.subTest(options=options):
                run = self.counters("maps", options=["--hang-limit", "1", *options], env=env)
                self.assertEqual(run.code, 0, run.err)
                self.assertEqual(run.err.count("measuring one launch of alpha has taken 1 s so far"), 1, run.err)
                for advice in ("waits for a later launch", "--replay-mode range", "exclude it with -k", "--hang-limit"):
                    self.assertIn(advice, run.err)

    def test_a_program_without_cuda(self):
        done = subprocess.run([str(harness.GPROF), "counters", "-o", "x.trace", "true"], capture_output=True, check=False,
                              cwd=self.folder, env=self.environment("13.0", {}), timeout=harness.DEADLINE_S)
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"made no CUDA call that the tracer could see", done.stderr)

    def test_under_the_name_of_a_csv_file_is_csv(self):
        words = [str(harness.GPROF), "counters", "-o", "values.csv", "--csv", *self.command("counter_facts_13.0", ["maps"])]
        done = subprocess.run(words, capture_output=True, timeout=harness.DEADLINE_S, check=False, cwd=self.folder,
                              env=self.environment("13.0", None), stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        rows = list(csv.DictReader((self.folder / "values.csv").read_text().splitlines()))
        self.assertIn("alpha(float*)", [row["Kernel Name"] for row in rows])
        self.assertTrue((self.folder / "values.trace").exists())

    def test_options_of_ncu(self):
        """What changes nothing is taken, and what has no effect is said."""
        log = self.folder / "log.csv"
        run = self.counters("maps", options=["--csv", "--log-file", str(log), "--print-fp", "--check-exit-code", "no", "--rule", "any"])
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.facts("maps")[0]["nvperf"] > 0, True)  # the output of the program is where it was
        self.assertEqual([row["Kernel Name"] for row in csv.DictReader(log.read_text().splitlines())], ["", "alpha(float*)"])
        self.assertEqual([line for line in run.err.splitlines() if "warning" in line],
                         ["gprof-cli: warning: --rule has no effect: all findings are shown"])

    def test_the_exit_code_is_that_of_the_program(self):
        run = self.counters("nothing")
        self.assertEqual(run.code, 98)


class Sacred(Counters):
    def test_nothing_of_it_is_there_without_being_asked_for(self):
        run = self.profile("counter_facts_13.0", "maps")
        self.assertEqual(run.facts("maps")[0]["nvperf"], 0)
        run = self.counters("maps")
        self.assertGreater(run.facts("maps")[0]["nvperf"], 0)

    def test_no_api_calls_are_recorded(self):
        run = self.counters("loop", 2)
        self.assertEqual(run.trace.of("api") + run.trace.of("kernel"), [])


class Terminal(Counters):
    def test_progress(self):
        """A line that goes away, where stderr is a terminal and not otherwise."""
        ours, theirs = pty.openpty()
        trace = self.folder / "run.trace"
        done = subprocess.Popen([str(harness.GPROF), "counters", "--set", "full", "-o", str(trace), "--",
                                 *self.command("counter_facts_13.0", ("loop", 30))], stdout=subprocess.DEVNULL, stderr=theirs,
                                stdin=subprocess.DEVNULL, cwd=self.folder, env=self.environment("13.0", {"MOCK_LAUNCH_US": "20000"}))
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 4096):
                text += part
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        self.assertEqual(done.wait(harness.DEADLINE_S), 0)
        self.assertRegex(text.decode(), r"\r\x1b\[K\d+ launch(es)? measured, \d+ passes each; measuring (alpha|beta)")
        last = text.decode().rstrip().rsplit("\r\x1b[K", 1)[1]
        self.assertRegex(last, r"measured 9 launches of 2 kernels, \d+ passes each; all values by kernel: ")
        run = self.counters("loop", 5)
        self.assertNotIn("\x1b", run.err)
        self.assertIn("measured 9 launches of 2 kernels, 1 pass each; all values by kernel: gprof-cli counters --page details -i", run.err)


class Kill(Counters):
    def test_the_program_ends_with_the_launches_that_are_counted(self):
        """It would launch for minutes; a batch that is open is kept, and so is a launch that is measured alone."""
        for options in ([], ["--set", "basic", "--metrics", "smsp__inst_executed.sum"]):
            with self.subTest(options=options):
                run = self.counters("steady", 100000, options=[*options, "--kill", "on", "-k", "beta", "-c", "3"])
                self.assertEqual(run.code, 0, run.err)
                self.assertEqual([v["smsp__inst_executed.sum"] for v in self.values(run.trace).values()], [3000] * 3, run.err)

    def test_a_program_that_launches_less_ends_by_itself(self):
        run = self.counters("loop", 1, options=["--kill", "on", "-c", "30"])
        self.assertEqual((run.code, len(self.launches(run.trace))), (0, 3), run.err)


class Output(Counters):
    def csv(self, *options):
        run = self.counters("loop", 2, options=["--csv", *options])
        self.assertEqual(run.code, 0, run.err)
        return list(csv.DictReader(run.out.splitlines()))

    def test_summaries(self):
        instructions = lambda *options: [row for row in self.csv(*options) if row["Metric Name"] == "smsp__inst_executed.sum"]
        of_kernels = instructions("--print-summary", "per-kernel")
        self.assertEqual([(row["Kernel Name"], row["Grid Size"], row["Invocations"], row["Average"]) for row in of_kernels],
                         [("alpha(float*)", "(10, 1, 1)", "2", "1000"), ("alpha(float*)", "(20, 1, 1)", "2", "2000"),
                          ("void lib::beta<foo::bar, 16>(foo::bar*)", "(30, 1, 1)", "2", "3000")])
        of_gpu, = instructions("--print-summary", "per-gpu")
        self.assertEqual([of_gpu[name] for name in ("Device", "Invocations", "Minimum", "Maximum", "Average")],
                         ["0", "6", "1000", "3000", "2000"])
        self.assertEqual([row["NVTX"] for row in instructions("--print-summary", "per-nvtx")], [""])

    def test_units(self):
        time = "gpu__time_duration.sum"
        self.assertEqual([row[time] for row in self.csv()[:2]], ["ns", "1100"])
        self.assertEqual([row[time] for row in self.csv("--print-units", "auto")[:2]], ["us", "1.1"])
        durations = [row for row in self.csv("--print-units", "auto", "--print-summary", "per-gpu") if row["Metric Name"] == time]
        self.assertEqual([(row["Metric Unit"], row["Maximum"]) for row in durations], [("us", "1.3")])

    def test_options_of_csv_say_that_they_do_nothing_without_it(self):
        for options in (["--print-summary", "per-gpu"], ["--print-units", "base"]):
            run = self.counters("loop", 1, options=options)
            self.assertIn(f"{' '.join(options)} has no effect without --csv", run.err)

    def test_the_raw_page_as_csv_goes_alone_to_stdout(self):
        run = self.counters("maps", options=["--csv"])
        lines = run.out.splitlines()
        self.assertTrue(lines[0].startswith('"ID","Process ID"'), run.out)
        self.assertEqual(len(lines), 3)
        self.assertIn('"fact"', run.err)

    def test_json(self):
        run = self.counters("loop", 1, options=["--format", "json"])
        report = json.loads(run.out)
        self.assertTrue(any(m["id"].startswith("kernel.") for m in report["metrics"]), report.keys())


if __name__ == "__main__":
    harness.main()
