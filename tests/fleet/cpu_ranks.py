"""Traces of ranks without a GPU, with steps of NVTX, reads of files and collectives of MPI: one of them is slow."""

import subprocess

MS = 1_000_000


class CpuRank:
    def __init__(self, number, ranks, has_mpi=False, knows_rank=True, host="node"):
        self.number, self.ranks, self.has_mpi = number, ranks, has_mpi
        self.lines = [f"chunk pid={1000 + number}"]
        rank = f' rank={number} world_size={ranks} rank_source="Slurm"' if knows_rank else ""
        self.lines += [f'process start_ns=100 pid={1000 + number} name="solve" command_line="./solve" host="{host}" tracer_version="0.2.0"' + rank,
                       'thread tid=70 name="main"']
        self.at_ns = MS

    def begin(self, name):
        self.lines.append(f'nvtx time_ns={self.at_ns} tid=70 event=2 message="{name}"')

    def end(self):
        self.lines.append(f"nvtx time_ns={self.at_ns} tid=70 event=3")

    def run(self, name, ns):
        self.begin(name)
        self.at_ns += ns
        self.end()

    def read(self, path, ns):
        self.lines.append(f'os_call start_ns={self.at_ns} duration_ns={ns} tid=70 function="read" object_kind=10 object=6 path="{path}" size_bytes=1048576 result=1048576')
        self.at_ns += ns

    def allreduce(self, until_ns):
        self.lines.append(f'mpi_call start_ns={self.at_ns} duration_ns={until_ns - self.at_ns} tid=70 function="MPI_Allreduce" communicator=1 '
                          f"communicator_size={self.ranks} sent_bytes=8 received_bytes=8")
        self.at_ns = until_ns

    def text(self):
        return "\n".join([*self.lines, f"end time_ns={self.at_ns + 1000} reason=1", ""])


def write(folder, assemble, ranks, steps, slow, reads=False, **how):
    """The slow rank takes 4 ms in each `load`, the others 1 ms."""
    folder.mkdir(parents=True, exist_ok=True)
    all_ranks = [CpuRank(number, ranks, **how) for number in range(ranks)]
    for _ in range(steps):
        for rank in all_ranks:
            load_ns = (4 if rank.number == slow else 1) * MS + rank.number * 1000
            rank.begin("step")
            if reads:
                rank.begin("load")
                rank.read("/data/shard.bin", load_ns - 10_000)
                rank.at_ns += 10_000
                rank.end()
            else:
                rank.run("load", load_ns)
            rank.run("compute", 2 * MS)
        if how.get("has_mpi"):
            end_ns = max(rank.at_ns for rank in all_ranks) + 20_000
            for rank in all_ranks:
                rank.allreduce(end_ns)
        for rank in all_ranks:
            rank.end()
            rank.at_ns += 10_000
    for rank in all_ranks:
        made = subprocess.run([assemble], input=rank.text().encode(), capture_output=True, check=True).stdout
        (folder / f"rank_{rank.number}.trace").write_bytes(made)
