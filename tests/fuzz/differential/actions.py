"""What a process of a made-up run may do next. An action takes the place where it is done."""

import typing

import names
from process import U32_MAX, Call, Place, Process

MEGABYTE = 1 << 20
# How often each is done; a program draws its own from these.
WEIGHTS = {
    "launch": 12,
    "copy": 2,
    "fill": 1,
    "synchronize": 1,
    "record_event": 0.6,
    "wait_for_event": 0.6,
    "allocate": 0.3,
    "free": 0.3,
    "query": 0.7,
    "other_call": 0.2,
    "work_on_host": 1,
    "overhead": 0.2,
    "jit": 0.05,
    "managed_memory": 0.1,
    "mark": 0.2,
    "push_or_pop": 1,
    "start_or_end": 0.3,
    "launch_graph": 0.3,
    "make_graph": 0.03
}
RARE_WEIGHTS = {"nest_deeply": 0.05, "launch_many": 0.02, "call_around_others": 0.2}
# copy_kind: source and destination memory; 0 is drawn
COPIES = {1: (0, 3), 2: (3, 0), 8: (3, 3)}
PEER_COPY = 10


class Block(typing.NamedTuple):
    """Of memory."""

    address: int
    size_bytes: int
    memory: int
    is_pooled: bool
    place: Place


