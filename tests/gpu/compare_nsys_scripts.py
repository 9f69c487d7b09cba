"""What the scripts of Nsight Systems print about our SQLite export, beside what our report says about the trace.

`compare_nsys_scripts.py FOLDER`: a folder for each trace, made by run_nsys_scripts.sh, with report.json, csv/, and the
files that `nsys stats` and `nsys analyze` wrote. Prints a line for each script and trace; exit code 1 where they differ.
"""

import collections
import csv
import json
import pathlib
import re
import statistics
import sys

DIRECTIONS = {"Host-to-Device": "host to device", "HtoD": "host to device", "Device-to-Host": "device to host",
              "DtoH": "device to host", "Device-to-Device": "device to device", "DtoD": "device to device",
              "Host-to-Array": "host to device", "Array-to-Host": "device to host", "Array-to-Array": "device to device",
              "Array-to-Device": "device to device", "Device-to-Array": "device to device",
              "Peer-to-Peer": "peer to peer", "PtoP": "peer to peer", "Host-to-Host": "host to host", "memset": "memset",
              "Unified Host-to-Device": "unified host to device", "Unified Device-to-Host": "unified device to host"}
ROUNDED_MB = 0.0005 * 4  # sizes are printed with three decimals, and at most four of them are added
SHOWN = 8


class Row(dict):
    """A row of nsys: columns by their names without the unit."""

    @classmethod
    def of(cls, row):
        return cls({re.sub(r"\s*\(.*?\)|:.*$", "", name).strip(): value for name, value in row.items() if name})

    def number(self, name):
        text = self[name].replace(",", "")
        return float(text) if "." in text else int(text)


def nsys_rows(folder, script):
    """Rows that nsys wrote, None where it wrote no file."""
    files = sorted(path for path in folder.glob(f"*{script}*.csv"))
    if not files:
        return None
    with open(files[0], newline="", encoding="utf-8") as file:
        return [Row.of(row) for row in csv.DictReader(file)]


