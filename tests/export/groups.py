"""What a trace holds in groups, to be compared across formats: how many of each there are, how long they took, how many bytes."""

import collections
import re

import exporting

WORK = ("kernel", "memcpy", "memset", "graph_launch")
WORK_IN_TIMELINES = ("kernel", "gpu_memcpy", "gpu_memset", "gpu_graph")
SIDES = {"H": "host", "D": "device", "A": "device", "P": "peer"}


def sums(rows):
    """{key: (count, nanoseconds, bytes)}"""
    found = collections.defaultdict(lambda: (0, 0, 0))
    for key, duration_ns, size_bytes in rows:
        count, total_ns, total_bytes = found[key]
        found[key] = count + 1, total_ns + duration_ns, total_bytes + size_bytes
    return dict(found)


def number(text):
    """Of a process or a thread. What has no room in a format, or is taken there, gets another one."""
    return text if 0 < int(text or 0) < 1 << 22 else "made up"


class Tables:
    """Of the tables that `export --format csv` writes."""

    def __init__(self, folder):
        self.tables = {path.stem: exporting.csv_rows(path) for path in folder.glob("*.csv")}

    def of(self, kinds, *columns, where=lambda row: True):
        def key(row):
            return tuple(number(row[column]) if column in ("pid", "tid") else row[column] for column in columns)

        return sums((key(row), int(row.get("duration_ns") or 0), int(row.get("size_bytes") or 0))
                    for kind in kinds for row in self.tables[kind] if where(row))

    def groups(self):
        return {"kernels": self.of(["kernel"], "name"),
                "copies": self.of(["memcpy"], "direction", "source_memory", "destination_memory", "is_async", "device",
                                  "peer_device", "is_from_peer"),
                "fills": self.of(["memset"], "memory"),
                "streams": self.of(WORK, "pid", "device", "context", "stream"),
                "calls": self.of(["api"], "pid", "tid", "domain", "function"),
                "launching calls": self.of(WORK, "function"),
                "ranges": self.of(["nvtx_range"], "pid", "path", "style"),
                "kernels in ranges": self.of(["kernel"], "nvtx_path"),
                # Of an enumeration one format has the number, another one the name.
                "payloads": self.of(["nvtx_payload"], "pid", "name", "key"),
                "payload sizes": self.of(["nvtx_payload"], "name", "integer", where=lambda row: row["key"].startswith("Message size")),
                "rows": {kind: len(self.tables[kind]) for kind in ("jit", "memory", "memory_pool", "managed_memory", "event_record",
                                                                   "graph_node", "nvtx_mark")},
                "memory pools": self.of(["memory_pool"], "operation", "is_imported", "size_bytes", "keep_bytes"),
                "streams with names": self.of(["stream"], "context", "stream", "name", where=lambda row: row["name"]),
                "ranks": self.of(["process"], "pid", "rank", where=lambda row: row["rank"]),
                "waits": self.of(["sync"], "sync_kind")}

    def groups_of_timeline(self):
        """With the keys of `of_perfetto`: it has no tables, and start/end ranges have no path there."""
        return {"kernels": self.of(["kernel"], "name"),
                "copies": self.of(["memcpy"], "direction", "source_memory", "destination_memory", "is_async", "device",
                                  "peer_device", "is_from_peer"),
                "fills": self.of(["memset"], "memory"),
                "streams": self.of(WORK, "device", "context", "stream"),
                "calls": self.of(["api"], "pid", "tid", "domain", "function"),
                "launching calls": self.of(WORK, "function"),
                "ranges": self.of(["nvtx_range"], "path", where=lambda row: row["style"] == "push_pop"),
                "kernels in ranges": self.of(["kernel"], "nvtx_path")}


def ends_of_copy(s):
    """The columns of a copy in the tables, from a slice: Memcpy HtoD (Pageable -> Device)."""
    source, destination, *memory = re.fullmatch(r"Memcpy (\w)to(\w) \((.*) -> (.*)\)", s.name).groups()
    kinds = [kind.removesuffix(" Static").lower() for kind in memory]
    peer = from_peer = ""
    if "fromDevice" in s.args:
        ends = s.args["fromDevice"], s.args["toDevice"]
        from_peer = int(ends[1] == s.args["device"])
        peer = ends[0] if from_peer else ends[1]
    return (f"{SIDES[source]} to {SIDES[destination]}", *kinds, str(int(s.args["asynchronous"])), str(s.args["device"]),
            str(peer), str(from_peer))


def of_perfetto(trace):
    """Of what perfetto_wire.Perfetto read."""
    def of(categories, key, where=lambda s: True):
        return sums((key(s), s.end_ns - s.start_ns, s.args.get("bytes", 0))
                    for s in trace.slices if s.category in categories and where(s))

    calls = ("cuda_runtime", "cuda_driver")
    callers = {flow: s.name for s in trace.slices if s.category in calls for flow in s.flows}
    paths = paths_of_ranges(trace)
    return {"kernels": of(["kernel"], lambda s: (s.name,)),
            "copies": of(["gpu_memcpy"], ends_of_copy),
            "fills": of(["gpu_memset"], lambda s: (re.fullmatch(r"Memset \((.*?)( Static)?\)", s.name)[1].lower(),)),
            "streams": of(WORK_IN_TIMELINES, lambda s: tuple(str(s.args[key]) for key in ("device", "context", "stream"))),
            "calls": of(calls, lambda s: (*map(str, trace.thread(s.track)), s.category.removeprefix("cuda_"), s.name)),
            "launching calls": of(WORK_IN_TIMELINES, lambda s: (",".join(callers[flow] for flow in s.ended_flows),)),
            "ranges": of(["user_annotation"], lambda s: (paths[s.args["External id"]],), lambda s: trace.is_of_thread(s.track)),
            "kernels in ranges": of(["kernel"], lambda s: (paths.get(s.args.get("External id"), ""),))}


def paths_of_ranges(trace):
    """{number of a range: its path}, from how the ranges of a thread lie within each other."""
    paths, around = {}, collections.defaultdict(list)
    for s in trace.slices:
        if s.category != "user_annotation":
            continue
        domain, stack = s.args.get("domain", ""), around[s.track]
        while stack and stack[-1][0] >= s.depth:
            stack.pop()
        outer = [name for _, of_domain, name in stack if of_domain == domain]
        paths[s.args["External id"]] = "/".join([domain] * bool(domain) + outer + [s.name])
        stack.append((s.depth, domain, s.name))
    return paths
