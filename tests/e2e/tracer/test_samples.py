"""CPU samples and context switches of programs that know where they spend their time."""
import ctypes
import json
import os
import shutil
import subprocess
import unittest

import harness


def may_sample():
    done = subprocess.run([harness.GPROF, "doctor", "--format", "json"], capture_output=True, check=False,
                          timeout=harness.DEADLINE_S)
    return b"CPU samples and context switches are allowed" in done.stdout


class SamplesCase(harness.Case):
    @classmethod
    def setUpClass(cls):
        if not may_sample():
            raise unittest.SkipTest("perf events are not allowed here")

    def shares(self, trace):
        """{function: samples that have it on their stack}, and the number of samples."""
        names = {r["frame"]: r["name"] for r in trace.of("symbol")}
        nodes = {r["id"]: r for r in trace.of("stack")}
        counts = {}
        samples = trace.of("cpu_sample")
        for sample in samples:
            on, node = set(), nodes.get(sample["stack"])
            while node is not None:
                on.add(names.get(node["frame"], ""))
                node = nodes.get(node["parent"])
            for name in on:
                counts[name] = counts.get(name, 0) + 1
        return counts, len(samples)


    def check_covered(self, share, trace):
        """All of the time is told; where a busy machine made the collector lose samples, the trace says so and has no more than that."""
        self.assertLess(share, 1.03)
        if not trace.of("metric_loss"):
            self.assertGreater(share, 0.97)


class Samples(SamplesCase):
    def test_names_what_launching_threads_ran(self):
        run = self.profile("sampled", 25, version=None, options=("--only-trace", "-t", "nvtx", "-s", "launching", "--sampling-frequency=500"))
        self.assertEqual(run.code, 0, run.err)
        trace = run.trace
        self.assert_clean(trace)
        counts, samples = self.shares(trace)
        self.assertGreater(samples, 100)
        much, little = counts.get("_Z8SpinMuchv", 0), counts.get("_Z10SpinLittlev", 0)
        self.assertGreater(much + little, samples * 0.8)
        self.assertGreater(much, 2 * little)
        self.assertLess(much, 8 * little)
        self.assertNotIn("_Z13SpinElsewherev", counts)
        self.assertGreater(counts.get("main", 0), samples * 0.8)
        main_thread = trace.of("process")[0]["pid"]
        self.assertEqual({r["tid"] for r in trace.of("cpu_sample")}, {main_thread})
        waits = [r for r in trace.of("switch", tid=main_thread) if not r["is_preempted"]]
        self.assertGreaterEqual(sum(r["duration_ns"] >= 2_000_000 for r in waits), 24)

    def test_known_shares_of_cpu_time(self):
        """Of its CPU time the program spends 16 ms in one function for each 4 ms in another."""
        run = self.profile("sampled", 130, version=None, options=("--only-trace", "-t", "nvtx", "-s", "launching", "--sampling-frequency=1000"))
        names = {r["frame"]: r["name"] for r in run.trace.of("symbol")}
        nodes = {r["id"]: r for r in run.trace.of("stack")}
        sums = {"_Z8SpinMuchv": 0, "_Z10SpinLittlev": 0}
        for sample in run.trace.of("cpu_sample"):
            node = nodes.get(sample["stack"])
            while node is not None and names.get(node["frame"]) not in sums:
                node = nodes.get(node["parent"])
            if node is not None:
                sums[names[node["frame"]]] += sample["weight_ns"]
        self.assertAlmostEqual(sums["_Z8SpinMuchv"] / sum(sums.values()), 0.8, delta=0.03)
        self.check_covered(sum(sums.values()) / (130 * 20e6), run.trace)

    def test_samples_and_switches_cover_the_time_of_a_thread(self):
        run = self.profile("sampled", 60, version=None, options=("--only-trace", "-t", "nvtx", "-s", "launching", "--sampling-frequency=1000"))
        trace = run.trace
        steps = trace.of("nvtx")
        tid = trace.of("process")[0]["pid"]
        first, last = min(r["time_ns"] for r in steps), max(r["time_ns"] for r in steps)
        running = sum(r["weight_ns"] for r in trace.of("cpu_sample", tid=tid) if first <= r["time_ns"] <= last)
        off = sum(r["duration_ns"] for r in trace.of("switch", tid=tid) if first <= r["start_ns"] <= last)
        self.check_covered((running + off) / (last - first), trace)

    def test_process_tree_has_all_threads(self):
        run = self.profile("sampled", 10, version=None, options=("--only-trace", "-t", "nvtx", "-s", "process-tree", "--sampling-frequency=500"))
        counts, samples = self.shares(run.trace)
        self.assertGreater(samples, 40)
        self.assertGreater(counts.get("_Z13SpinElsewherev", 0), 10)
        self.assertGreater(counts.get("_Z8SpinMuchv", 0), 10)
        # The program has two threads: those of the tracer are not among them.
        self.assertEqual(len({r["tid"] for kind in ("cpu_sample", "switch") for r in run.trace.of(kind)}), 2)

    def test_nothing_is_sampled_unasked_with_t(self):
        """Frames without samples are those of calls of the operating system, which the default has."""
        for options, kinds in ((("--only-trace", "-t", "nvtx"), ("cpu_sample", "switch", "frame")), (("-s", "none"), ("cpu_sample", "switch"))):
            trace = self.profile("sampled", 2, version=None, options=options).trace
            self.assertEqual([r["kind"] for r in trace.records if r["kind"] in kinds], [])

    def test_a_killed_program_keeps_its_samples(self):
        run = self.profile("sampled", 15, "kill", version=None, options=("--only-trace", "-t", "nvtx", "-s", "launching", "--sampling-frequency=500"))
        self.assertEqual(run.code, 137, run.err)
        counts, _ = self.shares(run.trace)
        self.assertGreater(counts.get("_Z8SpinMuchv", 0), 20)

    @harness.again_on_a_busy_machine
    def test_frame_pointers_and_no_backtraces(self):
        for backtrace in ("fp", "none"):
            run = self.profile("sampled", 5, version=None,
                               options=("--only-trace", "-t", "nvtx", "-s", "launching", "--sampling-frequency=500", "-b", backtrace))
            self.assertEqual(run.code, 0, run.err)
            self.assertGreater(self.shares(run.trace)[1], 20)


