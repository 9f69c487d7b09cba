"""Memory, pools, managed memory, events, graph nodes, host functions, payloads, ranks: facts of the programs = records."""
import collections
import itertools
import os
import re
import subprocess
import sys

import harness

HOST = 2**32 - 1
EVENTS = {"mark": 1, "push": 2, "pop": 3, "start": 4, "end": 5}


def kinds(version):
    return f"kinds_facts_{version}"


class Kinds(harness.Case):
    def facts_run(self, what, version="13.0", **more):
        run = self.profile(kinds(version), what, version=version, **more)
        self.assertEqual(run.code, 0, run.err)
        self.assert_clean(run.trace)
        return run, run.trace

    def assert_facts(self, expected, records, fields):
        got = sorted(tuple(r[f] for f in fields) for r in records)
        self.assertEqual(got, sorted(tuple(fact[f] for f in fields) for fact in expected))


class Memory(Kinds):
    FIELDS = ("address", "size_bytes", "memory", "is_async", "pool")

    def check(self, version):
        run, trace = self.facts_run("memory", version, options=["--cuda-memory-usage", "true"])
        self.assert_facts(run.facts("allocate"), trace.of("memory", operation=1), self.FIELDS)
        self.assert_facts(run.facts("free"), trace.of("memory", operation=2), self.FIELDS)
        pools = ("operation", "pool", "size_bytes", "used_bytes", "keep_bytes")
        self.assert_facts(run.facts("pool"), trace.of("memory_pool"), pools)
        calls = {r["correlation"]: harness.api_name(r) for r in trace.of("api")}
        self.assertEqual(collections.Counter(calls[m["correlation"]] for m in trace.of("memory")),
                         {f: 1 for f in ("cudaMalloc", "cudaMallocHost", "cudaMallocManaged", "cudaMallocFromPoolAsync",
                                         "cudaFreeAsync", "cudaFree", "cudaFreeHost")} | {"cudaFree": 2})
        self.assertEqual({calls[p["correlation"]] for p in trace.of("memory_pool")},
                         {"cudaMemPoolCreate", "cudaMemPoolTrimTo", "cudaMemPoolDestroy"})
        streams = {r["handle"]: r["stream"] for r in trace.streams().values()}
        self.assertEqual({(m["is_async"], m["stream"]) for m in trace.of("memory")},
                         {(0, 0), (1, streams[run.facts("stream")[0]["handle"]])})

    def test_every_allocation_and_free(self):
        for version in harness.VERSIONS:
            with self.subTest(version=version):
                self.check(version)

    def test_nothing_when_not_asked_for(self):
        _, trace = self.facts_run("memory")
        self.assertEqual(trace.of("memory") + trace.of("memory_pool") + trace.of("managed_memory"), [])


class ManagedMemory(Kinds):
    FIELDS = ("managed_kind", "value", "address", "source", "destination", "flags", "duration_ns")
    OPTIONS = ("--cuda-um-cpu-page-faults", "true", "--cuda-um-gpu-page-faults", "true")

    def test_every_migration_and_fault(self):
        for version in harness.VERSIONS:
            with self.subTest(version=version):
                run, trace = self.facts_run("managed", version, options=self.OPTIONS)
                self.assert_facts(run.facts("managed"), trace.of("managed_memory"), self.FIELDS)
                self.assertEqual({m["stream"] for m in trace.of("managed_memory")}, {0})

    def test_a_device_that_knows_fewer_counters(self):
        run, trace = self.facts_run("managed", env={"MOCK_LAST_MANAGED_KIND": "4"}, options=self.OPTIONS)
        expected = [fact for fact in run.facts("managed") if fact["managed_kind"] <= 4]
        self.assert_facts(expected, trace.of("managed_memory"), self.FIELDS)

    def test_a_device_that_knows_none(self):
        run, trace = self.facts_run("managed", env={"MOCK_LAST_MANAGED_KIND": "0"}, options=self.OPTIONS)
        self.assertEqual(trace.of("managed_memory"), [])
        self.assertEqual(len([n for n in trace.of("notice") if "managed-memory" in n["message"]]), 1)


