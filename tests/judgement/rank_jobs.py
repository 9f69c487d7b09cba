"""Traces of jobs of many ranks whose delays are known, as they are made by a small model of training: see rank_labels.json.

In each step a rank reads its input, works on the host, copies, runs kernels, and meets the others in the collectives of its
groups, one group after the other. Nobody leaves a collective before its last member has come.
"""

import concurrent.futures
import os
import pathlib
import random
import subprocess

DAY_NS = 1_790_000_000_000_000_000
RANKS_OF_A_HOST, TRANSFER_NS, CALL_NS = 8, 30_000, 3_000
USUAL = {"read_us": 50, "host_us": 100, "kernels": 6, "kernel_us": 150, "copy_us": 40, "clock_mhz": 1980, "stall_every": 0, "stall_us": 0}


def groups_of(kind, ranks):
    """Communicators in the order in which a step uses them: lists of ranks."""
    everybody = [list(range(ranks))]
    if kind == "none":
        return []
    if kind.startswith("tensor"):  # "tensor4": groups of 4 neighbours, then data parallel across them
        size = int(kind[len("tensor"):])
        tensor = [list(range(first, first + size)) for first in range(0, ranks, size)]
        data = [list(range(place, ranks, size)) for place in range(size)]
        return tensor + [group for group in data if len(group) > 1]
    return everybody