class Actions(Process):
    def __init__(self, habits, pid, records):
        super().__init__(habits, pid, records)
        self.depth = {}  # of pushed ranges, by thread and domain
        self.started_ranges = []
        self.next_range = self.rng.choice([1, 1 << 40])
        self.blocks = []
        self.next_address = 0x7F0000000000
        self.place_of_event = {}
        self.graph_nodes = []

    # GPU work

    def launch(self, place, kernel=None, shape=None):
        rng = self.rng
        fields = {"name": rng.choice(self.kernel_names) if kernel is None else kernel, "shape": shape}
        if self.happens(self.lost_call_rate):
            now_ns = self.host_ns[place.tid]
            unknown = rng.choice([0, 5, U32_MAX, (self.correlation + 77_777) & U32_MAX])
            self.operation("kernel", place, Call(now_ns, now_ns, unknown), self.kernel_ns, **fields)
            return
        call = self.call(place.tid, rng.choice(names.LAUNCHES) if rng.random() < 0.05 else self.launch_function)
        if self.happens(self.lost_operation_rate):
            return
        for _ in range(rng.randint(2, 5) if self.happens(self.several_operations_rate) else 1):
            self.operation("kernel", place, call, self.kernel_ns, **fields)

    def launch_many(self, place):
        """More operations than are counted with their call."""
        rng = self.rng
        call = self.call(place.tid, rng.choice(["cudaGraphLaunch", self.launch_function]))
        graph = 3 if rng.random() < 0.5 else None
        for _ in range(rng.choice([2, 254, 255, 256, 257, 300, 600])):
            stream = rng.choice([place.stream, place.stream, 7])
            self.operation("kernel",
                           place._replace(stream=stream),
                           call,
                           self.kernel_ns,
                           name=self.kernel_names[0],
                           graph=graph)

    def copy(self, place):
        rng = self.rng
        size_bytes = rng.choice([0, 4, 4096, 65536, 65537, MEGABYTE, 16 * MEGABYTE])
        typical_ns = size_bytes // 20 + 1000
        kind = rng.choice([1, 1, 2, 2, 8, PEER_COPY])
        if kind == PEER_COPY and self.device_count > 1:
            call = self.call(place.tid, "cudaMemcpyPeerAsync")
            self.operation("peer_copy", place, call, typical_ns, size_bytes=size_bytes, source_memory=3,
                           destination_memory=3, is_async=1, source_device=place.device,
                           destination_device=(place.device + 1) % self.device_count)
            return
        source, destination = (memory or rng.choice([1, 2, 2, 5]) for memory in COPIES.get(kind, (3, 3)))
        is_async = rng.random() < 0.8
        call = self.call(place.tid, "cudaMemcpyAsync" if is_async else "cudaMemcpy",
                         None if is_async else typical_ns + self.call_ns)
        self.operation("memcpy", place, call, typical_ns, size_bytes=size_bytes, copy_kind=kind, source_memory=source,
                       destination_memory=destination, is_async=is_async)

    def fill(self, place):
        call = self.call(place.tid, "cudaMemsetAsync")
        self.operation("memset",
                       place,
                       call,
                       1500,
                       size_bytes=self.rng.choice([4, 4096, MEGABYTE]),
                       memory=3,
                       is_async=1)

    def launch_graph(self, place):
        rng = self.rng
        call = self.call(place.tid, "cudaGraphLaunch")
        if not self.graph_nodes or rng.random() < 0.4:
            self.operation("graph_launch", place, call, self.kernel_ns * 4, graph=rng.choice([1, 2, 3]))
            return
        for node in self.graph_nodes[:rng.choice([1, 3, 20])]:
            kind, kernel = ("memset", None) if rng.random() < 0.03 else ("kernel", rng.choice(self.kernel_names))
            self.operation(kind, place, call, self.kernel_ns, name=kernel, graph=2, graph_node=node)

    def make_graph(self, place):
        tid, first = place.tid, 100 * (1 + len(self.graph_nodes))
        self.call(tid, "cudaStreamBeginCapture_v10000")
        made = range(first, first + self.rng.randint(1, 8))
        for node in made:
            call = self.call(tid, self.launch_function)
            self.add_instant("graph_node", (call.start_ns + call.end_ns) // 2, tid=tid, graph=1, node=node)
        self.call(tid, "cudaStreamEndCapture")
        call = self.call(tid, "cudaGraphInstantiate", 50_000)
        for node in made:
            self.add_instant("graph_node", call.start_ns + 10, tid=tid, graph=2, node=node + 50, original=node)
        self.graph_nodes += [node + 50 for node in made]

    # calls

    def query(self, place):
        for _ in range(self.rng.choice([1, 1, 2, 15])):
            self.call(place.tid, self.rng.choice(names.QUERIES), gap_ns=self.rng.choice([0, 10, 200]))

    def other_call(self, place):
        self.call(place.tid, self.rng.choice(names.OTHER_CALLS))

    def call_around_others(self, place):
        rng, start_ns, correlation = self.rng, self.host_ns[place.tid], self.next_correlation()
        for _ in range(rng.choice([1, 3, 30])):
            rng.choice([self.launch, self.launch, self.query, self.copy, self.work_on_host])(place)
        end_ns = self.host_ns[place.tid] - rng.choice([0, 0, 1, 5000])
        self.add_span("api", start_ns, end_ns, tid=place.tid, correlation=correlation,
                      function=rng.choice(names.CALLS_AROUND_OTHERS), domain=1)

    def synchronize(self, place):
        rng = self.rng
        what = rng.choice(["stream", "device", "event"])
        until_ns = self.stream_free_ns.get((place.device, place.stream), 0)
        kind, function, stream = (3, "cudaStreamSynchronize", place.stream)
        if what == "event":
            kind, function = 1, "cudaEventSynchronize"
        elif what == "device":
            kind, function, stream = 4, "cudaDeviceSynchronize", None
            until_ns = max((free for (device, _), free in self.stream_free_ns.items() if device == place.device),
                           default=0)
        waits_ns = until_ns - self.host_ns[place.tid]
        call = self.call(place.tid, function, min(max(0, waits_ns), 1 << 34) + rng.choice([0, 1, 500, 4000]))
        if rng.random() < 0.9:
            event = rng.choice(list(self.place_of_event) or [77]) if what == "event" else None
            self.add_synchronization(place._replace(stream=stream), call, kind, event)

    def add_synchronization(self, place, call, kind, event):
        rng = self.rng
        self.add_span("sync", call.start_ns, call.end_ns, sync_kind=kind, tid=place.tid, correlation=call.correlation,
                      context=1 + place.device if rng.random() < 0.9 else None,
                      stream=place.stream if rng.random() < 0.9 else None, event=event)

    def record_event(self, place):
        event = 0x5000 + self.rng.randint(0, 5)
        call = self.call(place.tid, "cudaEventRecord")
        self.place_of_event[event] = place
        is_whole = self.rng.random() < 0.95
        self.add_instant("event_record",
                         call.end_ns,
                         tid=place.tid,
                         correlation=call.correlation,
                         context=1 + place.device if is_whole else None,
                         stream=place.stream if is_whole else None,
                         event=event)

    def wait_for_event(self, place):
        rng = self.rng
        event = rng.choice(list(self.place_of_event) or [0x5000])
        call = self.call(place.tid, "cudaStreamWaitEvent")
        recorded_at = self.place_of_event.get(event)
        if recorded_at is not None and rng.random() < 0.8:
            mine, other = (place.device, place.stream), (recorded_at.device, recorded_at.stream)
            self.stream_free_ns[mine] = max(self.stream_free_ns.get(mine, 0), self.stream_free_ns.get(other, 0))
        self.add_synchronization(place, call, 2, event if rng.random() < 0.9 else None)

    # memory

    def allocate(self, place):
        rng = self.rng
        memory = rng.choice([3, 3, 3, 2, 5])
        block = Block(self.next_address, rng.choice([512, 2 * MEGABYTE, 3 * MEGABYTE, 1 << 30]), memory,
                      rng.random() < 0.4, place)
        function = "cudaMallocAsync" if block.is_pooled else "cudaMalloc" if memory == 3 else "cudaMallocHost"
        call = self.call(place.tid, function)
        self.next_address += block.size_bytes
        self.blocks.append(block)
        self.add_memory(1, call, block)

    def free(self, place):
        if not self.blocks:
            self.call(place.tid, "cudaFree")
            return
        block = self.blocks.pop(self.rng.randrange(len(self.blocks)))
        function = "cudaFreeAsync" if block.is_pooled else "cudaFree" if block.memory == 3 else "cudaFreeHost"
        self.add_memory(2, self.call(place.tid, function), block)

    def add_memory(self, operation, call, block):
        if self.rng.random() < 0.15:
            return
        time_ns = self.rng.choice([call.start_ns, call.end_ns, (call.start_ns + call.end_ns) // 2])
        pool = {"is_async": 1, "stream": block.place.stream, "pool": 0x4000} if block.is_pooled else {}
        self.add_instant("memory", time_ns, operation=operation, memory=block.memory, address=block.address,
                         size_bytes=block.size_bytes, device=block.place.device, context=1 + block.place.device,
                         correlation=call.correlation, **pool)

    def managed_memory(self, place):
        rng, start_ns = self.rng, self.host_ns[place.tid]
        source, destination = rng.choice([(U32_MAX, place.device), (place.device, U32_MAX)])
        self.add_span("managed_memory",
                      start_ns,
                      start_ns + self.duration(9000),
                      managed_kind=rng.randint(1, 8),
                      value=rng.choice([1, 65536, 2 * MEGABYTE]),
                      address=0x7000,
                      source=source,
                      destination=destination,
                      stream=place.stream)

    # the host

    def work_on_host(self, place):
        self.host_ns[place.tid] += self.duration(self.rng.choice([100, 5000, 100_000, 2_000_000]))

    def overhead(self, place):
        rng = self.rng
        start_ns = self.host_ns[place.tid] - rng.choice([0, 100, 3000])
        self.add_span("overhead",
                      start_ns,
                      start_ns + self.duration(5000),
                      overhead_kind=rng.choice([1] + [n << 16 for n in range(1, 8)]),
                      tid=place.tid if rng.random() < 0.7 else None,
                      correlation=rng.choice([0, self.correlation]))

    def jit(self, place):
        start_ns = self.host_ns[place.tid]
        self.host_ns[place.tid] += self.duration(50_000)
        self.add_span("jit", start_ns, self.host_ns[place.tid], device=place.device, tid=place.tid, entry_kind=1,
                      correlation=self.correlation, operation=self.rng.choice([1, 2, 3]), cache_bytes=1000)

    # NVTX

    def nvtx(self, tid, event, domain=0, **fields):
        self.add_instant("nvtx", self.host_ns[tid], tid=tid, event=event, domain=domain or None, **fields)

    def decorations(self):
        rng, fields = self.rng, {}
        if self.has_colors and rng.random() < 0.5:
            fields["color"] = rng.choice([0xFF0000FF, 0xFF00FF00, rng.randint(0, U32_MAX)])
        if self.has_colors and rng.random() < 0.2:
            fields["category"] = rng.randint(1, 3)
        if self.has_values and rng.random() < 0.5:
            fields |= {"payload_type": rng.randint(1, 6), "payload": rng.choice([0, 1, rng.getrandbits(64)])}
        return fields

    def mark(self, place):
        self.nvtx(place.tid,
                  1,
                  self.rng.randrange(self.domain_count),
                  message=self.rng.choice(names.RANGES),
                  **self.decorations())

    def push(self, tid, name, domain=0):
        self.nvtx(tid, 2, domain, message=name, **self.decorations())
        self.depth[tid, domain] = self.depth.get((tid, domain), 0) + 1

    def pop(self, tid, domain=0):
        if not self.happens(self.lost_pop_rate):
            self.nvtx(tid, 3, domain)
            self.depth[tid, domain] = max(0, self.depth.get((tid, domain), 0) - 1)

    def push_or_pop(self, place):
        """Nested as it comes."""
        rng = self.rng
        domain = rng.randrange(self.domain_count)
        if self.depth.get((place.tid, domain), 0) > rng.choice([0, 2, 5]) or rng.random() < 0.02:
            self.pop(place.tid, domain)
        else:
            self.push(place.tid, rng.choice(names.RANGES), domain)

    def start(self, tid, name, domain=0):
        """Gives the number of the range."""
        self.next_range += 1
        self.nvtx(tid, 4, domain, message=name, range=self.next_range, **self.decorations())
        return self.next_range

    def end(self, tid, number, domain=0):
        self.nvtx(tid, 5, domain, range=number)

    def start_or_end(self, place):
        rng = self.rng
        if self.started_ranges and rng.random() < 0.55:
            number, domain = self.started_ranges.pop(rng.randrange(len(self.started_ranges)))
            self.end(place.tid, number, domain if rng.random() < 0.9 else 0)
        else:
            domain = rng.randrange(self.domain_count)
            self.started_ranges.append((self.start(place.tid, rng.choice(names.RANGES), domain), domain))

    def nest_deeply(self, place):
        """Ranges within ranges, more than loops expect, with calls at some of the depths."""
        rng = self.rng
        depth = rng.choice([3, 31, 32, 33, 34, 64, 65, 80])
        domain = rng.randrange(self.domain_count) if rng.random() < 0.3 else 0
        for level in range(2 * depth):
            if level < depth:
                self.push(place.tid, rng.choice(names.RANGES[:6]) if level < 4 else "n", domain)
            if rng.random() < 0.1:
                self.launch(place)
            self.host_ns[place.tid] += rng.choice([0, 0, 1, 500])
            if level >= depth:
                self.pop(place.tid, domain)
