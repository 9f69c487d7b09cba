"""Every way a program can end, idle and busy, with and without CUDA: same exit code, readable trace, counted loss."""
import collections
import os
import signal
import subprocess

import harness

EVENTS = 50
SALVAGED = 4  # EndReason
# The handlers of the process run, so the trace is whole whenever that happens: how, exit code.
ORDERLY = [("return", 3), ("exit", 4), ("pthread_exit", 8)]
# They do not run: the launcher takes what is left from memory that it shares with the program.
ABRUPT = [("_exit", 5), ("quick_exit", 6), ("abort", 128 + signal.SIGABRT), ("segv", 128 + signal.SIGSEGV),
          ("term", 128 + signal.SIGTERM), ("kill", 128 + signal.SIGKILL)]


def counts(trace):
    return (len(trace.of("nvtx", event=1, message="before the end")), len(trace.calls("cudaLaunchKernel")),
            len(trace.of("kernel", name="_Z4lastv")))


def flushed_counts(path):
    """What is in the file by now; None as long as that is nothing."""
    try:
        return counts(harness.Trace(path))
    except AssertionError:
        return None


class Flushed(harness.Case):
    def expected(self, version):
        return (EVENTS, EVENTS, EVENTS) if version else (EVENTS, 0, 0)

    def run_until_flushed(self, how, version, busy):
        """Lets the program end when the periodic flush has brought everything into the file."""
        go = self.folder / f"go{self.runs}"
        path, command = self.profile_command("ways_out", [how, EVENTS, *busy], ["--flush-ms", "20"])
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder,
                                   env=self.environment(version, {"TEST_GO": str(go)}), stdin=subprocess.DEVNULL)
        self.addCleanup(process.kill)

        def is_there():
            return flushed_counts(path) == self.expected(version)

        harness.wait_for(is_there, "the periodic flush")
        go.touch()
        return path, process.wait(timeout=harness.DEADLINE_S)


class WaysOut(Flushed):
    def check_orderly(self, version, *busy):
        for how, code in ORDERLY:
            with self.subTest(how=how):
                run = self.profile("ways_out", how, EVENTS, *busy, version=version)
                self.assertEqual(run.code, code, run.err)
                trace = run.trace
                self.assert_clean(trace)
                self.assertEqual(counts(trace), self.expected(version))

    def test_orderly(self):
        self.check_orderly(None)

    def test_orderly_with_cuda(self):
        self.check_orderly("13.0")

    def test_orderly_while_threads_are_busy(self):
        self.check_orderly(None, "busy")

    def check_tail(self, trace):
        """A fatal signal can cut the write that is under way, which costs the last chunk and nothing else."""
        for problem in trace.problems:
            self.assertRegex(problem, "ends within a chunk|damaged chunks: 1$|skipped bytes")

    def check_abrupt(self, version, *busy):
        for how, code in ABRUPT:
            with self.subTest(how=how):
                path, got = self.run_until_flushed(how, version, busy)
                self.assertEqual(got, code)
                trace = harness.Trace(path)
                self.check_tail(trace)
                self.assertEqual(counts(trace), self.expected(version))
                if how != "quick_exit":  # has handlers of its own, which the tracer may use
                    self.assertEqual([end["reason"] for end in trace.of("end")], [SALVAGED])
                    self.assertEqual(harness.total(self.report(path))["health.salvaged_processes"], 1)
        self.assertFalse((self.folder / "violations").exists())

    def test_abrupt(self):
        self.check_abrupt(None)

    def test_abrupt_with_cuda(self):
        self.check_abrupt("13.0")

    def test_abrupt_while_threads_are_busy(self):
        self.check_abrupt(None, "busy")

    def test_abrupt_at_once(self):
        """Killed before anything reached the file: the exit code is right, and what the tracer itself records is there."""
        for how, code in ABRUPT:
            with self.subTest(how=how):
                run = self.profile("ways_out", how, EVENTS)
                self.assertEqual(run.code, code, run.err)
                trace = run.trace
                self.check_tail(trace)
                marks, launches, kernels = counts(trace)
                self.assertEqual((marks, launches), (EVENTS, EVENTS))
                self.assertLessEqual(kernels, EVENTS)


    def test_names_of_kernels_outlive_an_early_death(self):
        """Killed when CUPTI has delivered records and nothing of ours has looked at them yet."""
        for _ in range(20):
            run = self.profile("ways_out", "kill", EVENTS, env={"MOCK_BUFFER_RECORDS": "10"}, options=["--flush-ms", "60000"])
            names = [kernel["name"] for kernel in run.trace.of("kernel")]
            self.assertEqual(set(names) - {"_Z4lastv"}, set())
            if names:
                return
        self.fail("CUPTI never delivered a record before the end")


