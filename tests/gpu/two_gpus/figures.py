"""What is read out of reports, verdicts and records, and computed a second time from the records."""

import bisect
import collections
import re

KEPT_METRICS = ("nccl.", "balance.", "sharing.", "critical.window", "health.", "gpu.busy", "gpu.idle", "um.", "memcpy.p2p")
KEPT_TABLES = ("nccl", "nccl_waits", "nccl_operations", "nccl_messages", "groups", "collectives", "hosts", "ranks", "turns", "os_files")
MOST_ROWS, MOST_FINDINGS = 40, 8


def lines_marked(program, what):
    """Numbers of the lines of a program that end with `# late: WHAT`."""
    text = program.read_text(encoding="utf-8")
    return [number for number, line in enumerate(text.splitlines(), 1) if line.rstrip().endswith(f"# late: {what}")]


def text_of(finding):
    return "\n".join([finding.get("message", ""), *finding.get("evidence", [])])


def shown_findings(document):
    return [f for f in document["findings"] if not f["id"].startswith("health.") and not f.get("same_as") and not f.get("is_minor")]


def short_findings(document):
    return [{"id": f["id"], "about": f.get("about", ""), "gain_ns": f.get("gain_ns"), "text": text_of(f)[:700]} for f in shown_findings(document)[:MOST_FINDINGS]]


def tables_of(document, names=KEPT_TABLES):
    return {table["id"]: table["rows"][:MOST_ROWS] for table in document.get("tables", []) if table["id"] in names}


def metrics_of(document):
    """Those of the whole trace; a metric that the report does not have is not in it either."""
    return {m["id"]: m["value"] for m in document.get("metrics", []) if not m["scope"]}


def short_report(document):
    kept = {key: value for key, value in metrics_of(document).items() if key.startswith(KEPT_METRICS)}
    trust = document.get("trust", {})
    return {"findings": short_findings(document), "metrics": kept, "tables": tables_of(document),
            "complete": trust.get("complete"), "remarks": trust.get("remarks")}


def middle(values):
    values = sorted(values)
    return values[len(values) // 2] if values else None


def short_verdict(document):
    """Of `ranks`: findings, clocks, groups, and the parts of the median step of each rank."""
    steps = []
    for rank in (document.get("steps") or {}).get("ranks", []):
        parts = {key: middle(rank[key]) for key in ("own_ns", "wall_ns", "kernel_ns", "copy_ns", "exposed_ns") if rank.get(key)}
        steps.append({"rank": rank["rank"], "steps": len(rank.get("wall_ns", [])), **parts})
    path = document.get("critical_path") or {}
    return {"findings": short_findings(document), "ranks": document.get("ranks"), "missing": document.get("missing"), "incomplete": document.get("incomplete"),
            "alignment": document.get("alignment"), "steps": steps, "turns": path.get("turns"), "path_parts": path.get("parts"), "tables": tables_of(document)}


def names_line(text, program, numbers):
    return any(re.search(rf"\b{re.escape(program.name)}:{number}\b", text) for number in numbers)


def judge(document, ids, reason, program, numbers, rank=1):
    """Whether a late rank is named as expected. Of the first finding of these ids, and of all that are shown."""
    findings = shown_findings(document)
    places = [place for place, finding in enumerate(findings, 1) if finding["id"] in ids]
    everything = "\n".join(text_of(finding) for finding in findings)
    row = {"expected": {"ids": sorted(ids), "rank": rank, "reason": reason, "lines": numbers}, "place": places[0] if places else None,
           "line_anywhere": names_line(everything, program, numbers), "reason_anywhere": bool(re.search(reason, everything))}
    if not places:
        return {**row, "id": None, "rank": False, "reason": False, "line": False}
    finding = findings[places[0] - 1]
    text = f"{finding.get('about', '')}\n{text_of(finding)}"
    return {**row, "id": finding["id"], "rank": bool(re.search(rf"\b(rank|GPU) {rank}\b", text)), "reason": bool(re.search(reason, text)),
            "line": names_line(text, program, numbers)}


def judge_balanced(document, ids):
    wrong = [finding["id"] for finding in shown_findings(document) if finding["id"] in ids]
    return {"expected": "nobody is named", "wrong": wrong, "holds": not wrong}


def is_nccl(kernel):
    return "ncclDevKernel" in kernel["name"] or "ncclKernel" in kernel["name"]


def times(kernels):
    return sorted((k["start_ns"], k["start_ns"] + k["duration_ns"]) for k in kernels if k["start_ns"] and k["duration_ns"])


def union(spans):
    joined = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    return joined


def total(spans):
    return sum(end - begin for begin, end in spans)


def exposed_and_hidden(kernels):
    """Of each device: time with an NCCL kernel, and the part in which no other kernel ran."""
    by_device = collections.defaultdict(lambda: ([], []))
    for kernel in kernels:
        by_device[kernel["device"]][0 if is_nccl(kernel) else 1].append(kernel)
    found = {}
    for device, (nccl, others) in sorted(by_device.items()):
        of_nccl, of_others = union(times(nccl)), union(times(others))
        busy = total(union(times(nccl + others)))
        found[str(device)] = {"nccl_ns": total(of_nccl), "exposed_ns": busy - total(of_others), "other_kernels_ns": total(of_others)}
    return found


def waiting_and_transfer(kernels):
    """For each NCCL kernel the time before the last rank's began, and the rest: the n-th of each device belong together.

    Works where each rank has a device and calls collectives of all ranks in one stream.
    """
    by_device = collections.defaultdict(list)
    for kernel in filter(is_nccl, kernels):
        by_device[kernel["device"]].append(kernel)
    rows = [times(of) for _, of in sorted(by_device.items())]
    counts = [len(row) for row in rows]
    if len(rows) < 2 or len(set(counts)) != 1:
        return {"counts": counts, "why_not": "the devices have different numbers of NCCL kernels"}
    waiting = transfer = late = 0
    for together in zip(*rows):
        last = max(begin for begin, _ in together)
        for begin, end in together:
            waiting += min(last, end) - begin
            transfer += end - min(last, end)
            late += last > end  # they cannot be of one collective
    whole = sum(total(row) for row in rows)
    return {"counts": counts, "kernel_ns": whole, "waiting_ns": waiting, "transfer_ns": transfer, "sums_up": waiting + transfer == whole, "not_together": late}


def operations(records):
    """Counts of what NCCL told, by communicator and function."""
    counts = collections.defaultdict(collections.Counter)
    for r in records["collective"]:
        counts[f"{r['communicator'] & 0xffffffffffffffff:016x}"][r["function"]] += 1
    return {key: dict(sorted(value.items())) for key, value in sorted(counts.items())}


def sums_of(by_communicator):
    added = collections.Counter()
    for counts in by_communicator.values():
        added.update(counts)
    return dict(added)


def gaps(starts):
    """Of sorted times: the median and the largest distance."""
    distances = [b - a for a, b in zip(starts, starts[1:])]
    return {"count": len(starts), "median_gap_ns": middle(distances), "largest_gap_ns": max(distances, default=None)}


def count_between(begun_ns, first_ns, last_ns):
    return bisect.bisect_right(begun_ns, last_ns) - bisect.bisect_left(begun_ns, first_ns)


def step_ms(begun_ns, first_ns, last_ns):
    """Median step of those that begin between two times."""
    inside = begun_ns[bisect.bisect_left(begun_ns, first_ns):bisect.bisect_right(begun_ns, last_ns)]
    gap = gaps(inside)["median_gap_ns"]
    return None if gap is None else gap / 1e6
