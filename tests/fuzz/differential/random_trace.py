"""Made-up traces, as text: what a tracer could write of programs that nobody thought of."""

import typing

import names
from actions import RARE_WEIGHTS, WEIGHTS, Actions
from habits import Habits
from process import Place

ORDERS = ["ahead", "in turns", "after", "any"]  # of the device and its host
DEVICE = {"name": "NVIDIA H200", "compute_major": 9, "sm_count": 132, "sm_clock_khz": 1980000,
          "memory_bytes": 150109880320, "memory_bytes_per_second": 4814304000000, "max_threads_per_sm": 2048,
          "max_blocks_per_sm": 32, "max_registers_per_sm": 65536, "max_shared_bytes_per_sm": 233472,
          "max_threads_per_block": 1024, "max_registers_per_block": 65536, "max_shared_bytes_per_block": 49152,
          "warp_size": 32, "pcie_generation": 5, "pcie_lanes": 16}


class Work(typing.NamedTuple):
    """A part of a step, the same each time."""

    action: str
    place: Place
    kernel: tuple  # its name and shape, for launches
    range_name: str  # of the range around it, or None


class Program(Actions):
    """Steps of the same work over and over, now and then another."""

    def run(self):
        rng = self.rng
        self.describe()
        self.captures_left = 0 if rng.random() < 0.85 else rng.randint(1, 5)
        self.capture_number = 0
        if self.captures_left:
            self.begin_capture(min(self.host_ns.values()), rng.choice([1, 2, 3, 4]))
        phase_count = rng.choice([1, 1, 2, 3])
        records_a_phase = max(1, self.records_left // phase_count)
        for _ in range(phase_count):
            self.run_phase(max(0, self.records_left - records_a_phase))
        self.finish()

    def describe(self):
        """Records that others refer to; each may be missing."""
        first_ns = self.habits.base_ns + self.rng.choice([0, 0, 100, 900])
        if self.is_told():
            self.describe_process(first_ns)
        for device in range(self.device_count):
            self.describe_device(device, first_ns)
        for tid in self.tids:
            if self.rng.random() < 0.8:
                self.add("thread", 0, tid=tid, name=self.rng.choice(["main", "worker", "pt_autograd_0"]))
        for domain in range(1, self.domain_count):
            if self.rng.random() < 0.9:
                self.add("nvtx_domain", 0, domain=domain, name=self.rng.choice(["NCCL", "lib", "step", ""]))
        if self.has_colors:
            self.add("nvtx_category", 0, category=1, name="cat")
        if self.rng.random() < 0.1:
            self.add_instant("nvtx_name", first_ns, object=4, handle=20481, name="copies")
            self.add_instant("nvtx_name", first_ns, object=1, handle=self.tids[0], name="named thread")
        if self.rng.random() < 0.3:
            self.describe_clocks()

    def is_told(self):
        return self.habits.is_clean or self.rng.random() < 0.95

    def describe_process(self, first_ns):
        start = self.habits.quantize(first_ns)
        rank = {}
        if self.rng.random() < 0.2:
            rank = {"rank": self.pid % 4, "local_rank": self.pid % 4, "world_size": 4, "rank_source": "torchrun"}
        self.add("process",
                 start,
                 start_ns=start,
                 pid=self.pid,
                 parent_pid=6,
                 name="app",
                 command_line="./app -x",
                 host="box",
                 tracer_version="0.3.0",
                 cupti_version=130000,
                 driver_version=13000,
                 **rank)

    def describe_device(self, device, first_ns):
        rng = self.rng
        if self.is_told():
            uuid = f"GPU-{device}" if rng.random() < 0.8 else f"GPU-{self.pid}-{device}"
            self.add("device", 0, device=device, uuid=uuid, **DEVICE)
        if self.is_told():
            self.add("context", 0, context=1 + device, device=device, null_stream=7)
        for number in range(self.stream_count if rng.random() < 0.7 else 0):
            self.add("stream", 0, created_ns=self.habits.quantize(first_ns), context=1 + device, stream=7 + 6 * number,
                     is_non_blocking=rng.choice([0, 1]), handle=20480 + number)

    def describe_clocks(self):
        realtime_ns = 1795366918153485274
        for number in range(self.rng.choice([1, 5])):
            monotonic_ns, passed_ns = self.habits.base_ns + number * 1_000_000 + 500, number * 1_000_000
            self.add("clock",
                     0,
                     monotonic_ns=monotonic_ns,
                     realtime_ns=realtime_ns + passed_ns,
                     tsc=monotonic_ns * 2 + 77,
                     cupti_ns=0,
                     uncertainty_ns=70)
            self.add("clock", 0, monotonic_ns=monotonic_ns + 20, realtime_ns=realtime_ns + passed_ns + 20,
                     cupti_ns=realtime_ns + passed_ns + 20, uncertainty_ns=90)

    def run_phase(self, records_left_after):
        rng = self.rng
        step, orders = self.make_step(), rng.sample(ORDERS, rng.choice([1, 1, 2, 4]))
        step_name = rng.choice([None, None, "step", "step", "step {}"])
        if step_name == "step {}" and self.lost_pop_rate > 0:
            step_name = "step"  # else paths get endless
        go_on_together = rng.random() < 0.3
        number = 0
        while self.records_left > records_left_after:
            records_left_before = self.records_left
            self.order = rng.choice(orders)
            if go_on_together:
                self.host_ns = dict.fromkeys(self.tids, max(self.host_ns.values()))
            self.run_step(step if rng.random() < 0.95 else self.make_step(), step_name and step_name.format(number))
            if rng.random() < 0.3:
                self.host_ns[rng.choice(self.tids)] += rng.choice([0, 1000, 50_000, 3_000_000])
            if self.captures_left and rng.random() < 0.2:
                self.pause()
            number += 1
            if self.records_left == records_left_before:  # a step may be empty
                self.records_left -= 1

    def make_step(self):
        rng = self.rng
        weights = WEIGHTS | (RARE_WEIGHTS if self.habits.has_rare_oddities else {})
        weights = {action: weight * rng.choice([0, 0, 1, 1, 1, 3, 10]) for action, weight in weights.items()}
        if not any(weights.values()):
            weights["launch"] = 1
        place, place_change_rate, streams_take_turns = Place(self.tids[0], 0, 7), rng.choice([1, 0.5, 0.1,
                                                                                              0.02]), rng.random() < 0.2
        range_rate = rng.choice([0.1, 0.4, 0.9] if self.habits.has_mixed_ranges else [0, 0, 0.1, 0.4])
        shapes = self.make_shapes()
        step = []
        for number in range(rng.choice([1, 2, 3, 5, 10, 30, 100, 400])):
            if rng.random() < place_change_rate:
                place = self.place()
            if streams_take_turns:
                place = place._replace(stream=7 + 6 * (number % self.stream_count))
            action = rng.choices(list(weights), weights.values())[0]
            kernel = (rng.choice(self.kernel_names), rng.choice(shapes)) if action == "launch" else ()
            step.append(Work(action, place, kernel, rng.choice(names.RANGES) if rng.random() < range_rate else None))
        return step

    def make_shapes(self):
        rng = self.rng
        if rng.random() < 0.5:
            return [None]
        return [{
            "grid_x": rng.choice([1, 10, 132, 5000]),
            "grid_y": 1,
            "grid_z": 1,
            "block_x": rng.choice([1, 32, 256, 1024]),
            "block_y": 1,
            "block_z": 1,
            "registers_per_thread": rng.choice([16, 64, 255])
        } for _ in range(rng.randint(1, 6))]

    def run_step(self, step, name):
        if name is not None:
            self.push(self.tids[0], name)
        for work in step:
            if self.records_left <= 0:
                break
            if work.range_name is None:
                getattr(self, work.action)(work.place, *work.kernel)
            else:
                self.run_in_range(work)
        if name is not None:
            self.pop(self.tids[0])

    def run_in_range(self, work):
        rng, tid = self.rng, work.place.tid
        is_mixed = self.habits.has_mixed_ranges
        how = rng.choice(["push", "push", "start", "push in a domain"]) if is_mixed else "push"
        domain = self.domain_count - 1 if how == "push in a domain" else 0
        if how == "start":
            number = self.start(tid, work.range_name)
        else:
            self.push(tid, work.range_name, domain)
        self.host_ns[tid] += rng.choice([0, 1, 700]) if is_mixed else 0
        getattr(self, work.action)(work.place, *work.kernel)
        if how == "start":
            self.end(tid, number)
        else:
            self.pop(tid, domain)
        self.host_ns[tid] += rng.choice([0, 1, 700]) if is_mixed else 0

    def begin_capture(self, time_ns, trigger):
        self.captures_left -= 1
        self.capture_number += 1
        self.add_instant("capture", time_ns, event=1, trigger=trigger, number=self.capture_number)

    def pause(self):
        rng = self.rng
        now_ns = max(self.host_ns.values())
        later_ns = now_ns + rng.choice([0, 1, 5000, 10_000_000])
        self.add_instant("capture", now_ns, event=2, trigger=3, number=self.capture_number)
        if rng.random() < 0.9:
            self.begin_capture(later_ns, 3)
        if rng.random() < 0.8:
            self.host_ns = {tid: max(time, later_ns + rng.choice([0, 10, 1000])) for tid, time in self.host_ns.items()}

    def finish(self):
        rng = self.rng
        last_ns = max([*self.host_ns.values(), *self.stream_free_ns.values()])
        is_odd = not self.habits.is_clean
        if is_odd and rng.random() < 0.1:
            self.add_instant("loss",
                             last_ns,
                             reason=rng.randint(1, 6),
                             lost_kind=rng.choice([0, 9, 10]),
                             count=rng.choice([1, 1000]))
        if is_odd and rng.random() < 0.1:
            self.add_instant("notice", last_ns, level=rng.randint(1, 3), message="a notice")
        if rng.random() < 0.85:
            until_ns = self.habits.quantize(last_ns -
                                            rng.choice([0, 1000, 1_000_000])) if is_odd and rng.random() < 0.1 else None
            self.add_instant("end",
                             last_ns + rng.choice([0, 1, 1000, 1_000_000]),
                             reason=rng.choice([1, 1, 1, 2, 3, 4]),
                             gpu_complete_until_ns=until_ns)


def in_written_order(rng, records, order):
    if order == "by end":
        return sorted(records, key=lambda record: record.time_ns)
    if order == "by kind":
        return sorted(records, key=lambda record: record.kind)
    if order == "nearly":
        width = rng.choice([2, 5, 40, 300])
        places = [number + rng.uniform(0, width) for number in range(len(records))]
        return [records[number] for number in sorted(range(len(records)), key=places.__getitem__)]
    if order == "any":
        return rng.sample(records, len(records))
    return records


def chunks_of(rng, records):
    """Records in the order in which they are written, in lists of a chunk each."""
    order = rng.choices(["as they come", "by end", "by kind", "nearly", "any", "chunks"], [40, 20, 10, 15, 5, 10])[0]
    records = in_written_order(rng, records, order)
    most = rng.choice([50, 300, 1000, 4000, 16384, 16384, 1 << 30])
    chunks, at = [], 0
    while at < len(records):
        count = max(1, int(most * rng.uniform(0.3, 1)))
        chunks.append(records[at:at + count])
        at += count
    if order == "chunks":
        rng.shuffle(chunks)
    return chunks


def make(rng, sort, most_records=300_000):
    """The text of a trace that follows from the state of `rng` alone; of no more records than that and a few."""
    habits = Habits(rng, sort, most_records)
    process_count = rng.choices([1, 2, 3, 4], [70, 15, 9, 6])[0]
    pids = rng.sample(range(2, 60), process_count) if rng.random() < 0.9 else [7] * process_count
    waiting = []
    for number, pid in enumerate(pids):
        program = Program(habits, pid, max(5, habits.records // process_count))
        program.run()
        start_ticks = number if pids.count(pid) > 1 or rng.random() < 0.3 else 0
        header = f"chunk pid={pid} start_ticks={start_ticks} host={rng.choice([0, 0, 5])} image={program.image}"
        waiting.append([(header, chunk) for chunk in chunks_of(rng, program.records)])
    compression = rng.choice([""] * 9 + [" zstd=1"])
    lines = []
    while any(waiting):  # processes take turns at the file
        header, chunk = rng.choice([chunks for chunks in waiting if chunks]).pop(0)
        lines.append(header + compression)
        lines += [record.line for record in chunk]
    return "\n".join(lines) + "\n"
