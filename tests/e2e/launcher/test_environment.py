"""The program sees the environment it would see without us, but for the variables that are documented."""

import os
import signal
import sys
import unittest

from launcher import LauncherTest

OURS = {"GPROF_OUTPUT", "GPROF_TRACE", "GPROF_PYTHON_STACKS", "GPROF_RUN_ID", "GPROF_RUN_FOLDER", "GPROF_RUN_BASE", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
        "NCCL_PROFILER_PLUGIN", "GPROF_OSRT_STACKS"}


class Variables(LauncherTest):
    def variables(self, *options, expected_code=0):
        done = self.profile("-f", *options, "env", "-0")
        self.assertEqual(done.returncode, expected_code, done.stderr)
        self.stderr = done.stderr.decode()
        return dict(entry.split("=", 1) for entry in done.stdout.decode().split("\0") if entry)

    def test_nothing_else_changes_not_even_the_order(self):
        self.env["WITH_NEWLINE"] = "a\nb"
        self.env["EMPTY"] = ""
        bare = [entry for entry in self.run_in_folder("env", "-0").stdout.split(b"\0") if b"GPROF_" not in entry]
        traced = self.profile("env", "-0").stdout.split(b"\0")
        self.assertEqual([entry for entry in traced if entry.split(b"=")[0].decode() not in OURS], bare)

    def test_what_the_tracer_is_told(self):
        found = self.variables("-o", "x.trace")
        status = os.stat(self.folder / "x.trace")
        run = int.from_bytes((self.folder / "x.trace").read_bytes()[80:88], "little")
        self.assertNotEqual(run, 0)
        self.assertEqual({name: found.get(name) for name in OURS}, {
            "GPROF_OUTPUT": str(self.folder / "x.trace"), "GPROF_TRACE": "cuda,nvtx,osrt,mpi,gemm,nccl", "GPROF_PYTHON_STACKS": "1",
            "GPROF_RUN_ID": f"{status.st_dev}:{status.st_ino}:{run}", "GPROF_RUN_BASE": None,
            "GPROF_RUN_FOLDER": found["GPROF_RUN_FOLDER"],
            "CUDA_INJECTION64_PATH": str(self.stub), "NVTX_INJECTION64_PATH": str(self.stub),
            "NCCL_PROFILER_PLUGIN": str(self.stub), "GPROF_OSRT_STACKS": "80000,24,65536"})

    def test_options_of_the_tracer(self):
        library = self.write("libcupti.so", "")
        found = self.variables("--cuda-trace-all-apis", "--cuda-graph-trace", "node", "--flush-ms", "20",
                               "--cupti", "libcupti.so", "-t", "cuda,osrt", "--osrt-functions=read,poll",
                               "--osrt-file-access")
        self.assertEqual((found["GPROF_TRACE"], found["GPROF_OSRT_THRESHOLD"]), ("cuda,osrt", "1000"))
        self.assertEqual((found["GPROF_OSRT_FUNCTIONS"], found["GPROF_OSRT_FILE_ACCESS"]), ("read,poll", "1"))
        self.assertEqual(found["GPROF_ALL_APIS"], "1")
        self.assertEqual(found["GPROF_GRAPH_TRACE"], "node")
        self.assertEqual(found["GPROF_FLUSH_MS"], "20")
        self.assertEqual(found["GPROF_CUPTI"], str(library))
        optional = {"GPROF_ALL_APIS", "GPROF_GRAPH_TRACE", "GPROF_FLUSH_MS", "GPROF_CUPTI", "GPROF_OSRT_THRESHOLD",
                    "GPROF_OSRT_FUNCTIONS", "GPROF_OSRT_FILE_ACCESS"}
        self.assertFalse(optional & set(self.variables()))

    def test_libraries_that_annotate_their_calls(self):
        names = ("CUBLAS_NVTX_LEVEL", "CUBLASLT_NVTX_LEVEL", "CUBLASXT_NVTX_LEVEL", "CUDNN_NVTX_LEVEL",
                 "CUSOLVERDN_NVTX_LEVEL", "CUSPARSE_NVTX_LEVEL")

        def levels(*options):
            found = self.variables(*options)
            return [found.get(name) for name in names]
        self.assertEqual(levels(), [None] * 6)
        self.assertEqual(levels("-t", "cuda,cublas,cudnn,cusolver-verbose,cusparse"), ["1", "1", "1", "1", "2", None])
        self.assertEqual(levels("-t", "cusparse-verbose"), [None] * 5 + ["2"])
        self.assertEqual(self.variables("-t", "cusparse,cufft")["GPROF_TRACE"], "nvtx,cusparse,cufft")
        self.assertEqual(levels("-t", "cublas-verbose", "-e", "CUBLAS_NVTX_LEVEL=3"), ["3", "2", "2", None, None, None])
        self.assertEqual(self.variables("-t", "cuda,cublas")["GPROF_TRACE"], "cuda,nvtx,gemm")

    def test_what_is_recorded_and_when(self):
        found = self.variables("--cuda-memory-usage", "--cuda-um-gpu-page-faults=true", "-c", "nvtx", "-p", "step@train",
                               "--capture-range-end", "repeat:2", "--cuda-graph-trace", "auto", "-q")
        wanted = {"GPROF_MEMORY_USAGE": "1", "GPROF_MANAGED_MEMORY": "1", "GPROF_CAPTURE": "nvtx",
                  "GPROF_NVTX_CAPTURE": "step@train", "GPROF_CAPTURE_END": "repeat:2", "GPROF_GRAPH_TRACE": "auto",
                  "GPROF_QUIET": "1"}
        self.assertEqual({name: found.get(name) for name in wanted}, wanted)
        self.assertFalse(set(wanted) & set(self.variables("--cuda-um-cpu-page-faults", "false")))
        steps = self.variables("--sample-steps", "skip=2,active=1", "-p", "step")
        self.assertEqual((steps["GPROF_CAPTURE"], steps["GPROF_SAMPLE_STEPS"]),
                         ("steps", "skip=2,wait=0,warmup=0,active=1,repeat=0"))

    def test_children_are_left_alone_when_asked(self):
        done = self.profile("--trace-children", "false", "sh", "-c", "echo $$ $GPROF_ONLY_PID")
        pid, only = done.stdout.split()
        self.assertEqual(pid, only)
        self.assertNotIn("GPROF_ONLY_PID", self.variables("--trace-children", "true"))

    def test_missing_cupti_is_refused(self):
        done = self.profile("--cupti", "nowhere.so", "touch", "ran")
        self.assertEqual(done.returncode, 125)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_only_what_is_recorded_is_injected(self):
        self.assertNotIn("NVTX_INJECTION64_PATH", self.variables("-t", "cuda"))
        self.assertNotIn("CUDA_INJECTION64_PATH", self.variables("-t", "nvtx"))
        self.assertNotIn("NCCL_PROFILER_PLUGIN", self.variables("-t", "cuda,nvtx"))
        found = self.variables("-t", "none")
        self.assertNotIn("CUDA_INJECTION64_PATH", found)
        self.assertNotIn("NVTX_INJECTION64_PATH", found)

    def test_left_overs_of_another_run_are_cleaned(self):
        self.env.update({"GPROF_OUTPUT": "/old", "GPROF_ALL_APIS": "1", "GPROF_UNHEARD_OF": "1"})
        found = self.variables()
        self.assertNotIn("GPROF_ALL_APIS", found)
        self.assertNotIn("GPROF_UNHEARD_OF", found)
        self.assertEqual(found["GPROF_OUTPUT"], str(self.folder / "run.trace"))

    def test_another_profiler_is_replaced_with_a_warning(self):
        self.env["CUDA_INJECTION64_PATH"] = "/opt/other/libinjection.so"
        found = self.variables()
        self.assertEqual(found["CUDA_INJECTION64_PATH"], str(self.stub))
        self.assertEqual(found["GPROF_NEXT_CUDA_INJECTION"], "/opt/other/libinjection.so")
        self.assertNotIn("GPROF_NEXT_NVTX_INJECTION", found)
        self.assertEqual(self.stderr.count("/opt/other/libinjection.so"), 1)
        self.assertIn("overridden for this run", self.stderr)

    def test_our_own_tracer_is_no_other_profiler(self):
        self.env["CUDA_INJECTION64_PATH"] = str(self.stub)
        self.variables()
        self.assertNotIn("warning", self.stderr)

    def test_variables_of_the_user(self):
        found = self.variables("-e", "A=1,B=x=y", "-e", "C=1,2,3", "--env-var", "EMPTY=", "-e", "A=2")
        self.assertEqual([found[name] for name in ("A", "B", "C", "EMPTY")], ["2", "x=y", "1,2,3", ""])

    def test_output_is_absolute_though_the_program_moves(self):
        (self.folder / "sub").mkdir()
        done = self.profile("-o", "sub/x.trace", "sh", "-c", "cd / && printf %s \"$GPROF_OUTPUT\"")
        self.assertEqual(done.stdout.decode(), str(self.folder / "sub" / "x.trace"))