class Events(Kinds):
    def test_records_name_event_and_stream(self):
        for version in harness.VERSIONS:
            with self.subTest(version=version):
                run, trace = self.facts_run("events", version)
                fact = run.facts("events")[0]
                self.assertNotEqual(fact["failed"], 0)
                stream = {r["handle"]: r["stream"] for r in trace.streams().values()}[fact["stream"]]
                null_stream = trace.of("context")[0]["null_stream"]
                got = [(e["event"], e["stream"], e["tid"]) for e in sorted(trace.of("event_record"), key=lambda e: e["time_ns"])]
                self.assertEqual(got[:2], [(fact["first"], stream, fact["tid"]), (fact["second"], stream, fact["tid"])])
                # Not known (0) where the row was written before CUPTI had delivered the context, as on a busy machine.
                self.assertIn(got[2:], ([(fact["second"], null_stream, fact["tid"])], [(fact["second"], 0, fact["tid"])]))
                calls = {r["correlation"]: r for r in trace.of("api")}
                for e in trace.of("event_record"):
                    call = calls[e["correlation"]]
                    self.assertIn(harness.api_name(call), ("cudaEventRecord", "cudaEventRecordWithFlags"))
                    self.assertEqual(e["time_ns"], call["start_ns"] + call["duration_ns"])
                # The call that failed is a call all the same.
                self.assertEqual(len(trace.calls("cudaEventRecord")), 3)


class GraphNodes(Kinds):
    def check_nodes(self, trace, run):
        """The two nodes of the graph and their clones; answers the clones by node type."""
        nodes = trace.of("graph_node")
        made = {n["node"]: n for n in nodes if n["original"] == 0}
        clones = {n["node"]: n for n in nodes if n["original"] != 0}
        self.assertEqual((len(made), len(clones)), (2, 2))
        self.assertEqual({c["original"] for c in clones.values()}, set(made))
        self.assertEqual({c["node_type"] for c in clones.values()}, {0, 2})
        for clone in clones.values():
            self.assertEqual(clone["node_type"], made[clone["original"]]["node_type"])
            self.assertNotEqual(clone["graph"], made[clone["original"]]["graph"])
        main, builder = run.facts("me")[0]["tid"], run.facts("builder")[0]["tid"]
        self.assertEqual({n["node_type"]: n["tid"] for n in made.values()}, {0: builder, 2: main})
        self.assertEqual({n["node_type"]: n["place"] or "" for n in made.values()}, {0: "Model / layer.0", 2: ""})
        calls = {"0": "cudaGraphAddKernelNode", "2": "cudaGraphAddMemsetNode"}
        for node in made.values():
            inside = [c for c in trace.calls(calls[str(node["node_type"])])
                      if c["tid"] == node["tid"] and c["start_ns"] <= node["time_ns"] <= c["start_ns"] + c["duration_ns"]]
            self.assertEqual(len(inside), 1)
        return {c["node_type"]: c["node"] for c in clones.values()}

    def test_operations_name_their_node(self):
        for version in harness.VERSIONS:
            with self.subTest(version=version):
                run, trace = self.facts_run("graph", version, options=["--cuda-graph-trace", "node"])
                clones = self.check_nodes(trace, run)
                self.assertEqual([k["graph_node"] for k in trace.of("kernel")], [clones[0]] * 3)
                self.assertEqual([m["graph_node"] for m in trace.of("memset")], [clones[2]] * 3)
                self.assertEqual(trace.of("graph_launch"), [])

    def test_only_when_nodes_are_wanted(self):
        _, trace = self.facts_run("graph")
        self.assertEqual(trace.of("graph_node"), [])
        self.assertEqual(len(trace.of("graph_launch")), 3)

    def test_nodes_made_before_the_capture(self):
        """Outside captures too: graphs are built first and launched in the capture."""
        _, trace = self.facts_run("graph", options=["--cuda-graph-trace", "node", "-c", "cudaProfilerApi"])
        self.assertEqual(len(trace.of("graph_node")), 4)
        self.assertEqual(trace.of("kernel") + trace.of("api"), [])


