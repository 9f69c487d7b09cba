"""A simulated program: host, streams and copy engines with their own clocks, written as the text that assemble_trace reads.

Only what decides about waiting is simulated. A stream runs its work in order, kernels that fill the GPU run one at a time, each
direction has one copy engine, and a call returns when CUDA says that it does. So the times of a capture fit together as those of
a recorded one do, and a change of one duration moves everything behind it.

A process with a `seed` is noisy as real ones are: durations scatter, the first launch of a kernel loads its code, small pageable
copies return early, and a launch waits when 1,024 others are queued.
"""

import collections
import contextlib
import dataclasses
import itertools
import random
import re

US, MS = 1_000, 1_000_000
KIB, MIB = 1 << 10, 1 << 20

LAUNCH_NS = 4 * US  # of a call that only queues
TO_GPU_NS = 5 * US  # from the entry of the call to the start on an idle GPU
BETWEEN_NS = 1 * US  # two operations of one stream
STAGED_BYTES = 64 * KIB  # a pageable copy to the GPU up to here returns once the driver has the bytes
QUEUE_LENGTH = 1024  # launches that the driver queues
COPY_KINDS = {"h2d": 1, "d2h": 2, "d2d": 8}
PAGEABLE, PINNED, DEVICE = 1, 2, 3
EVENT, STREAM_WAITS, STREAM, CONTEXT = 1, 2, 3, 4  # SyncKind of include/gprof/trace/record.h
NULL_STREAM = 7


@dataclasses.dataclass(frozen=True)
class Model:
    """What a device record says of a GPU, and how fast it copies in this simulation."""

    name: str
    compute: tuple
    sms: int
    clock_khz: int
    memory_bytes_per_second: int
    memory_bytes: int
    threads_per_sm: int = 2048
    blocks_per_sm: int = 32
    shared_bytes_per_sm: int = 233472
    pcie_generation: int = 5
    pinned_bytes_per_us: int = 54_000
    pageable_to_gpu_per_us: int = 14_000
    pageable_to_host_per_us: int = 20_000
    device_bytes_per_us: int = 2_000_000  # of copies within its memory, and of fills

    def rate(self, direction, memory):
        pageable = {"h2d": self.pageable_to_gpu_per_us, "d2h": self.pageable_to_host_per_us}
        return {PAGEABLE: pageable.get(direction), PINNED: self.pinned_bytes_per_us, DEVICE: self.device_bytes_per_us}[memory]


GB = 1_000_000_000
MODELS = {
    "T4": Model("Tesla T4", (7, 5), 40, 1590000, 320 * GB, 15_600_000_000, 1024, 16, 65536, 3, 12_200, 5_800, 6_300, 115_000),
    "A10": Model("NVIDIA A10", (8, 6), 72, 1695000, 600 * GB, 23_800_000_000, 1536, 16, 102400, 4, 25_000, 9_500, 10_500, 230_000),
    "A100": Model("NVIDIA A100-SXM4-40GB", (8, 0), 108, 1410000, 1555 * GB, 42_300_000_000, 2048, 32, 167936, 4, 25_200, 9_000,
                  10_000, 640_000),
    "4090": Model("NVIDIA GeForce RTX 4090", (8, 9), 128, 2520000, 1008 * GB, 25_300_000_000, 1536, 24, 102400, 4, 25_600, 12_500,
                  13_500, 420_000),
    "H100": Model("NVIDIA H100 80GB HBM3", (9, 0), 132, 1980000, 3352 * GB, 85_000_000_000, device_bytes_per_us=1_350_000),
    "H200": Model("NVIDIA H200", (9, 0), 132, 1980000, 4800 * GB, 150_000_000_000),
    "B200": Model("NVIDIA B200", (10, 0), 148, 1965000, 7672 * GB, 191_500_000_000, pinned_bytes_per_us=55_500,
                  device_bytes_per_us=3_100_000),
}


