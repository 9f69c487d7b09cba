"""Calls of the operating system: programs that know what they waited for, and that must not notice who else knows."""
import collections
import errno
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

import harness
import test_stacks

MUTEX, CONDITION, SEMAPHORE, GIL, FUTEX, THREAD, FILE, PIPE, SOCKET, TIMER = 1, 3, 4, 6, 7, 8, 10, 11, 12, 14
MS = 1_000_000
ONLY = ("--only-trace", "-t", "nvtx,osrt")


class Waits(harness.Case):
    def waits(self, mode, *arguments, options=ONLY, **more):
        run = self.profile("waits", mode, *arguments, version=None, options=options, **more)
        self.assertEqual((run.code, "FAILED" in run.err), (0, False), run.err)
        return run

    def calls(self, trace, tid, **fields):
        return [c for c in trace.of("os_call", tid=tid, **fields) if not c["is_unfinished"]]

    def test_program_that_nothing_leads_into(self):
        """Without CUDA and NVTX nobody loads the tracer: what was asked for is not recorded, which nobody takes for none."""
        for arguments, options, code in (("exit 0", [], 125), ("exit 7", [], 7), ("exit 0", ["-q"], 125)):
            run = self.profile("/bin/sh", "-c", arguments, version=None, options=["--only-trace", "-t", "osrt", *options])
            self.assertEqual(run.code, code, run.err)
            self.assertIn("nothing that -t names was recorded", run.err)
        # Nobody asked for nothing but that.
        for options in ([], ["--only-trace", "-t", "nvtx,osrt"], ["--only-trace", "-t", "cuda"]):
            self.assertEqual(self.profile("/bin/true", version=None, options=options).code, 0, options)

    def test_what_it_waited_for(self):
        data = self.folder / "data.bin"
        run = self.waits("known", data, options=(*ONLY, "--osrt-file-access"))
        trace = run.trace
        self.assert_clean(trace)
        tid = run.facts("end")[0]["tid"]
        told = collections.defaultdict(list)
        for fact in run.facts("wait"):
            told[fact["function"]].append(fact["ns"])

        def waits(function):
            """To read what a file has may take as long for a thread that is preempted, and is no wait."""
            return [c for c in self.calls(trace, tid, function=function) if c["duration_ns"] > MS and c["object_kind"] != FILE]
        for function, times in told.items():
            found = [c["duration_ns"] for c in waits(function)]
            self.assertEqual(len(found), len(times), function)
            # The program looks at the clock earlier and later, by as much as it is preempted in between: what it waited
            # for at least is what it or the other thread asked for. A point in time may come sooner.
            least = {"nanosleep": 2 * MS, "pthread_cond_timedwait": MS}.get(function, 3 * MS)
            for ours, its in zip(found, times):
                self.assertTrue(least <= ours <= its + 1000, (function, ours, its))
        self.assertEqual({f: len(t) for f, t in told.items()},
                         {"pthread_mutex_lock": 4, "pthread_rwlock_rdlock": 1, "sem_wait": 2, "futex": 2, "read": 6,
                          "pthread_cond_timedwait": 3, "poll": 2, "nanosleep": 3, "usleep": 2, "pthread_join": 1})
        kinds = {"pthread_mutex_lock": MUTEX, "pthread_cond_timedwait": CONDITION, "sem_wait": SEMAPHORE,
                 "futex": FUTEX, "poll": PIPE, "usleep": TIMER, "pthread_join": THREAD}
        for function, kind in kinds.items():
            self.assertEqual({c["object_kind"] for c in waits(function)}, {kind}, function)
        self.assertEqual(len({c["object"] for c in self.calls(trace, tid, function="pthread_mutex_lock")}), 1)
        for function in ("pthread_mutex_lock", "pthread_rwlock_rdlock"):
            holders = [fact["tid"] for fact in run.facts("holder") if fact["function"] == function]
            self.assertEqual([c["other_tid"] for c in waits(function)], holders, function)
        waker = [fact["tid"] for fact in run.facts("holder") if fact["function"] == "futex"]
        futexes = waits("futex")
        self.assertEqual([c["other_tid"] for c in futexes], [0, *waker])  # the first one timed out
        self.assertEqual(len({c["object"] for c in futexes} - {0}), 1)
        errors = {c["error"] for c in self.calls(trace, tid, function="pthread_cond_timedwait")}
        self.assertEqual(errors, {110})
        self.files(trace, tid, str(data))

    def files(self, trace, tid, path):
        found = collections.defaultdict(list)
        for call in self.calls(trace, tid, object_kind=FILE):
            if call["path"] == path:
                found[call["function"]].append(call["size_bytes"])
        self.assertEqual({name: (len(sizes), sum(sizes)) for name, sizes in found.items()},
                         {"open": (1, 0), "pwrite": (50, 6400), "read": (50, 6400), "fsync": (1, 0), "fopen": (1, 0),
                          "fread": (20, 2560)})
        pipe = [c for c in self.calls(trace, tid, function="read", object_kind=PIPE)]
        self.assertEqual([c["size_bytes"] for c in pipe], [1] * 5)
        socket = [c for c in self.calls(trace, tid, function="read", object_kind=SOCKET)]
        self.assertEqual([c["size_bytes"] for c in socket], [2])
        self.assertTrue(all(c["path"].startswith("pipe:") for c in pipe), pipe)

    def test_thresholds(self):
        trace = self.waits("known", self.folder / "data.bin", options=(*ONLY, "--osrt-threshold=2500000")).trace
        self.assertTrue(trace.of("os_call"))
        self.assertTrue(all(c["duration_ns"] >= 2_500_000 for c in trace.of("os_call")))
        options = (*ONLY, "--osrt-functions=ppoll,poll,usleep")
        trace = self.waits("known", self.folder / "data.bin", options=options).trace
        self.assertEqual({c["function"] for c in trace.of("os_call")}, {"poll", "usleep"})

    def test_counts_of_file_calls(self):
        """A gate can hold a program to them: they are those that it made."""
        run = self.waits("known", self.folder / "data.bin", options=(*ONLY, "--osrt-file-access"))
        metrics = {(m["id"], m.get("scope", "")): m["value"] for m in self.report(run.trace_path)["metrics"] if m["id"].startswith("os.file")}
        expected = {"open": 1, "pwrite": 50, "read": 50, "fsync": 1, "fopen": 1, "fread": 20}  # what is closed has no name any more
        self.assertEqual({scope: n for (name, scope), n in metrics.items() if name == "os.file_calls" and scope},
                         {f"os:{name}": n for name, n in expected.items()})
        self.assertEqual(metrics["os.file_calls", ""], sum(expected.values()))
        self.assertEqual(metrics["os.file_bytes", ""], 6400 + 6400 + 2560)

    def test_not_unless_asked(self):
        run = self.profile("waits", "errors", version=None, options=("--only-trace", "-t", "nvtx"))
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.trace.of("os_call"), [])

    def test_errors_cancellation_and_signals(self):
        for mode in ("errors", "cancel", "signals", "families"):
            with self.subTest(mode=mode):
                plain = self.run_plain("waits", mode, version=None)
                self.assertEqual(plain.code, 0, plain.err)
                trace = self.waits(mode).trace
                self.assertEqual(trace.problems, [])
                self.assertEqual(trace.of("loss"), [])

    def test_jumps_out_of_a_call(self):
        run = self.waits("signals")
        tid = run.facts("end")[0]["tid"]
        self.assertEqual(len([c for c in self.calls(run.trace, tid, function="usleep")]), 3)
        self.assertEqual([c["error"] for c in self.calls(run.trace, tid, function="poll")], [4])

    def test_children_of_every_kind(self):
        run = self.waits("families", options=(*ONLY, "--osrt-threshold=0"))  # a child may have ended before it is waited for
        tid = run.facts("end")[0]["tid"]
        waits = [c["function"] for c in self.calls(run.trace, tid) if c["function"] in ("waitpid", "usleep")]
        self.assertEqual(collections.Counter(waits), {"waitpid": 60})

    def test_libraries_come_and_go(self):
        run = self.waits("libraries", harness.PROGRAMS / "waits_library.so")
        self.assertEqual(run.trace.problems, [])

    def test_many_threads(self):
        run = self.waits("threads", 10_000)
        found = [c for c in run.trace.of("os_call", function="usleep")]
        self.assertEqual((len(found), len({c["tid"] for c in found})), (10_000, 10_000))
        self.assertEqual(run.trace.of("loss"), [])

    def test_other_allocators(self):
        """They lock and map in the middle of what the tracer does, and some call libc before it is ready."""
        names = ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2")
        found = [path for name in names for path in pathlib.Path("/usr/lib").glob(f"*/{name}")]
        if not found:
            self.skipTest("none of jemalloc, tcmalloc and mimalloc is here")
        for path in found:
            run = self.waits("known", self.folder / "data.bin", env={"LD_PRELOAD": str(path)})
            self.assert_clean(run.trace)
            tid = run.facts("end")[0]["tid"]
            waits = [c for c in self.calls(run.trace, tid, function="pthread_mutex_lock") if c["duration_ns"] > MS]
            self.assertEqual(len(waits), 4, path)

    def test_threads_that_only_map_memory(self):
        """Where the thread keys that libc has room for are taken, their logs are not told when they end."""
        run = self.waits("mappings", 200, env={"LD_PRELOAD": str(harness.PROGRAMS / "keys_library.so")})
        self.assert_clean(run.trace)
        found = [c for c in run.trace.of("os_call", function="mmap") if c["duration_ns"] > 100_000]
        self.assertEqual(len({c["tid"] for c in found}), 200)

    def test_masses_of_calls_step_down(self):
        """Whether a rate is too high is tested in call_rate_test.cpp: a busy machine may not reach it here."""
        go, path = self.folder / "go", self.folder / "run1.trace"

        def let_go():
            end = time.monotonic() + 60
            while not self.has_stepped_down(path) and time.monotonic() < end:
                time.sleep(0.1)
            go.touch()
        waiter = threading.Thread(target=let_go)
        waiter.start()
        run = self.waits("masses", go, options=())
        waiter.join()
        if not self.has_stepped_down(path):
            self.assertLess(run.facts("masses")[0]["times"], 10, "there were masses of calls, and nothing was left out")
            self.skipTest("this machine is too busy to make masses of calls")

    def test_a_threshold_that_was_given_stays(self):
        go = self.folder / "go"
        go.touch()
        run = self.waits("masses", go, options=("--osrt-threshold=10000",))
        self.assertFalse(self.has_stepped_down(run.trace_path))
        if run.facts("masses")[0]["times"] < 2:
            self.skipTest("this machine is too busy to make masses of calls")

    def has_stepped_down(self, path):
        done = subprocess.run([harness.GPROF, "dump", "--kind", "notice", path], capture_output=True, timeout=harness.DEADLINE_S, check=False)
        return b"many operating system calls" in done.stdout

    def test_short_calls_of_a_thread_that_called_nvtx_once(self):
        """It counts as one that launches, whose calls are recorded from 10 us on, also when its log takes a new page."""
        run = self.waits("marked", options=())
        tid = run.facts("end")[0]["tid"]
        self.assertEqual(len(self.calls(run.trace, tid, function="usleep")), 500)

    def test_slots_are_led_back(self):
        run = self.waits("restored", options=(*ONLY, "-c", "nvtx", "-p", "part"))
        self.assertEqual([c["function"] for c in run.trace.of("os_call")], ["usleep"])

    def test_killed_within_a_call(self):
        trace, command = self.profile_command("waits", ["forever"], ONLY)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.folder,
                                   env=self.environment(None, None), text=True)
        try:
            self.assertEqual(process.stdout.readline(), "ready\n")
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            name = {c: pathlib.Path(f"/proc/{c}/comm").read_text().strip() for c in children}
            target = next(int(c) for c in children if name[c] == "waits")
            harness.wait_for(lambda: "pipe_read" in pathlib.Path(f"/proc/{target}/wchan").read_text() or
                             "S" in pathlib.Path(f"/proc/{target}/stat").read_text().split(")")[1][:3], "the read")
            os.kill(target, signal.SIGKILL)
            process.wait(harness.DEADLINE_S)
        finally:
            process.kill()
            process.stdout.close()
        found = [c for c in harness.Trace(trace).of("os_call") if c["is_unfinished"]]
        self.assertEqual([(c["function"], c["tid"]) for c in found], [("read", target)])


