"""Facts of a rank as the text of a native trace (docs/trace-format.md), which assemble_trace makes into one."""

import subprocess

from simulate import DAY_NS, MS

TID, CHUNK = 7000, 400
TIMELESS = ("chunk", "process", "module", "metric_source")
KINDS = {"HtoD": 1, "DtoH": 2, "DtoD": 8}
DEVICE = dict(sm_count=132, compute_major=9, sm_clock_khz=1980000, memory_bytes=150109880320, memory_bytes_per_second=4814304000000,
              max_threads_per_sm=2048, max_blocks_per_sm=32, max_registers_per_sm=65536, max_shared_bytes_per_sm=233472,
              max_threads_per_block=1024, warp_size=32, pcie_generation=5, pcie_lanes=16)


def value_of(value):
    if isinstance(value, bytes):
        return '"' + "".join(f"\\x{byte:02x}" for byte in value) + '"'
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, dict):
        return "{" + " ".join(f"{k}={v}" for k, v in value.items()) + "}"
    return str(int(value))


class Text:
    def __init__(self, rank):
        self.rank, self.job = rank, rank.job
        self.pid = 41000 + 13 * rank.number
        self.boot_ns = DAY_NS - (3600 + 977 * rank.node) * 10**9  # each host has a monotonic clock of its own
        self.lines, self.modules, self.frames, self.stacks = [], {}, {}, {}

    def ns(self, t):
        return int(t - self.boot_ns)

    def line(self, kind, **fields):
        """Lines are written in the order of their times, as a process writes them; what has none goes first."""
        at = 0 if kind in TIMELESS else fields.get("start_ns", fields.get("time_ns", 0))
        self.lines.append((at, f"{kind} " + " ".join(f"{k}={value_of(v)}" for k, v in fields.items())))

    def stack_of(self, where):
        """The number of a stack, which is written when it is seen first."""
        if not where or not self.job["samples"]:
            return 0
        if where not in self.stacks:
            parent = self.stack_of(where[:-1])
            frame = self.frame_of(where[-1])
            self.stacks[where] = len(self.stacks) + 1
            self.line("stack", id=self.stacks[where], parent=parent, frame=frame)
        return self.stacks[where]

    def frame_of(self, frame):
        if frame in self.frames:
            return self.frames[frame]
        path, first, line, name = frame
        is_python = path.endswith(".py")
        number = self.frames[frame] = len(self.frames) + 1
        if is_python:
            table = b"\x02\x00\x20" + bytes([min(127, line - first)])  # as Python 3.10 has it: two bytes of the first line, then this one
            self.line("module", time_ns=self.ns(DAY_NS), id=number, pid=self.pid, module_kind=2, path=f"/app/{path}", name=name, first_line=first,
                      line_table=table, python_version=778)
            self.line("frame", id=number, module=number, offset=6)
        else:
            self.line("module", time_ns=self.ns(DAY_NS), id=number, pid=self.pid, module_kind=1, path=path if path[0] == "/" else "/app/solver", address=4096 * number,
                      size_bytes=1 << 20)
            self.line("frame", id=number, module=number, offset=0x1200)
            self.line("symbol", frame=number, name=name, file="" if path[0] == "/" else f"/app/{path}", line=line)
        return number

    def begin(self):
        rank, job = self.rank, self.job
        start = self.ns(DAY_NS)
        named = dict(rank=rank.number, local_rank=rank.local, world_size=job["ranks"], rank_source=job.get("rank_source", "torchrun"))
        self.line("process", start_ns=start - (10**11 if job["warm"] else 0), pid=self.pid, parent_pid=40000, name=job["command"].split()[0],
                  command_line=job["command"], host=f"node{rank.node:02}", tracer_version="0.2.0", driver_version=13000, **(named if job["numbered"] else {}))
        if job["has_gpu"]:
            self.line("device", name=job["gpu"], uuid=f"GPU-{rank.number:08x}-5d1f-4c0e-9a00-{rank.node:012x}", **DEVICE)
            self.line("context", context=1, null_stream=7)
            for stream in sorted({op.stream for op in rank.ops} - {7}):
                self.line("stream", created_ns=0 if job["warm"] else start + 1000, context=1, stream=stream, is_non_blocking=1)
        for tid in sorted({fields["tid"] for _, fields in rank.facts if "tid" in fields}):
            self.line("thread", tid=TID + tid, name={0: "python", 2: "pt_autograd_0", 5: "tf_XLAPjRt"}.get(tid, "worker"))
        for at in (start, self.ns(rank.t)):
            self.line("clock", monotonic_ns=at, realtime_ns=at + self.boot_ns + int(job["skew_ms"].get(str(rank.node), 0) * MS), uncertainty_ns=60)
        if job["warm"]:
            self.line("capture", time_ns=self.ns(min(self.first_ns(), DAY_NS + 2 * MS)), event=1, trigger=5, number=1)

    def first_ns(self):
        return min([fields["start"] for _, fields in self.rank.facts if "start" in fields], default=DAY_NS)

    def op(self, op):
        if not self.rank.is_seen(op):
            return
        where = dict(start_ns=self.ns(op.start), duration_ns=op.end - op.start, context=1, stream=op.stream, correlation=op.what["correlation"])
        if op.kind == "kernel":
            x, y, z = op.what["grid"]
            bx, by, bz = op.what["block"]
            if "graph" in op.what:
                where.update(graph=op.what["graph"], graph_node=op.what["node"])
            self.line("kernel", **where, name=op.name, shape=dict(grid_x=x, grid_y=y, grid_z=z, block_x=bx, block_y=by, block_z=bz, registers_per_thread=96))
            return
        host = 1 if op.what["pageable"] else 2
        source, destination = {"HtoD": (host, 3), "DtoH": (3, host), "DtoD": (3, 3)}[op.name]
        self.line("memcpy", **where, size_bytes=op.what["size"], copy_kind=KINDS[op.name], source_memory=source, destination_memory=destination, is_async=1)

    def fact(self, kind, f):
        if kind == "op":
            self.op(f["op"])
        elif kind == "call":
            self.line("api", start_ns=self.ns(f["start"]), duration_ns=f["ns"], tid=TID + f["tid"], correlation=f["correlation"], function=f["function"],
                      domain=2 if f["driver"] else 1, stack=self.stack_of(f["where"]))
        elif kind == "sync":
            self.line("sync", start_ns=self.ns(f["start"]), duration_ns=max(100, f["ns"]), sync_kind=3 if f["stream"] else 4, tid=TID + f["tid"],
                      correlation=f["correlation"], context=1, stream=f["stream"])
        elif kind == "collective" and self.job["comms"]:
            comm = f["comm"]
            self.line("collective", start_ns=self.ns(f["start"]), duration_ns=f["ns"], pid=self.pid, tid=TID + f["tid"], function=f["function"], datatype=f["datatype"],
                      algorithm="RING" if f["peer"] < 0 else "", protocol="LL" if f["peer"] < 0 else "", communicator=comm.ident, sequence=f["sequence"],
                      size_bytes=f["size"], ranks=len(comm.members), nodes=len({self.rank.world.host_of(one) for one in comm.members}),
                      rank=comm.members.index(self.rank.number), peer=f["peer"])
        elif kind == "os" and self.job["os_calls"]:
            more = {k: v for k, v in f.items() if k not in ("start", "ns", "tid", "function", "where")}
            self.line("os_call", start_ns=self.ns(f["start"]), duration_ns=f["ns"], pid=self.pid, tid=TID + f["tid"], function=f["function"],
                      stack=self.stack_of(f["where"]), **more)
        elif kind == "switch":
            self.line("switch", start_ns=self.ns(f["start"]), duration_ns=f["ns"], pid=self.pid, tid=TID + f["tid"], cpu=5, is_preempted=1)
        elif kind == "mpi":
            self.line("mpi_call", start_ns=self.ns(f["start"]), duration_ns=f["ns"], pid=self.pid, tid=TID + f["tid"], function=f["function"], communicator=1,
                      communicator_size=f["ranks"], sent_bytes=f["size"], received_bytes=f["size"], peer=f["peer"])
        elif kind == "sample" and self.job["samples"]:
            self.line("cpu_sample", time_ns=self.ns(f["at"]), pid=self.pid, tid=TID + f["tid"], stack=self.stack_of(f["where"]), weight_ns=MS, sample_kind=3)

    def ranges(self):
        """Push and pop in the order in which a thread does them."""
        by_tid = {}
        for kind, f in self.rank.facts:
            if kind == "range":
                by_tid.setdefault(f["tid"], []).append(f)
        events = []
        for tid, ranges in by_tid.items():
            open_ends = []
            for f in sorted(ranges, key=lambda f: (f["start"], -f["end"])):
                while open_ends and open_ends[-1] <= f["start"]:
                    events.append((open_ends.pop(), tid, None))
                events.append((f["start"], tid, f["name"]))
                open_ends.append(f["end"])
            events += [(end, tid, None) for end in reversed(open_ends)]
        for at, tid, name in sorted(events, key=lambda event: event[0]):
            self.line("nvtx", time_ns=self.ns(at), tid=TID + tid, event=3) if name is None else \
                self.line("nvtx", time_ns=self.ns(at), tid=TID + tid, event=2, message=name)

    def metrics(self):
        number = 0
        for kind, f in self.rank.facts:
            if kind != "metric":
                continue
            number += 1
            self.line("metric_source", time_ns=self.ns(DAY_NS), id=number, name=f["name"], unit=f["unit"], origin="nvml", metric_kind=1, scope=4,
                      period_ns=100 * MS, device_uuid=f"GPU-{self.rank.number:08x}-5d1f-4c0e-9a00-{self.rank.node:012x}")
            for i, value in enumerate(f["values"]):
                self.line("metric_block", start_ns=self.ns(DAY_NS + (self.rank.t - DAY_NS) * i // len(f["values"])), source=number, value=value)

    def text(self):
        self.begin()
        self.ranges()
        for kind, fields in self.rank.facts:
            self.fact(kind, fields)
        self.metrics()
        if self.job["warm"]:
            self.line("capture", time_ns=self.ns(self.rank.t) + 1000, event=2, trigger=5, number=1)
        if self.rank.number not in self.job["cut"]:
            self.line("end", time_ns=self.ns(self.rank.t) + MS, reason=1)
        lines = [text for _, text in sorted(self.lines, key=lambda line: line[0])]
        chunks = [[f"chunk pid={self.pid}", *lines[at: at + CHUNK]] for at in range(0, len(lines), CHUNK)]
        return "\n".join(text for chunk in chunks for text in chunk) + "\n"


def write(folder, ranks, assemble):
    paths = []
    for rank in ranks:
        path = folder / rank.job.get("file_name", "rank{}.trace").format(rank.number)
        made = subprocess.run([assemble], input=Text(rank).text().encode(), capture_output=True, check=True).stdout
        share = rank.job["cut"].get(rank.number)
        path.write_bytes(made[: int(len(made) * share)] if share else made)
        paths.append(path)
    return paths