class Even:
    """No two steps of a real program take equally long: up to 2 % more or less, the same in every run."""

    def __init__(self):
        self.tick = 0

    def gpu(self, ns):
        self.tick = (self.tick * 1103515245 + 12345) % (1 << 31)
        return ns + ns * (self.tick % 41 - 20) // 1000

    host = gpu

    def call(self, ns):
        return ns


class Noisy:
    """Durations as they are measured: a GPU is steady, a host is not, and now and then something else has the processor."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def gpu(self, ns):
        return round(ns * min(max(self.random.gauss(1, 0.015), 0.94), 1.1))

    def host(self, ns):
        stolen = self.random.uniform(15, 300) * US if self.random.random() < 0.004 else 0
        return round(ns * self.random.lognormvariate(0, 0.12) + stolen)

    def call(self, ns):
        slower = self.random.uniform(3, 12) if self.random.random() < 0.002 else 1
        return round(ns * self.random.lognormvariate(0, 0.18) * slower)


def quoted(value):
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(value, str) else str(value)


def line(kind, **fields):
    return kind + "".join([f" {name}={quoted(value)}" for name, value in fields.items()])


class Gpu:
    def __init__(self, model="H200"):
        self.model = MODELS[model]
        self.kernels_free = 0  # for kernels that fill it
        self.engine_free = {"h2d": 0, "d2h": 0, "d2d": 0}
        self.stream_free = {}
        self.stream_waits = {}  # end of the work that an event stands for
        self.queue = collections.deque()  # ends of what was launched

    def all_done(self):
        return max(self.stream_free.values(), default=0)


class Thread:
    def __init__(self, tid, now):
        self.tid, self.now = tid, now


class Process:
    """One process. Every method that stands for a call moves the clock of the thread that it is made on, `now`."""

    def __init__(self, pid=7, name="app", devices=1, start_ns=1 * MS, gpus=None, rank=None, world=0, streams_are_known=True,
                 model="H200", seed=None, command=None, first_launch_ns=0, rank_source="torchrun"):
        self.pid, self.thread, self.threads = pid, Thread(pid * 10, start_ns), []
        self.gpus = gpus if gpus is not None else [Gpu(model) for _ in range(devices)]
        self.streams_are_known = streams_are_known
        self.is_noisy = seed is not None
        self.noise = Noisy(seed) if self.is_noisy else Even()
        self.first_launch_ns, self.loaded = first_launch_ns, set()
        self.blocking_streams = set()
        self.correlations = itertools.count(1)
        self.handles = itertools.count(0x5000)
        self.next_stream = itertools.count(13)
        self.addresses = itertools.count(0x7F0000000000, 1 << 30)
        ranks = {} if rank is None else {"rank": rank, "local_rank": rank, "world_size": world, "rank_source": rank_source}
        self.lines = [line("chunk", pid=pid),
                      line("process", start_ns=start_ns, pid=pid, parent_pid=6, name=name, command_line=command or f"./{name}",
                           host="box", tracer_version="0.3.0", driver_version=13000, **ranks)]
        for device, gpu in enumerate(self.gpus):
            model = gpu.model
            minor = {"compute_minor": model.compute[1]} if model.compute[1] else {}
            self.lines.append(line("device", device=device, name=model.name, uuid=f"GPU-{device + 1}",
                                   compute_major=model.compute[0], **minor, sm_count=model.sms, sm_clock_khz=model.clock_khz,
                                   memory_bytes_per_second=model.memory_bytes_per_second, memory_bytes=model.memory_bytes,
                                   max_threads_per_sm=model.threads_per_sm, max_blocks_per_sm=model.blocks_per_sm,
                                   max_registers_per_sm=65536, max_shared_bytes_per_sm=model.shared_bytes_per_sm,
                                   max_threads_per_block=1024, max_registers_per_block=65536, max_shared_bytes_per_block=49152,
                                   warp_size=32, pcie_generation=model.pcie_generation, pcie_lanes=16))
        for device in range(len(self.gpus)):
            self.lines.append(line("context", context=device + 1, device=device, null_stream=NULL_STREAM))
        self.lines.append(line("thread", tid=self.tid, name="main"))
        self.header = len(self.lines)

    @property
    def tid(self):
        return self.thread.tid

    @property
    def now(self):
        return self.thread.now

    @now.setter
    def now(self, ns):
        self.thread.now = ns

    # ---- host ----

    def work(self, ns):
        """The program's own code."""
        self.now += self.noise.host(ns)

    def make_thread(self, name):
        thread = Thread(self.tid + len(self.threads) + 1, self.now)
        self.threads.append(thread)
        self.lines.append(line("thread", tid=thread.tid, name=name))
        return thread

    @contextlib.contextmanager
    def on(self, thread):
        """Calls are made on another thread, by its own clock."""
        this, self.thread = self.thread, thread
        yield
        self.thread = this

    @contextlib.contextmanager
    def handed_to(self, thread):
        """Another thread works while this one waits for it, as PyTorch's backward pass does."""
        thread.now = max(thread.now, self.now + 8 * US)
        with self.on(thread):
            yield
        self.now = thread.now + 10 * US

    def os_call(self, function, ns, object_kind, path="", **fields):
        self.lines.append(line("os_call", start_ns=self.now, duration_ns=ns, pid=self.pid, tid=self.tid, function=function,
                               object_kind=object_kind, path=path, **fields))
        self.now += ns

    def name_domain(self, domain, name):
        self.lines.append(line("nvtx_domain", domain=domain, name=name))

    def push(self, message, domain=0, payload=None):
        fields = {"domain": domain} if domain else {}
        if payload is not None:
            fields.update(payload_type=1, payload=payload)
        self.lines.append(line("nvtx", time_ns=self.now, tid=self.tid, event=2, message=message, **fields))
        self.now += 100

    def pop(self, domain=0):
        self.now += 100
        self.lines.append(line("nvtx", time_ns=self.now, tid=self.tid, event=3, **({"domain": domain} if domain else {})))

    @contextlib.contextmanager
    def range(self, message, domain=0, payload=None):
        self.push(message, domain, payload)
        yield
        self.pop(domain)

    def call(self, function, ns, domain=1, **fields):
        """A call that takes this long whatever the GPU does; returns its correlation."""
        correlation = next(self.correlations)
        # Most lines are of calls and kernels, and there are millions: not by `line`.
        self.lines.append(f'api start_ns={self.now} duration_ns={ns} tid={self.tid} correlation={correlation} '
                          f'function="{function}" domain={domain}{line("", **fields)}')
        self.now += ns
        return correlation

    def call_until(self, function, end_ns, least_ns=2 * US):
        return self.call(function, max(end_ns - self.now, self.noise.call(least_ns)))

    def queueing_ns(self, gpu, name, call_ns):
        """How long a launching call takes: its own time, loading the kernel's code, and waiting for room in the queue."""
        call_ns = self.noise.call(call_ns)
        if not self.is_noisy:
            return call_ns
        if name not in self.loaded:
            self.loaded.add(name)
            call_ns += self.noise.host(self.first_launch_ns)
        while gpu.queue and gpu.queue[0] <= self.now:
            gpu.queue.popleft()
        return call_ns if len(gpu.queue) < QUEUE_LENGTH else max(call_ns, gpu.queue.popleft() - self.now)

    @contextlib.contextmanager
    def told_to(self, thread):
        """A thread of a pool, which has waited for this one to give it something to do, works on that while this one goes on."""
        teller = self.thread
        with self.on(thread):
            self.os_call("futex", max(teller.now - self.now, 0), 7, object=5, other_tid=teller.tid)
            yield

    # ---- GPU ----

    def start_of(self, gpu, stream, entry_ns):
        waits_for = gpu.stream_waits.pop(stream, 0)
        if stream == NULL_STREAM:
            waits_for = max([waits_for] + [gpu.stream_free.get(other, 0) for other in self.blocking_streams])
        elif stream in self.blocking_streams:
            waits_for = max(waits_for, gpu.stream_free.get(NULL_STREAM, 0))
        behind = gpu.stream_free.get(stream, 0) + BETWEEN_NS
        return max(entry_ns + TO_GPU_NS, behind, waits_for + BETWEEN_NS)

    def launch(self, name, ns, stream=NULL_STREAM, device=0, grid=1056, block=256, call_ns=LAUNCH_NS, fills=None, until_done=False,
               function="cudaLaunchKernel", registers=32, end_ns=None, shared_bytes=0):
        """`end_ns`: a kernel that waits for somebody else ends then."""
        gpu = self.gpus[device]
        call_ns = self.queueing_ns(gpu, name, call_ns)
        start = self.start_of(gpu, stream, self.now + max(call_ns - LAUNCH_NS, 0))
        fills = grid * block >= gpu.model.sms * 1024 if fills is None else fills
        if fills:
            start = max(start, gpu.kernels_free + BETWEEN_NS)
        end = start + self.noise.gpu(ns) if end_ns is None else max(end_ns, start + ns)
        if fills:
            gpu.kernels_free = end
        gpu.stream_free[stream] = end
        gpu.queue.append(end)
        correlation = self.call_until(function, end + 6 * US) if until_done else self.call(function, call_ns)
        self.add_kernel(name, start, end, correlation, grid, block, registers, stream, device, shared_bytes)
        return end

    def add_kernel(self, name, start, end, correlation, grid, block, registers, stream, device=0, shared_bytes=0, **of_graph):
        shared = f" dynamic_shared_bytes={shared_bytes}" if shared_bytes else ""
        self.lines.append(f"kernel start_ns={start} duration_ns={end - start} device={device} context={device + 1} stream={stream} "
                          f"correlation={correlation} name={quoted(name)} shape={{grid_x={grid} grid_y=1 grid_z=1 block_x={block} block_y=1 "
                          f"block_z=1 registers_per_thread={registers}{shared}}}{line('', **of_graph)}")

    def copy(self, direction, size_bytes, memory=PINNED, stream=NULL_STREAM, device=0, function="cudaMemcpyAsync"):
        """Pinned asynchronous copies return at once, others when they are done."""
        gpu = self.gpus[device]
        start = max(self.start_of(gpu, stream, self.now), gpu.engine_free[direction] + BETWEEN_NS)
        memory = DEVICE if direction == "d2d" else memory
        end = start + self.noise.gpu(1200 + size_bytes * 1000 // gpu.model.rate(direction, memory))
        gpu.stream_free[stream] = gpu.engine_free[direction] = end
        is_staged = self.is_noisy and direction == "h2d" and size_bytes <= STAGED_BYTES
        returns_early = function.endswith("Async") and (memory != PAGEABLE or is_staged)
        correlation = self.call(function, self.noise.call(LAUNCH_NS)) if returns_early else self.call_until(function, end + 4 * US)
        source, destination = {"h2d": (memory, DEVICE), "d2h": (DEVICE, memory), "d2d": (DEVICE, DEVICE)}[direction]
        self.lines.append(line("memcpy", start_ns=start, duration_ns=end - start, device=device, context=device + 1, stream=stream,
                               correlation=correlation, size_bytes=size_bytes, copy_kind=COPY_KINDS[direction],
                               source_memory=source, destination_memory=destination, is_async=int(function.endswith("Async"))))
        return end

    def fill(self, size_bytes, stream=NULL_STREAM, device=0):
        gpu = self.gpus[device]
        start = self.start_of(gpu, stream, self.now)
        end = gpu.stream_free[stream] = start + 1500 + size_bytes * 1000 // gpu.model.device_bytes_per_us
        correlation = self.call("cudaMemsetAsync", self.noise.call(LAUNCH_NS))
        self.lines.append(line("memset", start_ns=start, duration_ns=end - start, device=device, context=device + 1, stream=stream,
                               correlation=correlation, size_bytes=size_bytes, memory=DEVICE, is_async=1))

    def launch_graph(self, ns, graph=1, stream=NULL_STREAM, is_recorded=True, call_ns=9 * US):
        gpu = self.gpus[0]
        call_ns = self.noise.call(call_ns)
        start = self.start_of(gpu, stream, self.now + call_ns - LAUNCH_NS)
        end = gpu.stream_free[stream] = start + self.noise.gpu(ns)
        correlation = self.call("cudaGraphLaunch", call_ns)
        if is_recorded:
            self.lines.append(line("graph_launch", start_ns=start, duration_ns=end - start, device=0, context=1, stream=stream,
                                   correlation=correlation, graph=graph))

    def launch_nodes(self, kernels, graph=1, stream=NULL_STREAM, call_ns=12 * US):
        """A graph whose kernels were recorded one by one: (name, ns, grid, block) of each, in a chain."""
        gpu = self.gpus[0]
        call_ns = self.noise.call(call_ns)
        start = self.start_of(gpu, stream, self.now + call_ns - LAUNCH_NS)
        correlation = self.call("cudaGraphLaunch", call_ns)
        for node, (name, ns, grid, block) in enumerate(kernels):
            end = start + self.noise.gpu(ns)
            self.add_kernel(name, start, end, correlation, grid, block, 32, stream, graph=graph, graph_node=(graph << 32) + node + 1)
            gpu.stream_free[stream] = gpu.kernels_free = end
            start = end + 900

    def record_from_here(self, trigger=3):
        """The recording begins now: calls before are missing, and work that they queued has none. No trigger: another tool's file."""
        kept = []
        for text in self.lines[self.header:]:
            time = re.match(r"(kernel|memcpy|memset|graph_launch) start_ns=(\d+)", text)
            if text.startswith(("thread ", "nvtx_domain ")) or (time and int(time.group(2)) >= self.now):
                kept.append(text)
        self.lines[self.header:] = kept
        if trigger is not None:
            self.lines.append(line("capture", time_ns=self.now, event=1, trigger=trigger, number=1))

    def without_calls(self):
        """As a tool that records the GPU and NVTX alone writes it."""
        self.lines = [text for text in self.lines if not text.startswith(("api ", "sync ", "memory ", "event_record ", "jit "))]

    # ---- waiting ----

    def wait(self, function="cudaDeviceSynchronize", stream=None, device=0):
        gpu = self.gpus[device]
        done = gpu.all_done() if stream is None else gpu.stream_free.get(stream, 0)
        start = self.now
        correlation = self.call_until(function, done + self.noise.call(5 * US))
        kind = {"cudaDeviceSynchronize": CONTEXT, "cudaStreamSynchronize": STREAM, "cudaEventSynchronize": EVENT}[function]
        self.lines.append(line("sync", start_ns=start, duration_ns=self.now - start, sync_kind=kind, tid=self.tid,
                               correlation=correlation, context=device + 1, stream=stream or 0))

    def record_event(self, event, stream=NULL_STREAM, device=0):
        """Returns when the event will have happened."""
        correlation = self.call("cudaEventRecord", self.noise.call(1 * US))
        self.lines.append(line("event_record", time_ns=self.now, tid=self.tid, correlation=correlation, context=device + 1,
                               stream=stream, event=event))
        return max(self.gpus[device].stream_free.get(stream, 0), self.now)

    def wait_event(self, event, happens_ns, device=0):
        start = self.now
        correlation = self.call_until("cudaEventSynchronize", happens_ns + self.noise.call(5 * US))
        self.lines.append(line("sync", start_ns=start, duration_ns=self.now - start, sync_kind=EVENT, tid=self.tid,
                               correlation=correlation, context=device + 1, event=event))

    def stream_waits_event(self, event, happens_ns, stream, device=0):
        gpu = self.gpus[device]
        start, ns = self.now, self.noise.call(1 * US)
        correlation = self.call("cudaStreamWaitEvent", ns)
        self.lines.append(line("sync", start_ns=start, duration_ns=ns, sync_kind=STREAM_WAITS, tid=self.tid,
                               correlation=correlation, context=device + 1, stream=stream, event=event))
        gpu.stream_waits[stream] = max(gpu.stream_waits.get(stream, 0), happens_ns)

    def poll(self, stream=NULL_STREAM, pause_ns=20 * US, device=0):
        """Asks until the stream is done, as a watchdog does."""
        while self.now < self.gpus[device].stream_free.get(stream, 0):
            self.call("cudaEventQuery", 1 * US, result=600)
            self.now += self.noise.call(pause_ns)
        self.call("cudaEventQuery", 1 * US)

    def make_stream(self, is_non_blocking=True, handle_ns=20 * US):
        stream = next(self.next_stream)
        self.call("cudaStreamCreateWithFlags", handle_ns)
        if not is_non_blocking:
            self.blocking_streams.add(stream)
        if self.streams_are_known:
            self.lines.append(line("stream", created_ns=self.now, context=1, stream=stream, is_non_blocking=int(is_non_blocking),
                                   handle=next(self.handles)))
        return stream

    def make_later(self, earlier, later, event):
        """Work of `later` waits for what is in `earlier` by now."""
        self.record_event(event, earlier)
        self.stream_waits_event(event, self.gpus[0].stream_free.get(earlier, 0), later)

    # ---- memory ----

    def allocate(self, size_bytes, ns=150 * US, function="cudaMalloc"):
        address = next(self.addresses)
        correlation = self.call(function, self.noise.host(ns))
        self.lines.append(line("memory", time_ns=self.now - 500, operation=1, memory=DEVICE, address=address, size_bytes=size_bytes,
                               context=1, correlation=correlation))
        return address, size_bytes

    def free(self, block, ns=90 * US):
        """cudaFree waits for the GPU."""
        correlation = self.call_until("cudaFree", self.gpus[0].all_done() + ns, ns)
        self.lines.append(line("memory", time_ns=self.now - 500, operation=2, memory=DEVICE, address=block[0], size_bytes=block[1],
                               context=1, correlation=correlation))

    def allocate_in_stream(self, size_bytes, stream=NULL_STREAM):
        correlation = self.call("cudaMallocAsync", self.noise.call(2500))
        block = next(self.addresses), size_bytes
        self.add_in_stream(1, block, stream, correlation)
        return block

    def free_in_stream(self, block, stream=NULL_STREAM):
        self.add_in_stream(2, block, stream, self.call("cudaFreeAsync", self.noise.call(2 * US)))

    def add_in_stream(self, operation, block, stream, correlation):
        self.lines.append(line("memory", time_ns=self.now - 500, operation=operation, memory=DEVICE, is_async=1, address=block[0],
                               size_bytes=block[1], context=1, stream=stream, correlation=correlation, pool=0x9000))

    def migrate(self, kind, ns, value, start_ns=None):
        """Managed memory: 1 to the GPU, 2 to the host, 3 faults of the host, 4 of the GPU."""
        host, gpu = 4294967295, 0
        source, destination = (host, gpu) if kind in (1, 3) else (gpu, host)
        start = self.now if start_ns is None else start_ns
        self.lines.append(line("managed_memory", start_ns=start, duration_ns=ns, managed_kind=kind, value=value,
                               address=next(self.addresses), source=source, destination=destination))

    def end(self, exit_ns=1 * MS):
        self.now = max([self.now] + [thread.now for thread in self.threads]) + exit_ns
        self.lines.append(line("end", time_ns=self.now, reason=1))
        return self.lines


def text_of(*processes):
    return "\n".join("\n".join(process.end()) for process in processes) + "\n"