class Inherited(LauncherTest):
    """Whatever else a process inherits."""

    PROBE = ("grep", "-E", "^(SigBlk|SigIgn|Umask|NoNewPrivs|Cpus_allowed):", "/proc/self/status")

    def compare(self, prepare):
        bare = self.run_in_folder(*self.PROBE, preexec_fn=prepare, restore_signals=False)
        traced = self.profile("-f", *self.PROBE, preexec_fn=prepare, restore_signals=False)
        self.assertEqual(traced.returncode, 0, traced.stderr)
        self.assertEqual(traced.stdout, bare.stdout)

    def test_default_dispositions(self):
        def prepare():
            for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
        self.compare(prepare)

    def test_ignored_signals_stay_ignored(self):
        def prepare():
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGPIPE, signal.SIGUSR1,
                           signal.SIGCHLD, signal.SIGTSTP):
                signal.signal(number, signal.SIG_IGN)
        self.compare(prepare)

    def test_blocked_signals_stay_blocked(self):
        self.compare(lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGTERM, signal.SIGALRM}))

    def test_umask(self):
        self.compare(lambda: os.umask(0o137))

    def test_exit_code_survives_an_ignored_sigchld(self):
        done = self.profile("sh", "-c", "exit 7", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(done.returncode, 7)

    def test_process_group_session_folder_and_priority(self):
        script = ("import os; parent = os.getppid(); print(os.getpgid(0) == os.getpgid(parent), "
                  "os.getsid(0) == os.getsid(parent), os.getcwd(), os.nice(0))")
        done = self.profile(sys.executable, "-c", script, preexec_fn=lambda: os.nice(1))
        self.assertEqual(done.stdout.decode().split(), ["True", "True", str(self.folder), str(os.nice(0) + 1)])


if __name__ == "__main__":
    unittest.main()