class SeveralProcesses(Flushed):
    def test_forked_children(self):
        for how in ("fork__exit", "fork_exit"):
            for version in (None, "13.0"):
                with self.subTest(how=how, version=version):
                    run = self.profile("ways_out", how, EVENTS, version=version)
                    self.assertEqual(run.code, 11, run.err)
                    trace = run.trace
                    self.assertEqual(trace.problems, [])
                    parent = run.facts("end")[0]["pid"]
                    # The child must not write the parent's records a second time.
                    marks = trace.of("nvtx", event=1, message="before the end")
                    self.assertEqual({r["chunk_pid"] for r in marks}, {parent})
                    self.assertEqual(len(marks), EVENTS)
                    self.assertEqual({r["chunk_pid"] for r in trace.of("kernel")} - {parent}, set())
                    children = trace.of("nvtx", event=1, message="child")
                    self.assertNotIn(parent, {r["chunk_pid"] for r in children})
                    self.assertEqual(len(children), EVENTS)

    def test_child_whose_main_thread_leaves(self):
        """Threads of the tracer that only the parent has do not count as the child's own."""
        run = self.profile("ways_out", "fork_leave", EVENTS)
        self.assertEqual(run.code, 13, run.err)
        self.assertEqual(run.trace.problems, [])
        self.assertEqual(len(run.trace.of("nvtx", event=1, message="child")), EVENTS)

    def test_fork_while_threads_are_busy(self):
        """A lock that another thread holds at the fork stays held in the child for ever."""
        for _ in range(10):
            run = self.profile("ways_out", "fork_exit", EVENTS, "busy", version=None)
            self.assertEqual(run.code, 11, run.err)
            self.assertEqual(run.trace.problems, [])

    def test_fork_at_any_moment(self):
        """The child takes over what the parent, which goes on, is changing."""
        for _ in range(10):
            run = self.profile("ways_out", "fork__exit", EVENTS, version=None)
            self.assertEqual(run.code, 11, run.err)

    def test_child_is_the_first_to_use_cuda(self):
        self.check_child_with_cuda("fork_first")

    def test_child_with_cuda_that_leaves_by__exit(self):
        """As the children of Python's multiprocessing do: CUPTI delivers when the child has waited for its work."""
        self.check_child_with_cuda("fork_first__exit")

    def test_child_that_is_killed_at_once(self):
        """As the workers of a pool are: a program of its own that another one started keeps what it has waited for."""
        run = self.profile("/bin/sh", "-c", f"{harness.PROGRAMS}/scripted launch {EVENTS} term; true")
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(len(run.trace.of("kernel")), EVENTS)

    def test_process_that_leaves_by__exit_keeps_finished_work(self):
        """Nothing is delivered before the end, and slots of _exit are led to us some time after the capture began."""
        script = f"pstart launch {EVENTS} leave 7"
        run = self.profile("scripted", *script.split(), options=["-c", "cudaProfilerApi", "--flush-ms", "60000"])
        self.assertEqual(run.code, 7, run.err)
        self.assertEqual(len(run.trace.of("kernel")), EVENTS)

    def check_child_with_cuda(self, how):
        run = self.profile("ways_out", how, EVENTS)
        self.assertEqual(run.code, 12, run.err)
        trace = run.trace
        self.assertEqual(trace.problems, [])
        parent = run.facts("end")[0]["pid"]
        self.assertEqual(len(trace.of("nvtx", event=1, message="before the end", chunk_pid=parent)), EVENTS)
        for kind, events in (("kernel", EVENTS), ("api", EVENTS)):
            records = [r for r in trace.of(kind) if kind == "kernel" or r["function"] == "cudaLaunchKernel"]
            self.assertEqual(len(records), events, kind)
            self.assertNotIn(parent, {r["chunk_pid"] for r in records})
        self.assertEqual(len(trace.of("nvtx", event=1, message="child with CUDA")), EVENTS)
        # Described again when CUDA has come up, if that takes long.
        self.assertEqual({p["is_forked"] for p in trace.of("process") if p["pid"] != parent}, {1})

    def test_exec(self):
        for version in (None, "13.0"):
            with self.subTest(version=version):
                path, code = self.run_until_flushed("exec", version, ())
                self.assertEqual(code, 3)
                trace = harness.Trace(path)
                self.assertEqual(trace.problems, [])
                marks = collections.Counter(r["image"] for r in trace.of("nvtx", event=1, message="before the end"))
                self.assertEqual(list(marks.values()), [EVENTS, EVENTS])
                self.assertEqual({r["chunk_pid"] for r in trace.of("nvtx")}, {trace.of("process")[0]["pid"]})

    def test_many_processes_write_one_file(self):
        program = harness.PROGRAMS / "ways_out"
        script = f"for i in 1 2 3 4 5 6; do '{program}' return 300 & done; wait"
        run = self.profile("/bin/sh", "-c", script, options=["--flush-ms", "5"])
        trace = run.trace
        self.assert_clean(trace, processes=6)
        pids = {fact["pid"] for fact in run.facts("end")}
        for records in (trace.of("nvtx", message="before the end"), trace.of("kernel"), trace.calls("cudaLaunchKernel")):
            self.assertEqual(collections.Counter(r["chunk_pid"] for r in records), {pid: 300 for pid in pids})


