"""CPU samples that a signal takes where perf events are refused: known shares, and a program that notices nothing of it."""
import bisect
import collections
import math
import subprocess
import sys

import harness
import test_merged_stacks
import test_samples

BY_SIGNAL = 2  # SampleKind
OPTIONS = ("--only-trace", "-t", "nvtx", "-s", "launching", "--sample-method", "signal")

PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures, hits;
static void Check(int is_good, const char* what) {
  if (!is_good) printf("FAILED: %s\n", what), ++failures;
}
static double Seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}
__attribute__((noinline)) static void Burn(double seconds) {
  for (double end = Seconds(CLOCK_THREAD_CPUTIME_ID) + seconds; Seconds(CLOCK_THREAD_CPUTIME_ID) < end;) {}
}
static int IsCaught(void) {
  char line[256];
  unsigned long long mask = 0;
  FILE* const status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) sscanf(line, "SigCgt: %llx", &mask);
  if (status) fclose(status);
  return mask >> (SIGURG - 1) & 1;
}
static void OnUrgent(int number) { hits += number == SIGURG; }

static long interrupted, calls;
static void Count(int result) {
  ++calls;
  if (result < 0 && errno == EINTR) ++interrupted;
}
static void Wait(double seconds) {
  int ends[2];
  const int set = epoll_create1(0);
  struct epoll_event event = {EPOLLIN, {0}};
  if (pipe(ends) != 0 || epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event) != 0) exit(9);
  for (double end = Seconds(CLOCK_MONOTONIC) + seconds; Seconds(CLOCK_MONOTONIC) < end;) {
    struct timespec pause = {0, 20000};
    struct pollfd descriptor = {ends[0], POLLIN, 0};
    fd_set descriptors;
    FD_ZERO(&descriptors);
    FD_SET(ends[0], &descriptors);
    Count(epoll_wait(set, &event, 1, 1));
    Count(ppoll(&descriptor, 1, &pause, 0));
    Count(nanosleep(&pause, 0));
    Count(pselect(ends[0] + 1, &descriptors, 0, 0, &pause, 0));
    Burn(0.0005);
  }
}

int main(int count, char** names) {
  setvbuf(stdout, 0, _IONBF, 0);
  if (count < 2 || !dlopen(names[1], RTLD_NOW)) return 9;  // calls NVTX
  Wait(2);
  Check(interrupted == 0, "no call is interrupted");
  Check(IsCaught(), "the signal samples");
  struct sigaction before;
  memset(&before, 1, sizeof before);
  Check(sigaction(SIGURG, 0, &before) == 0 && before.sa_handler == SIG_DFL, "nobody handles the signal");

  sigset_t urgent, pending;
  sigemptyset(&urgent);
  sigaddset(&urgent, SIGURG);
  pthread_sigmask(SIG_BLOCK, &urgent, 0);
  Burn(0.1);
  const struct timespec none = {0, 0};
  Check(sigpending(&pending) == 0 && !sigismember(&pending, SIGURG), "no signal waits");
  Check(sigtimedwait(&urgent, 0, &none) == -1 && errno == EAGAIN, "no signal is waited for");
  pthread_sigmask(SIG_UNBLOCK, &urgent, 0);
  Burn(1);

  const pid_t child = fork();
  if (child == 0) _exit(IsCaught());
  int status = 1;
  Check(waitpid(child, &status, 0) == child && status == 0, "a child has no handler");

  struct sigaction mine = {0};
  mine.sa_handler = OnUrgent;
  memset(&before, 1, sizeof before);
  Check(sigaction(SIGURG, &mine, &before) == 0 && before.sa_handler == SIG_DFL, "there was no handler");
  Burn(0.1);
  Check(hits == 0, "no signal comes that is not the program's");
  raise(SIGURG);
  Check(hits == 1, "the program's own signal comes");
  signal(SIGURG, SIG_DFL);
  printf("%d\n", failures);
  return 3;
}
"""

# A program with functions of its own for memory, as UCX and Open MPI bring them: it counts the calls by the tracer.
HOOKS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void* callers[10000];
static int calls;
static void Enter(void* caller) {
  const int number = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
  if (number < 10000) callers[number] = caller;
}
static int CallsByUs(void) {
  int found = 0;
  for (int i = 0; i < calls && i < 10000; ++i) {
    Dl_info info;
    found += dladdr(callers[i], &info) && strstr(info.dli_fname, "gprof-tracer") != 0;
  }
  return found;
}
#define ENTER Enter(__builtin_return_address(0))
void* mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  ENTER;
  return (void*)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}
int munmap(void* at, size_t bytes) { ENTER; return syscall(SYS_munmap, at, bytes); }
int madvise(void* at, size_t bytes, int advice) { ENTER; return syscall(SYS_madvise, at, bytes, advice); }
int mprotect(void* at, size_t bytes, int protection) { ENTER; return syscall(SYS_mprotect, at, bytes, protection); }

int main(int count, char** names) {
  if (count < 2 || !dlopen(names[1], RTLD_NOW)) return 9;  // calls NVTX
  struct timespec now = {0, 0};
  while (now.tv_sec == 0) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  void* const page = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("%d %d %d\n", page != MAP_FAILED, calls > 0, CallsByUs());
  return 3;
}
"""


