"""Call stacks of calls that take long: programs that know which function waited."""
import platform
import shutil
import unittest

import harness

MS = 1_000_000
OSRT = ("--only-trace", "-t", "nvtx,osrt")


def has_stacks():
    return platform.machine() == "x86_64" and tuple(map(int, platform.libc_ver()[1].split("."))) >= (2, 35)


def names(trace, record, field="stack"):
    """The functions on a stack, the innermost first; of Python its place."""
    symbols = {r["frame"]: r["name"] for r in trace.of("symbol")}
    modules = {r["id"]: r for r in trace.of("module")}
    frames = {r["id"]: r for r in trace.of("frame")}
    nodes = {r["id"]: r for r in trace.of("stack")}
    found, node = [], nodes.get(record[field])
    while node is not None:
        module = modules.get(frames[node["frame"]]["module"])
        python = module is not None and module["module_kind"] == 2
        found.append(module["name"] if python else symbols.get(node["frame"], "?"))
        node = nodes.get(node["parent"])
    return found


class Stacks(harness.Case):
    @classmethod
    def setUpClass(cls):
        if not has_stacks():
            raise unittest.SkipTest("stacks of functions take x86-64 and glibc 2.35")

    def waits(self, trace, **fields):
        return [c for c in trace.of("os_call", **fields) if c["duration_ns"] > MS and not c["is_unfinished"]]

    def test_names_the_callers(self):
        run = self.profile("call_sites", version=None, options=OSRT)
        self.assertEqual(run.code, 0, run.err)
        self.assert_clean(run.trace)
        stacks = [names(run.trace, c) for c in self.waits(run.trace, function="usleep")]
        self.assertEqual(len(stacks), 3, stacks)
        self.assertEqual(stacks[0][:3], ["wait_plainly", "load_batch", "main"])
        self.assertEqual(stacks[1][:3], ["wait_aligned", "load_batch", "main"])
        self.assertIn("wait_in_destructor", stacks[2])
        self.assertEqual(stacks[0][-1], "_start")

    def test_depth_threshold_and_size(self):
        deep = ("call_sites", "deep", 60)
        run = self.profile(*deep, version=None, options=OSRT)
        stacks = [names(run.trace, c) for c in self.waits(run.trace, function="usleep")]
        self.assertEqual(stacks[2], ["wait_plainly"] + ["wait_deep"] * 23)
        cut = {r["id"] for r in run.trace.of("stack") if r["is_cut"]}
        self.assertEqual(len(cut), 1)
        run = self.profile(*deep, version=None, options=(*OSRT, "--osrt-backtrace-depth=100"))
        stacks = [names(run.trace, c) for c in self.waits(run.trace, function="usleep")]
        self.assertEqual(stacks[2][:63], ["wait_plainly"] + ["wait_deep"] * 61 + ["main"])
        run = self.profile(*deep, version=None, options=(*OSRT, "--osrt-backtrace-depth=100", "--osrt-backtrace-stack-size=512"))
        stacks = [names(run.trace, c) for c in self.waits(run.trace, function="usleep")]
        self.assertTrue(1 < len(stacks[2]) < 40, stacks[2])
        for nothing in ("--osrt-backtrace-depth=0", "--osrt-backtrace-threshold=1000000000"):
            run = self.profile(*deep, version=None, options=(*OSRT, nothing))
            self.assertTrue(self.waits(run.trace))
            self.assertEqual({c["stack"] for c in self.waits(run.trace)}, {0}, nothing)

    def test_threads_and_forks(self):
        run = self.profile("call_sites", "threads", 40, version=None, options=OSRT)
        self.assertEqual(run.code, 0, run.err)
        stacks = [names(run.trace, c) for c in self.waits(run.trace, function="usleep")]
        self.assertEqual(sum(s[:3] == ["wait_plainly", "load_batch", "run_thread"] for s in stacks), 40)
        run = self.profile("call_sites", "fork", version=None, options=OSRT)
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(len(run.trace.of("process")), 2)
        symbols = {r["name"] for r in run.trace.of("symbol")}
        self.assertLessEqual({"wait_plainly", "load_batch", "wait_aligned"}, symbols)

    def test_of_cuda_calls(self):
        """A threshold of 0 gives every call of the kind its stack."""
        run = self.profile("driver_facts", options=("--only-trace", "-t", "cuda,nvtx", "--cudabacktrace=kernel:0,sync:0"))
        self.assertEqual(run.code, 0, run.err)
        calls = run.trace.of("api")
        with_stack = {c["function"] for c in calls if c["stack"]}
        self.assertTrue(any("Launch" in f for f in with_stack), with_stack)
        self.assertTrue(all("Launch" in f or "Synchronize" in f for f in with_stack), with_stack)
        launches = [names(run.trace, c) for c in calls if "LaunchKernel" in c["function"]]
        self.assertTrue(launches and all("main" in found for found in launches), launches)
        self.assertFalse(any("OnCallback" in name or "gprof" in name for found in launches for name in found), launches)
        run = self.profile("driver_facts", options=("--only-trace", "-t", "cuda,nvtx"))
        self.assertEqual({c["stack"] for c in run.trace.of("api")}, {0})

    def test_of_cuda_calls_begin_outside_of_the_runtime(self):
        run = self.profile("runtime_facts_13.0", options=("--only-trace", "-t", "cuda,nvtx", "--cudabacktrace=kernel:0"))
        self.assert_clean(run.trace)
        paths = {r["id"]: r["path"] for r in run.trace.of("module")}
        self.assertTrue(any("libcudart.so" in path for path in paths.values()), paths)
        frames = {r["id"]: paths[r["module"]] for r in run.trace.of("frame")}
        stacks = {r["id"]: frames[r["frame"]] for r in run.trace.of("stack")}
        callers = {stacks[c["stack"]] for c in run.trace.of("api") if c["stack"]}
        self.assertEqual([path.rpartition("/")[2] for path in callers], ["runtime_facts_13.0"])

    def test_says_who_ended_a_wait(self):
        run = self.profile("call_sites", "woken", version=None, options=OSRT)
        self.assertEqual(run.code, 0, run.err)
        waker = run.facts("waker")[0]["tid"]
        for function, place in (("sem_wait", "post_it"), ("pthread_cond_wait", "signal_it"), ("futex", "wake_it"),
                                ("pthread_mutex_lock", "release_it"), ("pthread_rwlock_wrlock", "leave_it")):
            calls = self.waits(run.trace, function=function)
            self.assertEqual([c["other_tid"] for c in calls], [waker], function)
            found = names(run.trace, calls[0], "waker_stack")
            self.assertIn(place, found[:3], function)  # below the library of C++
            self.assertFalse([name for name in found if "gprof" in name], found)
        run = self.profile("call_sites", "woken", version=None, options=(*OSRT, "--osrt-backtrace-threshold=10000000000"))
        self.assertEqual({c["waker_stack"] for c in run.trace.of("os_call")}, {0})

    def test_a_lock_goes_through_two_hands(self):
        run = self.profile("call_sites", "behind", version=None, options=OSRT)
        self.assertEqual(run.code, 0, run.err)
        main = min(c["tid"] for c in self.waits(run.trace))
        wait = self.waits(run.trace, function="pthread_mutex_lock", tid=main)[0]
        self.assertEqual(wait["other_tid"], run.facts("holder")[0]["tid"])
        self.assertIn("release_it", names(run.trace, wait, "waker_stack")[:3])

    def test_a_handler_ends_a_wait(self):
        run = self.profile("call_sites", "handler", version=None, options=OSRT)
        self.assertEqual(run.code, 0, run.err)
        found = names(run.trace, self.waits(run.trace, function="sem_wait")[0], "waker_stack")
        self.assertIn("post_it", found[:2], found)

    @unittest.skipIf(shutil.which("python3") is None, "python3 was not found")
    def test_python_takes_the_place_of_its_interpreter(self):
        python, library = shutil.which("python3"), harness.PROGRAMS / "nvtx_static_library.so"
        options = ("--only-trace", "-t", "nvtx,osrt,cuda", "--python-backtrace=cuda", "-s", "none")
        run = self.profile(python, "-c", PROGRAM, library, version=None, options=options)
        self.assertEqual(run.code, 0, run.err)
        stacks = [names(run.trace, c) for c in self.waits(run.trace, function="clock_nanosleep")]
        stacks += [names(run.trace, c) for c in self.waits(run.trace, function="select")]
        if not any(run.trace.of("module", module_kind=2)):
            self.skipTest("the stacks of this Python are not known")
        good = [s for s in stacks if s[-3:] == ["load", "step", "<module>"]]
        self.assertGreater(len(good), 5, stacks)
        self.assertFalse([s for s in good if any("_PyEval" in name for name in s)], good)


PROGRAM = """
import ctypes, sys, time
ctypes.CDLL(sys.argv[1]).MarkFromPython(b"begin")
def load():
    time.sleep(0.003)
def step():
    load()
for _ in range(200):
    step()
"""


if __name__ == "__main__":
    harness.main()