class GraphLevel(Kinds):
    """--cuda-graph-trace auto: as a whole first, node by node once that is known to be affordable."""

    def launch_until_decided(self, nodes, pause_us, words, *more):
        """Runs until the decision is in the trace; the program then launches ten times more."""
        stop = self.folder / "stop"
        options = ["--cuda-graph-trace", "auto", "--flush-ms", "20"]
        trace, command = self.profile_command(kinds("13.0"), ["graphs", nodes, pause_us, stop, *more], options)
        with subprocess.Popen(command, env=self.environment("13.0", None), cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
            try:
                harness.wait_for(lambda: trace.exists() and words in trace.read_bytes(), words, 60)
            finally:
                stop.touch()
            out, err = process.communicate(timeout=harness.DEADLINE_S)
        self.assertEqual(process.returncode, 0, err.decode())
        run = harness.Run(command, process.returncode, out.decode(), err.decode(), trace, "")
        self.assert_clean(run.trace)
        return run.trace, run.facts("launches")[0]["count"]

    def test_few_nodes_are_recorded_one_by_one(self):
        trace, launches = self.launch_until_decided(2, 5000, b"node by node")
        whole, nodes = trace.of("graph_launch"), trace.of("kernel")
        self.assertGreaterEqual(len(whole), 1)
        self.assertGreaterEqual(len(nodes), 20)
        # Each launch is there once, in one of the two ways.
        self.assertEqual(len(whole) + len(nodes) / 2, launches)
        self.assertEqual(len({c["correlation"] for c in whole + nodes}), launches)
        self.assertLess(max(w["start_ns"] for w in whole), min(n["start_ns"] for n in nodes))
        clones = {n["node"] for n in trace.of("graph_node") if n["original"] != 0}
        self.assertEqual({n["graph_node"] for n in nodes}, clones)

    def test_many_nodes_stay_a_whole(self):
        trace, launches = self.launch_until_decided(10000, 0, b"recorded as a whole")
        self.assertEqual((len(trace.of("graph_launch")), trace.of("kernel")), (launches, []))
        notices = [n["message"] for n in trace.of("notice") if "nodes per second" in n["message"]]
        self.assertEqual(len(notices), 1)
        self.assertGreater(int(re.search(r"about (\d+) nodes", notices[0]).group(1)), 20000)

    def test_several_devices_are_recorded_node_by_node_at_once(self):
        trace, launches = self.launch_until_decided(3, 0, b"several GPUs", "second")
        self.assertEqual((trace.of("graph_launch"), len(trace.of("kernel"))), ([], 3 * launches))

    def launch_bodies(self, level):
        """Ten launches of a graph with a kernel, and two in the body of a conditional node, over 0.6 s."""
        (self.folder / "stop").touch()
        options = ["--cuda-graph-trace", level, "--flush-ms", "20"]
        run = self.profile(kinds("13.0"), "graphs", 3, 60000, self.folder / "stop", "body", version="13.0", options=options)
        self.assertEqual(run.code, 0, run.err)
        self.assert_clean(run.trace)
        return run, [n["message"] for n in run.trace.of("notice") if "conditional nodes" in n["message"]]

    def test_conditional_nodes_stay_a_whole(self):
        """Others that run as few nodes would be recorded node by node after 0.3 s."""
        for level, notices in (("auto", 1), ("graph", 0)):
            with self.subTest(level=level):
                run, said = self.launch_bodies(level)
                self.assertEqual((len(run.trace.of("graph_launch")), run.trace.of("kernel"), len(said)), (10, [], notices))

    def test_kernels_in_conditional_nodes_are_work_of_their_launch(self):
        run, said = self.launch_bodies("node")
        self.assertEqual(len(said), 1)
        kernels = run.trace.of("kernel")
        self.assertEqual(collections.Counter(k["correlation"] == 0 for k in kernels), {False: 10, True: 20})
        report = self.report(run.trace_path)
        self.assertEqual((report["health"]["unmatched_ops"], report["health"]["unmatched_launches"]), (0, 0))
        metrics = {m["id"]: m["value"] for m in report["metrics"]}
        self.assertEqual((metrics["graphs.runs"], metrics["graphs.distinct"], metrics["graphs.nodes"]), (10, 1, 30))


class HostFunctions(Kinds):
    def test_are_calls(self):
        for version in harness.VERSIONS:
            with self.subTest(version=version):
                run, trace = self.facts_run("host", version)
                self.assertEqual(run.facts("host")[0]["calls"], 5)
                self.assertEqual(len(trace.calls("cudaLaunchHostFunc", domain=1)), 5)
                self.assertEqual(trace.calls("cuLaunchHostFunc"), [])


class ProfilerApi(Kinds):
    def test_is_an_ordinary_call_without_a_capture_range(self):
        _, trace = self.facts_run("profiler")
        self.assertEqual(len(trace.calls("cudaProfilerStart")), 2)
        self.assertEqual(len(trace.calls("cudaProfilerStop")), 2)
        self.assertEqual(trace.calls("cuProfilerStart") + trace.calls("cuProfilerStop"), [])

    def test_range_that_repeats(self):
        for version in harness.VERSIONS:
            with self.subTest(version=version):
                _, trace = self.facts_run("profiler", version,
                                          options=["-c", "cudaProfilerApi", "--capture-range-end", "repeat"])
                self.assertEqual(collections.Counter(k["name"] for k in trace.of("kernel")), {"_Z4workv": 8})
                self.assertEqual(collections.Counter(map(harness.api_name, trace.of("api"))),
                                 {"cudaLaunchKernel": 8, "cudaDeviceSynchronize": 2})
                captures = [(c["number"], c["event"], c["trigger"]) for c in trace.of("capture")]
                self.assertEqual(sorted(captures), [(1, 1, 3), (1, 2, 3), (2, 1, 3), (2, 2, 3)])


class Payloads(harness.Case):
    def setUp(self):
        super().setUp()
        self.run_ = self.profile("payload_facts", version=None)
        self.assertEqual(self.run_.code, 0, self.run_.err)
        self.trace = self.run_.trace
        self.assert_clean(self.trace)

    def payload_bytes(self, record):
        return record["data"].encode("utf-8", "surrogateescape") if isinstance(record["data"], str) else b""

    def test_bytes(self):
        numbers = collections.Counter((EVENTS[f["event"]], f["schema"], f["hex"]) for f in self.run_.facts("payload"))
        got = collections.Counter((p["event"], p["schema"], self.payload_bytes(p).hex()) for p in self.trace.of("nvtx_payload"))
        self.assertEqual(got, numbers)
        # Each is found by thread, time and domain of its event.
        events = {(e["tid"], e["time_ns"], e["domain"], e["event"]): e for e in self.trace.of("nvtx")}
        for p in self.trace.of("nvtx_payload"):
            event = events[p["tid"], p["time_ns"], p["domain"], p["event"]]
            self.assertEqual(p["range"], event["range"])

    def test_messages(self):
        marks = [e["message"] for e in sorted(self.trace.of("nvtx", event=1), key=lambda e: e["time_ns"])]
        self.assertEqual(marks, ["ncclAllReduce", "inside", "pointed to", "registered text", "no message"] + ["<payload>"] * 4)
        self.assertEqual([e["message"] for e in self.trace.of("nvtx", event=2)], ["ncclAllReduce", "no message"])

    def test_numbers_of_the_program(self):
        static = 1 << 24
        schema = self.trace.of("nvtx_schema", schema=static + 5)
        self.assertEqual([(s["name"], s["schema_type"], s["size_bytes"], s["entry_count"]) for s in schema],
                         [("AllReduce", 1, 24, 3)])
        entries = sorted(self.trace.of("nvtx_schema_entry", schema=static + 5), key=lambda e: e["index"])
        self.assertEqual([(e["name"], e["entry_type"], e["offset_bytes"], e["size_bytes"]) for e in entries],
                         [("NCCL communicator ID", 18, 0, 8), ("Message size [bytes]", 22, 8, 8),
                          ("Reduction operation", static + 11, 16, 4)])
        values = self.trace.of("nvtx_enum", enumeration=static + 11)
        self.assertEqual([(v["name"], v["value"], v["is_flag"]) for v in values],
                         [("Sum", 0, 0), ("Product", 1, 0), ("Flag", 8, 1)])

    def test_numbers_of_the_tool(self):
        ours = self.trace.of("nvtx_schema")[1:]
        self.assertEqual([s["name"] for s in ours], ["message inside", "message pointed", "message registered", "no message"])
        for schema, number in zip(ours, itertools.count(1 << 32)):
            self.assertEqual((schema["schema"], schema["size_bytes"], schema["entry_count"]), (number, 48, 5))
            entries = sorted(self.trace.of("nvtx_schema_entry", schema=number), key=lambda e: e["index"])
            self.assertEqual([e["offset_bytes"] for e in entries], [0, 16, 24, 32, 40])


class PayloadsOfTheDead(harness.Case):
    def test_are_recovered_with_their_layouts(self):
        run = self.profile("payload_facts", "kill", version=None)
        self.assertEqual(run.code, 137, run.err)
        trace = run.trace
        self.assertEqual(trace.problems, [])
        got = collections.Counter((p["event"], p["schema"]) for p in trace.of("nvtx_payload"))
        self.assertEqual(got, collections.Counter((EVENTS[f["event"]], f["schema"]) for f in run.facts("payload")))
        self.assertEqual((len(trace.of("nvtx_schema")), len(trace.of("nvtx_schema_entry")), len(trace.of("nvtx_enum"))),
                         (5, 23, 3))


class PayloadsOfAChild(harness.Case):
    def test_uses_what_its_parent_registered(self):
        run = self.profile("payload_facts", "fork", version=None)
        self.assertEqual(run.code, 0, run.err)
        trace = run.trace
        self.assert_clean(trace, processes=2)
        parent, child = [p["pid"] for p in sorted(trace.of("process"), key=lambda p: p["is_forked"])]
        for pid, layouts in ((parent, 1), (child, 5)):
            self.assertEqual(len(trace.of("nvtx_schema", chunk_pid=pid)), layouts)
            self.assertEqual(len(trace.of("nvtx_enum", chunk_pid=pid)), 3)
        got = collections.Counter((p["event"], p["schema"]) for p in trace.of("nvtx_payload"))
        self.assertEqual(got, collections.Counter((EVENTS[f["event"]], f["schema"]) for f in run.facts("payload")))
        self.assertEqual({p["chunk_pid"] for p in trace.of("nvtx_payload")}, {parent, child})


class Nccl(harness.Case):
    """The real library: its calls fail without a communicator, and say what they were asked for before that."""

    CODE = ("import ctypes\n"
            "nccl = ctypes.CDLL('libnccl.so.2')\n"
            "print(nccl.ncclGetUniqueId((ctypes.c_char * 128)()))\n"  # as every program does first; registers operations
            "nccl.ncclAllReduce(None, None, ctypes.c_size_t(1024), 7, 2, None, None)\n"  # floats, the maximum
            "nccl.ncclSend(None, ctypes.c_size_t(100), 0, 3, None, None)\n")             # bytes, to rank 3

    def test_sizes_peers_and_operations(self):
        env = {"LD_LIBRARY_PATH": "/usr/local/cuda/lib64", "NCCL_NVTX_DISABLE": None}
        probe = [sys.executable, "-c", "import ctypes; ctypes.CDLL('libnccl.so.2').ncclGetVersion(ctypes.byref(ctypes.c_int()))"]
        if subprocess.run(probe, env=os.environ | env | {"NCCL_NVTX_DISABLE": "0"}, capture_output=True, check=False).returncode != 0:
            self.skipTest("no libnccl.so.2 here")
        run = self.profile(sys.executable, "-c", self.CODE, version=None, env=env)
        self.assertEqual(run.code, 0, run.err)
        trace = run.trace
        self.assert_clean(trace)
        domains = trace.domain_names(trace.of("process")[0]["pid"])
        payloads = trace.of("nvtx_payload", event=EVENTS["push"])
        self.assertEqual({domains[p["domain"]] for p in payloads}, {"NCCL"})
        got = {}
        for payload in payloads:
            event = next(e for e in trace.of("nvtx") if (e["tid"], e["time_ns"]) == (payload["tid"], payload["time_ns"]))
            got[event["message"]] = self.decode(trace, payload)
        if not got:
            self.skipTest("this libnccl has no payloads")
        self.assertEqual(got["ncclAllReduce"]["Message size [bytes]"], 4096)
        if run.out.splitlines()[-1] == "0":  # it found a network interface, the loopback at least
            self.assertEqual(got["ncclAllReduce"]["Reduction operation"], "Max")
        self.assertEqual((got["ncclSend"]["Message size [bytes]"], got["ncclSend"]["Peer rank"]), (100, 3))

    def decode(self, trace, payload):
        """By what the trace says of the layout, and nothing else."""
        data = payload["data"].encode("utf-8", "surrogateescape")
        result = {}
        for entry in trace.of("nvtx_schema_entry", schema=payload["schema"]):
            at, size = entry["offset_bytes"], entry["size_bytes"]
            value = int.from_bytes(data[at:at + size], sys.byteorder)
            names = {v["value"]: v["name"] for v in trace.of("nvtx_enum", enumeration=entry["entry_type"])}
            result[entry["name"]] = names.get(value, value)
        return result


class Ranks(harness.Case):
    def process(self, env):
        run = self.profile("nvtx_payload", version=None, env=env)
        self.assertEqual(run.code, 0, run.err)
        return run.trace.of("process")[0]

    def setUp(self):
        super().setUp()
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
        self.none = {name: None for name in names}

    def check(self, env, expected):
        process = self.process(self.none | env)
        got = (process.get("rank", -1), process.get("local_rank", -1), process["world_size"], process.get("rank_source", ""))
        self.assertEqual(got, expected, env)

    def test_sources(self):
        self.check({}, (-1, -1, 0, ""))
        self.check({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
                    "SLURM_PROCID": "0", "SLURM_NTASKS": "1", "PMIX_RANK": "3"}, (3, 1, 8, "Open MPI"))
        self.check({"PMI_RANK": "0", "PMI_SIZE": "2"}, (0, -1, 2, "MPICH"))
        self.check({"SLURM_PROCID": "5", "SLURM_NTASKS": "16", "SLURM_LOCALID": "1"}, (5, 1, 16, "Slurm"))
        self.check({"RANK": "7", "WORLD_SIZE": "8", "LOCAL_RANK": "3", "SLURM_PROCID": "1", "SLURM_NTASKS": "2"},
                   (7, 3, 8, "torchrun"))

    def test_what_is_no_rank(self):
        self.check({"RANK": "1"}, (-1, -1, 0, ""))
        self.check({"PMIX_RANK": "one"}, (-1, -1, 0, ""))
        self.check({"PMI_RANK": "99999999999999999999"}, (-1, -1, 0, ""))

    def test_capture_mode(self):
        self.assertEqual(self.process({})["capture_mode"], "CUDA, NVTX, OS runtime, MPI, GEMM, NCCL; from the beginning")
        run = self.profile("nvtx_payload", version=None, options=["--only-trace", "-t", "nvtx"])
        self.assertEqual(run.trace.of("process")[0]["capture_mode"], "NVTX; from the beginning")


if __name__ == "__main__":
    sys.exit(harness.main())