class Symbolized(SamplesCase):
    def test_stripped_program_is_named_by_its_debug_file(self):
        if not shutil.which("objcopy") or not shutil.which("readelf"):
            self.skipTest("binutils are not installed")
        program = self.folder / "stripped"
        shutil.copy(harness.PROGRAMS / "sampled", program)
        notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
        if "Build ID: " not in notes:
            self.skipTest("the compiler writes no build ids")
        build_id = notes.split("Build ID: ")[1].split()[0]
        debug = self.folder / "debug" / ".build-id" / build_id[:2] / (build_id[2:] + ".debug")
        debug.parent.mkdir(parents=True)
        subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
        subprocess.run(["strip", program], check=True)
        run = self.profile(program, 15, version=None, options=("--only-trace", "-t", "nvtx", "-s", "launching", "--sampling-frequency=500"))
        self.assertNotIn("_Z8SpinMuchv", self.shares(run.trace)[0])
        named = self.folder / "named.trace"
        for target in (("-o", named), ()):
            done = subprocess.run([harness.GPROF, "symbolize", run.trace_path, "--debug-dir", self.folder / "debug", *target],
                                  capture_output=True, text=True, check=False, timeout=harness.DEADLINE_S)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("named ", done.stderr)
        self.assertEqual(named.read_bytes(), run.trace_path.read_bytes())
        counts, samples = self.shares(run.trace)
        self.assertGreater(counts["_Z8SpinMuchv"] + counts["_Z10SpinLittlev"], samples * 0.8)
        self.assert_clean(run.trace)


LINES_PROGRAM = """
#include <dlfcn.h>
#include <stdint.h>

__attribute__((noinline)) static uint64_t Much(uint64_t value) {
  for (uint64_t i = 0; i < 300000000; ++i) {
    value = value * 6364136223846793005u + i;  // HOT
  }
  return value;
}

int main(int count, char** names) {
  if (count > 1 && !dlopen(names[1], RTLD_NOW)) return 9;  // calls NVTX
  return Much(count) == 7;
}
"""


