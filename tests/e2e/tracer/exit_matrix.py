"""What exit_matrix did, as it wrote it down itself, and what a trace must hold of it. tests/gpu uses this too."""
import collections
import dataclasses
import pathlib
import signal
import struct

SLOTS, SYNCS = 16, 64
_SLOT = struct.Struct("<12Q2I1Q")
_SYNC = struct.Struct("<3Q")
COUNTERS = ("marks", "ranges", "pops", "launches", "graphs")
DOINGS = ("idle", "threads", "gpu", "graph")

EXIT, EXEC, SALVAGED = 1, 2, 4  # EndReason
MARK, PUSH, POP = 1, 2, 3       # NvtxEvent


@dataclasses.dataclass(frozen=True)
class Way:
    """A way to end: the exit code, how the trace says that the process ended, and whether its handlers ran."""

    code: int
    ends: tuple
    is_orderly: bool
    meaning: str


def _killed(number):
    return Way(128 + number, (SALVAGED,), False, f"killed by {signal.Signals(number).name}")


WAYS = {
    "return": Way(3, (EXIT,), True, "return from `main`"),
    "exit": Way(4, (EXIT,), True, "`exit`"),
    "_exit": Way(5, (SALVAGED,), False, "`_exit`"),
    "quick_exit": Way(6, (EXIT, SALVAGED), True, "`quick_exit`"),
    "abort": Way(128 + signal.SIGABRT, (SALVAGED,), False, "`abort`"),
    "segv": _killed(signal.SIGSEGV),
    "term": _killed(signal.SIGTERM),
    "int": _killed(signal.SIGINT),
    "kill": _killed(signal.SIGKILL),
    "exec": Way(3, (EXEC, SALVAGED), False, "`exec` without `fork`"),
    "fork__exit": Way(11, (SALVAGED, EXIT), True, "`fork`, and `_exit` in the child"),
    "pthread_exit": Way(8, (EXIT,), True, "`pthread_exit` of the main thread, `exit` of another"),
    "launcher_killed": Way(3, (EXIT,), True, "`gprof-cli` killed, the program returns later"),
    "both_killed": Way(128 + signal.SIGKILL, (SALVAGED,), False, "`gprof-cli` and the program killed"),
}


class Slot:
    """One thread of the program."""

    def __init__(self, number, data):
        fields = _SLOT.unpack_from(data)
        self.number = number
        self.begun = dict(zip(COUNTERS, fields[0:10:2]))
        self.done = dict(zip(COUNTERS, fields[1:10:2]))
        self.marks_at_end, self.captured, self.pid, self.tid, sync_count = fields[10:]
        first = _SLOT.size
        self.syncs = [_SYNC.unpack_from(data, first + i * _SYNC.size) for i in range(min(sync_count, SYNCS))]

    @property
    def key(self):
        return self.pid, self.tid


def read_slots(path):
    data = path.read_bytes()
    size = _SLOT.size + SYNCS * _SYNC.size
    slots = [Slot(i, data[i * size:(i + 1) * size]) for i in range(SLOTS)]
    return [slot for slot in slots if slot.pid]