class Runs:
    """When a program was in which of its functions, and how much CPU time it had used by then, as it says itself."""

    def __init__(self, run):
        self.runs = run.facts("ran")
        self.begins = [ran["time_ns"][0] for ran in self.runs]

    def at(self, time_ns):
        number = bisect.bisect(self.begins, time_ns) - 1
        return self.runs[number] if number >= 0 and time_ns <= self.runs[number]["time_ns"][1] else None


def tolerance(weights, usual):
    """A busy machine has few samples: a thread that has a processor between two ticks only is not seen."""
    samples = sum(weights) ** 2 / sum(weight * weight for weight in weights)  # as many of one weight say as much
    return usual if samples > 600 else 4 * math.sqrt(0.8 * 0.2 / samples)


class Shares(test_samples.SamplesCase):
    @classmethod
    def setUpClass(cls):
        pass  # needs no perf events

    def test_known_shares_of_cpu_time(self):
        """Of its CPU time the program spends 16 ms in one function for each 4 ms in another, on average."""
        run = self.profile("sampled", 150, version=None, options=OPTIONS, preexec_fn=test_samples.forbid_perf)
        self.assertEqual(run.code, 0, run.err)
        trace = run.trace
        self.assert_clean(trace)
        samples = trace.of("cpu_sample")
        self.assertEqual({s["sample_kind"] for s in samples}, {BY_SIGNAL})
        self.assertEqual({s["tid"] for s in samples}, {trace.of("process")[0]["pid"]})
        names = {r["frame"]: r["name"] for r in trace.of("symbol")}
        nodes = {r["id"]: r for r in trace.of("stack")}
        sums, weights = {"_Z8SpinMuchv": 0, "_Z10SpinLittlev": 0}, []
        runs, cpu_ns, begins_ns, ends_ns = Runs(run), 0, 0, math.inf
        for sample in sorted(samples, key=lambda sample: sample["time_ns"]):
            cpu_ns += sample["weight_ns"]
            node = nodes.get(sample["stack"])
            while node is not None and names.get(node["frame"]) not in sums:
                node = nodes.get(node["parent"])
            if node is None:
                continue
            function, ran = names[node["frame"]], runs.at(sample["time_ns"])
            self.assertEqual(function, ran and ran["function"])
            # What the thread had used before its first sample is the same whichever sample tells it, but for one that was
            # left out as the thread was preempted while it wrote it.
            begins_ns = max(begins_ns, ran["cpu_ns"][0] - cpu_ns)
            ends_ns = min(ends_ns, ran["cpu_ns"][1] - cpu_ns)
            sums[function] += sample["weight_ns"]
            weights.append(sample["weight_ns"])
        self.assertGreater(len(weights), 20)
        self.assertLess(begins_ns - ends_ns, 2 * max(weights))
        # It began soon, and went on to the end.
        self.assertLess(begins_ns, 1e9)
        self.assertLess(runs.runs[-1]["cpu_ns"][1] - begins_ns - cpu_ns, 2 * max(weights))
        self.assertAlmostEqual(sums["_Z8SpinMuchv"] / sum(weights), 0.8, delta=tolerance(weights, 0.03))
        counts, number = self.shares(trace)
        self.assertGreater(counts.get("main", 0), number * 0.95)

    def test_the_trace_says_who_took_the_samples(self):
        run = self.profile("sampled", 5, version=None, options=OPTIONS, preexec_fn=test_samples.forbid_perf)
        notices = [r["message"] for r in run.trace.of("notice")]
        self.assertEqual(len([n for n in notices if "a signal sampled only threads" in n and "--cap-add PERFMON" in n]), 1, notices)

    def test_a_killed_program_keeps_its_samples(self):
        run = self.profile("sampled", 75, "kill", version=None, options=OPTIONS, preexec_fn=test_samples.forbid_perf)
        self.assertEqual(run.code, 137, run.err)
        self.assertGreater(self.shares(run.trace)[0].get("_Z8SpinMuchv", 0), 20)

    def test_perf_events_come_first(self):
        if not test_samples.may_sample():
            self.skipTest("perf events are not allowed here")
        run = self.profile("sampled", 5, version=None, options=OPTIONS)
        self.assertNotIn(BY_SIGNAL, {s["sample_kind"] for s in run.trace.of("cpu_sample")})