class Rank:
    def __init__(self, number, job):
        self.number, self.job = number, job
        self.what = {**USUAL, **job["all"], **job["slow"].get(str(number), {})}
        self.host = number // RANKS_OF_A_HOST
        self.boot_ns = DAY_NS - 1_000_000_000 * (self.host + 1)
        self.skew_ns = job["skew_ms"].get(str(self.host), 0) * 1_000_000
        self.chance = random.Random(number)
        self.lines, self.correlation, self.at_ns, self.gpu_ns = [], 0, DAY_NS, DAY_NS
        self.sequence = {}
        self.has_gpu = job["gpu"]

    def line(self, kind, **fields):
        self.lines.append(kind + "".join(f' {k}="{v}"' if isinstance(v, str) else f" {k}={v}" for k, v in fields.items()))

    def ns(self, day_ns):
        return day_ns - self.boot_ns

    def jitter(self, ns):
        return int(ns * self.chance.uniform(0.99, 1.01))

    def begin(self):
        pid, start_ns = 1000 + self.number, self.ns(DAY_NS)
        self.line("chunk", pid=pid)
        named = {"rank": self.number, "local_rank": self.number % RANKS_OF_A_HOST, "world_size": self.job["ranks"], "rank_source": "torchrun"}
        self.line("process", start_ns=start_ns, pid=pid, name="train", command_line="python train.py", host=f"node{self.host:02}",
                  tracer_version="0.2.0", **(named if self.job["numbered"] else {}))
        if self.has_gpu:
            self.line("device", name="NVIDIA H200", uuid=f"GPU-{self.number}", sm_count=132, pcie_generation=5, pcie_lanes=16)
            self.line("context", context=1, null_stream=7)
        self.line("thread", tid=70, name="main")
        self.line("clock", monotonic_ns=start_ns, realtime_ns=DAY_NS + self.skew_ns, uncertainty_ns=50)
        self.at_ns += 1_000_000

    def push(self, name):
        self.line("nvtx", time_ns=self.ns(self.at_ns), tid=70, event=2, message=name)

    def pop(self):
        self.line("nvtx", time_ns=self.ns(self.at_ns), tid=70, event=3)

    def launch(self, start_ns, duration_ns, kind="kernel", **fields):
        self.correlation += 1
        function = "cudaLaunchKernel" if kind == "kernel" else "cudaMemcpyAsync"
        self.line("api", start_ns=self.ns(self.at_ns), duration_ns=CALL_NS, tid=70, correlation=self.correlation, function=function, domain=1)
        self.at_ns += CALL_NS
        begin_ns = max(self.at_ns + 2000, self.gpu_ns + 500, start_ns)
        self.line(kind, start_ns=self.ns(begin_ns), duration_ns=duration_ns, context=1, stream=7, correlation=self.correlation, **fields)
        self.gpu_ns = begin_ns + duration_ns

    def work(self, step):
        what = self.what
        self.push("step")
        self.push("load")
        read_ns = self.jitter(what["read_us"] * 1000)
        self.line("os_call", start_ns=self.ns(self.at_ns), duration_ns=read_ns, tid=70, function="read", object_kind=10, object=6,
                  path="/data/shard.bin", size_bytes=1 << 20, result=1 << 20)
        self.at_ns += read_ns + 1000
        self.pop()
        self.push("augment")
        stall_ns = what["stall_us"] * 1000 if what["stall_every"] and step % what["stall_every"] == 0 else 0
        self.at_ns += self.jitter(what["host_us"] * 1000) + stall_ns
        self.pop()
        if not self.has_gpu:
            self.push("compute")
            self.at_ns += self.jitter(what["kernels"] * what["kernel_us"] * 1000)
            self.pop()
            return
        self.launch(0, self.jitter(what["copy_us"] * 1000), "memcpy", copy_kind=1, source_memory=2, destination_memory=3, size_bytes=what["copy_us"] * 50_000)
        for _ in range(what["kernels"]):
            self.launch(0, self.jitter(what["kernel_us"] * 1000), name="gemm")

    def arrive(self, communicator, members):
        """When it is ready for a collective."""
        self.called_ns = self.at_ns
        if not self.has_gpu:
            return self.at_ns
        self.correlation += 1
        self.line("api", start_ns=self.ns(self.at_ns), duration_ns=CALL_NS, tid=70, correlation=self.correlation, function="cuLaunchKernelEx", domain=2)
        if self.job["tells_communicators"]:
            sequence = self.sequence[communicator] = self.sequence.get(communicator, -1) + 1
            self.line("collective", start_ns=self.ns(self.at_ns) - 500, duration_ns=4000, tid=70, function="AllReduce", communicator=communicator,
                      sequence=sequence, size_bytes=1 << 20, ranks=len(members), rank=members.index(self.number))
        self.at_ns += CALL_NS + 1500
        self.begin_ns = max(self.at_ns, self.gpu_ns + 500)
        return self.begin_ns

    def leave(self, end_ns, members):
        end_ns += self.chance.randrange(1500)
        if not self.has_gpu:
            self.line("mpi_call", start_ns=self.ns(self.called_ns), duration_ns=end_ns - self.called_ns, tid=70, function="MPI_Allreduce",
                      communicator=1, communicator_size=len(members), sent_bytes=8, received_bytes=8)
            self.at_ns = end_ns
            return
        self.line("kernel", start_ns=self.ns(self.begin_ns), duration_ns=end_ns - self.begin_ns, context=1, stream=7, correlation=self.correlation,
                  name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")
        self.gpu_ns = end_ns

    def end_step(self):
        if self.has_gpu:
            self.correlation += 1
            end_ns = max(self.gpu_ns, self.at_ns) + 3000
            self.line("api", start_ns=self.ns(self.at_ns), duration_ns=end_ns - self.at_ns, tid=70, correlation=self.correlation,
                      function="cudaStreamSynchronize", domain=1)
            self.at_ns = end_ns + 1000
        self.pop()
        self.at_ns += 5000

    def text(self):
        if self.has_gpu and self.job["gpu_metrics"]:
            self.line("metric_source", time_ns=self.ns(DAY_NS), id=1, name="SM clock", unit="MHz", origin="nvml", metric_kind=1, scope=4,
                      period_ns=100000000, device_uuid=f"GPU-{self.number}")
            for i in range(8):
                at_ns = DAY_NS + (self.at_ns - DAY_NS) * i // 8
                self.line("metric_block", start_ns=self.ns(at_ns), source=1, value=self.what["clock_mhz"])
        self.line("end", time_ns=self.ns(self.at_ns) + 1_000_000, reason=1)
        return "\n".join(self.lines) + "\n"


def complete(job):
    usual = {"groups": "all", "steps": 12, "slow": {}, "all": {}, "skew_ms": {}, "missing": [], "gpu": True, "numbered": True,
             "tells_communicators": True, "gpu_metrics": False}
    return {**usual, **job}


def texts(job):
    """(file name, records as text) of each rank that is not missing."""
    job = complete(job)
    ranks = [Rank(number, job) for number in range(job["ranks"])]
    groups = groups_of(job["groups"], job["ranks"])
    for rank in ranks:
        rank.begin()
    for step in range(job["steps"]):
        for rank in ranks:
            rank.work(step)
        for number, members in enumerate(groups):
            end_ns = max(ranks[member].arrive(100 + number, members) for member in members) + TRANSFER_NS
            for member in members:
                ranks[member].leave(end_ns, members)
        for rank in ranks:
            rank.end_step()
    for rank in ranks:
        if rank.number not in job["missing"]:
            yield f"run_{rank.number}.trace", rank.text()


def write(folder, assemble, job):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)

    def one(entry):
        name, text = entry
        (folder / name).write_bytes(subprocess.run([assemble], input=text.encode(), capture_output=True, check=True).stdout)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, texts(job)))