def is_alive(pid):
    """Whether a process, child of ours or not, still runs: its first thread may be gone before the others."""
    states = []
    for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            states.append(stat.read_text().rpartition(")")[2].split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return any(state not in "ZX" for state in states)


class Checker:
    """Compares a trace with the slots. `trace.of(kind, **fields)` answers records, `function(call)` a call's name."""

    def __init__(self, case, trace, slots, way, function):
        self.case, self.trace, self.slots, self.way, self.function = case, trace, slots, way, function

    def least(self, slot, counter):
        """Threads that go on while the program ends in order may outlive the recording; no other event may be missing."""
        if self.way.is_orderly and slot.number not in (0, 8):
            return min(slot.done[counter], max(slot.marks_at_end - 1, 0))
        return slot.done[counter]

    def check_numbers(self, slot, event, counter):
        """Marks and pushes are numbered, so each is there once and none is missing in between."""
        numbers = [r["payload"] & 0xFFFFFFFF for r in self.trace.of("nvtx", event=event, tid=slot.tid)
                   if r["payload"] >> 32 == slot.number and r["message"] == "step" and r["pid_of_chunk"] == slot.pid]
        self.case.assertEqual(sorted(numbers), list(range(len(numbers))), f"{counter} of slot {slot.number}")
        self.case.assertGreaterEqual(len(numbers), self.least(slot, counter), f"{counter} of slot {slot.number}")
        self.case.assertLessEqual(len(numbers), slot.begun[counter], f"{counter} of slot {slot.number}")

    def check_count(self, records, key, counter):
        """Of what has no numbers, for the slots that one thread had, before and after exec for example."""
        slots = [slot for slot in self.slots if slot.key == key]
        got = sum(1 for r in records if (r["pid_of_chunk"], r["tid"]) == key)
        if counter == "launches":
            got -= sum(slot.captured for slot in slots)
        self.case.assertGreaterEqual(got, sum(self.least(slot, counter) for slot in slots), (counter, key))
        self.case.assertLessEqual(got, sum(slot.begun[counter] for slot in slots), (counter, key))

    def check_host(self):
        calls = [r for r in self.trace.of("api") if r["domain"] == 1]
        launches = [r for r in calls if self.function(r) == "cudaLaunchKernel"]
        graphs = [r for r in calls if self.function(r) == "cudaGraphLaunch"]
        pops = self.trace.of("nvtx", event=POP)
        for slot in self.slots:
            self.check_numbers(slot, MARK, "marks")
            self.check_numbers(slot, PUSH, "ranges")
        for key in {slot.key for slot in self.slots}:
            self.check_count(pops, key, "pops")
            self.check_count(launches, key, "launches")
            self.check_count(graphs, key, "graphs")
        self.check_once(calls, ("pid_of_chunk", "image", "tid", "correlation", "start_ns"))

    def check_once(self, records, fields):
        counts = collections.Counter(tuple(r[f] for f in fields) for r in records)
        self.case.assertEqual([key for key, n in counts.items() if n > 1], [])

    def ends(self):
        return self.trace.of("end")

    def check_gpu(self):
        """What had finished by the time that the end record names is there. Returns how many launches have no operation with times."""
        kernels, graphs = self.trace.of("kernel"), self.trace.of("graph_launch")
        self.check_once(kernels, ("pid_of_chunk", "image", "correlation", "graph_node"))
        self.check_once(graphs, ("pid_of_chunk", "image", "correlation"))
        untimed = sum(r["count"] for r in self.trace.of("loss"))
        first = self.slots[0]
        until = [r["gpu_complete_until_ns"] for r in self.ends() if r["pid_of_chunk"] == first.pid]
        limit = until[0] if until else 1
        for time_ns, launches, launched_graphs in first.syncs:
            if limit and time_ns > limit:
                continue
            self.case.assertGreaterEqual(len(kernels) + untimed, launches)
            self.case.assertGreaterEqual(len(graphs) + untimed, launched_graphs)
        begun = sum(slot.begun["launches"] + slot.begun["graphs"] for slot in self.slots)
        self.case.assertLessEqual(len(kernels) + len(graphs), begun)
        there = {(r["pid_of_chunk"], r["image"], r["correlation"]) for r in (*kernels, *graphs)
                 if r["start_ns"]}
        calls = [r for r in self.trace.of("api") if self.function(r) in ("cudaLaunchKernel", "cudaGraphLaunch")
                 and r["result"] == 0 and not r["is_unfinished"]]
        missing = sum((r["pid_of_chunk"], r["image"], r["correlation"]) not in there for r in calls)
        return missing - sum(slot.captured for slot in self.slots)

    def check_ends(self):
        reasons = [r["reason"] for r in self.ends()]
        self.case.assertTrue(reasons, "no end record")
        for reason in reasons:
            self.case.assertIn(reason, (*self.way.ends, EXIT))
        if EXIT not in self.way.ends:
            self.case.assertTrue(set(reasons) & set(self.way.ends), reasons)
        processes = {(r["pid_of_chunk"], r["image"]) for r in self.trace.of("process")}
        self.case.assertEqual(len(reasons), len(processes), "an end record for each process")


def table():
    """The table of docs/losses.md; the tests hold what they see to it."""
    names = {EXIT: "in order", EXEC: "exec", SALVAGED: "died, rest taken from memory"}
    lines = ["| the process ends by | NVTX events and CUDA calls lost | GPU work missing that had finished | GPU work missing that "
             "still ran or waited | end record |", "|---|---|---|---|---|"]
    for way in WAYS.values():
        finished = "none" if way.is_orderly else "what CUPTI had not delivered"
        if way.meaning == "`_exit`":  # once the slots of modules are led to us
            finished = "none, or " + finished
        lines.append(f"| {way.meaning} | none | {finished} | all of it | {' or '.join(names[end] for end in way.ends)} |")
    return "\n".join(lines)
