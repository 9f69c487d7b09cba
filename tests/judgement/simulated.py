"""A simulated program: host, streams and copy engines with their own clocks, written as the text that assemble_trace reads.

Only what decides about waiting is simulated. A stream runs its work in order, kernels that fill the GPU run one at a time, each
direction has one copy engine, and a call returns when CUDA says that it does. So the times of a capture fit together as those of
a recorded one do, and a change of one duration moves everything behind it.
"""

import itertools

US, MS = 1_000, 1_000_000
KIB, MIB = 1 << 10, 1 << 20

LAUNCH_NS = 4 * US  # of a call that only queues
TO_GPU_NS = 5 * US  # from the entry of the call to the start on an idle GPU
BETWEEN_NS = 1 * US  # two operations of one stream
PINNED_BYTES_PER_US = 54_000
PAGEABLE_BYTES_PER_US = {"h2d": 14_000, "d2h": 20_000}
DEVICE_BYTES_PER_US = 2_000_000
COPY_KINDS = {"h2d": 1, "d2h": 2, "d2d": 8}
PAGEABLE, PINNED, DEVICE = 1, 2, 3
EVENT, STREAM_WAITS, STREAM, CONTEXT = 1, 2, 3, 4  # SyncKind of include/gprof/trace/record.h
NULL_STREAM = 7


def quoted(value):
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(value, str) else str(value)


def line(kind, **fields):
    return " ".join([kind] + [f"{name}={quoted(value)}" for name, value in fields.items()])


class Raw(int):
    """A value that is written as it stands."""

    def __new__(cls, text):
        made = super().__new__(cls, 0)
        made.text = text
        return made

    def __str__(self):
        return self.text


class Gpu:
    def __init__(self):
        self.kernels_free = 0  # for kernels that fill it
        self.engine_free = {"h2d": 0, "d2h": 0, "d2d": 0}
        self.stream_free = {}
        self.stream_waits = {}  # end of the work that an event stands for

    def all_done(self):
        return max(self.stream_free.values(), default=0)