class AtExit(harness.Case):
    def test_calls_in_handlers_and_destructors(self):
        for version in (None, "13.0"):
            with self.subTest(version=version):
                run = self.profile("ways_out", "handlers", EVENTS, version=version)
                self.assertEqual(run.code, 9, run.err)
                trace = run.trace
                self.assertEqual(trace.problems, [])
                self.assertEqual(len(trace.of("nvtx", event=1, message="before the end")), EVENTS)
                self.assertEqual(len(trace.of("nvtx", event=1, message="in atexit")), 1)
                self.assertLessEqual(len(trace.of("nvtx", event=1, message="in destructor")), 1)
                # The driver's own handler runs later, so this work is done and recorded.
                self.assertEqual(len(trace.of("kernel")), EVENTS + 1 if version else 0)

    def test_hanging_flush_does_not_keep_the_program(self):
        run = self.profile("ways_out", "return", EVENTS, env={"MOCK_FLUSH_HANG": "1"})
        self.assertEqual(run.code, 3, run.err)
        self.assertEqual(len(run.trace.of("nvtx", event=1, message="before the end")), EVENTS)
        self.assertEqual(len(run.trace.calls("cudaLaunchKernel")), EVENTS)


class Launcher(harness.Case):
    def start(self, version):
        trace, command = self.profile_command("ways_out", ["wait", EVENTS], [])
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                   env=self.environment(version, None), cwd=self.folder)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        line = process.stdout.readline().decode()
        self.assertIn('"fact":"end"', line)
        return trace, process, int(line.split('"pid":')[1].split(",")[0])

    def test_killed_launcher_costs_nothing_that_was_flushed(self):
        for version in (None, "13.0"):
            with self.subTest(version=version):
                path, process, pid = self.start(version)
                self.addCleanup(self.kill, pid)
                harness.wait_for(lambda: (flushed_counts(path) or [0])[0] == EVENTS, "the periodic flush")
                process.kill()
                process.wait(timeout=harness.DEADLINE_S)
                self.kill(pid)
                trace = harness.Trace(path)
                self.assertEqual(trace.problems, [])
                self.assertEqual(len(trace.of("nvtx", message="before the end")), EVENTS)

    def test_signals_reach_the_program(self):
        _, process, _ = self.start(None)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=harness.DEADLINE_S), 128 + signal.SIGTERM)

    @staticmethod
    def kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


if __name__ == "__main__":
    harness.main()
