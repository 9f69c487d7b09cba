"""A process of a made-up run: the clocks of its threads and streams, and what is written down of them."""

import typing

import names

U32_MAX = (1 << 32) - 1


class Place(typing.NamedTuple):
    tid: int
    device: int
    stream: int


class Call(typing.NamedTuple):
    start_ns: int
    end_ns: int
    correlation: int  # the one that its operations have


class Record(typing.NamedTuple):
    kind: str
    time_ns: int  # at which it is known, so that a tracer could write it
    line: str


def field_text(name, value):
    if isinstance(value, dict):
        return f"{name}={{{' '.join(f'{key}={part}' for key, part in value.items())}}}"
    return f'{name}="{value}"' if isinstance(value, str) else f"{name}={int(value)}"


class Process:
    def __init__(self, habits, pid, records):
        rng = habits.rng
        self.habits, self.rng, self.pid = habits, rng, pid
        self.records_left = records
        self.records = []
        self.image = rng.choice([0, 0, 0, 1, 39630108])
        self.device_count = rng.choices([1, 2, 3], [70, 20, 10])[0]
        self.stream_count = rng.choices([1, 2, 3, 6], [40, 25, 20, 15])[0]
        self.tids = [100 * pid + i for i in range(rng.choices([1, 2, 4], [55, 30, 15])[0])]
        self.host_ns = {tid: habits.base_ns + rng.randint(1000, 1_000_000) for tid in self.tids}
        self.stream_free_ns, self.device_free_ns = {}, {}
        self.draw_usual()
        self.draw_odd()

    def draw_usual(self):
        rng = self.rng
        self.runs_one_operation_a_device = rng.random() < 0.3
        self.order = "ahead"  # of host and device: run() draws it anew for each step
        self.correlation = rng.choice([0, 0, 0, 1, 1000, 65530, (1 << 31) - 50, U32_MAX - 20_000])
        self.correlation_step = rng.choice([1, 1, 1, 2, 7, 1000])
        self.inner_call_rate = rng.choice([0, 0, 0, 1, 0.3])
        self.inner_calls_share_correlation = rng.random() < 0.3
        self.operations_are_of_inner_calls = rng.random() < 0.3
        self.api_domain = rng.choice([1, 1, 2])
        self.launch_function = rng.choice(names.LAUNCHES)
        self.kernel_names = rng.sample(names.KERNELS, rng.randint(1, len(names.KERNELS)))
        self.kernel_ns = rng.choice([200, 2000, 20_000, 400_000])
        self.call_ns = rng.choice([300, 2000, 5000, 20_000])
        self.latency_ns = rng.choice([0, 500, 3000, 10_000])
        self.domain_count = rng.choices([1, 2, 4], [65, 20, 15])[0]
        self.has_colors, self.has_values = rng.random() < 0.2, rng.random() < 0.2

    def draw_odd(self):
        rate = self.habits.rate
        self.long_rate = rate(0.25, 0.0005, 0.01)
        self.zero_length_rate = rate(0.5, 0.001, 0.6)
        self.lost_call_rate = rate(0.4)
        self.lost_operation_rate = rate(0.4)
        self.several_operations_rate = rate(0.4)
        self.repeated_correlation_rate = rate(0.3)
        self.zero_correlation_rate = rate(0.2)
        self.early_operation_rate = rate(0.3)
        self.unfinished_rate = rate(0.3, 0.0005, 0.02)
        self.failure_rate = rate(0.3)
        self.odd_place_rate = rate(0.25)
        self.lost_pop_rate = rate(0.3)

    def happens(self, rate):
        return rate > 0 and self.rng.random() < rate

    def place(self):
        rng = self.rng
        return Place(rng.choice(self.tids), rng.randrange(self.device_count), 7 + 6 * rng.randrange(self.stream_count))

    def add(self, kind, known_ns, /, **fields):
        """Fields of None are left out, which makes them 0."""
        shown = [field_text(name, value) for name, value in fields.items() if value is not None]
        self.records.append(Record(kind, known_ns, f"{kind} {' '.join(shown)}"))
        self.records_left -= 1

    def add_span(self, kind, start_ns, end_ns, /, **fields):
        start, end = self.habits.quantize(start_ns), self.habits.quantize(end_ns)
        self.add(kind, end, start_ns=start, duration_ns=max(0, end - start), **fields)

    def add_instant(self, kind, at_ns, /, **fields):
        time = self.habits.quantize(at_ns)
        self.add(kind, time, time_ns=time, **fields)

    def duration(self, typical_ns):
        rng = self.rng
        if self.happens(self.zero_length_rate):
            return 0
        if self.happens(self.long_rate):  # around the widths of fields
            return rng.choice([(1 << 24) - 1, 1 << 24, U32_MAX, 1 << 32, (1 << 32) + 12_345, 1 << 38, (1 << 40) + 7])
        return int(typical_ns * rng.choice([0.5, 0.9, 1, 1, 1, 1.1, 2, rng.expovariate(1)]))

    def next_correlation(self):
        if self.happens(self.repeated_correlation_rate):
            return self.correlation
        if self.happens(self.zero_correlation_rate):
            return 0
        self.correlation = (self.correlation + self.correlation_step) & U32_MAX
        return self.correlation

    def call(self, tid, function, duration_ns=None, gap_ns=None):
        start_ns = self.host_ns[tid]
        length_ns = self.duration(self.call_ns) if duration_ns is None else duration_ns
        end_ns = start_ns + length_ns
        correlation = self.next_correlation()
        of_operations = correlation
        if length_ns > 4 and self.happens(self.inner_call_rate):
            inner = self.add_inner_calls(tid, function, Call(start_ns, end_ns, correlation))
            of_operations = inner if self.operations_are_of_inner_calls else correlation
        self.add_call(tid, function, start_ns, end_ns, correlation)
        self.host_ns[tid] = end_ns + (self.duration(self.call_ns // 4 + 1) if gap_ns is None else gap_ns)
        return Call(start_ns, end_ns, of_operations)

    def add_call(self, tid, function, start_ns, end_ns, correlation):
        is_unfinished = self.happens(self.unfinished_rate)
        if is_unfinished:
            end_ns = self.rng.choice([start_ns, end_ns])
        result = self.rng.choice([1, 2, 600, 700, -1]) if self.happens(self.failure_rate) else None
        self.add_span("api", start_ns, end_ns, tid=tid, correlation=correlation, function=function,
                      domain=self.api_domain, is_unfinished=is_unfinished or None, result=result)

    def add_inner_calls(self, tid, function, outer):
        """The driver's calls within one of the runtime; gives the correlation of the innermost."""
        rng = self.rng
        start_ns, end_ns, correlation = outer
        for _ in range(rng.choice([1, 1, 1, 2])):
            width = max(0, end_ns - start_ns)
            start_ns += rng.choice([0, width // 4, width // 3])
            end_ns -= rng.choice([0, width // 4, width // 3])
            if not self.inner_calls_share_correlation:
                correlation = self.next_correlation()
            self.add_span("api", start_ns, end_ns, tid=tid, correlation=correlation, domain=2,
                          function=function.replace("cuda", "cu").split("_v")[0])
        return correlation

    def operation(self, kind, place, call, typical_ns, /, **fields):
        begin_ns = self.operation_begin(place, call)
        length_ns = self.duration(typical_ns)
        end_ns = begin_ns + length_ns
        if length_ns < 1 << 31:  # a device is not held up by an operation that lasts for minutes
            self.stream_free_ns[place.device, place.stream] = self.device_free_ns[place.device] = end_ns
        device, context, stream = place.device, 1 + place.device, place.stream
        if self.happens(self.odd_place_rate):
            device, context, stream = self.rng.choice(
                [(device, 0, stream), (7, 1, stream), (device, context, 4_000_000_000), (99, 99, 99)])
        self.add_span(kind, begin_ns, end_ns, device=device or None, context=context, stream=stream,
                      correlation=call.correlation, **fields)
        if self.order == "in turns":
            self.host_ns[place.tid] = max(self.host_ns[place.tid], end_ns + self.rng.choice([0, 0, 1, 500, 3000]))

    def operation_begin(self, place, call):
        rng = self.rng
        if self.happens(self.early_operation_rate):  # clocks that do not agree
            return max(0, call.start_ns - rng.choice([1, 100, 100_000]))
        arrives_ns = call.start_ns + self.duration(self.latency_ns + 1)
        if self.order == "after":
            arrives_ns = call.end_ns + rng.choice([0, 0, 1, 300, 2000])
        free_ns = self.stream_free_ns.get((place.device, place.stream), 0)
        if self.runs_one_operation_a_device:
            free_ns = max(free_ns, self.device_free_ns.get(place.device, 0))
        if self.order == "any":
            free_ns = 0
        return max(arrives_ns, free_ns + rng.choice([0, 0, 1, 700, 1000]))
