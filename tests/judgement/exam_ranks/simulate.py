"""A small model of jobs of many ranks: hosts run code and launch, streams run operations in order, and whoever takes part in
a collective leaves it when the last one has come. What is written down of it are facts, which the writers turn into captures.

A program is a generator that is given a Rank. It yields where it has to wait for what another rank, or a GPU, has yet to do.
All times are nanoseconds of one true clock; writers shift them by what the clock of a host is off.
"""

import contextlib
import random

US, MS = 1_000, 1_000_000
DAY_NS = 1_790_000_000_000_000_000
COMPUTE, NCCL, COPIES = 7, 20, 24
QUEUE = 1022  # operations that CUDA takes before a launching call blocks


class Comm:
    """A communicator: its members, by their numbers in the job."""

    def __init__(self, ident, members, name=""):
        self.ident, self.members, self.name = ident, tuple(members), name


class Meeting:
    """An operation that all members take part in; over `wire_ns` after the last one has come."""

    def __init__(self, members, wire_ns):
        self.missing, self.wire_ns, self.end, self.arrivals = set(members), int(wire_ns), 0, {}

    def arrive(self, number, at):
        self.missing.discard(number)
        self.arrivals[number] = at
        self.end = max(self.end, at + self.wire_ns)


class Op:
    """An operation of a stream, and the call that launched it."""

    def __init__(self, kind, name, ready, ns, **what):
        self.kind, self.name, self.ready, self.ns, self.start, self.end = kind, name, ready, ns, None, None
        self.stream = what.pop("stream", COMPUTE)
        self.meeting, self.after = what.pop("meeting", None), what.pop("after", ())
        self.what = what