class Lines(SamplesCase):
    @harness.again_on_a_busy_machine
    def test_native_code_has_lines(self):
        hot = 1 + LINES_PROGRAM.splitlines().index(next(line for line in LINES_PROGRAM.splitlines() if "HOT" in line))
        for version in (4, 5):
            with self.subTest(dwarf=version):
                source, program = self.folder / "lines.c", self.folder / "lines"
                source.write_text(LINES_PROGRAM)
                done = subprocess.run(["cc", "-g", f"-gdwarf-{version}", "-gz=none", "-O1", "-o", program, source, "-ldl"],
                                      capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    self.skipTest(f"cannot compile: {done.stderr[-200:]}")
                run = self.profile(program, harness.PROGRAMS / "nvtx_static_library.so", version=None,
                                   options=("--only-trace", "-t", "nvtx", "-s", "process-tree", "--sampling-frequency=200"))
                places = {r["frame"]: (r["name"], os.path.basename(r["file"]), r["line"]) for r in run.trace.of("symbol")}
                nodes = {r["id"]: r["frame"] for r in run.trace.of("stack")}
                inner = [places.get(nodes.get(s["stack"])) for s in run.trace.of("cpu_sample")]
                in_much = [place for place in inner if place and place[0] == "Much"]
                self.assertGreater(len(in_much), 20)
                # The loop is on two lines; what counts it up is of the first.
                self.assertLessEqual(set(in_much), {("Much", "lines.c", hot), ("Much", "lines.c", hot - 1)})


C_PROGRAM = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t begin;
static int sum;

static void* Work(void* values) {
  pthread_barrier_wait(&begin);
  for (int i = 0; i < 20; ++i) {
    pthread_mutex_lock(&lock);
    char* const copy = malloc(1000 + i);
    memcpy(copy, values, 1000);
    sum += copy[i];
    usleep(500);
    free(copy);
    pthread_mutex_unlock(&lock);
  }
  return 0;
}

int main(int count, char** names) {
  static char values[1000] = {1, 1, 1, 1, 1};
  if (count > 1 && !dlopen(names[1], RTLD_NOW)) return 9;  // calls NVTX
  pthread_t threads[4];
  pthread_barrier_init(&begin, 0, 4);
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], 0, Work, values);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
  const clock_t until = clock() + CLOCKS_PER_SEC / 20;
  while (clock() < until) sum |= 0;
  printf("sum %d\\n", sum);
  return 3;
}
"""
GO_PROGRAM = """
package main

import ("fmt"; "os"; "sync"; "time")

func spin(d time.Duration) (n int) {
\tfor end := time.Now().Add(d); time.Now().Before(end); n++ {}
\treturn
}

