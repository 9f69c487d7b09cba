"""What is recorded when asked for, or has records of its own: memory, managed memory, events, graph nodes, host functions,
streams. Every program says what it did."""

import collections
import json
import sys

import recorded
import support

OWN_CODE = 3
ALLOCATE, FREE = 1, 2
PINNED, DEVICE = 2, 3  # MemoryKind
HOST_TO_DEVICE, DEVICE_TO_HOST, CPU_FAULTS, GPU_FAULT = 1, 2, 3, 4  # ManagedKind


class MoreKinds(support.GpuTest):
    def run_one(self, what, *options):
        done = self.profile(support.PROGRAMS / "gpu_more_kinds", what, options=options, code=OWN_CODE)
        return json.loads(done.stdout), recorded.Records.of(self.trace)

    def test_memory(self):
        known, records = self.run_one("memory", "--cuda-memory-usage")
        self.assertEqual(records.problems, [])
        for size, memory, count, is_async in ((known["block_bytes"], DEVICE, known["blocks"], 0),
                                              (known["pooled_bytes"], DEVICE, known["pooled"], 1),
                                              (known["pinned_bytes"], PINNED, 1, 0)):
            found = collections.Counter(r["operation"] for r in records["memory"]
                                        if (r["size_bytes"], r["memory"], r["is_async"]) == (size, memory, is_async))
            self.assertEqual(found, {ALLOCATE: count, FREE: count}, size)
        # Every block that is freed was allocated at the same address before.
        live = {}
        for r in sorted(records["memory"], key=lambda r: r["time_ns"]):
            if r["operation"] == ALLOCATE:
                live[r["address"]] = r["size_bytes"]
            elif r["size_bytes"] in (known["block_bytes"], known["pooled_bytes"], known["pinned_bytes"]):
                self.assertEqual(live.pop(r["address"], None), r["size_bytes"])
        peak = recorded.Report.of(self.trace).metric("memory.peak_bytes")
        self.assertGreaterEqual(peak, known["block_bytes"] * known["blocks"])
        self.assertLess(peak, known["block_bytes"] * known["blocks"] + (64 << 20))

    def test_memory_is_not_recorded_unless_asked_for(self):
        _, records = self.run_one("memory")
        self.assertEqual((records["memory"], records["memory_pool"]), ([], []))

    def test_managed_memory(self):
        known, records = self.run_one("managed", "--cuda-um-gpu-page-faults", "--cuda-um-cpu-page-faults")
        moved = collections.Counter()
        for r in records["managed_memory"]:
            moved[r["managed_kind"]] += r["value"]
        # Everything moves to the GPU once at least, and some of it back in every round; only what it is worth differs.
        self.assertGreaterEqual(moved[HOST_TO_DEVICE], known["bytes"])
        self.assertGreaterEqual(moved[DEVICE_TO_HOST], known["bytes"] // 2)
        self.assertGreater(moved[CPU_FAULTS], 0)
        self.assertGreater(moved[GPU_FAULT], 0)
        self.assertGreater(recorded.Report.of(self.trace).metric("kernels.count"), 0)

    def test_managed_memory_is_not_recorded_unless_asked_for(self):
        _, records = self.run_one("managed")
        self.assertEqual(records["managed_memory"], [])

    def test_events(self):
        known, records = self.run_one("events")
        self.assertEqual(len(records["event_record"]), known["events"])
        calls = {r["correlation"] for r in records["api"] if recorded.function(r) == "cudaEventRecord"}
        self.assertEqual({r["correlation"] for r in records["event_record"]}, calls)
        per_stream = collections.Counter(r["stream"] for r in records["event_record"])
        self.assertEqual(sorted(per_stream.values()), [known["events"] // 2] * 2)
        self.assertEqual(set(per_stream), {r["stream"] for r in records["kernel"]})

    def creating_range(self, records, node):
        """Name of the innermost range that was open on the thread when the node was made."""
        stack = []
        events = [r for r in records["nvtx"] if r["tid"] == node["tid"] and r["time_ns"] <= node["time_ns"]]
        for r in sorted(events, key=lambda r: r["time_ns"]):
            if r["event"] == recorded.NVTX_PUSH:
                stack.append(r["message"])
            elif r["event"] == recorded.NVTX_POP:
                stack.pop()
        return stack[-1] if stack else ""

    def test_graph_nodes_are_the_code_that_made_them(self):
        known, records = self.run_one("graph", "--cuda-graph-trace", "node")
        nodes = {r["node"]: r for r in records["graph_node"]}
        made_in = collections.Counter()
        for kernel in records["kernel"]:
            node = nodes[kernel["graph_node"]]
            while node["original"]:  # instantiation clones what the capture made
                node = nodes[node["original"]]
            made_in[self.creating_range(records, node)] += 1
        self.assertEqual(made_in, {"prepare": known["prepare"] * known["launches"],
                                   "compute": known["compute"] * known["launches"]})

    def test_graphs_by_level(self):
        known, records = self.run_one("graph")
        self.assertEqual((len(records["graph_launch"]), len(records["kernel"])), (known["launches"], 0))
        nodes = (known["prepare"] + known["compute"]) * known["launches"]
        known, records = self.run_one("graph", "--cuda-graph-trace", "node")
        self.assertEqual((len(records["graph_launch"]), len(records["kernel"])), (0, nodes))
        # By itself it begins with whole graphs, and may come to the nodes.
        known, records = self.run_one("graph", "--cuda-graph-trace", "auto")
        whole = len(records["graph_launch"]) * (known["prepare"] + known["compute"])
        self.assertEqual(whole + len(records["kernel"]), nodes)

    def test_conditional_nodes(self):
        """Each level has all launches, and the report knows which launch ran what."""
        program = support.PROGRAMS / "gpu_graphs"
        if support.run(program, "conditional").returncode == support.SKIP:
            self.skipTest("built without conditional nodes, which takes CUDA 13")
        for level in ("graph", "node", "auto"):
            with self.subTest(level=level):
                done = self.profile(program, "conditional", options=["--cuda-graph-trace", level])
                known, report = json.loads(done.stdout), recorded.Report.of(self.trace)
                self.assertEqual(report.metric("graphs.runs"), known["launches"])
                self.assertEqual(report.metric("graphs.distinct"), 1)
                self.assertEqual(report.metric("graphs.nodes"), known["kernels"] if level == "node" else 0)
                self.assertEqual(report.metric("health.unmatched_launches"), 0)
                self.assertEqual(report.metric("health.unmatched_ops"), 0)

    def test_host_functions(self):
        known, records = self.run_one("host")
        self.assertEqual(known["ran"], known["calls"])
        calls = [r for r in records["api"] if recorded.function(r) == "cudaLaunchHostFunc"]
        self.assertEqual((len(calls), len(records["kernel"])), (known["calls"], known["calls"]))

    def test_streams(self):
        known, records = self.run_one("streams")
        named = {r["handle"]: r["name"] for r in records["nvtx_name"] if r["object"] == recorded.NAME_OF_STREAM}
        # The program's handle comes from its call, the priority from CUPTI: two records of one stream.
        handles = {(r["context"], r["stream"]): r["handle"] for r in records["stream"] if r["handle"] in named}
        priorities = {named[handle]: 0 for handle in handles.values()}
        for r in records["stream"]:
            if r["priority"] and (r["context"], r["stream"]) in handles:
                priorities[named[handles[r["context"], r["stream"]]]] = r["priority"]
        self.assertEqual(priorities, {"low": known["low"], "high": known["high"]})

    def test_driver_that_is_opened_late(self):
        program = support.SOURCE / "tests" / "gpu" / "programs" / "late_cuda.py"
        done = self.profile(sys.executable, "-B", program, code=7)
        records = recorded.Records.of(self.trace)
        self.assertEqual(len(records["kernel"]), int(done.stdout))
        self.assertEqual({r["name"] for r in records["kernel"]}, {"late_kernel"})
        calls = [r for r in records["api"] if recorded.function(r) == "cuLaunchKernel"]
        self.assertEqual(len(calls), int(done.stdout))


if __name__ == "__main__":
    support.main()