PYTHON = """
import ctypes, sys, time
ctypes.CDLL(sys.argv[1]).MarkFromPython(b"begin")
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(i * i for i in range(200))
def much():
    spin(0.016 * length)
def little():
    spin(0.004 * length)
# As in sampled.cpp, rounds differ in length, and two after each other are as long as two of 1.
for i in range(150):
    length = 0.75 + i * 37 % 51 / 100 if i % 2 == 0 else 2 - length
    much()
    little()
"""


class Python(harness.Case):
    @harness.again_on_a_busy_machine
    def test_functions_of_python_are_on_the_stacks(self):
        run = self.profile(sys.executable, "-c", PYTHON, harness.PROGRAMS / "nvtx_static_library.so", version=None, options=OPTIONS,
                           preexec_fn=test_samples.forbid_perf, env={"PYENV_VERSION": None})
        self.assertEqual(run.code, 0, run.err)
        trace, sums, weights = run.trace, collections.Counter(), []
        samples = trace.of("cpu_sample", sample_kind=BY_SIGNAL)
        self.assertGreater(len(samples), 20)
        stacks = test_merged_stacks.Stacks(trace, samples[0]["chunk_pid"])
        for sample in samples:
            functions = {name for is_python, name, _, _ in stacks(sample["stack"]) if is_python}
            for name in functions & {"much", "little"}:
                sums[name] += sample["weight_ns"]
                weights.append(sample["weight_ns"])
        self.assertGreater(len(weights), 0.9 * len(samples), sums)
        self.assertAlmostEqual(sums["much"] / sum(weights), 0.8, delta=tolerance(weights, 0.05))


class Sacred(harness.Case):
    def built(self, text):
        source, program = self.folder / "program.c", self.folder / "program"
        source.write_text(text)
        done = subprocess.run(["cc", "-O1", "-g", "-w", "-pthread", "-rdynamic", "-o", program, source, "-ldl"], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"cannot compile: {done.stderr[-200:]}")
        return program

    def test_hooks_of_memory_calls_are_not_entered(self):
        library = harness.PROGRAMS / "nvtx_static_library.so"
        run = self.profile(self.built(HOOKS), library, version=None, preexec_fn=test_samples.forbid_perf, options=OPTIONS)
        self.assertEqual((run.code, run.out), (3, "1 1 0\n"), run.err)
        self.assertGreater(len(run.trace.of("cpu_sample", sample_kind=BY_SIGNAL)), 5)

    def test_the_program_notices_nothing(self):
        program = self.built(PROGRAM)
        library = harness.PROGRAMS / "nvtx_static_library.so"
        for kinds in ("nvtx", "nvtx,osrt"):
            with self.subTest(kinds=kinds):
                run = self.profile(program, library, version=None, preexec_fn=test_samples.forbid_perf,
                                   options=("--only-trace", "-t", kinds, "-s", "launching", "--sample-method", "signal"))
                self.assertEqual((run.code, run.out), (3, "0\n"), run.err)
                trace = run.trace
                self.assert_clean(trace)
                self.assertGreater(len(trace.of("cpu_sample", sample_kind=BY_SIGNAL)), 5)
                notices = [r["message"] for r in trace.of("notice")]
                self.assertEqual(len([n for n in notices if "begun to handle SIGURG" in n]), 1, notices)


if __name__ == "__main__":
    harness.main()
