"""Traces of ranks whose work within each step is known: who works when, and who waits for whom.

A step is a list of things that the ranks do in this order: work(rank, ns), send(from, to), together(ranks). Each rank does
its own things one after the other, and waits where the other side is not there yet; if `eager`, a sender goes on at once, and
so does the last one to come, which hardly waits. What follows from it is in Facts.
"""

import collections
import subprocess

DAY_NS = 1_790_000_000_000_000_000
TRANSFER_NS, CALL_NS = 20_000, 3_000
COMMUNICATOR = 77


def work(rank, ns):
    return ("work", rank, ns)


def send(sender, receiver):
    return ("send", sender, receiver)


def together(*ranks):
    return ("together", ranks)


class Facts:
    """Of all steps: how long they take, and how long each rank works and waits in them."""

    def __init__(self, ranks):
        self.work_ns, self.wait_ns = [0] * ranks, [0] * ranks
        self.step_ns = 0


class Rank:
    def __init__(self, number, ranks, by, hosts, skew_ns):
        self.number, self.ranks, self.by = number, ranks, by
        self.host = number * hosts // ranks
        self.boot_ns = DAY_NS - 1_000_000_000 * (self.host + 1)
        self.skew_ns = skew_ns * self.host
        self.lines, self.correlation, self.sequence = [], 0, collections.Counter()
        self.at_ns = DAY_NS

    def line(self, kind, **fields):
        self.lines.append(kind + "".join(f' {k}="{v}"' if isinstance(v, str) else f" {k}={v}" for k, v in fields.items()))

    def ns(self, day_ns):
        return day_ns - self.boot_ns

    def begin(self):
        pid, start_ns = 1000 + self.number, self.ns(DAY_NS)
        self.line("chunk", pid=pid)
        self.line("process", start_ns=start_ns, pid=pid, parent_pid=6, name="train", command_line="train",
                  host=f"node{self.host}", tracer_version="0.2.0", rank=self.number, local_rank=self.number,
                  world_size=self.ranks, rank_source="torchrun")
        self.line("device", name="NVIDIA H200", uuid=f"GPU-{self.number}", sm_count=132)
        self.line("context", context=1, null_stream=7)
        self.line("thread", tid=70, name="main")
        self.line("clock", monotonic_ns=start_ns, realtime_ns=DAY_NS + self.skew_ns, uncertainty_ns=50)
        self.operation(DAY_NS + 10_000, DAY_NS + 20_000, "warm")
        self.at_ns = DAY_NS + 1_000_000

    def operation(self, start_ns, end_ns, name):
        """A kernel that is launched just before it starts."""
        self.correlation += 1
        self.line("api", start_ns=self.ns(start_ns) - 1500, duration_ns=1000, tid=70, correlation=self.correlation,
                  function="cudaLaunchKernel", domain=1)
        self.line("kernel", start_ns=self.ns(start_ns), duration_ns=end_ns - start_ns, context=1, stream=7,
                  correlation=self.correlation, name=name)

    def works(self, ns):
        self.operation(self.at_ns, self.at_ns + ns, "gemm")
        self.at_ns += ns

    def waits(self, until_ns, function, peer):
        """From now on, in an operation of NCCL, or of MPI."""
        if self.by == "mpi":
            name = {"Send": "MPI_Send", "Recv": "MPI_Recv", "AllReduce": "MPI_Allreduce"}[function]
            self.line("mpi_call", start_ns=self.ns(self.at_ns) + 100, duration_ns=until_ns - self.at_ns - 1700, tid=70, pid=1000 + self.number,
                      function=name, communicator=1, communicator_size=self.ranks, peer=peer, sent_bytes=8, received_bytes=8)
        else:
            kernel = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)" if peer >= 0 else "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
            self.operation(self.at_ns, until_ns, kernel)
            if self.by == "nccl":
                self.line("collective", start_ns=self.ns(self.at_ns) - 2000, duration_ns=1800, tid=70, pid=1000 + self.number,
                          function=function, communicator=COMMUNICATOR, sequence=self.sequence[function], size_bytes=1 << 20,
                          ranks=self.ranks, rank=self.number, peer=peer)
                self.sequence[function] += 1
        self.at_ns = until_ns


def make(steps, ranks, by="nccl", hosts=1, skew_ns=0, eager=False):
    """(texts of the traces, Facts). `steps` is a list of steps; `by` says what tells of waits: nccl, names or mpi."""
    all_ranks = [Rank(number, ranks, by, hosts, skew_ns) for number in range(ranks)]
    facts = Facts(ranks)
    for rank in all_ranks:
        rank.begin()
    for step in steps:
        begin_ns = [rank.at_ns for rank in all_ranks]
        for rank in all_ranks:
            rank.line("nvtx", time_ns=rank.ns(rank.at_ns) - 2500, tid=70, event=2, message="step")
        for what, *how in step:
            if what == "work":
                all_ranks[how[0]].works(how[1])
                facts.work_ns[how[0]] += how[1]
                continue
            partners = [all_ranks[i] for i in (how if what == "send" else how[0])]
            last_ns = partners[0].at_ns if what == "send" and eager else max(rank.at_ns for rank in partners)
            for place, rank in enumerate(partners):
                goes_on = eager and (place == 0 if what == "send" else rank.at_ns == last_ns)
                end_ns = rank.at_ns + CALL_NS if goes_on else max(rank.at_ns, last_ns) + TRANSFER_NS
                facts.wait_ns[rank.number] += end_ns - rank.at_ns
                if what == "send":
                    rank.waits(end_ns, ("Send", "Recv")[place], partners[1 - place].number)
                else:
                    rank.waits(end_ns, "AllReduce", -1)
        end_ns = max(rank.at_ns for rank in all_ranks)
        facts.step_ns += end_ns - min(begin_ns)
        for rank in all_ranks:
            rank.line("nvtx", time_ns=rank.ns(rank.at_ns) + 500, tid=70, event=3)
            rank.at_ns += 5000
    for rank in all_ranks:
        rank.operation(rank.at_ns, rank.at_ns + 1000, "last")
        rank.line("end", time_ns=rank.ns(rank.at_ns) + 1_000_000, reason=1)
    return ["\n".join(rank.lines) + "\n" for rank in all_ranks], facts


def write(folder, assemble, steps, ranks, **how):
    texts, facts = make(steps, ranks, **how)
    folder.mkdir()
    for number, text in enumerate(texts):
        made = subprocess.run([assemble], input=text.encode(), capture_output=True, check=True).stdout
        (folder / f"rank{number}.trace").write_bytes(made)
    return facts
