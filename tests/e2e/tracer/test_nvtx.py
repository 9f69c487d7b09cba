"""NVTX: every function of the real headers, several clients in one process, many threads, and misuse."""
import collections
import subprocess
import sys

import harness

EVENTS = {"mark": 1, "push": 2, "pop": 3, "start": 4, "end": 5}
NAMES = {"thread": 1, "device": 2, "context": 3, "stream": 4, "event": 5, "resource": 6}
FIELDS = ("event", "domain", "message", "category", "color", "payload_type", "payload")


def seen(trace, pid):
    """NVTX events by thread, in order, in the words of the programs."""
    words = {number: word for word, number in EVENTS.items()}
    domains = trace.domain_names(pid)
    result = collections.defaultdict(list)
    for r in sorted(trace.of("nvtx"), key=lambda r: r["time_ns"]):
        result[r["tid"]].append(tuple({**r, "event": words[r["event"]], "domain": domains[r["domain"]],
                                       "message": r["message"]}.get(f, 0) for f in FIELDS))
    return result


class EveryFunction(harness.Case):
    def check(self, run):
        self.assertEqual(run.code, 0, run.err)
        trace = run.trace
        self.assert_clean(trace)
        pid = trace.of("process")[0]["pid"]
        got = seen(trace, pid)
        expected = collections.defaultdict(list)
        for fact in run.facts("nvtx"):
            expected[fact["tid"]].append(tuple(fact[f] for f in FIELDS))
        for tid, events in expected.items():
            self.assertEqual(got[tid], events)
        workers = {tid: events for tid, events in got.items() if tid not in expected}
        self.assertEqual(sorted(len(events) for events in workers.values()), [1000] * 16)
        for events in workers.values():
            pushes, pops = events[0::2], events[1::2]
            self.assertEqual(({e[0] for e in pushes}, {e[0] for e in pops}, len({e[2] for e in pushes})),
                             ({"push"}, {"pop"}, 1))
        self.assertEqual(len({events[0][2] for events in workers.values()}), 16)
        self.check_names(run, trace, pid)
        self.check_pairs(trace)
        return trace

    def check_names(self, run, trace, pid):
        domains = trace.domain_names(pid)
        # The program and its two shared objects each made the domain; it is one domain.
        self.assertEqual(collections.Counter(domains.values())["shared domain"], 1)
        for fact in run.facts("category"):
            found = [c for c in trace.of("nvtx_category", category=fact["handle"], name=fact["name"])
                     if domains[c["domain"]] == fact["domain"]]
            self.assertTrue(found, fact)
        for word, number in NAMES.items():
            self.assertTrue(run.facts(word))
            for fact in run.facts(word):
                # A resource goes by the handle that NVTX gave it, everything else by its own number.
                found = [n for n in trace.of("nvtx_name", object=number, name=fact["name"])
                         if domains[n["domain"]] == fact["domain"] and (word == "resource" or n["handle"] == fact["handle"])]
                self.assertTrue(found, fact)

    def check_pairs(self, trace):
        starts = [r["range"] for r in trace.of("nvtx", event=EVENTS["start"])]
        ends = [r["range"] for r in trace.of("nvtx", event=EVENTS["end"])]
        self.assertEqual(sorted(starts), sorted(ends))
        self.assertEqual(len(set(starts)), len(starts))
        self.assertNotIn(0, starts)

    def test_without_cuda(self):
        run = self.profile("nvtx_facts", harness.PROGRAMS / "libnvtx_late.so", version=None)
        self.check(run)

    def test_before_and_after_cuda_starts(self):
        run = self.profile("nvtx_facts", harness.PROGRAMS / "libnvtx_late.so", "cuda")
        self.check(run)

    def test_report_counts_ranges(self):
        run = self.profile("nvtx_facts", harness.PROGRAMS / "libnvtx_late.so", version=None)
        events = collections.Counter(fact["event"] for fact in run.facts("nvtx"))
        metrics = harness.total(self.report(run.trace_path))
        self.assertEqual(metrics["nvtx.ranges"], events["push"] + events["start"] + 16 * 500)
        self.assertEqual(metrics["nvtx.marks"], events["mark"])


class PayloadExtension(harness.Case):
    def test_events_are_kept(self):
        run = self.profile("nvtx_payload", version=None)
        self.assertEqual(run.code, 0, run.err)
        trace = run.trace
        self.assert_clean(trace)
        got = list(seen(trace, trace.of("process")[0]["pid"]).values())[0]
        expected = [tuple(fact[f] for f in FIELDS) for fact in run.facts("nvtx")]
        self.assertEqual(len(got), len(expected))
        for event, wanted in zip(got, expected):
            any_message = wanted[:2] + (event[2],) + wanted[3:]
            self.assertEqual(event, any_message if wanted[2] == "*" else wanted)


