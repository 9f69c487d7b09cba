"""Compares what a program knows about itself (examples/common/facts.h) with what a profile of it says.

Every function returns the differences as lines of text; none is what a test wants.
"""

import collections

import recorded

COPY_KINDS = {1: "h2d", 2: "d2h", 3: "h2a", 4: "a2h", 5: "a2a", 6: "a2d", 7: "d2a", 8: "d2d", 9: "h2h", 10: "p2p"}
MEMORY_KINDS = {1: "pageable", 2: "pinned", 3: "device", 4: "array", 5: "managed", 6: "device_static",
                7: "managed_static"}
SYNC_KINDS = {1: "event", 2: "stream_wait_event", 3: "stream", 4: "context"}
ANY = "any"


class Facts:
    def __init__(self, document):
        if document.get("schema") != "gprof.facts/1":
            raise ValueError("not a file of facts")
        self.program = document["program"]
        self.sections = document["facts"]

    def items(self, section):
        return self.sections.get(section, {}).items()

    def counts(self, section):
        return {item: fields["count"] for item, fields in self.items(section)}

    def count(self, section, item):
        return self.sections.get(section, {}).get(item, {}).get("count", 0)

    def sum(self, section, field):
        return sum(fields.get(field, 0) for _, fields in self.items(section))


def compare(what, expected, found):
    """Lines for the keys whose values differ, in either dictionary."""
    return [f"{what} {key}: {found.get(key, 0)}, not {expected.get(key, 0)}"
            for key in sorted({*expected, *found}, key=str) if expected.get(key, 0) != found.get(key, 0)]


def differences(known, records, has_graph_nodes=False, has_queries=False):
    return (gpu_differences(known, records, has_graph_nodes) + api_differences(known, records, has_queries) +
            thread_differences(known, records) + nvtx_differences(known, records) + stream_differences(known, records))


def all_differences(known, records, has_graph_nodes=False):
    """What applies to the program: one that only annotates or only copies between GPUs has no other facts."""
    if known.counts("kernels"):
        return differences(known, records, has_graph_nodes)
    return nvtx_differences(known, records) if known.counts("nvtx") else peer_differences(known, records)


def gpu_differences(known, records, has_graph_nodes=False):
    return (kernel_differences(known, records, has_graph_nodes) + copy_differences(known, records) +
            memset_differences(known, records, has_graph_nodes) + graph_differences(known, records, has_graph_nodes))


def kernel_name(mangled, names):
    """The fact that a mangled name stands for: `_ZN5gprof7kernels11EmptyKernelEv` is `EmptyKernel`."""
    return next((name for name in names if f"{len(name)}{name}E" in mangled or mangled == name), mangled)


def kernel_differences(known, records, has_graph_nodes):
    expected = known.counts("kernels")
    if has_graph_nodes:
        expected["EmptyKernel"] += known.count("graphs", "launches") * known.count("graphs", "kernel_nodes")
    found = collections.Counter(kernel_name(kernel["name"], expected) for kernel in records["kernel"])
    shapes = collections.Counter()
    for kernel in records["kernel"]:
        s = records.shape(kernel)
        shapes[f"{s['grid_x']}x{s['grid_y']}x{s['grid_z']}/{s['block_x']}x{s['block_y']}x{s['block_z']}/"
               f"{s['dynamic_shared_bytes']}"] += 1
    wanted = known.counts("shapes")
    return compare("kernel", expected, found) + compare("shape", wanted, {key: shapes[key] for key in wanted})


def copy_key(copy):
    memory = [MEMORY_KINDS.get(copy[field], str(copy[field])) for field in ("source_memory", "destination_memory")]
    return (COPY_KINDS.get(copy["copy_kind"], str(copy["copy_kind"])), *memory, "async" if copy["is_async"] else "sync")


def fill_key(fill):
    return (MEMORY_KINDS.get(fill["memory"], str(fill["memory"])), "async" if fill["is_async"] else "sync")


def tally(pairs):
    """{key: (count, bytes)}"""
    totals = collections.defaultdict(lambda: (0, 0))
    for key, size in pairs:
        totals[key] = (totals[key][0] + 1, totals[key][1] + size)
    return dict(totals)