SLOTS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int found;
static int IsLed(void* slot) {
  Dl_info info;
  return dladdr(*(void**)slot, &info) && strstr(info.dli_fname, "libgprof-tracer");
}
static int Look(struct dl_phdr_info* module, size_t size, void* told) {
  ElfW(Addr) base = module->dlpi_addr, tables[2] = {0};
  const ElfW(Sym)* symbols = 0;
  size_t bytes[2] = {0}, led = 0, all = 0;
  const ElfW(Dyn)* dynamic = 0;
  for (int i = 0; i < module->dlpi_phnum; ++i)
    if (module->dlpi_phdr[i].p_type == PT_DYNAMIC) dynamic = (void*)(base + module->dlpi_phdr[i].p_vaddr);
  for (; dynamic && dynamic->d_tag; ++dynamic) {
    ElfW(Addr) value = dynamic->d_un.d_ptr;
    if (dynamic->d_tag == DT_SYMTAB) symbols = (void*)(value < base ? value + base : value);
    if (dynamic->d_tag == DT_JMPREL) tables[0] = value < base ? value + base : value;
    if (dynamic->d_tag == DT_RELA) tables[1] = value < base ? value + base : value;
    if (dynamic->d_tag == DT_PLTRELSZ) bytes[0] = value;
    if (dynamic->d_tag == DT_RELASZ) bytes[1] = value;
  }
  for (int t = 0; t < 2; ++t) {
    const ElfW(Rela)* rows = (void*)tables[t];
    for (size_t i = 0; rows && i < bytes[t] / sizeof *rows; ++i) {
      const unsigned type = rows[i].r_info & 0xffffffff;
      const int is_own = symbols[rows[i].r_info >> 32].st_shndx != SHN_UNDEF;
      if ((type != SLOT_TYPE && type != DATA_TYPE) || is_own) continue;
      ++all;
      led += IsLed((void*)(base + rows[i].r_offset)) != 0;
    }
  }
  if (!told) found += module->dlpi_name[0] == 0 && led > 0;
  else if (all) printf("%zu %zu %s\n", led, all, module->dlpi_name[0] ? module->dlpi_name : "program");
  return 0;
}
int main(int count, char** names) {
  struct pollfd none = {-1, 0, 0};
  for (int i = 1; i < count; ++i)
    if (!dlopen(names[i], RTLD_NOW)) return printf("%s\n", dlerror()), 9;
  for (int i = 0; i < 3000 && !found; ++i) {
    dl_iterate_phdr(Look, 0);
    poll(&none, 1, 10);
  }
  return dl_iterate_phdr(Look, names);
}
"""


class Slots(harness.Case):
    def test_which_modules_are_left_alone(self):
        source, program = self.folder / "slots.c", self.folder / "slots"
        source.write_text(SLOTS)
        types = {"x86_64": (7, 6), "aarch64": (1026, 1025)}[os.uname().machine]
        done = subprocess.run(["cc", "-w", f"-DSLOT_TYPE={types[0]}", f"-DDATA_TYPE={types[1]}", "-o", program, source, "-ldl"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"cannot compile: {done.stderr[-200:]}")
        doubles = [harness.MOCK / "13.0" / name for name in ("libcuda.so.1", harness.CUPTI["13.0"])]
        run = self.profile(program, *doubles, harness.PROGRAMS / "nvtx_static_library.so", version="13.0", options=ONLY)
        self.assertEqual(run.code, 0, run.out + run.err)
        led = {pathlib.Path(name).name: (int(slots), int(all)) for slots, all, name in map(str.split, run.out.splitlines())}
        self.assertGreater(led["program"][0], 0, led)
        alone = [name for name in led if name.startswith(("libcuda.", "libcupti.", "libgprof-tracer", "ld-linux", "libc.so"))]
        self.assertEqual(len([name for name in alone if not name.startswith("ld-linux")]), 4, led)
        self.assertEqual({name: led[name][0] for name in alone}, {name: 0 for name in alone}, led)


class Channels(harness.Case):
    def test_who_wrote_what_was_waited_for(self):
        """Threads, forked children and programs of their own write; the trace names the thread or the process."""
        run = self.profile("channels", version=None, options=(*ONLY, "--osrt-threshold=100000"))
        self.assertEqual((run.code, "FAILED" in run.err), (0, False), run.err)
        trace = run.trace
        self.assert_clean(trace, processes=13)
        tid = run.facts("end")[0]["tid"]
        facts = [(fact["function"], fact["writer"]) for fact in run.facts("channel")]
        functions = {function for function, _ in facts}
        # A call that need not wait takes as long where it is preempted, but nobody has ended it.
        calls = sorted((c for c in trace.of("os_call", tid=tid)
                        if c["function"] in functions and c["duration_ns"] > 2 * MS and c["other_tid"]), key=lambda c: c["start_ns"])
        self.assertEqual([(c["function"], c["other_tid"]) for c in calls], facts)

    def test_nobody_wrote(self):
        """A call that timed out, and what was written by nobody who is seen."""
        trace = self.profile("waits", "known", self.folder / "data.bin", version=None, options=ONLY).trace
        ends = [c["other_tid"] for c in trace.of("os_call") if c["function"] in ("poll", "read")]
        self.assertTrue(ends)
        self.assertEqual(set(ends), {0})
        self.assertEqual({c["error"] for c in trace.of("os_call", function="poll")}, {errno.ETIMEDOUT})


PYTHON = """
import ctypes, os, sys, threading
library = ctypes.CDLL(sys.argv[1])
library.MarkFromPython(b"begin")
import time
end = time.monotonic() + 60
while os.path.getsize(os.environ["GPROF_OUTPUT"]) <= 96 and time.monotonic() < end:  # the tracer has made a round
    time.sleep(0.02)