class Misuse(harness.Case):
    def test_the_program_runs_on_and_the_trace_reads(self):
        plain = self.run_plain("nvtx_hostile", version=None)
        run = self.profile("nvtx_hostile", version=None)
        self.assertEqual((run.code, plain.code), (0, 0), run.err)
        trace = run.trace
        self.assert_clean(trace)
        tid = run.facts("end")[0]["tid"]
        marks = [r["message"] for r in trace.of("nvtx", event=1, tid=tid)]
        self.assertEqual(marks[-1], "the end")
        self.assertEqual([m for m in marks if m.startswith("reused")], [f"reused {i}" for i in range(100)])
        long = [m for m in marks if m.startswith("L")]
        self.assertEqual(len(long), 1)
        self.assertGreaterEqual(len(long[0]), 1000)
        self.assertLess(len(long[0]), 200000)
        self.assertIn("\udcff\udcfe\x01\n\t\"quoted\\\" {x=1} #comment", marks)
        deep = trace.of("nvtx", event=2, tid=tid)
        self.assertEqual([r["message"] for r in deep], ["deep"] * 2000)
        report = self.report(run.trace_path)
        self.assertEqual(report["schema"], "gprof.report/1")


class Rows(harness.Case):
    """Rows are written in several forms; the trace must not show which."""

    def pushes(self, fact):
        yield from (("", name) for name in ["aa"] * 4 + ["bb", "aa"] + ["bb"] * 3 + [""] + [""] * fact["times"])
        yield from (("", "l" * size) for size in range(1, fact["longest"] + 1) for _ in range(fact["times"]))
        yield from (("strings", f"string {i}") for i in range(fact["strings"]))
        yield from ((f"domain {i}", "in a domain") for i in range(fact["domains"]))
        yield from (("", name) for name in ("before", "pause", "after"))

    def test_every_form(self):
        run = self.profile("nvtx_rows", version=None)
        self.assertEqual(run.code, 0, run.err)
        trace = run.trace
        self.assert_clean(trace)
        domains = trace.domain_names(trace.of("process")[0]["pid"])
        events = trace.of("nvtx")
        self.assertEqual(events, sorted(events, key=lambda r: r["time_ns"]))
        expected = list(self.pushes(run.facts("rows")[0]))
        self.assertEqual([(domains[r["domain"]], r["message"]) for r in events if r["event"] == EVENTS["push"]], expected)
        self.assertEqual(len([r for r in events if r["event"] == EVENTS["pop"]]), len(expected))
        began = next(i for i, r in enumerate(events) if r["message"] == "pause")
        lasted, pause = events[began + 1]["time_ns"] - events[began]["time_ns"], run.facts("pause")[0]
        self.assertGreaterEqual(lasted, pause["inner_ns"] - 1_000_000)
        self.assertLessEqual(lasted, pause["outer_ns"] + 1_000_000)


class Stress(harness.Case):
    def test_marks_in_a_signal_handler(self):
        run = self.profile("nvtx_stress", "signals", version=None)
        self.assertEqual(run.code, 0, run.err)
        trace, fact = run.trace, run.facts("signals")[0]
        self.assertEqual(trace.problems, [])
        main, handler = (len(trace.of("nvtx", message=m)) for m in ("in main", "in handler"))
        lost = sum(r["count"] for r in trace.of("loss"))
        self.assertLessEqual({r["reason"] for r in trace.of("loss")}, {7})  # called in a signal handler
        self.assertLessEqual((main, handler), (fact["marks"], fact["handled"]))
        self.assertEqual(main + handler + lost, fact["marks"] + fact["handled"])

    def test_killed_while_records_are_written(self):
        """In a storm the writer is nearly always within a batch, often a full one, and all the rest waits."""
        for ranges in range(100_000, 190_000, 15_000):
            run = self.profile("nvtx_stress", "killed", ranges, version=None)
            self.assertEqual(run.code, 128 + 9, run.err)
            report = self.report(run.trace_path)
            # A write that was cut short is damage, and is written again.
            self.assertEqual(report["health"]["lost_records"], 0)
            self.assertEqual(harness.total(report)["nvtx.ranges"], ranges)

    def test_threads_that_live_for_one_range(self):
        run = self.profile("nvtx_stress", "churn", version=None)
        self.assertEqual(run.code, 0, run.err)
        trace = run.trace
        self.assert_clean(trace)
        events = collections.Counter((r["event"], r["message"]) for r in trace.of("nvtx"))
        threads = run.facts("churn")[0]["threads"]
        self.assertEqual(events, {(2, "short life"): threads, (3, ""): threads, (1, "thread ends"): threads})

    def test_program_that_closes_every_descriptor(self):
        probe = "import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x400) != 0)"
        if subprocess.run([sys.executable, "-c", probe], check=False).returncode != 0:
            self.skipTest("unshare(CLONE_FILES) is forbidden here, so the tracer shares the program's descriptors")
        run = self.profile("nvtx_stress", "close", version=None)
        self.assertEqual(run.code, 0, run.err)
        trace = run.trace
        self.assert_clean(trace)
        self.assertEqual([len(trace.of("nvtx", message=m)) for m in ("before", "after")], [50, 100])


class Python(harness.Case):
    def test_package(self):
        try:
            import nvtx  # pylint: disable=import-outside-toplevel,unused-import
        except ImportError:
            self.skipTest("the Python package nvtx is not installed")
        code = ("import nvtx\n"
                "with nvtx.annotate('outer', domain='py', color='blue'):\n"
                "    for i in range(3):\n"
                "        with nvtx.annotate('step', category='loop'): pass\n"
                "nvtx.mark('done')\n")
        run = self.profile(sys.executable, "-c", code, version=None)
        self.assertEqual(run.code, 0, run.err)
        messages = collections.Counter(r["message"] for r in run.trace.of("nvtx") if r["message"])
        self.assertEqual(messages, {"outer": 1, "step": 3, "done": 1})


if __name__ == "__main__":
    harness.main()