func main() {
\tvar group sync.WaitGroup
\tfor i := 0; i < 4; i++ {
\t\tgroup.Add(1)
\t\tgo func() { defer group.Done(); for j := 0; j < 10; j++ { spin(2e6); time.Sleep(time.Millisecond) } }()
\t}
\tgroup.Wait()
\tfmt.Println("sum 20")
\tos.Exit(3)
}
"""


class OtherPrograms(harness.Case):
    """What is not built as most programs are runs as without us, whatever is recorded of it."""

    def build(self, text, name, *words):
        source, program = self.folder / name, self.folder / "program"
        source.write_text(text)
        done = subprocess.run([*words, "-o", program, source], capture_output=True, text=True, check=False,
                              env={**os.environ, "GOCACHE": str(self.folder / "cache"), "GO111MODULE": "off"})
        if done.returncode != 0:
            self.skipTest(f"cannot build with {' '.join(words)}: {done.stderr[-200:]}")
        return program

    def check(self, *command, env=None):
        plain = self.run_plain(*command, version=None, env=env)
        run = self.profile(*command, version=None, env=env, options=("--only-trace", "-t", "nvtx,osrt", "-s", "process-tree"))
        self.assertEqual((run.code, run.out, plain.code, plain.out), (3, "sum 20\n", 3, "sum 20\n"), run.err)
        return run

    def check_trace(self, *command, env=None):
        trace = self.check(*command, env=env).trace
        self.assertEqual(trace.problems, [])
        self.assertEqual(trace.of("loss"), [])
        if may_sample():
            self.assertTrue([r for r in trace.of("switch") if not r["is_preempted"]])
            self.assertTrue(trace.of("cpu_sample"))
        return trace

    def test_sanitizers(self):
        if not shutil.which("setarch"):
            self.skipTest("setarch is not installed")
        library = harness.PROGRAMS / "nvtx_static_library.so"
        for sanitizer in ("address", "thread", "undefined"):
            with self.subTest(sanitizer=sanitizer):
                program = self.build(C_PROGRAM, "program.c", "cc", "-g", "-O1", f"-fsanitize={sanitizer}", "-pthread", "-ldl")
                # docs/troubleshooting.md says why; without it the program runs to its end as well, with warnings.
                env = {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1"}
                # The runtimes of sanitizers want addresses that the kernel gives away now and then.
                self.check_trace("setarch", "-R", program, library, env=env)

    def test_c_program_waits_for_its_lock(self):
        program = self.build(C_PROGRAM, "program.c", "cc", "-O1", "-pthread", "-ldl")
        trace = self.check_trace(program, harness.PROGRAMS / "nvtx_static_library.so")
        self.assertTrue([c for c in trace.of("os_call", function="pthread_mutex_lock") if c["other_tid"]])

    def test_static_program(self):
        self.check(self.build(C_PROGRAM, "program.c", "cc", "-O1", "-static", "-pthread"))

    def test_go_program(self):
        if not shutil.which("go"):
            self.skipTest("go is not installed")
        self.check(self.build(GO_PROGRAM, "program.go", "go", "build"))


class Refused(harness.Case):
    def test_a_refusal_is_said_in_the_trace_and_costs_nothing_else(self):
        # As the default of containers: a filter that makes perf_event_open fail, for all that is started from here.
        run = self.profile("sampled", 2, version=None, options=("--only-trace", "-t", "nvtx", "-s", "launching"), preexec_fn=forbid_perf)
        self.assertEqual((run.code, run.err.count("Traceback")), (0, 0), run.err)
        notices = [r["message"] for r in run.trace.of("notice")]
        self.assertEqual(len([n for n in notices if "--cap-add PERFMON" in n]), 1, notices)
        self.assertEqual(run.trace.of("cpu_sample"), [])
        self.assertGreater(len(run.trace.of("nvtx")), 3)

    def test_proc_counts_the_time_of_threads_then(self):
        """20 ms of CPU time a step, whatever else the machine does."""
        run = self.profile("sampled", 60, version=None, options=("--only-trace", "-t", "nvtx", "-s", "launching"), preexec_fn=forbid_perf)
        done = subprocess.run([harness.GPROF, "report", run.trace_path, "--only", "threads", "--format", "json"],
                              capture_output=True, timeout=harness.DEADLINE_S, check=True)
        rows = next(t["rows"] for t in json.loads(done.stdout)["tables"] if t["id"] == "threads")
        self.assertEqual(len(rows), 1, rows)
        steps = run.trace.of("nvtx")
        lasted_ns = max(r["time_ns"] for r in steps) - min(r["time_ns"] for r in steps)
        self.assertAlmostEqual(rows[0]["running_ns"] / (60 * 20e6), 1, delta=0.25)
        self.assertAlmostEqual(rows[0]["seen_ns"] / lasted_ns, 1, delta=0.25)


def forbid_perf():
    forbid({"x86_64": 298, "aarch64": 241})


def forbid(numbers):
    """Makes a system call, by its number on each machine, fail for this process and what it starts."""
    class Instruction(ctypes.Structure):
        _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.POINTER(Instruction))]

    code = (Instruction * 4)(Instruction(0x20, 0, 0, 0), Instruction(0x15, 0, 1, numbers[os.uname().machine]),
                             Instruction(0x06, 0, 0, 0x00050001), Instruction(0x06, 0, 0, 0x7FFF0000))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    if libc.prctl(22, 2, ctypes.byref(Program(4, code))) != 0:  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
        raise OSError(ctypes.get_errno(), "no filter")


if __name__ == "__main__":
    harness.main()