class OurTrace:
    def __init__(self, folder):
        self.folder = folder
        self.report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        self.tables = {table["id"]: table["rows"] for table in self.report["tables"]}

    def records(self, kind):
        with open(self.folder / "csv" / f"{kind}.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def times(self, table):
        """{name: (count, total, min, max)}; names may come more than once where a table splits them further."""
        return {row["name"]: (row["count"], row["total_ns"], row["min_ns"], row["max_ns"]) for row in self.tables[table]}

    def copies(self):
        """{direction: (count, ns, bytes)}"""
        found = collections.defaultdict(lambda: (0, 0, 0))
        rows = [(row["direction"], row["count"], row["total_ns"], row["bytes"]) for row in self.tables["memcpy"]]
        rows += [("unified " + row["what"], row["count"], row["time_ns"], row["bytes"])
                 for row in self.tables["managed_memory"] if row["bytes"] is not None]
        for name, *sums in rows:
            found[name] = tuple(a + b for a, b in zip(found[name], sums))
        return dict(found)

    def range_names(self):
        """{path: (domain, name)}: names may have slashes in them."""
        return {row["path"]: (row["domain"], row["name"]) for row in self.records("nvtx_range")}

    def nvtx(self):
        """{domain:name: (count, ns)}, the paths of the report put together."""
        names, found = self.range_names(), collections.defaultdict(lambda: (0, 0))
        for row in self.tables["nvtx"]:
            key = ":".join(names[row["path"]])
            found[key] = (found[key][0] + row["count"], found[key][1] + row["total_ns"])
        return dict(found)

    def projections(self):
        """{domain:name: (instances, ns, launches)}: from the first start to the last end of what was launched within.

        nsys counts the work of one call once: the nodes of a graph, the two halves of a copy between devices.
        """
        calls = collections.defaultdict(list)
        for kind in ("kernel", "memcpy", "memset", "graph_launch"):
            for op in self.records(kind):
                if op["call_start_ns"]:
                    start = int(op["start_ns"])
                    calls[op["pid"], op["call_tid"]].append((int(op["call_start_ns"]), start, start + int(op["duration_ns"])))
        found = collections.defaultdict(lambda: (0, 0, 0))
        for row in self.records("nvtx_range"):
            start = int(row["start_ns"])
            end = start + int(row["duration_ns"])
            within = [op for op in calls[row["pid"], row["tid"]] if start <= op[0] <= end]
            if within and row["tid"] == row["end_tid"]:
                span_ns = max(op[2] for op in within) - min(op[1] for op in within)
                key = f"{row['domain']}:{row['name']}"
                found[key] = tuple(a + b for a, b in zip(found[key], (1, span_ns, len({op[0] for op in within}))))
        return dict(found)


def by_name(rows, name, *columns):
    found = {}
    for row in rows:
        found[row[name].removeprefix("[").removesuffix("]")] = tuple(row.number(column) for column in columns)
    return found


def column(row, *names):
    return next(name for name in names if name in row)


def domain_name(text):
    return text if ":" in text else ":" + text


def differences(ours, theirs):
    found = []
    for name in sorted(set(ours) | set(theirs)):
        if ours.get(name) != theirs.get(name):
            found.append(f"{name}: ours {ours.get(name)}, nsys {theirs.get(name)}")
    return found


def kernels(trace, rows):
    return differences(trace.times("kernels"), by_name(rows, "Name", "Instances", "Total Time", "Min", "Max"))


def calls(trace, rows):
    return differences(trace.times("api"), by_name(rows, "Name", "Num Calls", "Total Time", "Min", "Max"))


def operations(rows, *columns):
    """The report has copies of arrays among the others."""
    found = {}
    for name, values in by_name(rows, "Operation", *columns).items():
        name = DIRECTIONS.get(re.sub(r"^CUDA (memcpy )?", "", name), name)
        found[name] = tuple(a + b for a, b in zip(found[name], values)) if name in found else values
    return found


def copy_times(trace, rows):
    ours = {name: (count, time_ns) for name, (count, time_ns, _) in trace.copies().items()}
    return differences(ours, operations(rows, "Count", "Total Time"))


def copy_sizes(trace, rows):
    theirs, found = operations(rows, "Count", "Total"), []
    for name, (count, _, size) in trace.copies().items():
        other = theirs.pop(name, None)
        if other is None or other[0] != count or abs(other[1] - size / 1e6) > ROUNDED_MB:
            found.append(f"{name}: ours {(count, size / 1e6)}, nsys {other}")
    return found + [f"{name}: only nsys" for name in theirs]


def ranges(trace, rows):
    theirs = collections.defaultdict(lambda: (0, 0))
    for row in rows:
        name = domain_name(row[column(row, "Range", "Name")])
        if row.get("Style", "PushPop") in ("PushPop", "StartEnd"):
            theirs[name] = (theirs[name][0] + row.number("Instances"), theirs[name][1] + row.number("Total Time"))
    return differences(trace.nvtx(), dict(theirs))


def projected(trace, rows):
    theirs = collections.defaultdict(lambda: (0, 0, 0))
    for row in rows:
        name = domain_name(row["Range"])
        sums = (row.number("Range Instances"), row.number("Total Proj Time"), row.number("Total GPU Ops"))
        theirs[name] = tuple(a + b for a, b in zip(theirs[name], sums))
    return differences(trace.projections(), dict(theirs))


def durations(rows):
    return collections.Counter(row.number(column(row, "Duration", "Total Time")) for row in rows)


def listed(ours, rows):
    """Rules list what they found: the same durations, in any order."""
    mine, theirs = collections.Counter(ours), durations(rows)
    return [] if mine == theirs else [f"{len(ours)} of ours, {sum(theirs.values())} of nsys, "
                                      f"{sum((mine & theirs).values())} alike"]


def async_copies(trace, rows):
    """The rule takes any call with the number of the copy, whatever its process: with several, it lists copies twice."""
    calls = collections.Counter(call["correlation"] for call in trace.records("api")
                                if re.match(r"cudaMemcpy.*Async", call["function"]))
    return listed([int(copy["duration_ns"]) for copy in trace.records("memcpy") if copy["is_pageable"] == "1"
                   for _ in range(calls[copy["correlation"]])], rows)


def waits(trace, rows):
    return listed([int(call["duration_ns"]) for call in trace.records("api")
                   if re.match(r"cuda(Device|Stream)Synchronize", call["function"])], rows)


STATS = {"cuda_gpu_kern_sum": kernels, "cuda_api_sum": calls, "cuda_gpu_mem_time_sum": copy_times,
         "cuda_gpu_mem_size_sum": copy_sizes, "nvtx_sum": ranges, "nvtx_gpu_proj_sum": projected}
RULES = {"cuda_memcpy_async": async_copies, "cuda_api_sync": waits, "cuda_memcpy_sync": None, "cuda_memset_sync": None,
         "gpu_gaps": None, "gpu_time_util": None}


def said(folder, script):
    """Why there is no file: the last words of the command, SKIPPED for tables that are not there."""
    name = f"analyze_{script}.txt" if script in RULES else "stats.txt"
    text = (folder / name).read_text(encoding="utf-8", errors="replace")
    about = [line.strip() for line in text.splitlines() if script in line or "SKIPPED" in line or "rror" in line]
    return text, (about or [""])[-1]


def outcome(trace, script, compare):
    """(word, lines)"""
    text, words = said(trace.folder, script)
    if script in RULES and "[exit 0]" not in text:
        return "FAILED", [text.strip()[-300:]]
    rows = nsys_rows(trace.folder, script)
    if rows is None and "[exit 0]" not in text:
        return "FAILED", [text.strip()[-300:]]
    if compare is None:
        return "ran", [] if rows is None else [f"{len(rows)} rows"]
    wrong = compare(trace, rows or [])
    if wrong:
        return "DIFFERS", wrong[:SHOWN] + ([words] if rows is None else [])
    return ("equal", [f"{len(rows)} rows"]) if rows is not None else ("equal", ["nothing to show in either"])


def main():
    failures = 0
    for folder in sorted(path for path in pathlib.Path(sys.argv[1]).iterdir() if path.is_dir()):
        for script, compare in {**STATS, **RULES}.items():
            try:
                word, lines = outcome(OurTrace(folder), script, compare)
            except Exception as problem:  # a script that prints something else must not hide the others
                word, lines = "FAILED", [f"{type(problem).__name__}: {problem}"]
            failures += word in ("FAILED", "DIFFERS")
            print(f"{folder.name:26} {script:22} {word:8} {lines[0] if lines else ''}")
            for line in lines[1:]:
                print(f"{'':58} {line}")
    print(f"{failures} not as expected" if failures else "all as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