def take_wildcards(expected, found):
    """Moves what matches a key with `any` in it under that key, after the keys without have taken theirs."""
    found = dict(found)
    for pattern in [key for key in expected if ANY in key]:
        matching = [key for key in found if key not in expected and len(key) == len(pattern) and
                    all(p in (ANY, k) for p, k in zip(pattern, key))]
        if matching:
            taken = [found.pop(key) for key in matching]
            found[pattern] = tuple(map(sum, zip(*taken)))
    return found


def sized(known, section):
    return {tuple(item.split("/")): (fields["count"], fields["bytes"]) for item, fields in known.items(section)}


def copy_differences(known, records):
    expected = sized(known, "memcpy")
    found = tally((copy_key(copy), copy["size_bytes"]) for copy in records["memcpy"])
    return compare("copies and bytes of", expected, take_wildcards(expected, found))


def memset_differences(known, records, has_graph_nodes):
    expected = sized(known, "memset")
    if has_graph_nodes:
        fields = dict(known.items("graphs"))["memset_nodes"]
        launches = known.count("graphs", "launches")
        of_graphs = (launches * fields["count"], launches * fields["bytes"])
        # Whether the fill of a graph counts as asynchronous is for CUPTI to say.
        parts = (expected[("device", ANY)], expected.pop(("device", "async")), of_graphs)
        expected[("device", ANY)] = tuple(map(sum, zip(*parts)))
    found = tally((fill_key(fill), fill["size_bytes"]) for fill in records["memset"])
    return compare("fills and bytes of", expected, take_wildcards(expected, found))


def graph_differences(known, records, has_graph_nodes):
    expected = 0 if has_graph_nodes else known.count("graphs", "launches")
    return compare("graph", {"launches": expected}, {"launches": len(records["graph_launch"])})


def api_differences(known, records, has_queries):
    """Only the functions that the program counts: the runtime makes calls of its own, for example to load modules."""
    expected = known.counts("api")
    if has_queries:
        expected.update(known.counts("api_queries"))
    calls = collections.Counter(recorded.function(call) for call in records["api"]
                                if call["domain"] == recorded.RUNTIME)
    lines = compare("calls of", expected, {name: calls[name] for name in expected})
    if not has_queries:
        lines += compare("calls of", {}, {name: calls[name] for name in known.counts("api_queries") if calls[name]})
    failed = {recorded.function(call) for call in records["api"] if call["result"] != 0} & set(expected)
    lines += [f"{name} is recorded as failed" for name in sorted(failed)]
    syncs = collections.Counter(SYNC_KINDS.get(sync["sync_kind"], str(sync["sync_kind"])) for sync in records["sync"])
    return lines + compare("waits for", known.counts("syncs"), syncs)


def thread_differences(known, records):
    names = {name["handle"]: name["name"] for name in records["nvtx_name"] if name["object"] == recorded.NAME_OF_THREAD}
    launches = collections.Counter(names.get(call["tid"]) for call in records["api"]
                                   if recorded.function(call) == "cudaLaunchKernel")
    expected = {name: fields["launches"] for name, fields in known.items("threads")}
    return compare("launches of thread", expected, {name: launches[name] for name in expected})


def nvtx_label(records, event):
    return f"{records.domain(event)}|{event['message']}"


def nvtx_differences(known, records):
    of_kind = collections.defaultdict(list)
    for event in records["nvtx"]:
        of_kind[event["event"]].append(event)
    pushes, starts, marks = (of_kind[kind] for kind in (recorded.NVTX_PUSH, recorded.NVTX_START, recorded.NVTX_MARK))
    lines = compare("NVTX", known.counts("nvtx"),
                    {"push_pop": len(pushes), "start_end": len(starts), "mark": len(marks)})
    lines += compare("NVTX ends of", {"push_pop": len(pushes), "start_end": len(starts)},
                     {"push_pop": len(of_kind[recorded.NVTX_POP]), "start_end": len(of_kind[recorded.NVTX_END])})
    for section, events in (("nvtx_ranges", pushes), ("nvtx_start_end", starts), ("nvtx_marks", marks)):
        if known.counts(section):
            found = collections.Counter(nvtx_label(records, event) for event in events)
            lines += compare(section, known.counts(section), found)
    begun = pushes + starts + marks
    types = collections.Counter(str(event["payload_type"]) for event in begun if event["payload_type"])
    if known.counts("nvtx_payload_types"):
        lines += compare("payloads of type", known.counts("nvtx_payload_types"), types)
    if known.counts("nvtx_colors"):
        lines += compare("colour", known.counts("nvtx_colors"),
                         collections.Counter(str(event["color"]) for event in begun if event["color"]))
    categories = collections.Counter(f"{records.domain(category)}|{category['name']}"
                                     for category in records["nvtx_category"])
    threads = collections.Counter(name["name"] for name in records["nvtx_name"]
                                  if name["object"] == recorded.NAME_OF_THREAD)
    return (lines + compare("NVTX category", known.counts("nvtx_categories"), categories) +
            compare("thread name", known.counts("thread_names"), threads))


