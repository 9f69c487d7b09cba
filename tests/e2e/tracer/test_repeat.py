"""Series of runs with the real tracer: each run is recorded as if it were the only one."""
import json
import shutil
import signal
import subprocess

import harness

WORK = "mark begin launch 7 push step launch 3 pop step malloc 4096 mark end".split()


class SeriesCase(harness.Case):
    def series(self, options, *command, code=0, program="scripted", name="run"):
        words = [str(harness.GPROF), "profile", "-o", name, *options, "--", *self.command(program, command)]
        done = subprocess.run(words, capture_output=True, timeout=harness.DEADLINE_S, check=False, cwd=self.folder,
                              env=self.environment("13.0", None), stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        violations = self.folder / "violations"
        self.assertEqual(violations.read_text() if violations.exists() else "", "", done.stderr.decode())
        return json.loads((self.folder / f"{name}.runs.json").read_text(encoding="utf-8"))["runs"]

    def trace(self, run):
        return harness.Trace(self.folder / run["trace"])

    def counts(self, trace):
        """What does not depend on the clock."""
        kinds = ("kernel", "memcpy", "memset", "nvtx", "api", "device", "context", "stream", "capture", "end", "loss")
        return {kind: len(trace.of(kind)) for kind in kinds} | {"names": sorted(r["message"] for r in trace.of("nvtx"))}


class Alike(SeriesCase):
    def test_counts_are_those_of_a_single_run(self):
        single = self.profile("scripted", *WORK)
        runs = self.series(["--repeat", "4", "--warmup", "1", "--keep-warmup"], *WORK)
        self.assertEqual([run["outcome"] for run in runs], ["good"] * 5)
        wanted = self.counts(single.trace)
        self.assertEqual((wanted["kernel"], wanted["loss"], wanted["end"]), (10, 0, 1))
        for run in runs:
            trace = self.trace(run)
            self.assert_clean(trace)
            self.assertEqual(self.counts(trace), wanted, run["trace"])
        # A process each.
        self.assertEqual(len({self.trace(run).of("process")[0]["pid"] for run in runs}), 5)

    def test_figures_that_do_not_depend_on_time(self):
        runs = self.series(["--repeat", "3"], *WORK)
        ids = ("kernels.count", "launches.count", "api.calls", "memcpy.h2d_bytes", "sync.count", "health.lost_records")
        found = [{name: value for name, value in harness.total(self.report(self.folder / run["trace"])).items() if name in ids}
                 for run in runs]
        self.assertEqual(found[0]["kernels.count"], 10)
        self.assertEqual(found, [found[0]] * 3)

    def test_wall_time_holds_what_was_recorded(self):
        for run in self.series(["--repeat", "2"], *WORK):
            trace = self.trace(run)
            times = [r["time_ns"] for r in trace.of("nvtx")]
            self.assertGreaterEqual(run["wall_ns"], max(times) - min(times))


class Captures(SeriesCase):
    SCRIPT = "mark out launch 2 pstart mark in launch 5 pstop mark behind launch 1".split()

    def test_range_of_each_run(self):
        for run in self.series(["--repeat", "3", "-c", "cudaProfilerApi"], *self.SCRIPT):
            trace = self.trace(run)
            self.assertEqual([r["message"] for r in trace.of("nvtx", event=1)], ["in"])
            self.assertEqual((len(trace.of("kernel")), trace.of("loss")), (5, []))

    def test_capture_that_ends_the_program(self):
        script = f"mark out pstart mark in launch 2 pstop wait {self.folder}/never".split()
        runs = self.series(["--repeat", "2", "-c", "cudaProfilerApi", "--capture-range-end", "stop-shutdown"], *script,
                           code=128 + signal.SIGTERM)
        self.assertEqual([(run["outcome"], run["signal"]) for run in runs], [("good", signal.SIGTERM)] * 2)
        self.assertEqual([len(self.trace(run).of("kernel")) for run in runs], [2, 2])


class Ends(SeriesCase):
    def test_what_a_killed_run_left_is_in_its_own_trace(self):
        runs = self.series(["--repeat", "3", "--keep-going", "--flush-ms", "3600000"], *WORK, "term", code=128 + signal.SIGTERM)
        self.assertEqual([run["outcome"] for run in runs], ["failed"] * 3)
        for run in runs:
            trace = self.trace(run)
            self.assertEqual(sorted(r["message"] for r in trace.of("nvtx", event=1)), ["begin", "end"])
            self.assertEqual(len(trace.calls("cudaLaunchKernel")), 10)
            self.assertEqual([r["reason"] for r in trace.of("end")], [4])

    def test_process_that_outlives_its_run_goes_on_in_its_own_trace(self):
        scripted = harness.PROGRAMS / "scripted"
        # What begins after the launcher has ended is recorded by nobody, so each run waits for its process to have begun.
        said = f"{self.folder}/said.$$"
        script = (f"{scripted} mark early wait {self.folder}/go mark late >{said} 2>&1 & "
                  f"until grep -q early {said}; do sleep 0.01; done; {scripted} mark here")
        runs = self.series(["--repeat", "3"], "-c", script, program="sh")
        (self.folder / "go").touch()

        def names(run):
            return sorted(r["message"] for r in self.trace(run).of("nvtx", event=1))
        for run in runs:
            harness.wait_for(lambda run=run: len(names(run)) >= 3, "the process has written what it did")
            self.assertEqual(names(run), ["early", "here", "late"])

    def test_failing_run_ends_the_series_with_its_code(self):
        count = self.folder / "count"
        script = f"echo >> {count}; test $(wc -l < {count}) = 3 && exit 9; exec {harness.PROGRAMS / 'scripted'} launch 1"
        runs = self.series(["--repeat", "5"], "-c", script, program="sh", code=9)
        self.assertEqual([run["exit_code"] for run in runs], [0, 0, 9])
        self.assertEqual([len(self.trace(run).of("kernel")) for run in runs[:2]], [1, 1])


class Judged(SeriesCase):
    def run_in(self, folder, *words):
        return subprocess.run([str(harness.GPROF), *words], capture_output=True, timeout=harness.DEADLINE_S, check=False, cwd=folder,
                              env=self.environment("13.0", None), stdin=subprocess.DEVNULL)

    def test_moved_folder_is_still_a_set(self):
        (self.folder / "here").mkdir()
        self.series(["--repeat", "3", "--warmup", "1"], *WORK, name="here/run")
        moved = shutil.move(self.folder / "here", self.folder / "there")
        for folder, path in ((moved, "run.runs.json"), (self.folder, "there/run.runs.json"), ("/", f"{moved}/run.runs.json")):
            for rule, code in (("kernels.count != 10", 0), ("kernels.count > 9", 1), ("health.lost_records > 0", 0)):
                done = self.run_in(folder, "check", path, "--fail-if", rule)
                self.assertEqual(done.returncode, code, done.stdout.decode() + done.stderr.decode())
        (moved / "run-2.trace").unlink()
        done = self.run_in(moved, "check", "run.runs.json", "--fail-if", "kernels.count > 9")
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"run-2.trace", done.stderr)

    def test_failed_runs_do_not_count(self):
        count = self.folder / "count"
        script = f"echo >> {count}; {harness.PROGRAMS / 'scripted'} launch 1; test $(wc -l < {count}) != 2"
        self.series(["--repeat", "3", "--keep-going"], "-c", script, program="sh", code=1)
        done = self.run_in(self.folder, "check", "run.runs.json", "--fail-if", "kernels.count != 1", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertIn("run 2 of run.runs.json", " ".join(json.loads(done.stdout)["notes"]))

    def compare(self, base, new, *options):
        scripted = str(harness.PROGRAMS / "scripted")
        done = self.run_in(self.folder, "compare", "-n", "3", *options, "--format", "json", "--", scripted, *base, ":::", scripted,
                           *new)
        violations = self.folder / "violations"
        self.assertEqual(violations.read_text() if violations.exists() else "", "", done.stderr.decode())
        return done.returncode, json.loads(done.stdout)

    def test_exact_figures_of_two_programs(self):
        """Times of a loaded machine decide nothing here."""
        code, found = self.compare(("launch", "5"), ("launch", "6"), "--fail-on", "counters")
        self.assertEqual((code, found["base_launches"], found["new_launches"]), (1, 5, 6))
        self.assertGreater(found["worse_counters"], 0)
        code, found = self.compare(("launch", "5"), ("launch", "5"), "--fail-on", "counters", "--min-change", "100000%")
        self.assertIn(code, (0, 4))
        self.assertEqual((found["worse_counters"], found["better_counters"], found["differences"]), (0, 0, []))

    def test_captures_of_two_programs(self):
        code, found = self.compare("launch 3 pstart launch 2 pstop".split(), "pstart launch 2 pstop launch 9".split(), "-c",
                                   "cudaProfilerApi", "--fail-on", "counters", "--min-change", "100000%")
        self.assertIn(code, (0, 4))
        self.assertEqual((found["base_launches"], found["new_launches"], found["worse_counters"]), (2, 2, 0))


if __name__ == "__main__":
    harness.main()
