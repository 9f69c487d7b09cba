"""CUDA programs on the doubles: what the trace holds is exactly what the program did."""
import collections
import os

import harness

# The functions that runtime_facts calls and that are recorded by default, with how often.
RUNTIME_CALLS = {
    "cudaMalloc": 4, "cudaMallocHost": 1, "cudaStreamCreate": 1, "cudaStreamCreateWithFlags": 1, "cudaMemcpy": 3,
    "cudaMemcpyAsync": 3, "cudaMemset": 1, "cudaMemsetAsync": 1, "cudaLaunchKernel": 7, "cudaEventRecord": 1,
    "cudaStreamWaitEvent": 1, "cudaEventSynchronize": 1, "cudaMemcpyPeerAsync": 1, "cudaGraphInstantiate": 1,
    "cudaGraphLaunch": 3, "cudaStreamSynchronize": 2, "cudaDeviceSynchronize": 3, "cudaFree": 3, "cudaFreeHost": 1,
    "cudaStreamDestroy": 2, "cudaDeviceReset": 1,
}
# Bytes, direction, source, destination and whether it is asynchronous: 1 pageable, 2 pinned, 3 device.
COPIES = [(8192, 1, 1, 3, 0), (100, 2, 3, 1, 0), (4000, 1, 2, 3, 1), (3000, 2, 3, 2, 1), (2000, 8, 3, 3, 1)]


