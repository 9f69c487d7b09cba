"""Calls of UCX: what a program did with its own worker is in the trace as ranges, with its bytes, and nothing of it is different."""

import collections
import json
import pathlib
import subprocess
import unittest

import harness

SOURCE = pathlib.Path(__file__).resolve().parent / "programs" / "ucx_facts.c"
PLACES = {"UCX_TLS": "self", "UCX_LOG_LEVEL": "error"}  # nothing but this process, whatever the machine has
BYTES = {
    "ucp_tag_send_nbx": [1000, 100],
    "ucp_tag_send_sync_nbx": [None],  # a list of buffers: UCX alone knows how much it is
    "ucp_tag_recv_nbx": [1000, 100, 30],
    "ucp_put_nbx": [4096],
    "ucp_get_nbx": [512],
    "ucp_am_send_nbx": [10],
    "ucp_ep_flush_nbx": [None],
    "ucp_worker_flush_nbx": [None],
    "ucp_ep_rkey_unpack": [None],
    "ucp_mem_map": [None],
    "ucp_mem_unmap": [None],
    "ucp_init_version": [None],
    "ucp_worker_create": [None],
    "ucp_ep_create": [None],
    "ucp_ep_close_nbx": [None],
    "ucp_worker_destroy": [None],
    "ucp_cleanup": [None],
}


class Ucx(harness.Case):
    def setUp(self):
        super().setUp()
        self.program = self.folder / "ucx_facts"
        built = subprocess.run(["cc", "-O1", "-o", self.program, SOURCE, "-lucp", "-lucs", "-ldl"], capture_output=True, text=True,
                               timeout=harness.DEADLINE_S, check=False)
        if "ucp/api/ucp.h" in built.stderr:
            self.skipTest("the headers of UCX are not installed")
        self.assertEqual(built.returncode, 0, built.stderr)

    def record(self, *options, what="known"):
        run = self.profile(self.program, what, options=options, env=PLACES)
        self.assertEqual(run.code, 0, run.out + run.err)  # UCX says to stdout why it aborts
        self.assertEqual(run.trace.problems, [])
        return run

    def ranges_of(self, trace_path):
        """{function: [bytes or None, ...]} in the order of the calls, none of which is within another one."""
        done = subprocess.run([harness.GPROF, "export", trace_path, "--format", "jsonl", "--kind", "nvtx_range", "-o", "-"],
                              capture_output=True, text=True, timeout=harness.DEADLINE_S, check=True)
        found = collections.defaultdict(list)
        for call in sorted(map(json.loads, done.stdout.splitlines()), key=lambda call: call["start_ns"]):
            self.assertEqual((call["domain"], call["depth"], call["is_open"]), ("UCX", 0, False), call)
            found[call["name"]].append(call["payload"])
        return found

    def test_what_each_call_moved(self):
        run = self.record("--only-trace", "-t", "cuda,ucx")
        plain = self.run_plain(self.program, "known", env=PLACES)
        self.assertEqual(run.out, plain.out)
        found = self.ranges_of(run.trace_path)
        polls = found.pop("ucp_worker_progress", [])
        self.assertLess(len(polls), json.loads(run.out.splitlines()[-1])["count"] / 2)
        self.assertEqual(found, BYTES)

    def test_report(self):
        run = self.record("--only-trace", "-t", "cuda,ucx")
        rows = next(table["rows"] for table in self.report(run.trace_path)["tables"] if table["id"] == "nvtx")
        self.assertIn(("UCX/ucp_put_nbx", 1), [(row["path"], row["count"]) for row in rows])

    def test_slots_are_led_anew_where_a_library_goes(self):
        run = self.record("--only-trace", "-t", "cuda,ucx", what="unload")
        found = self.ranges_of(run.trace_path)
        self.assertEqual((found["ucp_tag_send_nb"], found["ucp_tag_send_nbx"]), ([64], []))  # what it calls is a part of it

    def test_only_when_asked_for(self):
        self.assertEqual(self.record().trace.of("nvtx"), [])
        self.assertEqual(self.record("--only-trace", "-t", "cuda,nvtx").trace.of("nvtx"), [])


if __name__ == "__main__":
    harness.main()
