"""The cures of `try`, on a program of the driver's functions: each does what it is there for, in all three ways in which
programs find these functions, and the program computes the same. Whether a cure helps is a matter of a GPU."""
import json
import re
import subprocess
import unittest

import harness

CURES = harness.BUILD / "lib" / "gprof-cli" / "libgprof-cures.so"
WAYS = ("linked", "dlsym", "table")
ALL = "pin-copies,stream-waits,pool-allocations,prefetch-managed"
ROUNDS = 12


class Cures(harness.Case):
    def cured(self, cure, problem, way="linked", options=()):
        """The trace of the program with the cure, and of the program as it is; both print the same."""
        plain = self.profile("curable", problem, way, ROUNDS, options=options)
        cured = self.profile("env", *self.preloaded(cure), *self.command("curable", (problem, way, ROUNDS)), options=options)
        self.assertEqual((plain.code, cured.code), (0, 0), cured.out + cured.err)
        self.assertEqual(plain.out, cured.out)
        return cured.trace, plain.trace

    @staticmethod
    def preloaded(cure):
        return f"LD_PRELOAD={CURES}", f"GPROF_CURES={cure}"

    @staticmethod
    def calls(trace, name):
        return sum(r["function"].startswith(name) for r in trace.of("api"))

    @staticmethod
    def kinds(trace):
        """Kinds of host memory of the copies: 1 pageable, 2 pinned."""
        copies = sorted(trace.of("memcpy"), key=lambda r: r["start_ns"])
        return [r["source_memory"] if r["copy_kind"] == 1 else r["destination_memory"] for r in copies]


class Pinning(Cures):
    def test_blocks_that_are_copied_again_and_again(self):
        for way in WAYS:
            with self.subTest(way):
                cured, plain = self.cured("pin-copies", "pageable", way)
                self.assertEqual(self.kinds(plain), [1] * 2 * ROUNDS)
                # The first four copies of each block tell that more will come.
                self.assertEqual(self.kinds(cured)[:6], [1] * 6)
                self.assertEqual(set(self.kinds(cured)[8:]), {2})

    def test_a_block_of_each_round_is_left_alone(self):
        cured, _ = self.cured("pin-copies", "fresh")
        self.assertEqual(set(self.kinds(cured)), {1})

    def test_blocks_are_freed_moved_and_forked(self):
        plain = self.run_plain("curable", "lives")
        for cure in ("pin-copies", ALL):
            cured = self.run_plain("curable", "lives", env={"LD_PRELOAD": str(CURES), "GPROF_CURES": cure})
            self.assertEqual((cured.code, cured.out), (0, plain.out), cured.err)
        self.assertIn("freed: 0\n", plain.out)


class Waiting(Cures):
    def test_a_wait_for_one_stream(self):
        for way in WAYS:
            with self.subTest(way):
                cured, plain = self.cured("stream-waits", "waits", way)
                self.assertEqual((self.calls(plain, "cuCtxSynchronize"), self.calls(plain, "cuStreamSynchronize")), (ROUNDS, 0))
                self.assertEqual((self.calls(cured, "cuCtxSynchronize"), self.calls(cured, "cuStreamSynchronize")), (0, ROUNDS))

    def test_all_streams_are_waited_for(self):
        """The program asks each stream after each wait."""
        self.cured("stream-waits", "busy_streams")


class Pooling(Cures):
    def test_sizes_that_are_freed_again_and_again(self):
        for way in WAYS:
            with self.subTest(way):
                cured, plain = self.cured("pool-allocations", "churn", way)
                self.assertEqual((self.calls(plain, "cuMemAlloc"), self.calls(plain, "cuMemFree")), (2 * ROUNDS, 2 * ROUNDS))
                self.assertEqual(self.calls(cured, "cuMemAlloc"), 2 * 3)
                # Two more when the program asks how much memory is free.
                self.assertEqual(self.calls(cured, "cuMemFree"), 2 * 2 + 2)


class Prefetching(Cures):
    OPTIONS = ("--cuda-um-cpu-page-faults", "true", "--cuda-um-gpu-page-faults", "true")

    def test_pages_are_there_before_they_are_touched(self):
        for way in WAYS:
            with self.subTest(way):
                cured, plain = self.cured("prefetch-managed", "managed", way, self.OPTIONS)
                faults = [sum(r["managed_kind"] == 4 for r in trace.of("managed_memory")) for trace in (plain, cured)]
                self.assertEqual(faults, [ROUNDS, 0])


class Everywhere(Cures):
    def test_all_at_once(self):
        for problem in ("pageable", "fresh", "waits", "busy_streams", "churn", "managed"):
            with self.subTest(problem):
                self.cured(ALL, problem)

    def test_programs_without_cuda(self):
        for command in (["sh", "-c", "echo $((1 + 1)); exit 3"], ["python3", "-c", "import os; print(len(os.urandom(1 << 20)))"]):
            done = subprocess.run(command, capture_output=True, timeout=harness.DEADLINE_S, check=False,
                                  env=self.environment(None, {"LD_PRELOAD": str(CURES), "GPROF_CURES": ALL}))
            self.assertEqual(done.stderr, b"")
            self.assertIn((done.returncode, done.stdout), ((3, b"2\n"), (0, b"1048576\n")))

    def test_try_runs_them(self):
        words = [str(harness.GPROF), "try", "-q", "-n", "5", "--warmup", "0", "--format", "json", "pin-copies", "stream-waits",
                 "--", *self.command("curable", ("pageable",))]
        done = subprocess.run(words, capture_output=True, timeout=harness.DEADLINE_S, check=False, cwd=self.folder,
                              env=self.environment("13.0", None), stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        changes = json.loads(done.stdout)["changes"]
        self.assertEqual([c["variables"]["GPROF_CURES"] for c in changes], ["pin-copies", "stream-waits"])
        for change in changes:
            self.assertIn(change["verdict"], ("better", "same", "worse", "cannot tell"), change)


class Library(unittest.TestCase):
    def test_needs_libc_and_nothing_else(self):
        done = subprocess.run(["readelf", "-W", "-d", CURES], capture_output=True, text=True, check=True, timeout=harness.DEADLINE_S)
        needed = re.findall(r"\(NEEDED\).*\[(.*?)\]", done.stdout)
        self.assertTrue(needed)
        self.assertEqual([n for n in needed if not re.match(r"lib(c|dl|pthread)\.so\.|ld-linux", n)], [])


if __name__ == "__main__":
    harness.main()
