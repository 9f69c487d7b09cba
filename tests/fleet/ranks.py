"""Traces of a run of many ranks, of which some are not as the others: what `gprof-cli ranks` has to find.

    python3 ranks.py --assemble R/tests/bin/assemble_trace --ranks 1024 FOLDER

Each step of a rank reads a batch, launches kernels and a collective of NCCL, and waits for it. All ranks leave a
collective at the same moment, after the last one has come.
"""

import argparse
import concurrent.futures
import os
import pathlib
import random
import subprocess

RANKS_OF_A_HOST = 8
KERNEL_NS, READ_NS, TRANSFER_NS = 100_000, 150_000, 40_000
DAY_NS = 1_790_000_000_000_000_000
SKEW_NS = 50_000_000


class Faults:
    """Which ranks, or hosts, are not as the others."""

    def __init__(self, ranks):
        self.slow_gpu = ranks * 5 // 8 + 1
        self.late_host = ranks * 3 // 8 // RANKS_OF_A_HOST
        self.more_work = ranks // 8 + 3
        self.missing = ranks * 7 // 8 + 4
        self.damaged = ranks // 4 + 5
        self.skewed_host = (ranks // 2 + 1) // RANKS_OF_A_HOST
        self.slow_rail = None


class SlowRail:
    """The GPUs with one number on each host are slow, and nothing else."""

    slow_gpu = late_host = more_work = missing = damaged = skewed_host = -1
    slow_rail = 3


class Rank:
    def __init__(self, number, ranks, faults, tells_operations):
        self.number, self.ranks, self.faults = number, ranks, faults
        self.tells_operations, self.steps = tells_operations, 0
        self.host = number // RANKS_OF_A_HOST
        chance = random.Random(self.host)
        self.boot_ns = DAY_NS - chance.randrange(10**15)  # the monotonic clock of each host began at another time
        self.skew_ns = SKEW_NS if faults and self.host == faults.skewed_host else chance.randrange(-20_000, 20_000)
        self.chance = random.Random(1000 + number)
        self.lines, self.correlation = [], 0
        is_slow = self.is_("slow_gpu") or (faults and number % RANKS_OF_A_HOST == faults.slow_rail)
        self.gemm_ns = KERNEL_NS * (13 if is_slow else 10) // 10
        self.kernels = 6 if self.is_("more_work") else 4

    def is_(self, what):
        return self.faults is not None and getattr(self.faults, what) == self.number

    def line(self, kind, **fields):
        self.lines.append(kind + "".join(f' {k}="{v}"' if isinstance(v, str) else f" {k}={v}" for k, v in fields.items()))

    def call(self, start_ns, duration_ns, function):
        self.correlation += 1
        self.line("api", start_ns=start_ns, duration_ns=duration_ns, tid=70, correlation=self.correlation, function=function,
                  domain=1)

    def kernel(self, start_ns, duration_ns, name):
        self.line("kernel", start_ns=start_ns, duration_ns=duration_ns, context=1, stream=7, correlation=self.correlation,
                  name=name)

    def begin(self, day_ns):
        self.line("chunk", pid=1000 + self.number)
        start_ns = self.ns(day_ns)
        self.line("process", start_ns=start_ns, pid=1000 + self.number, parent_pid=6, name="train",
                  command_line="python train.py", host=f"node{self.host:03}", tracer_version="0.2.0", rank=self.number,
                  local_rank=self.number % RANKS_OF_A_HOST, world_size=self.ranks, rank_source="torchrun")
        self.line("device", name="NVIDIA H200", uuid=f"GPU-{self.number:04}", sm_count=132, pcie_generation=5, pcie_lanes=16)
        self.line("context", context=1, null_stream=7)
        self.line("thread", tid=70, name="main")
        self.line("clock", monotonic_ns=start_ns, realtime_ns=day_ns + self.skew_ns, uncertainty_ns=50)

    def ns(self, day_ns):
        """On the clock of its trace."""
        return day_ns - self.boot_ns

    def work(self, day_ns):
        """A step until its collective; when that begins."""
        at_ns = self.ns(day_ns)
        self.line("nvtx", time_ns=at_ns, tid=70, event=2, message="step")
        read_ns = (4 if self.faults and self.host == self.faults.late_host else 1) * READ_NS + self.chance.randrange(4000)
        self.line("os_call", start_ns=at_ns + 1000, duration_ns=read_ns, tid=70, function="read", object_kind=10, object=6,
                  path="/data/shard.bin", size_bytes=1 << 20, result=1 << 20)
        at_ns += read_ns + 2000
        gpu_ns = 0
        for _ in range(self.kernels):
            self.call(at_ns, 3000, "cudaLaunchKernel")
            duration_ns = self.gemm_ns + self.chance.randrange(1000)
            start_ns = max(at_ns + 5000, gpu_ns + 500)
            self.kernel(start_ns, duration_ns, "gemm")
            gpu_ns = start_ns + duration_ns
            at_ns += 4000
        self.call(at_ns, 3000, "cudaLaunchKernel")
        if self.tells_operations:
            self.line("collective", start_ns=at_ns - 500, duration_ns=4000, tid=70, function="AllReduce", communicator=77,
                      sequence=self.steps, size_bytes=1 << 20, ranks=self.ranks, rank=self.number)
        self.steps += 1
        self.waits_from_ns, self.arrived_ns = at_ns + 4000, gpu_ns + 500
        return self.arrived_ns + self.boot_ns

    def leave(self, day_ns):
        """The end of the collective; when the step ends."""
        end_ns = self.ns(day_ns) + self.chance.randrange(2000)
        self.kernel(self.arrived_ns, end_ns - self.arrived_ns, "ncclDevKernel_AllReduce_Sum_f32_RING_LL")
        self.call(self.waits_from_ns, end_ns + 4000 - self.waits_from_ns, "cudaStreamSynchronize")
        self.line("nvtx", time_ns=end_ns + 5000, tid=70, event=3)
        return end_ns + 5000 + self.boot_ns

    def write_chunk(self):
        """What follows is in a chunk of its own: damage there leaves what is before it."""
        self.line("chunk", pid=1000 + self.number)

    def end(self, day_ns):
        self.line("end", time_ns=self.ns(day_ns), reason=1)
        return "\n".join(self.lines) + "\n"


def texts(ranks, steps, faults, with_operations=False):
    """(file name, records as text) of each rank but the missing one."""
    all_ranks = [Rank(number, ranks, faults, with_operations) for number in range(ranks)]
    for rank in all_ranks:
        rank.begin(DAY_NS)
    at_ns = [DAY_NS + 1_000_000] * ranks
    for step in range(steps):
        if step == steps // 2:
            for rank in all_ranks:
                rank.write_chunk()
        end_ns = max(rank.work(at_ns[rank.number]) for rank in all_ranks) + TRANSFER_NS
        at_ns = [rank.leave(end_ns) for rank in all_ranks]
    for rank in all_ranks:
        if not rank.is_("missing"):
            yield f"rank{rank.number}.trace", rank.end(at_ns[rank.number] + 1_000_000)


def write(folder, assemble, ranks, steps=40, with_faults=True, with_operations=False, faults=None):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    faults = faults or Faults(ranks)

    def one(entry):
        name, text = entry
        made = subprocess.run([assemble], input=text.encode(), capture_output=True, check=True).stdout
        if with_faults and name == f"rank{faults.damaged}.trace":
            made = made[: len(made) * 7 // 10]
        (folder / name).write_bytes(made)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, texts(ranks, steps, faults if with_faults else None, with_operations)))
    return faults


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--assemble", required=True)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--steps", type=int, default=40)
    arguments = parser.parse_args()
    write(arguments.folder, arguments.assemble, arguments.ranks, arguments.steps)
