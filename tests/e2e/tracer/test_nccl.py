"""NCCL's profiler plug-in: what NCCL told each version of the interface is in the trace."""
import unittest

import harness

NEWEST = 7
FIELDS = ("function", "size_bytes", "sequence", "peer", "communicator", "rank", "is_captured")
WORLD, PAIR = 0xf00dfeedcafe0001, 42
EXPECTED = [
    ("AllReduce", 4000, 0, -1, WORLD, 3, 0),
    ("AllReduce", 8000, 1, -1, WORLD, 3, 0),
    ("AllGather", 1200, 0, -1, WORLD, 3, 0),
    ("Broadcast", 200, 0, 5, WORLD, 3, 0),
    ("Send", 256, 0, 0, PAIR, 1, 0),
    ("Recv", 260, 0, 0, PAIR, 1, 0),
    ("ReduceScatter", 28, 0, -1, PAIR, 1, 0),
]


def signed(record, field):
    return record.get(field, -1 if field in ("peer", "rank") else 0) or 0


class Operations(harness.Case):
    def rows_of(self, trace):
        return [tuple(r["function"] if f == "function" else signed(r, f) for f in FIELDS) for r in trace.of("collective")]

    def expected(self, version):
        captured = 1 if version >= 5 else 0
        return EXPECTED[:-1] + [EXPECTED[-1][:-1] + (captured,)]

    def test_each_version_of_the_interface(self):
        for version in range(1, NEWEST + 1):
            with self.subTest(version=version):
                run = self.profile("nccl_facts", version)
                self.assertEqual(run.code, 0, run.err)
                me = run.facts("me")[0]
                self.assertEqual(me["version"], version)
                self.assertEqual(self.rows_of(run.trace), self.expected(version))
                self.assert_clean(run.trace)
                self.check_details(run.trace.of("collective"), version, me["tid"])
                self.check_times(run, version)

    def check_details(self, rows, version, tid):
        self.assertEqual({r["tid"] for r in rows}, {tid})
        self.assertEqual({r["datatype"] for r in rows}, {"ncclFloat32"})
        reduce, send = rows[0], rows[4]
        self.assertEqual((reduce["algorithm"], reduce["protocol"], reduce["channels"]), ("RING", "SIMPLE", 24))
        self.assertEqual((send["algorithm"], send["channels"]), (0, 8 if version >= 4 else 0))
        self.assertEqual(reduce["communicator_name"], "world")
        # Before version 4, NCCL does not say how many ranks a communicator has.
        self.assertEqual((reduce["ranks"], reduce["nodes"]), (16, 2) if version >= 4 else (0, 0))

    def check_times(self, run, version):
        rows, launches = iter(run.trace.of("collective")), iter(run.trace.calls("cuLaunchKernel"))
        for group in run.facts("group"):
            launch = next(launches)
            for _ in range(group["operations"]):
                row = next(rows)
                end = row["start_ns"] + row["duration_ns"]
                self.assertGreaterEqual(end, launch["start_ns"] + launch["duration_ns"])
                self.assertLessEqual(end, group["after"] + 1000)
                if version < 5:
                    self.assertEqual(row["duration_ns"], 0)
                else:
                    self.assertGreaterEqual(row["start_ns"], group["before"] - 1000)
                    self.assertLessEqual(row["start_ns"], group["called"] + 1000)

    def test_a_newer_nccl_takes_the_newest_table_that_there_is(self):
        run = self.profile("nccl_facts", NEWEST + 3)
        self.assertEqual(run.facts("me")[0]["version"], NEWEST)
        self.assertEqual(self.rows_of(run.trace), self.expected(NEWEST))

    def test_of_a_program_that_dies(self):
        run = self.profile("nccl_facts", NEWEST, "die")
        self.assertNotEqual(run.code, 0)
        self.assertEqual(self.rows_of(run.trace), self.expected(NEWEST))

    def test_report(self):
        report = self.report(self.profile("nccl_facts", NEWEST).trace_path)
        metrics = harness.total(report)
        self.assertEqual((metrics["nccl.operations"], metrics["nccl.bytes"]), (7, sum(row[1] for row in EXPECTED)))
        table = next(t for t in report["tables"] if t["id"] == "nccl_operations")
        self.assertEqual(len(table["rows"]), 7)

    def test_transfers_of_proxy_threads(self):
        for version in range(4, NEWEST + 1):
            with self.subTest(version=version):
                run = self.profile("nccl_facts", version, options=["--only-trace", "-t", "nccl-proxy"])
                self.assertEqual(run.code, 0, run.err)
                self.assertEqual(self.rows_of(run.trace), self.expected(version))
                self.assert_clean(run.trace)
                self.check_transfers(run.trace.of("nccl_transfer"), run.facts("me")[0]["tid"])

    def check_transfers(self, rows, tid):
        known = ("function", "communicator", "rank", "peer", "channel", "steps", "size_bytes", "is_send")
        found = sorted((tuple(row.get(field, 0) for field in known) for row in rows), key=str)
        # The steps of another process are known, and nothing that only its pointers lead to.
        self.assertEqual(found, sorted([("AllReduce", WORLD, 3, 1, 3, 5, 5000, 1), ("AllReduce", WORLD, 3, 2, 3, 5, 5000, 0),
                                        (0, 0, 3, 7, 3, 1, 1000, 1)], key=str))
        waits = ("gpu_ns", "peer_ns", "network_ns", "flush_ns")
        for row in rows:
            self.assertNotEqual(row["tid"], tid)
            self.assertLessEqual(sum(row.get(wait, 0) for wait in waits), row["duration_ns"])
        sent = next(row for row in rows if row["peer"] == 1)
        received = next(row for row in rows if row["peer"] == 2)
        # Of the oldest step, although the next one waits for the GPU. Being preempted between two steps is taken for such a wait, too.
        self.assertGreaterEqual(sent["peer_ns"], 5 * 20_000_000)
        self.assertLess(sent.get("gpu_ns", 0), sent["peer_ns"] / 2)
        self.assertGreaterEqual(received["network_ns"], 5 * 3_000_000)
        self.assertGreaterEqual(received["gpu_ns"], 5 * 2_000_000)
        self.assertEqual(received.get("peer_ns", 0), 0)

    def test_transfers_are_for_those_who_ask(self):
        self.assertEqual(self.profile("nccl_facts", NEWEST).trace.of("nccl_transfer"), [])
        run = self.profile("nccl_facts", 3, options=["--only-trace", "-t", "nccl-proxy"])  # whose layouts are not known
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.trace.of("nccl_transfer"), [])

    def test_only_when_asked_for(self):
        run = self.profile("nccl_facts", NEWEST, options=["--only-trace", "-t", "cuda,nvtx"])
        self.assertEqual(run.facts("me")[0]["version"], 0)
        self.assertEqual(run.trace.of("collective"), [])
        run = self.profile("nccl_facts", NEWEST, options=["--only-trace", "-t", "nccl"])
        self.assertEqual(self.rows_of(run.trace), self.expected(NEWEST))

    def test_a_plugin_of_the_user_is_left_alone(self):
        run = self.profile("nccl_facts", NEWEST, env={"NCCL_PROFILER_PLUGIN": "/nowhere/libother.so"})
        self.assertEqual(run.facts("me")[0]["version"], 0)
        self.assertIn("NCCL_PROFILER_PLUGIN is set to '/nowhere/libother.so'", run.err)
        self.assertEqual(run.trace.of("collective"), [])

    def test_only_within_a_capture(self):
        run = self.profile("nccl_facts", NEWEST, options=["-c", "cudaProfilerApi"])
        self.assertEqual(run.trace.of("collective"), [])


if __name__ == "__main__":
    harness.main()
