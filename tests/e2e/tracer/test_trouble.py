"""When something is missing, broken or full: the program runs on untouched, the rest is recorded, and we say so once."""
import os
import pathlib
import resource
import signal
import subprocess

import harness

EVENTS = 40
NOTICE = "gprof-cli"


def troubles_in(trace):
    """What the trace has to say, but for how the program ended, which is its own business."""
    return [n for n in trace.of("notice") if n["level"] >= 2 and not n["message"].startswith("The program ended")]


class Trouble(harness.Case):
    def check_degraded(self, run, code=3, said=None):
        """No CUDA, but NVTX whole; the reason is on stderr once and in the trace."""
        self.assertEqual(run.code, code, run.err)
        trace = run.trace
        self.assertEqual(trace.problems, [])
        self.assertEqual(len(trace.of("nvtx", event=1, message="before the end")), EVENTS)
        self.assertEqual(trace.of("kernel"), [])
        notices = troubles_in(trace)
        self.assertEqual(len(notices), 1, notices)
        self.assertEqual(run.err.count(notices[0]["message"][:40]), 1, run.err)
        if said is not None:
            self.assertIn(said, notices[0]["message"])
        return trace

    def folder_without(self, version, *missing):
        """The folder of a version without some of its libraries."""
        folder = pathlib.Path(self.folder) / "-".join(("without", *missing))
        folder.mkdir()
        for name in (harness.MOCK / version).iterdir():
            if not name.name.startswith(missing):
                (folder / name.name).symlink_to(name)
        return folder

    def test_occupied_cupti(self):
        self.check_degraded(self.profile("ways_out", "return", EVENTS, env={"MOCK_OCCUPIED": "1"}), said="39")

    def test_notices_survive_in_a_file(self):
        """The program, the tracer and the launcher write to one file, each where it thinks that the file ends."""
        script = f"echo first >&2; '{harness.PROGRAMS / 'ways_out'}' return {EVENTS}; echo last >&2"
        for mode in ("wb", "ab"):
            with self.subTest(mode=mode):
                _, command = self.profile_command("/bin/sh", ("-c", script), ())
                path = self.folder / f"said-{mode}"
                with open(path, mode) as said:
                    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=said, stdin=subprocess.DEVNULL, check=False, cwd=self.folder,
                                   env=self.environment("13.0", {"MOCK_OCCUPIED": "1"}), timeout=harness.DEADLINE_S)
                lines = path.read_text().splitlines()
                self.assertEqual([line for line in lines if line in ("first", "last")], ["first", "last"], lines)
                self.assertEqual(sum(line.startswith("gprof-cli: ") for line in lines), len(lines) - 2, lines)
                self.assertTrue(any("39" in line for line in lines), lines)
                self.assertIn("Next: gprof-cli report", lines[-1])

    def test_no_libcupti(self):
        folder = self.folder_without("13.0", "libcupti")
        env = {"LD_LIBRARY_PATH": str(folder), "TEST_CUDART": str(folder / "libcudart.so.13")}
        # A CUDA Toolkit on the machine has a real libcupti, which cannot use our driver: either way there is no CUDA.
        self.check_degraded(self.profile("ways_out", "return", EVENTS, env=env))

    def test_wrong_libcupti(self):
        wrong = self.folder / "libcupti.so.13"
        wrong.write_text("this is no library")
        self.check_degraded(self.profile("ways_out", "return", EVENTS, options=["--cupti", str(wrong)]), said=str(wrong))
        other = harness.PROGRAMS / "libnvtx_late.so"
        self.check_degraded(self.profile("ways_out", "return", EVENTS, options=["--cupti", str(other)]), said="cupti")

    def test_libcupti_older_than_what_works(self):
        named = harness.MOCK / "11.8" / "libcupti.so.11.8"
        run = self.profile("ways_out", "return", EVENTS, options=["--cupti", str(named)], env={"MOCK_CUPTI_VERSION": "17"})
        self.check_degraded(run, said="older than CUDA 11.8")

    def test_named_libcupti(self):
        named = harness.MOCK / "12.8" / "libcupti.so.12"
        run = self.profile("ways_out", "return", EVENTS, options=["--cupti", str(named)])
        self.assertEqual(run.code, 3, run.err)
        self.assertEqual(run.trace.of("process")[-1]["cupti_path"], str(named))
        self.assertEqual(len(run.trace.of("kernel")), EVENTS)

    def test_no_driver(self):
        folder = self.folder_without("13.0", "libcuda.so", "libcupti")
        env = {"LD_LIBRARY_PATH": str(folder), "TEST_CUDART": None}
        run = self.profile("ways_out", "return", EVENTS, env=env)
        self.assertEqual(run.code, 3, run.err)
        self.assertEqual(len(run.trace.of("nvtx", event=1, message="before the end")), EVENTS)
        # A program that never asked for CUDA is not bothered about it.
        self.assertEqual(troubles_in(run.trace), [])

    def test_older_driver_gets_an_older_libcupti(self):
        env = {"MOCK_DRIVER_VERSION": "12080",
               "LD_LIBRARY_PATH": f"{harness.MOCK / '13.0'}:{harness.MOCK / '12.8'}"}
        run = self.profile("ways_out", "return", EVENTS, env=env)
        self.assertEqual(run.code, 3, run.err)
        self.assertTrue(run.trace.of("process")[-1]["cupti_path"].endswith("libcupti.so.12"))
        self.assertEqual(len(run.trace.of("kernel")), EVENTS)

    def test_copy_that_is_loaded_already_is_used(self):
        """A second libcupti in one process would fight with the first."""
        loaded = harness.MOCK / "12.8" / "libcupti.so.12"
        run = self.profile("ways_out", "return", EVENTS, options=["-e", f"LD_PRELOAD={loaded}"])
        self.assertEqual(run.code, 3, run.err)
        self.assertEqual(run.trace.of("process")[-1]["cupti_path"], str(loaded))
        self.assertEqual(len(run.trace.of("kernel")), EVENTS)

    def test_driver_without_devices(self):
        run = self.profile("ways_out", "return", 0, env={"MOCK_CUINIT_RESULT": "100"})
        plain = self.run_plain("ways_out", "return", 0, env={"MOCK_CUINIT_RESULT": "100"})
        self.assertEqual(run.code, plain.code)