def stream_differences(known, records):
    """Streams by the names that the program gave them; the others are the default stream and those of threads."""
    names = {name["handle"]: name["name"] for name in records["nvtx_name"] if name["object"] == recorded.NAME_OF_STREAM}
    default = {(context["context"], context["null_stream"]) for context in records["context"]}
    streams = collections.defaultdict(recorded.Record)
    for record in records["stream"]:  # one from the creating call, one from CUPTI, and each knows a part
        streams[(record["context"], record["stream"])].update(
            {field: record[field] for field in ("handle", "is_non_blocking", "priority") if record[field]})
    found = collections.defaultdict(collections.Counter)
    name_of = {}
    for key, stream in streams.items():
        if key in default:
            continue
        if not stream["handle"]:
            continue  # made by the driver for itself
        name_of[key] = names.get(stream["handle"], "of threads")
        found[name_of[key]].update(created=1, non_blocking=stream["is_non_blocking"], priority=stream["priority"])
    for kernel in records["kernel"]:
        if kernel["graph"] == 0:
            key = (kernel["context"], kernel["stream"])
            found["default" if key in default else name_of.get(key, str(key))]["kernels"] += 1
    lines = []
    expected = dict(known.items("streams"))
    for name in sorted({*expected, *found}):
        lines += compare(f"stream '{name}'", expected.get(name, {}), found[name])
    return lines


def peer_differences(known, records):
    found = tally((f"{copy['source_device']}>{copy['destination_device']}", copy["size_bytes"])
                  for copy in records["peer_copy"])
    staged = tally(({1: "h2d", 2: "d2h"}.get(copy["copy_kind"]), copy["size_bytes"]) for copy in records["memcpy"]
                   if copy["source_memory"] == copy["destination_memory"] == 3)
    lines = []
    for group, copies in (("peer_copies", found), ("staged_copies", staged)):
        expected = {item: (fields["count"], fields["bytes"]) for item, fields in known.items(group)}
        lines += compare(f"{group} and bytes of", expected, copies)
    return lines


def report_differences(known, report, has_graph_nodes=False):
    """The metrics of the report that the facts determine."""
    copies = [(item.split("/"), fields) for item, fields in known.items("memcpy")]
    expected = {
        "memcpy.count": known.sum("memcpy", "count"),
        "memcpy.bytes": known.sum("memcpy", "bytes"),
        "memcpy.pageable_count": sum(fields["count"] for key, fields in copies if "pageable" in key),
        "memcpy.pageable_bytes": sum(fields["bytes"] for key, fields in copies if "pageable" in key),
        "nvtx.marks": known.count("nvtx", "mark"),
        "nvtx.ranges": known.count("nvtx", "push_pop") + known.count("nvtx", "start_end"),
        "streams.created": known.sum("streams", "created"),
        "sync.count": sum(known.count("syncs", kind) for kind in ("event", "stream", "context")),
    }
    if not has_graph_nodes:
        expected.update({
            "kernels.count": known.sum("kernels", "count"),
            "kernels.distinct": len(known.counts("kernels")),
            "launches.count": known.count("api", "cudaLaunchKernel") + known.count("api", "cudaGraphLaunch"),
            "graphs.launches": known.count("graphs", "launches"),
            "memset.count": known.sum("memset", "count"),
            "memset.bytes": known.sum("memset", "bytes"),
        })
    if not known.counts("kernels"):
        expected = {metric: value for metric, value in expected.items() if metric.startswith("nvtx.")}
    if known.counts("peer_copies"):
        expected = {"memcpy.p2p_count": known.sum("peer_copies", "count"),
                    "memcpy.p2p_bytes": known.sum("peer_copies", "bytes")}
    return compare("metric", expected, {metric: report.metric(metric) for metric in expected})