class Rank:
    def __init__(self, world, number):
        self.world, self.job, self.number = world, world.job, number
        self.node = world.host_of(number)
        self.local = number % world.job["per_host"]
        self.chance = random.Random(f"{world.job['name']}/{number}")
        self.t = DAY_NS + int(self.chance.uniform(0, 2 * MS))
        self.facts, self.ops, self.queues, self.free_at = [], [], {}, {}
        self.correlation, self.sequence, self.tid, self.device = 1000 + 17 * number, {}, 0, 0
        self.where, self.slow, self.is_recorded, self.numbers_of_calls, self.recorded_from = [], 1.0, True, {}, 0
        self.recorded_until, self.host_slow, self.blocked_ns = DAY_NS * 2, 1.0, 0

    # What the host does.

    def begin_step(self, step):
        """Starts and stops recording where a profiler of this rank does."""
        first = self.job["late_start"].get(self.number, 0)
        if self.job["late_start"] and step == first:
            self.is_recorded, self.recorded_from = True, self.t
        if self.job["late_start"] and step == first + self.job["recorded_steps"]:
            self.is_recorded, self.recorded_until = False, self.t

    def jitter(self, ns, share=0.03):
        return max(200, int(ns * self.chance.gauss(1, share)))

    def note(self, kind, **fields):
        if self.is_recorded:
            self.facts.append((kind, fields))

    @contextlib.contextmanager
    def span(self, name, **more):
        begin, tid = self.t, self.tid
        yield
        self.t += 300
        self.note("range", start=begin, end=self.t, name=name, tid=tid, **more)

    @contextlib.contextmanager
    def on_thread(self, tid):
        before, self.tid = self.tid, tid
        yield
        self.tid = before

    @contextlib.contextmanager
    def at(self, *frames):
        """Frames are (file, first line, line, function); samples and calls within have them on their stack."""
        self.where = self.where + list(frames)
        begin, tid = self.t, self.tid
        yield
        for frame in frames:
            self.note("python", start=begin, end=self.t, frame=frame, tid=tid)
        self.where = self.where[: -len(frames)]

    def host(self, ns, share=0.04):
        """The host's own code, with a sample of each millisecond."""
        end = self.t + self.jitter(ns * self.host_slow, share)
        if self.where:
            first = (self.t // MS + 1) * MS + 137_000
            for at in range(first, end, MS):
                self.note("sample", at=at, tid=self.tid, where=tuple(self.where))
        self.t = end

    def call(self, function, ns=2500, driver=False):
        self.correlation += 1
        self.note("call", start=self.t, ns=ns, tid=self.tid, correlation=self.correlation, function=function, driver=driver,
                  where=tuple(self.where))
        self.t += ns + 150
        return self.correlation

    def os(self, function, ns, **what):
        self.note("os", start=self.t, ns=ns, tid=self.tid, function=function, where=tuple(self.where), **what)
        self.t += ns

    def read(self, path, ns, size=1 << 20, function="read"):
        self.os(function, self.jitter(ns), object_kind=10, object=9, path=path, size_bytes=size, result=size)
        self.t += 1500

    def metric(self, name, unit, values):
        self.note("metric", name=name, unit=unit, values=values)

    # What it launches.

    def enqueue(self, op, function, ns):
        driver = function.startswith("cu") and not function.startswith("cuda")
        self.call(function, ns + self.blocked_ns, driver)
        self.blocked_ns = 0
        op.what["correlation"], op.ready = self.correlation, self.t + self.jitter(1800, 0.1)
        self.ops.append(op)
        self.queues.setdefault(op.stream, []).append(op)
        self.facts.append(("op", {"op": op}))
        return op

    def depend(self, op_stream, after):
        for _ in {one.stream for one in after if one.stream != op_stream}:
            self.call("cudaEventRecord", 1200)
            self.call("cudaStreamWaitEvent", 900)

    def kernel(self, name, ns, stream=COMPUTE, grid=(1056, 1, 1), block=(128, 1, 1), after=(), call_ns=3200, **what):
        self.depend(stream, after)
        op = Op("kernel", name, 0, self.jitter(ns * self.slow), stream=stream, after=after, grid=grid, block=block, **what)
        return self.enqueue(op, self.job["launch"], self.jitter(call_ns, 0.15))

    def is_seen(self, op):
        """Whether a profiler that recorded the rank for a while has an operation."""
        return op.end is not None and op.end >= self.recorded_from and op.start < self.recorded_until

    def graph(self, kernels, grid=(132, 1, 1)):
        """A CUDA graph: one call, and all of its kernels one after the other."""
        self.call("cudaGraphLaunch", self.jitter(21 * US))
        for node, (name, us) in enumerate(kernels):
            op = Op("kernel", name, 0, self.jitter(us * US), grid=grid, block=(128, 1, 1), graph=3, node=(3 << 32) + node + 1)
            op.what["correlation"], op.ready = self.correlation, self.t + 2500
            self.ops.append(op)
            self.queues.setdefault(COMPUTE, []).append(op)
            self.facts.append(("op", {"op": op}))

    def room(self):
        """The next launching call blocks while the queue is full."""
        before = self.t
        while len(self.ops) > QUEUE and self.ops[-QUEUE].end is None:
            yield
        if len(self.ops) > QUEUE and self.ops[-QUEUE].end > before:
            self.blocked_ns = self.ops[-QUEUE].end - before

    def copy(self, kind, size, ns, stream=COMPUTE, pageable=False, after=()):
        """kind: HtoD, DtoH or DtoD."""
        self.depend(stream, after)
        op = Op("memcpy", kind, 0, self.jitter(ns), stream=stream, after=after, size=size, pageable=pageable)
        return self.enqueue(op, "cudaMemcpyAsync", self.jitter(4000))

    def collective(self, comm, function, size, wire_ns, stream=NCCL, after=(), peer=-1, key=None, datatype="ncclBfloat16"):
        self.depend(stream, after)
        sequence = self.sequence[comm.ident, function] = self.sequence.get((comm.ident, function), -1) + 1
        order = key or self.numbers_of_calls.setdefault(comm.ident, 0)
        if key is None:
            self.numbers_of_calls[comm.ident] += 1
        members = comm.members if peer < 0 else (self.number, peer)
        meeting = self.world.meeting((comm.ident, order), members, wire_ns)
        start = self.t
        op = Op("kernel", NCCL_KERNELS[function], 0, 0, stream=stream, after=after, meeting=meeting, grid=(24, 1, 1), block=(544, 1, 1),
                comm=comm, function=function, size=size)
        self.t += 1500
        self.enqueue(op, "cuLaunchKernelEx", self.jitter(5200, 0.1))
        self.note("collective", start=start, ns=self.t - start, tid=self.tid, comm=comm, function=function, size=size, datatype=datatype,
                  sequence=0 if peer >= 0 else sequence, peer=-1 if peer < 0 else comm.members.index(peer))
        return op

    def wait(self, ops, function="cudaStreamSynchronize"):
        """The host waits for operations."""
        begin = self.t
        while any(op.end is None for op in ops):
            yield
        end = max([op.end for op in ops] + [begin]) + self.jitter(2600, 0.1)
        self.correlation += 1
        self.note("call", start=begin, ns=end - begin, tid=self.tid, correlation=self.correlation, function=function, driver=False,
                  where=tuple(self.where))
        stream = 0 if function == "cudaDeviceSynchronize" else ops[-1].stream if ops else COMPUTE
        self.note("sync", start=begin + 300, ns=end - begin - 500, tid=self.tid, correlation=self.correlation, stream=stream)
        self.t = end + 200

    def drain(self):
        yield from self.wait(self.ops[-1:] and [queue[-1] for queue in self.last_of_streams()], "cudaDeviceSynchronize")

    def last_of_streams(self):
        last = {}
        for op in self.ops[-400:]:
            last[op.stream] = [op]
        return last.values()

    def item(self):
        """tensor.item(): a copy of a few bytes that the host waits for."""
        op = self.copy("DtoH", 4, 1500, pageable=True)
        yield from self.wait([op])

    # Calls of MPI, gloo and the like, in which hosts meet.

    def meet(self, key, members, wire_ns):
        meeting = self.world.meeting(key, members, wire_ns)
        meeting.arrive(self.number, self.t)
        while meeting.missing:
            yield
        return max(self.t + 400, meeting.end + int(self.chance.uniform(0, 1500)))

    def mpi(self, function, key, members, wire_ns=15 * US, size=8, peer=-1):
        end = yield from self.meet(key, members, wire_ns)
        self.note("mpi", start=self.t, ns=end - self.t, tid=self.tid, function=function, size=size, peer=peer, ranks=self.job["ranks"])
        self.t = end


NCCL_KERNELS = {
    "AllReduce": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "AllGather": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "ReduceScatter": "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "Broadcast": "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "AlltoAll": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
    "Send": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
    "Recv": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
}


class World:
    USUAL = {"per_host": 8, "steps": 8, "first_step": 0, "faults": [], "skew_ms": {}, "missing": [], "numbered": True, "comms": True,
             "metrics": False, "samples": True, "with_stack": True, "launch": "cudaLaunchKernel", "format": "trace", "warm": False,
             "gpu": "NVIDIA H200", "command": "python train.py", "has_gpu": True, "os_calls": True, "one_file": False, "cut": {}, "late_start": {}, "messy": False}

    def __init__(self, job):
        self.job = {**self.USUAL, **job}
        self.meetings = {}
        self.ranks = [Rank(self, number) for number in range(self.job["ranks"])]

    def host_of(self, number):
        return number // self.job["per_host"]

    def meeting(self, key, members, wire_ns):
        if key not in self.meetings:
            self.meetings[key] = Meeting(members, wire_ns)
        return self.meetings[key]

    def comm(self, ident, members, name=""):
        return Comm(0x5000 + 97 * ident, members, name)

    def run(self, program):
        running = {rank.number: program(rank) for rank in self.ranks}
        while running:
            before = sum(rank.t for rank in self.ranks) + len(running)
            for number, steps in list(running.items()):
                if next(steps, self) is self:
                    del running[number]
            resolved = self.resolve()
            if not resolved and before == sum(rank.t for rank in self.ranks) + len(running):
                raise RuntimeError(f"{self.job['name']}: ranks {sorted(running)} wait for ever")
        self.resolve()
        return self.ranks

    def resolve(self):
        """Runs what streams can run; how many operations that were."""
        count = 0
        for rank in self.ranks:
            again = True
            while again:
                again = False
                for stream, queue in rank.queues.items():
                    done = self.resolve_stream(rank, stream, queue)
                    count, again = count + done, again or done > 0
        return count

    def resolve_stream(self, rank, stream, queue):
        done = 0
        for op in queue:
            if any(one.end is None for one in op.after):
                break
            if op.start is None:
                ends = [one.end for one in op.after]
                op.start = max([op.ready, rank.free_at.get(stream, 0) + 700, *(end + 900 for end in ends)])
                if op.meeting:
                    op.meeting.arrive(rank.number, op.start)
            if op.meeting and op.meeting.missing:
                break
            op.end = op.start + op.ns
            if op.meeting:
                op.end = max(op.start + 4000, op.meeting.end + int(rank.chance.uniform(0, 1200)))
            rank.free_at[stream] = op.end
            done += 1
        del queue[:done]
        return done


def fault_of(rank, kind):
    """What a rank has of a kind of delay, if anything."""
    return next((fault for fault in rank.job["faults"] if fault["kind"] == kind and rank.number in fault["ranks"]), None)