class Losses(harness.Case):
    def profile_threads(self, **env):
        run = self.profile("cuda_threads_13.0", 2, 1000, env=env)
        self.assertEqual(run.code, 0, run.err)
        return run, run.trace

    def test_dropped_records_are_counted(self):
        _, trace = self.profile_threads(MOCK_DROP_EVERY="10")
        kernels = len(trace.of("kernel"))
        dropped = sum(r["count"] for r in trace.of("loss", reason=3))
        self.assertLess(kernels, 2000)
        # What is dropped may be a kernel or something smaller; none may go uncounted.
        self.assertGreaterEqual(kernels + dropped, 2000)

    def test_records_without_times_are_counted(self):
        run, trace = self.profile_threads(MOCK_ZERO_TIMES="10")
        without = sum(r["count"] for r in trace.of("loss", reason=4))
        without += len([k for k in trace.of("kernel") if k["start_ns"] == 0])
        self.assertEqual(len([k for k in trace.of("kernel") if k["start_ns"] != 0]) + without, 2000)
        self.assertGreater(without, 100)
        self.assertEqual(harness.total(self.report(run.trace_path))["kernels.count"], 2000 - without)

    def test_unknown_kinds_are_skipped_and_counted(self):
        _, trace = self.profile_threads(MOCK_UNKNOWN_KIND="100")
        self.assertEqual(len(trace.of("kernel")), 2000)
        self.assertGreaterEqual(sum(r["count"] for r in trace.of("loss", reason=5)), 20)

    def test_fatal_error_of_cupti(self):
        run, trace = self.profile_threads(MOCK_FATAL_AFTER="500")
        self.assertLess(len(trace.of("kernel")), 2000)
        self.assertEqual(trace.problems, [])
        self.report(run.trace_path)

    def test_slow_flush_costs_nothing(self):
        _, trace = self.profile_threads(MOCK_FLUSH_SLEEP_MS="300")
        self.assert_clean(trace)
        self.assertEqual(len(trace.of("kernel")), 2000)

    def test_exit_without_entry(self):
        _, trace = self.profile_threads(MOCK_EXIT_WITHOUT_ENTER="1")
        self.assert_clean(trace)
        for call in trace.of("api"):
            self.assertGreater(call["start_ns"], 0)
            self.assertLess(call["duration_ns"], 3600 * 10**9)


class Output(harness.Case):
    def test_no_space(self):
        def limit():
            # What `ulimit -f` does: a write beyond it fails (EFBIG) where SIGXFSZ is ignored.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
        run = self.profile("cuda_threads_13.0", 4, 5000, preexec_fn=limit)
        self.assertEqual(run.code, 0, run.err)
        self.assertLessEqual(run.trace_path.stat().st_size, 8192)
        self.assertEqual(len(run.facts("thread")), 4)
        # What is there still reads, and it says that it is not all.
        trace = run.trace
        self.assertLess(len(trace.of("kernel")), 20000)
        self.assertEqual(len(trace.of("end")), 0)

    def test_deleted_output(self):
        script = f"rm -f run1.trace; exec '{harness.PROGRAMS / 'ways_out'}' return {EVENTS}"
        run = self.profile("/bin/sh", "-c", script, version=None)
        self.assertEqual(run.code, 3, run.err)

    def test_unwritable_folder_is_refused_before_the_program_runs(self):
        trace = self.folder / "nowhere" / "run.trace"
        done = subprocess.run([harness.GPROF, "profile", "-o", trace, "--", "/bin/sh", "-c", "echo ran"],
                              capture_output=True, timeout=harness.DEADLINE_S, check=False,
                              env=self.environment(None, None))
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertIn(os.fsencode(trace.parent), done.stderr)


if __name__ == "__main__":
    harness.main()
