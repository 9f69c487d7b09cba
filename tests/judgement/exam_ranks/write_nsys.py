"""Facts of ranks as an SQLite export of Nsight Systems: one for each rank, or one of a node with all its processes."""

import json
import sqlite3

from simulate import DAY_NS, MS

SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_NAME', 'NVIDIA Nsight Systems'), ('EXPORT_PRODUCT_VERSION', '2026.2.1.210'), ('EXPORT_SCHEMA_VERSION', '3.25.0');
CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);
INSERT INTO META_DATA_CAPTURE VALUES ('CAPTURE_EVENT_TYPE', 'NvtxEvents'), ('CAPTURE_EVENT_TYPE', 'Cuda'), ('CAPTURE_EVENT_TYPE', 'OsrtEvents');
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, systemClockNs INTEGER);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum INTEGER NOT NULL, value TEXT NOT NULL);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, smCount INTEGER, uuid TEXT, cuDevice INTEGER, computeMajor INTEGER, computeMinor INTEGER,
  clockRate INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, threadsPerWarp INTEGER, maxWarpsPerSm INTEGER, maxBlocksPerSm INTEGER, maxThreadsPerBlock INTEGER);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT);
CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId INTEGER, hwId INTEGER, vmId INTEGER, processId INTEGER, deviceId INTEGER, contextId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,
  streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,
  registersPerThread INTEGER NOT NULL, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER,
  dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER, localMemoryTotal INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,
  nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER,
  endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, jsonText TEXT);
CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL,
  returnValue INTEGER NOT NULL, nestingLevel INTEGER, callchainId INTEGER NOT NULL);
"""
COPIES = {"HtoD": 1, "DtoH": 2, "DtoD": 8}


class Export:
    def __init__(self, path, job, host):
        path.unlink(missing_ok=True)
        self.db = sqlite3.connect(path)
        self.db.executescript("PRAGMA synchronous=OFF;" + SCHEMA)
        self.job, self.strings = job, {}
        self.begin_ns = DAY_NS - 3 * 10**9
        skew_ns = int(job["skew_ms"].get(str(host), 0) * MS)
        self.insert("TARGET_INFO_SESSION_START_TIME", (self.begin_ns + skew_ns, "2026-09-21T14:13:17", "2026-09-21T14:13:17", 35 * 10**9))
        self.insert("TARGET_INFO_SYSTEM_ENV", (0, "Local (CLI)", "Hostname", 1, f"node{host:02}"))
        self.insert("TARGET_INFO_SYSTEM_ENV", (0, "Local (CLI)", "CudaDriverVersion", 2, "13000"))

    def insert(self, table, row, columns=""):
        self.db.execute(f"INSERT INTO {table} {columns} VALUES ({','.join('?' * len(row))})", row)

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            self.insert("StringIds", (self.strings[text], text))
        return self.strings[text]

    def ns(self, t):
        return int(t - self.begin_ns)

    def rank(self, rank, device):
        pid = 3100 + 7 * rank.number
        self.pid, self.device = (1 << 48) + (pid << 24), device
        self.insert("PROCESSES", (self.pid, pid, "python3"))
        self.insert("NVTX_EVENTS", (0, None, 75, None, None, None, "NCCL", self.pid + pid, None, None, 1, None))
        for tid in sorted({f["tid"] for _, f in rank.facts if "tid" in f}):
            self.insert("ThreadNames", (self.string({0: "python3", 2: "pt_autograd_0"}.get(tid, "worker")), 20, self.pid + pid + tid))
        uuid = f"5d1f{rank.number:04x}-0000-4c0e-9a00-{rank.node:012x}"
        self.insert("TARGET_INFO_GPU", (0, device, self.job["gpu"], 132, uuid, device, 9, 0, 1980000000, 150109880320, 4814304000000, 32, 64, 32, 1024))
        self.insert("TARGET_INFO_CUDA_DEVICE", (device, device, pid, uuid))
        self.insert("TARGET_INFO_CUDA_CONTEXT_INFO", (7, 0, 0, pid, device, 1))
        for kind, fields in rank.facts:
            self.fact(rank, kind, fields, self.pid + pid + fields.get("tid", 0))

    def op(self, rank, op):
        if not rank.is_seen(op):
            return
        if op.kind == "kernel":
            name = self.string(op.name)
            short = self.string(op.name.split("(")[0].split("<")[0].split("::")[-1].replace("void ", "") or op.name)
            self.insert("CUPTI_ACTIVITY_KIND_KERNEL", (self.ns(op.start), self.ns(op.end), self.device, 1, None, op.stream, op.what["correlation"], self.pid, name, short, None,
                                                       96, *op.what["grid"], *op.what["block"], 0, 49152, 0, 0))
        else:
            host = 0 if op.what["pageable"] else 1
            source, destination = {"HtoD": (host, 2), "DtoH": (2, host), "DtoD": (2, 2)}[op.name]
            self.insert("CUPTI_ACTIVITY_KIND_MEMCPY", (self.ns(op.start), self.ns(op.end), self.device, 1, op.stream, op.what["correlation"], self.pid, op.what["size"],
                                                       COPIES[op.name], source, destination))

    def fact(self, rank, kind, f, tid):
        if kind == "op":
            self.op(rank, f["op"])
        elif kind == "call":
            version = "" if f["driver"] else "_v3020" if "Launch" not in f["function"] else "_v7000"
            self.insert("CUPTI_ACTIVITY_KIND_RUNTIME", (self.ns(f["start"]), self.ns(f["start"] + f["ns"]), 1 if f["driver"] else 0, tid, f["correlation"],
                                                        self.string(f["function"] + version), 0, None))
        elif kind == "sync":
            self.insert("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", (self.ns(f["start"]), self.ns(f["start"] + max(100, f["ns"])), self.device, 1, f["stream"], f["correlation"],
                                                                self.pid, 3 if f["stream"] else 4, 0))
        elif kind == "range":
            self.insert("NVTX_EVENTS", (self.ns(f["start"]), self.ns(f["end"]), 59, None, None, None, f["name"], tid, None, None, 0, None))
        elif kind == "collective" and self.job["comms"]:
            text = json.dumps({"NCCL communicator ID": f["comm"].ident, "Message size [bytes]": f["size"]})
            self.insert("NVTX_EVENTS", (self.ns(f["start"] - 300), self.ns(f["start"] + f["ns"]), 59, None, None, None, "nccl" + f["function"], tid, None, None, 1, text))
        elif kind == "os" and self.job["os_calls"]:
            self.insert("OSRT_API", (self.ns(f["start"]), self.ns(f["start"] + f["ns"]), 27, tid, None, self.string(f["function"]), 0, None, 0))

    def close(self):
        self.db.commit()
        self.db.close()


def write(folder, ranks, assemble=None):
    job = ranks[0].job
    if job["one_file"]:
        path = folder / job.get("file_name", "node0.sqlite")
        export = Export(path, job, 0)
        for rank in ranks:
            export.rank(rank, rank.local)
        export.close()
        return [path]
    paths = []
    for rank in ranks:
        path = folder / job.get("file_name", "report_rank{}.sqlite").format(rank.number)
        export = Export(path, job, rank.node)
        export.rank(rank, 0)
        export.close()
        paths.append(path)
    return paths