turns, last = 0, None
def spin():
    global turns, last
    library.MarkFromPython(b"thread")
    own = threading.get_ident()
    while turns < 40:  # the other thread had the lock in between
        if last != own:
            turns, last = turns + 1, own
        sum(range(1000))
threads = [threading.Thread(target=spin) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


class Python(harness.Case):
    @harness.unittest.skipIf(shutil.which("python3") is None, "python3 was not found")
    def test_waits_for_the_gil(self):
        """On a busy machine the lock may change hands often, or hardly at all: a few runs are enough for what it is about."""
        for _ in range(5):
            trace, wakers = self.waits_for_the_gil()
            if wakers or not trace.of("os_call", object_kind=GIL) or not test_stacks.has_stacks():
                break
        waits = trace.of("os_call", object_kind=GIL)
        if sys.version_info < (3, 13) or waits:
            self.assertGreater(len(waits), 5)
        self.assertTrue(all(c["path"] == "GIL" and c["function"].startswith("pthread_cond_") for c in waits))
        threads = {thread["tid"] for thread in trace.of("thread")}
        self.assertTrue(all(c["other_tid"] in threads | {0} and c["other_tid"] != c["tid"] for c in waits), waits)
        if sys.version_info >= (3, 11):
            self.assertTrue([c for c in waits if c["other_tid"] != 0], waits)
        if waits and test_stacks.has_stacks():
            self.assertIn("spin", wakers)  # where one thread gave the lock to the other

    def waits_for_the_gil(self):
        """The trace of one run, and the functions that gave the lock to the other thread."""
        run = self.profile(shutil.which("python3"), "-c", PYTHON, harness.PROGRAMS / "nvtx_static_library.so", version=None,
                           options=(*ONLY, "--python-backtrace", "cuda"))
        self.assertEqual(run.code, 0, run.err)
        waits = run.trace.of("os_call", object_kind=GIL)
        return run.trace, {test_stacks.names(run.trace, c, "waker_stack")[0] for c in waits if c["waker_stack"]}


if __name__ == "__main__":
    harness.main()
