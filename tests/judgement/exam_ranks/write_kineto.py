"""Facts of a rank as torch.profiler writes them: a JSON of Trace Events for each rank, of CUDA or of ROCm."""

import gzip
import json

from simulate import DAY_NS, MS

BASE_NS = 1_789_000_000_000_000_000
HIP = {"cudaLaunchKernel": "hipLaunchKernel", "cuLaunchKernelEx": "hipExtModuleLaunchKernel", "cudaMemcpyAsync": "hipMemcpyWithStream",
       "cudaStreamSynchronize": "hipStreamSynchronize", "cudaDeviceSynchronize": "hipDeviceSynchronize", "cudaEventRecord": "hipEventRecord",
       "cudaStreamWaitEvent": "hipStreamWaitEvent"}
MI300 = {"nvjet_hsh_": "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_", "ncclDevKernel_": "ncclDevKernel_Generic_1("}
COPIES = {"HtoD": ("Memcpy HtoD ({} -> Device)"), "DtoH": ("Memcpy DtoH (Device -> {})"), "DtoD": "Memcpy DtoD (Device -> Device)"}


class Events:
    def __init__(self, rank):
        self.rank, self.job = rank, rank.job
        self.is_rocm = "MI" in self.job["gpu"]
        self.pid = 3100 + 7 * rank.number
        self.skew_ns = int(self.job["skew_ms"].get(str(rank.node), 0) * MS)
        self.device = rank.local
        self.events = []

    def ts(self, t):
        return round((t + self.skew_ns - BASE_NS) / 1000, 3)

    def add(self, cat, name, start, ns, tid, args, pid=None):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": self.pid if pid is None else pid, "tid": tid, "ts": self.ts(start),
                            "dur": round(ns / 1000, 3), "args": args})

    def function(self, name):
        return HIP.get(name, name) if self.is_rocm else name

    def kernel_name(self, name):
        if self.is_rocm:
            for begin, other in MI300.items():
                if name.startswith(begin):
                    return other + ("ncclDevKernelArgsStorage<4096ul>)" if "nccl" in begin else name[len(begin):])
        return name

    def op(self, op):
        if not self.rank.is_seen(op):
            return
        where = {"device": self.device, "stream": op.stream, "correlation": op.what["correlation"], **({} if self.is_rocm else {"context": self.device + 1})}
        if op.kind == "kernel":
            more = {}
            if "comm" in op.what:
                comm = op.what["comm"]
                more = {"Collective name": {"AllReduce": "allreduce", "AllGather": "_allgather_base", "ReduceScatter": "_reduce_scatter_base", "AlltoAll": "all_to_allv",
                                            "Send": "send", "Recv": "recv"}.get(op.what["function"], "broadcast"),
                        "In msg nelems": op.what["size"] // 2, "Group size": len(comm.members), "dtype": "BFloat16", "Process Group Name": str(comm.ident),
                        "Process Group Description": comm.name, "Process Group Ranks": str(list(comm.members))}
            if "graph" in op.what:
                more = {"graph id": op.what["graph"], "graph node id": op.what["node"]}
            self.add("kernel", self.kernel_name(op.name), op.start, op.end - op.start, op.stream,
                     {**where, "queued": 0, "registers per thread": 96, "shared memory": 49152, "grid": list(op.what["grid"]), "block": list(op.what["block"]), **more},
                     pid=self.device)
        else:
            host = "Pageable" if op.what["pageable"] else "Pinned"
            self.add("gpu_memcpy", COPIES[op.name].format(host), op.start, op.end - op.start, op.stream, {**where, "bytes": op.what["size"]}, pid=self.device)
        self.events.append({"ph": "f", "id": op.what["correlation"], "pid": self.device, "tid": op.stream, "ts": self.ts(op.start), "cat": "ac2g", "name": "ac2g", "bp": "e"})

    def fact(self, kind, f):
        tid = self.pid + f.get("tid", 0)
        if kind == "op":
            self.op(f["op"])
        elif kind == "range":
            category = "cpu_op" if f.get("domain") == "op" or f["name"].startswith("aten::") else "user_annotation"
            self.add(category, f["name"], f["start"], f["end"] - f["start"], tid, {"External id": len(self.events), "Ev Idx": len(self.events)})
        elif kind == "call":
            self.add("cuda_driver" if f["driver"] and not self.is_rocm else "cuda_runtime", self.function(f["function"]), f["start"], f["ns"], tid,
                     {"cbid": 211, "correlation": f["correlation"]})
            self.events.append({"ph": "s", "id": f["correlation"], "pid": self.pid, "tid": tid, "ts": self.ts(f["start"]), "cat": "ac2g", "name": "ac2g"})
        elif kind == "sync" and not self.is_rocm:
            name = "Stream Sync" if f["stream"] else "Context Sync"
            self.add("cuda_sync", name, f["start"], max(100, f["ns"]), f["stream"] or -1, {"cuda_sync_kind": name, "stream": f["stream"] or -1, "correlation": f["correlation"],
                     "device": self.device, "context": self.device + 1}, pid=self.device)
        elif kind == "collective":
            comm = f["comm"]
            self.add("cpu_op", "record_param_comms", f["start"] - 900, f["ns"] + 800, tid, {"Collective name": f["function"].lower(), "Group size": len(comm.members),
                     "Process Group Name": str(comm.ident), "Process Group Description": comm.name, "Process Group Ranks": str(list(comm.members))})
        elif kind == "python" and self.job["with_stack"]:
            path, first, _, name = f["frame"]
            self.add("python_function", f"{path}({first}): {name}", f["start"], f["end"] - f["start"], tid, {"Python id": len(self.events)})
        elif kind == "os" and self.job["with_stack"]:
            name = {"pthread_cond_timedwait": "<built-in method acquire of _thread.lock object at 0x7f31>", "read": "<method 'read' of '_io.BufferedReader' objects>",
                    "write": "<method 'write' of '_io.BufferedWriter' objects>", "sendto": "<method 'sendall' of '_socket.socket' objects>"}.get(f["function"])
            if name:
                self.add("python_function", name, f["start"], f["ns"], tid, {"Python id": len(self.events)})

    def document(self):
        rank, job = self.rank, self.job
        begin = min([f["start"] for _, f in rank.facts if "start" in f] + [rank.t])
        self.events.append({"name": "process_name", "ph": "M", "ts": self.ts(begin), "pid": self.pid, "tid": 0, "args": {"name": "python3"}})
        for kind, fields in rank.facts:
            self.fact(kind, fields)
        self.add("Trace", "PyTorch Profiler (0)", begin - 200, rank.t - begin + 400, "PyTorch Profiler", {"Op count": 0}, pid="Spans")
        document = {"schemaVersion": 1, "deviceProperties": [{"id": self.device, "name": job["gpu"], "totalGlobalMem": 150109880320, "computeMajor": 9, "computeMinor": 0,
                                                              "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048, "warpSize": 32, "numSms": 132}]}
        if not job["has_gpu"]:
            document["deviceProperties"] = []
        if job["numbered"]:
            document["distributedInfo"] = {"backend": "nccl" if job["has_gpu"] else "gloo", "rank": rank.number, "world_size": job["ranks"], "pg_count": 1,
                                           "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": job["ranks"],
                                                          "ranks": list(range(job["ranks"]))}], "nccl_version": "2.27.5"}
        document.update({"cupti_version": 26, "cuda_runtime_version": 12080, "cuda_driver_version": 13000} if not self.is_rocm else {"roctracer_version": 4.1})
        document.update({"with_stack": int(job["with_stack"]), "displayTimeUnit": "ms", "baseTimeNanoseconds": BASE_NS, "traceEvents": self.events})
        return document


def write(folder, ranks, assemble=None):
    paths = []
    for rank in ranks:
        name = rank.job.get("file_name", "rank{}.pt.trace.json.gz").format(rank.number)
        path = folder / name
        text = json.dumps(Events(rank).document()).encode()
        path.write_bytes(gzip.compress(text, 1, mtime=0) if name.endswith(".gz") else text)
        paths.append(path)
    return paths