class RuntimeProgram(harness.Case):
    def check_calls(self, trace):
        counts = collections.Counter(harness.api_name(r) for r in trace.of("api"))
        for function, count in RUNTIME_CALLS.items():
            # A runtime call and the driver call within it are one call.
            self.assertEqual(counts[function], count, function)
        # The exception are driver calls within a runtime call that is too cheap to be recorded: cudaSetDevice here.
        self.assertLessEqual({r["function"] for r in trace.of("api", domain=2)}, {"cuInit", "cuDevicePrimaryCtxRetain"})
        results = collections.Counter((r["function"], r["result"]) for r in trace.of("api") if r["result"] != 0)
        self.assertEqual(results, {("cudaMalloc", 2): 1, ("cudaMemcpy", 21): 1})

    def check_kernels(self, trace, facts):
        kernels = trace.of("kernel", graph=0)
        expected = [("_Z5saxpyifPfS_", 100 + i, 128, 256, 1000 + 10 * (100 + i)) for i in range(5)]
        expected += [("_Z6reducePfS_i", 50, 32, 0, 1500)] * 2
        got = [(k["name"], k["shape"]["grid_x"], k["shape"]["block_x"], k["shape"].get("dynamic_shared_bytes", 0),
                k["duration_ns"]) for k in kernels]
        self.assertEqual(sorted(got), sorted(expected))
        self.assertEqual({k["shape"]["registers_per_thread"] for k in kernels}, {40})
        streams = {r["handle"]: r["stream"] for r in trace.streams().values()}
        self.assertEqual(len(streams), 2)
        by_stream = collections.Counter(k["stream"] for k in kernels)
        self.assertEqual(by_stream, {streams[facts["a"]]: 5, streams[facts["b"]]: 2})
        self.assertEqual([r["is_non_blocking"] for _, r in sorted(trace.streams().items())], [0, 1])

    def check_copies(self, trace):
        copies = [(c["size_bytes"], c["copy_kind"], c["source_memory"], c["destination_memory"], c["is_async"])
                  for c in trace.of("memcpy", graph=0)]
        self.assertEqual(sorted(copies), sorted(COPIES))
        for copy in trace.of("memcpy", graph=0):
            pageable = 1 in (copy["source_memory"], copy["destination_memory"])
            self.assertEqual(copy["duration_ns"], 500 + copy["size_bytes"] // (4 if pageable else 20))
        fills = [(m["size_bytes"], m["value"], m["is_async"], m["duration_ns"]) for m in trace.of("memset", graph=0)]
        self.assertEqual(sorted(fills), [(500, 9, 1, 305), (1000, 7, 0, 310)])
        peers = [(p["size_bytes"], p["source_device"], p["destination_device"]) for p in trace.of("peer_copy")]
        self.assertEqual(peers, [(6000, 0, 1)])

    def check_correlation(self, trace):
        calls = {r["correlation"]: r for r in trace.of("api")}
        self.assertEqual(len(calls), len(trace.of("api")))
        for kind, functions in (("kernel", {"cudaLaunchKernel", "cudaGraphLaunch"}), ("peer_copy", {"cudaMemcpyPeerAsync"}),
                                ("memcpy", {"cudaMemcpy", "cudaMemcpyAsync", "cudaGraphLaunch"}),
                                ("memset", {"cudaMemset", "cudaMemsetAsync"}), ("graph_launch", {"cudaGraphLaunch"})):
            for op in trace.of(kind):
                self.assertIn(harness.api_name(calls[op["correlation"]]), functions)
                # Not a matter of speed: times of another clock would be years away.
                self.assertLess(abs(op["start_ns"] - calls[op["correlation"]]["start_ns"]), 600 * 10**9)

    def check_places(self, trace, facts):
        self.assertEqual({r["tid"] for r in trace.of("api")}, {facts["tid"]})
        self.assertEqual({r["pid"] for r in trace.of("process")}, {facts["pid"]})
        self.assertEqual({r["cores"] for r in trace.of("process")}, {len(os.sched_getaffinity(0))})
        self.assertEqual(sorted(r["device"] for r in trace.of("device")), [0, 1])
        for device in trace.of("device"):
            self.assertEqual((device["name"], device["sm_count"], device["compute_major"]), ("Mock H100", 132, 9))
        self.assertEqual(sorted((r["context"], r["device"]) for r in trace.of("context")), [(1, 0), (2, 1)])
        self.assertEqual({r["null_stream"] for r in trace.of("context", context=1)}, {7})

    def check_syncs(self, trace):
        kinds = collections.Counter(r["sync_kind"] for r in trace.of("sync"))
        self.assertEqual(kinds, {1: 1, 2: 1, 3: 2, 4: 3})

    def test_facts_with_every_cupti(self):
        for version in harness.VERSIONS:
            with self.subTest(version=version):
                run = self.profile(f"runtime_facts_{version}", version=version)
                self.assertEqual(run.code, 7, run.err)
                trace, facts = run.trace, run.facts("me")[0]
                self.assert_clean(trace)
                self.check_calls(trace)
                self.check_kernels(trace, facts)
                self.check_copies(trace)
                self.check_correlation(trace)
                self.check_places(trace, facts)
                self.check_syncs(trace)
                launches = trace.of("graph_launch")
                self.assertEqual([g["duration_ns"] for g in launches], [1200 + 525] * 3)
                self.assertEqual(len({g["graph"] for g in launches}), 1)
                self.assertIn(harness.CUPTI[version], trace.of("process")[0]["cupti_path"])

    def test_graph_nodes_on_request(self):
        run = self.profile("runtime_facts_13.0", options=["--cuda-graph-trace", "node"])
        trace = run.trace
        self.assert_clean(trace)
        self.assertEqual(trace.of("graph_launch"), [])
        nodes = [k for k in trace.of("kernel") if k["graph"] != 0]
        self.assertEqual([(k["name"], k["shape"]["grid_x"], k["duration_ns"]) for k in nodes], [("_Z6reducePfS_i", 20, 1200)] * 3)
        self.assertEqual([c["size_bytes"] for c in trace.of("memcpy") if c["graph"] != 0], [512] * 3)
        self.assertEqual(len({k["graph_node"] for k in nodes}), 1)

    def test_query_calls_only_on_request(self):
        plain = self.profile("runtime_facts_13.0").trace
        everything = self.profile("runtime_facts_13.0", options=["--cuda-trace-all-apis"]).trace
        self.assertEqual(plain.calls("cudaGetDevice"), [])
        self.assertEqual(plain.calls("cudaGetLastError"), [])
        self.assertEqual(len(everything.calls("cudaGetDevice")), 10)
        self.assertEqual(len(everything.calls("cudaGetLastError")), 6)
        # A runtime call stays one record.
        for function, count in RUNTIME_CALLS.items():
            self.assertEqual(len(everything.calls(function, domain=1)), count, function)
        self.assertEqual(everything.calls("cuLaunchKernel"), [])

    def test_only_what_is_asked_for(self):
        run = self.profile("runtime_facts_13.0", options=["--only-trace", "-t", "nvtx"])
        self.assertEqual(run.code, 7)
        trace = run.trace if harness.has_records(run.trace_path) else None
        for kind in ("api", "kernel", "memcpy") if trace else ():
            self.assertEqual(trace.of(kind), [])

    def test_cuda_alone(self):
        run = self.profile("ways_out", "return", 30, options=["--only-trace", "-t", "cuda"])
        self.assertEqual(run.code, 3)
        self.assertEqual(run.trace.of("nvtx"), [])
        self.assertEqual(len(run.trace.of("kernel")), 30)

    def test_report_sees_the_same(self):
        run = self.profile("runtime_facts_13.0")
        metrics = harness.total(self.report(run.trace_path))
        self.assertEqual(metrics["kernels.count"], 7)
        self.assertEqual(metrics["memcpy.h2d_bytes"], 12192)
        self.assertEqual(metrics["memcpy.pageable_count"], 2)
        self.assertEqual(metrics["streams.created"], 2)
        self.assertEqual(metrics["health.lost_records"], 0)


class DriverProgram(harness.Case):
    def test_facts(self):
        run = self.profile("driver_facts")
        self.assertEqual(run.code, 0, run.err)
        trace, facts = run.trace, run.facts("me")[0]
        self.assert_clean(trace)
        counts = collections.Counter(r["function"].split("_v")[0] for r in trace.of("api"))
        expected = {"cuLaunchKernel": 6, "cuModuleLoadData": 2, "cuMemAlloc": 2, "cuMemcpyHtoD": 1,
                    "cuMemcpyDtoHAsync": 1, "cuMemsetD8": 2, "cuStreamSynchronize": 1, "cuCtxSynchronize": 2}
        self.assertEqual({f: counts[f] for f in expected}, expected)
        self.assertEqual({r["domain"] for r in trace.of("api")}, {2})
        failed = [r["result"] for r in trace.of("api", function="cuLaunchKernel") if r["result"] != 0]
        self.assertEqual(failed, [facts["bad_launch"]])
        shapes = sorted((k["name"], k["shape"]["grid_x"], k["shape"]["block_x"], k["duration_ns"])
                        for k in trace.of("kernel"))
        self.assertEqual(shapes, [("first_kernel", i, 32, 1000 + 60 * i) for i in range(1, 5)]
                         + [("jit_kernel", 9, 64, 1090)])
        copies = {(c["size_bytes"], c["copy_kind"], c["source_memory"], c["destination_memory"])
                  for c in trace.of("memcpy")}
        self.assertEqual(copies, {(4096, 1, 1, 3), (1234, 2, 3, 2)})
        self.assertEqual(sorted((m["size_bytes"], m["value"], m["device"]) for m in trace.of("memset")),
                         [(77, 0x5A, 0), (128, 1, 1)])
        self.assertEqual([s["priority"] for s in trace.streams().values()], [-3])
        self.assertEqual(len(trace.of("overhead")), 2)
        self.assertEqual(len(trace.of("jit")), 1)


class ManyThreads(harness.Case):
    def check(self, run, launches):
        self.assertEqual(run.code, 0, run.err)
        trace = run.trace
        self.assert_clean(trace)
        kernels = {k["correlation"]: k for k in trace.of("kernel")}
        calls = {c["correlation"]: c["tid"] for c in trace.calls("cudaLaunchKernel")}
        threads = {t["tid"] for t in run.facts("thread")}
        self.assertEqual(len(threads), 8)
        self.assertEqual(collections.Counter(calls.values()), {tid: launches for tid in threads})
        self.assertEqual(set(kernels), set(calls))
        # Each thread has a stream of its own.
        self.assertEqual(len({(calls[c], k["stream"]) for c, k in kernels.items()}), 8)

    def test_every_launch_of_every_thread(self):
        for version in ("12.0", "13.0"):
            self.check(self.profile(f"cuda_threads_{version}", 8, 1000, version=version), 1000)

    def test_far_more_threads_than_cores(self):
        run = self.profile("cuda_threads_13.0", 100, 20)
        self.assertEqual(run.code, 0, run.err)
        trace = run.trace
        self.assert_clean(trace)
        self.assertEqual(len(trace.of("kernel")), 2000)
        self.assertEqual(len({c["tid"] for c in trace.calls("cudaLaunchKernel")}), 100)

    def test_small_buffers_in_any_order(self):
        env = {"MOCK_BUFFER_RECORDS": "17", "MOCK_SHUFFLE": "1"}
        self.check(self.profile("cuda_threads_13.0", 8, 500, env=env, options=["--flush-ms", "20"]), 500)

    def test_a_buffer_for_every_record(self):
        # Before CUPTI 12.9 the request callback must always have a buffer to give.
        for version in ("12.0", "13.0"):
            run = self.profile(f"cuda_threads_{version}", 4, 400, version=version, env={"MOCK_BUFFER_RECORDS": "1"})
            self.assertEqual(run.code, 0, run.err)
            lost = sum(r["count"] for r in run.trace.of("loss"))
            self.assertGreaterEqual(len(run.trace.of("kernel")) + lost, 1600)

    def test_correlation_ids_wrap(self):
        env = {"MOCK_CORRELATION_START": str(2**32 - 700)}
        self.check(self.profile("cuda_threads_13.0", 8, 200, env=env), 200)


if __name__ == "__main__":
    harness.main()
