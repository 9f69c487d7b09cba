"""Two GPUs without ranks: peer copies, managed memory, graphs, one process with both, and two processes on one by MPS."""

import collections
import pathlib
import shlex
import shutil
import sys
import time

import facts
import recorded
import support

from two_gpus import figures, jobs
from two_gpus.live import GEMM

PROGRAM = jobs.PROGRAMS / "two_devices_program.py"
MPS = "nvidia-cuda-mps-control"


def kinds_of(records):
    return {kind: len(rows) for kind, rows in sorted(records.kinds.items())}


def profiled(bench, record, name, *program, options=(), **env):
    """The records and the report of a program under `profile`, and what it printed."""
    trace = bench.new_folder(name) / "run.trace"
    done = bench.run(*jobs.profile(trace, "--compress", *options), *program, **env).must_be_well(name)
    records, document = bench.records(trace), bench.json_of("report", trace, "--rows", 0)
    record.update(seconds=done.seconds, told=done.documents(), kept=bench.keep(trace, f"{name}.trace"), kinds=kinds_of(records), loss=records["loss"],
                  problems=records.problems, report=figures.short_report(document))
    bench.say(f"  {name}: {done.seconds:.1f} s, {record['kept']}, told {record['told']}, unmatched {record['report']['metrics'].get('health.unmatched_launches')}")
    return records, document


def timed_by_device(kernels):
    return dict(collections.Counter(str(k["device"]) for k in kernels if k["start_ns"] and k["duration_ns"]))


def peer_example(bench, record):
    path = bench.new_folder("facts") / "facts.json"
    records, document = profiled(bench, record, "peer_copy", support.EXAMPLES / "peer_copy", "--facts", path)
    known = facts.Facts(support.read_json(path))
    record["differences"] = facts.peer_differences(known, records) + facts.report_differences(known, recorded.Report(document))
    bench.say("  differences from the facts:", record["differences"] or "none")


def copies_by_kind(records):
    rows = collections.defaultdict(lambda: [0, 0])
    for r in [*records["memcpy"], *records["peer_copy"]]:
        is_peer = "source_device" in r or "destination_device" in r
        key = f"gpu{r['source_device']} to gpu{r['destination_device']}" if is_peer else f"{facts.COPY_KINDS.get(r['copy_kind'], r['copy_kind'])} of gpu{r['device']}"
        rows[key][0] += 1
        rows[key][1] += r["size_bytes"]
    return {key: {"count": count, "bytes": size} for key, (count, size) in sorted(rows.items())}


def memcpy_peer(bench, record):
    records, _ = profiled(bench, record, "memcpy_peer", sys.executable, "-B", PROGRAM, "peer")
    told, calls = record["told"][0], collections.Counter(recorded.function(call) for call in records["api"])
    record["copies"], record["calls"] = copies_by_kind(records), dict(calls)
    record["calls_are_equal"] = calls["cudaMemcpyPeer"] == told["calls"]
    bench.say(f"  {calls['cudaMemcpyPeer']} calls of {told['calls']}; copies {record['copies']}")


def managed(bench, record):
    options = ("--cuda-um-cpu-page-faults", "--cuda-um-gpu-page-faults")
    profiled(bench, record, "managed", sys.executable, "-B", PROGRAM, "managed", options=options)
    bench.say("  records:", record["kinds"], {key: value for key, value in record["report"]["metrics"].items() if key.startswith("um.")})


def both_devices(bench, record):
    records, _ = profiled(bench, record, "both", sys.executable, "-B", PROGRAM, "both")
    products = timed_by_device([k for k in records["kernel"] if GEMM.search(k["name"])])
    record["products"], record["copies"] = products, copies_by_kind(records)
    record["products_are_equal"] = products == {str(device): record["told"][0]["products_each"] for device in range(2)}
    bench.say(f"  products {products}: {'equal' if record['products_are_equal'] else 'DIFFERENT'}; copies {record['copies']}")


def graphs(bench, record):
    """Graphs on two GPUs that are launched together: how many kernels have times."""
    record["runs"] = []
    for what in ("two", "pair"):
        for mode in ("auto", "node", "graph"):
            row = {"what": what, "mode": mode}
            record["runs"].append(row)
            records, _ = profiled(bench, row, f"graphs-{what}-{mode}", support.PROGRAMS / "gpu_graphs", what, options=("--cuda-graph-trace", mode))
            timed = timed_by_device(records["kernel"])
            row.update(timed=timed, known=row["told"][0]["kernels"])
            bench.say(f"  {what} {mode}: kernels with times {timed}, known {row['known']}, records {row['kinds']}")


def together_ns(kernels):
    """Time in which kernels of two processes ran at once."""
    by_process = collections.defaultdict(list)
    for kernel in kernels:
        by_process[kernel["process"]].append(kernel)
    unions = [figures.union(figures.times(of)) for of in by_process.values()]
    each = [figures.total(spans) for spans in unions]
    return {"processes": len(each), "busy_ns": each, "together_ns": sum(each) - figures.total(figures.union(span for spans in unions for span in spans))}


def shared_gpu(bench, record, name, **env):
    program = shlex.join([sys.executable, "-B", str(PROGRAM), "share"])
    records, _ = profiled(bench, record, name, "sh", "-c", f"{program} & {program} & wait", **env)
    products = collections.Counter(k["process"] for k in records["kernel"] if GEMM.search(k["name"]))
    record["products"], record["together"] = sorted(products.values()), together_ns(records["kernel"])
    record["products_are_equal"] = record["products"] == sorted(told["products"] for told in record["told"])
    bench.say(f"  {name}: products {record['products']}, {'equal' if record['products_are_equal'] else 'DIFFERENT'}; {record['together']}")
    for finding in record["report"]["findings"][:4]:
        bench.say("   ", finding["id"], finding["text"][:300])


def mps(bench, record):
    """Two processes on one GPU, in turns and by the service."""
    shared_gpu(bench, record.setdefault("in_turns", {}), "shared-in-turns")
    if shutil.which(MPS) is None:
        record["mps"] = f"{MPS} is not installed"
        bench.say("  not run:", record["mps"])
        return
    folder = bench.new_folder("mps")
    env = {"CUDA_MPS_PIPE_DIRECTORY": str(folder / "pipe"), "CUDA_MPS_LOG_DIRECTORY": str(folder / "log")}
    for path in env.values():
        pathlib.Path(path).mkdir()
    service = bench.start(MPS, "-f", **env)
    try:
        time.sleep(2)
        if not service.is_running():
            done = service.wait(0)
            record["mps"] = f"{MPS} ended with {done.code}: {done.stderr[-500:]} {done.stdout[-500:]}"
            bench.say("  not run:", record["mps"])
            return
        shared_gpu(bench, record.setdefault("mps", {}), "shared-mps", **env)
    finally:
        logs = {path.name: path.read_text(errors="replace")[-1500:] for path in (folder / "log").glob("*") if path.is_file()}
        record["mps_logs"] = logs
        bench.run("sh", "-c", f"echo quit | {MPS}", timeout_s=10, **env)
        service.end()


def cases():
    return [("devices.peer_copy", peer_example), ("devices.memcpy_peer", memcpy_peer), ("devices.both", both_devices), ("devices.graphs", graphs),
            ("devices.managed", managed)], [("devices.mps", mps)]