class Process:
    """One process with one thread. Every method that stands for a call moves the clock of the host, `now`."""

    def __init__(self, pid=7, name="app", devices=1, start_ns=1 * MS, gpus=None, rank=None, world=0, streams_are_known=True):
        self.pid, self.tid, self.now = pid, pid * 10, start_ns
        self.gpus = gpus if gpus is not None else [Gpu() for _ in range(devices)]
        self.streams_are_known = streams_are_known
        self.correlations = itertools.count(1)
        self.handles = itertools.count(0x5000)
        self.next_stream = itertools.count(13)
        self.addresses = itertools.count(0x7F0000000000, 1 << 30)
        self.tick = 0
        ranks = {} if rank is None else {"rank": rank, "local_rank": rank, "world_size": world, "rank_source": "torchrun"}
        self.lines = [line("chunk", pid=pid),
                      line("process", start_ns=start_ns, pid=pid, parent_pid=6, name=name, command_line=f"./{name}", host="box",
                           tracer_version="0.3.0", driver_version=13000, **ranks)]
        for device in range(len(self.gpus)):
            self.lines.append(line("device", device=device, name="NVIDIA H200", uuid=f"GPU-{device + 1}", compute_major=9,
                                   sm_count=132, sm_clock_khz=1980000, memory_bytes_per_second=4800000000000,
                                   memory_bytes=150000000000, max_threads_per_sm=2048, max_blocks_per_sm=32,
                                   max_registers_per_sm=65536, max_shared_bytes_per_sm=233472, max_threads_per_block=1024,
                                   max_registers_per_block=65536, max_shared_bytes_per_block=49152, warp_size=32,
                                   pcie_generation=5, pcie_lanes=16))
        for device in range(len(self.gpus)):
            self.lines.append(line("context", context=device + 1, device=device, null_stream=NULL_STREAM))
        self.lines.append(line("thread", tid=self.tid, name="main"))

    # ---- host ----

    def work(self, ns):
        """The program's own code."""
        self.now += self.varied(ns)

    def varied(self, ns):
        """No two steps of a real program take equally long: up to 2 % more or less, the same in every run."""
        self.tick = (self.tick * 1103515245 + 12345) % (1 << 31)
        return ns + ns * (self.tick % 41 - 20) // 1000

    def push(self, message):
        self.lines.append(line("nvtx", time_ns=self.now, tid=self.tid, event=2, message=message))
        self.now += 100

    def pop(self):
        self.now += 100
        self.lines.append(line("nvtx", time_ns=self.now, tid=self.tid, event=3))

    def call(self, function, ns, domain=1, **fields):
        """A call that takes this long whatever the GPU does; returns its correlation."""
        correlation = next(self.correlations)
        self.lines.append(line("api", start_ns=self.now, duration_ns=ns, tid=self.tid, correlation=correlation,
                               function=function, domain=domain, **fields))
        self.now += ns
        return correlation

    def call_until(self, function, end_ns, least_ns=2 * US):
        return self.call(function, max(end_ns - self.now, least_ns))

    # ---- GPU ----

    def start_of(self, gpu, stream, entry_ns):
        waits_for = gpu.stream_waits.pop(stream, 0)
        behind = gpu.stream_free.get(stream, 0) + BETWEEN_NS
        return max(entry_ns + TO_GPU_NS, behind, waits_for + BETWEEN_NS)

    def launch(self, name, ns, stream=NULL_STREAM, device=0, grid=1056, block=256, call_ns=LAUNCH_NS, fills=None, until_done=False,
               function="cudaLaunchKernel", registers=32, end_ns=None):
        """`end_ns`: a kernel that waits for somebody else ends then."""
        gpu = self.gpus[device]
        start = self.start_of(gpu, stream, self.now + call_ns - LAUNCH_NS)
        fills = grid * block >= 132 * 1024 if fills is None else fills
        if fills:
            start = max(start, gpu.kernels_free + BETWEEN_NS)
        end = start + self.varied(ns) if end_ns is None else max(end_ns, start + ns)
        if fills:
            gpu.kernels_free = end
        gpu.stream_free[stream] = end
        correlation = self.call_until(function, end + 6 * US) if until_done else self.call(function, call_ns)
        shape = Raw(f"{{grid_x={grid} grid_y=1 grid_z=1 block_x={block} block_y=1 block_z=1 registers_per_thread={registers}}}")
        self.lines.append(line("kernel", start_ns=start, duration_ns=end - start, device=device, context=device + 1, stream=stream,
                               correlation=correlation, name=name, shape=shape))
        return end

    def copy(self, direction, size_bytes, memory=PINNED, stream=NULL_STREAM, device=0, function="cudaMemcpyAsync"):
        """Pinned asynchronous copies return at once, others when they are done."""
        gpu = self.gpus[device]
        start = max(self.start_of(gpu, stream, self.now), gpu.engine_free[direction] + BETWEEN_NS)
        rate = {PAGEABLE: PAGEABLE_BYTES_PER_US.get(direction), PINNED: PINNED_BYTES_PER_US, DEVICE: DEVICE_BYTES_PER_US}[memory]
        end = start + self.varied(1200 + size_bytes * 1000 // rate)
        gpu.stream_free[stream] = gpu.engine_free[direction] = end
        returns_early = memory != PAGEABLE and function.endswith("Async")
        correlation = self.call(function, LAUNCH_NS) if returns_early else self.call_until(function, end + 4 * US)
        source, destination = {"h2d": (memory, DEVICE), "d2h": (DEVICE, memory), "d2d": (DEVICE, DEVICE)}[direction]
        self.lines.append(line("memcpy", start_ns=start, duration_ns=end - start, device=device, context=device + 1, stream=stream,
                               correlation=correlation, size_bytes=size_bytes, copy_kind=COPY_KINDS[direction],
                               source_memory=source, destination_memory=destination, is_async=int(function.endswith("Async"))))
        return end

    def fill(self, size_bytes, stream=NULL_STREAM, device=0):
        gpu = self.gpus[device]
        start = self.start_of(gpu, stream, self.now)
        end = gpu.stream_free[stream] = start + 1500 + size_bytes * 1000 // DEVICE_BYTES_PER_US
        correlation = self.call("cudaMemsetAsync", LAUNCH_NS)
        self.lines.append(line("memset", start_ns=start, duration_ns=end - start, device=device, context=device + 1, stream=stream,
                               correlation=correlation, size_bytes=size_bytes, memory=DEVICE, is_async=1))

    def launch_graph(self, ns, graph=1, stream=NULL_STREAM, is_recorded=True, call_ns=9 * US):
        gpu = self.gpus[0]
        start = self.start_of(gpu, stream, self.now + call_ns - LAUNCH_NS)
        end = gpu.stream_free[stream] = start + self.varied(ns)
        correlation = self.call("cudaGraphLaunch", call_ns)
        if is_recorded:
            self.lines.append(line("graph_launch", start_ns=start, duration_ns=end - start, device=0, context=1, stream=stream,
                                   correlation=correlation, graph=graph))

    # ---- waiting ----

    def wait(self, function="cudaDeviceSynchronize", stream=None, device=0):
        gpu = self.gpus[device]
        done = gpu.all_done() if stream is None else gpu.stream_free.get(stream, 0)
        start = self.now
        correlation = self.call_until(function, done + 5 * US)
        kind = {"cudaDeviceSynchronize": CONTEXT, "cudaStreamSynchronize": STREAM, "cudaEventSynchronize": EVENT}[function]
        self.lines.append(line("sync", start_ns=start, duration_ns=self.now - start, sync_kind=kind, tid=self.tid,
                               correlation=correlation, context=device + 1, stream=stream or 0))

    def poll(self, stream=NULL_STREAM):
        """Asks until the stream is done, as a watchdog does."""
        while self.now < self.gpus[0].stream_free.get(stream, 0):
            self.call("cudaEventQuery", 1 * US, result=600)
            self.now += 20 * US
        self.call("cudaEventQuery", 1 * US)

    def make_stream(self, is_non_blocking=True, handle_ns=20 * US):
        stream = next(self.next_stream)
        self.call("cudaStreamCreateWithFlags", handle_ns)
        if self.streams_are_known:
            self.lines.append(line("stream", created_ns=self.now, context=1, stream=stream, is_non_blocking=int(is_non_blocking),
                                   handle=next(self.handles)))
        return stream

    def make_later(self, earlier, later, event):
        """Work of `later` waits for what is in `earlier` by now."""
        gpu = self.gpus[0]
        correlation = self.call("cudaEventRecord", 1 * US)
        self.lines.append(line("event_record", time_ns=self.now, tid=self.tid, correlation=correlation, context=1, stream=earlier,
                               event=event))
        start = self.now
        correlation = self.call("cudaStreamWaitEvent", 1 * US)
        self.lines.append(line("sync", start_ns=start, duration_ns=1 * US, sync_kind=STREAM_WAITS, tid=self.tid,
                               correlation=correlation, context=1, stream=later, event=event))
        gpu.stream_waits[later] = max(gpu.stream_waits.get(later, 0), gpu.stream_free.get(earlier, 0))

    # ---- memory ----

    def allocate(self, size_bytes, ns=150 * US, function="cudaMalloc"):
        address = next(self.addresses)
        correlation = self.call(function, self.varied(ns))
        self.lines.append(line("memory", time_ns=self.now - 500, operation=1, memory=DEVICE, address=address, size_bytes=size_bytes,
                               context=1, correlation=correlation))
        return address, size_bytes

    def free(self, block, ns=90 * US):
        """cudaFree waits for the GPU."""
        correlation = self.call_until("cudaFree", self.gpus[0].all_done() + ns, ns)
        self.lines.append(line("memory", time_ns=self.now - 500, operation=2, memory=DEVICE, address=block[0], size_bytes=block[1],
                               context=1, correlation=correlation))

    def migrate(self, kind, ns, value):
        """Managed memory: 1 to the GPU, 2 to the host, 4 faults of the GPU."""
        host, gpu = 4294967295, 0
        source, destination = (host, gpu) if kind == 1 else (gpu, host)
        self.lines.append(line("managed_memory", start_ns=self.now, duration_ns=ns, managed_kind=kind, value=value,
                               address=next(self.addresses), source=source, destination=destination))

    def end(self, exit_ns=1 * MS):
        self.now += exit_ns
        self.lines.append(line("end", time_ns=self.now, reason=1))
        return self.lines


def text_of(*processes):
    return "\n".join("\n".join(process.end()) for process in processes) + "\n"
