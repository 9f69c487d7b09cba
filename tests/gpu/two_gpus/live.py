"""Tools that come while the ranks run: attach, recorders with snapshots, and a collective that one rank never reaches."""

import collections
import re
import time

import recorded
import support

from two_gpus import ddp, figures, jobs

PROGRAM = jobs.PROGRAMS / "torch_live_cases.py"
START_S, WORK_S, ATTACHED_S, HANG_S = 40, 3, 3, 25
PRODUCTS = 6  # of a step of the program
GEMM = re.compile(r"gemm|cutlass|xmma|nvjet", re.I)


def wait_for(paths, job, seconds, what):
    """Until all of the files are there; the program that should write them may not end before."""
    until = time.monotonic() + seconds
    while not all(path.exists() for path in paths):
        if not job.is_running():
            done = job.wait(0)
            raise jobs.CaseError(f"the program ended with {done.code} before {what}: {done.stderr[-1500:]}")
        if time.monotonic() > until:
            raise jobs.CaseError(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.02)


def begin(bench, case, folder, own=()):
    """The job and the pid of each rank's program, when the steps have begun."""
    job = bench.start(*jobs.torchrun(bench.ranks, PROGRAM, case, folder, own=own))
    paths = [folder / f"rank{rank}.pid" for rank in range(bench.ranks)]
    wait_for(paths, job, bench.bounded_s(START_S), "the ranks began")
    time.sleep(0.2)  # what is in the files
    return job, [int(path.read_text(encoding="ascii")) for path in paths]


def finish(bench, record, job, folder):
    """Tells the program to end: what each rank says, and the times at which its steps began."""
    (folder / "stop").touch()
    done = job.wait(bench.bounded_s(30))
    record["exit_code"], record["told"], record["stderr"] = done.code, done.documents(), done.stderr[-1500:]
    record["is_right"] = done.code == 0 and len(record["told"]) == bench.ranks and not any(told["wrong"] for told in record["told"])
    bench.say(f"  program: exit code {done.code}, results {'right' if record['is_right'] else 'WRONG'}: {record['told']}")
    paths = [folder / f"rank{rank}.json" for rank in range(bench.ranks)]
    return [support.read_json(path)["begun_ns"] if path.is_file() else [] for path in paths]


def attach(bench, record):
    folder = bench.new_folder("attach")
    job, pids = begin(bench, "steady", folder)
    time.sleep(1.5)  # steps without us
    traces = [folder / f"attach{rank}.trace" for rank in range(bench.ranks)]
    began_ns = time.monotonic_ns()
    tools = [bench.start(support.COMMAND, "attach", "--experimental", pid, "-d", ATTACHED_S, "-f", "-o", trace) for pid, trace in zip(pids, traces)]
    done = [tool.wait(bench.bounded_s(30)) for tool in tools]
    ended_ns = time.monotonic_ns()
    record["attach"] = [{"exit_code": one.code, "seconds": one.seconds, "stderr": one.stderr[-600:]} for one in done]
    bench.say("  attach:", record["attach"])
    if job.is_running():
        time.sleep(1.5)  # steps after us
    begun = finish(bench, record, job, folder)
    record["kept"] = {trace.name: bench.keep(trace, trace.name) for trace in traces}
    record["ranks"] = []
    for rank, (trace, steps) in enumerate(zip(traces, begun)):
        if trace.is_file():
            row = attached_records(bench.records(trace, "kernel,collective,loss,api,nvtx"), steps)
            row["steps_meanwhile"] = figures.count_between(steps, began_ns, ended_ns)
            row["step_ms"] = {"before": figures.step_ms(steps, 0, began_ns), "meanwhile": figures.step_ms(steps, began_ns, ended_ns),
                              "after": figures.step_ms(steps, ended_ns, 1 << 62)}
            record["ranks"].append(row)
            bench.say(f"  rank {rank}:", {key: value for key, value in row.items() if key != "names"})
    record["records_are_equal"] = len(record["ranks"]) == bench.ranks and all(row["is_equal"] for row in record["ranks"])
    if all(trace.is_file() for trace in traces):
        record["report"] = figures.short_report(bench.json_of("report", *traces, "--rows", 0))
        verdict = bench.json_of("ranks", *traces, "--rows", 0)
        record["verdict"] = figures.short_verdict(verdict)
        ddp.say_findings(bench, "ranks", verdict)


def attached_records(records, steps):
    """Between the first and the last recorded reduction, a step has begun for each but one, with a known number of products."""
    kernels = [k for k in records["kernel"] if k["start_ns"]]
    reductions = sorted(k["start_ns"] for k in kernels if figures.is_nccl(k))
    first, last = (reductions[0], reductions[-1]) if reductions else (0, 0)
    products = sum(bool(GEMM.search(k["name"])) and first < k["start_ns"] < last for k in kernels)
    between = figures.count_between(steps, first, last)
    expected = {"reductions": between + 1, "products": PRODUCTS * between}
    found = {"reductions": len(reductions), "products": products}
    calls = collections.Counter(recorded.function(call) for call in records["api"])
    return {"kernels": len(kernels), "expected": expected, "found": found, "is_equal": expected == found, "reductions": figures.gaps(reductions),
            "collectives_told": figures.sums_of(figures.operations(records)), "launches": sum(n for name, n in calls.items() if "LaunchKernel" in name),
            "ranges": len(records["nvtx"]), "problems": records.problems, "loss": records["loss"],
            "names": collections.Counter(k["name"][:70] for k in kernels).most_common(8)}


def recorders(folder, *options):
    return [support.COMMAND, "record", "--keep", "20s", "-o", folder / "own%q{RANK}.trace", *options, "--"]


def snapshots(bench, folder, pids, name):
    """Of all recorders at once: what the commands said, and the traces."""
    traces = [folder / f"{name}{rank}.trace" for rank in range(bench.ranks)]
    tools = [bench.start(support.COMMAND, "snapshot", pid, "-f", "-o", trace, "--reason", "all ranks at once") for pid, trace in zip(pids, traces)]
    done = [tool.wait(bench.bounded_s(20)) for tool in tools]
    return [{"exit_code": one.code, "seconds": one.seconds, "said": (one.stderr + one.stdout)[-400:]} for one in done], traces


def record_and_snapshot(bench, record):
    folder = bench.new_folder("record")
    job, pids = begin(bench, "steady", folder, own=recorders(folder))
    time.sleep(WORK_S)
    record["snapshots"], traces = snapshots(bench, folder, pids, "snapshot")
    bench.say("  snapshots:", record["snapshots"])
    finish(bench, record, job, folder)
    record["kept"] = {trace.name: bench.keep(trace, trace.name) for trace in traces}
    verdict = bench.json_of("ranks", *traces, "--rows", 0)
    record["verdict"] = figures.short_verdict(verdict)
    lines = figures.lines_marked(PROGRAM, "steady")
    record["judged_ranks"] = figures.judge(verdict, {"fleet.late_host"}, r"sleep", PROGRAM, lines)
    record["reductions"] = [figures.gaps(sorted(k["start_ns"] for k in bench.records(trace, "kernel")["kernel"] if figures.is_nccl(k))) for trace in traces]
    bench.say("  reductions of the ranks:", record["reductions"], "clocks:", verdict.get("alignment"))
    ddp.say_judged(bench, "ranks of the snapshots", record["judged_ranks"])
    ddp.say_findings(bench, "ranks", verdict)


def hang(bench, record):
    """What is said today of a collective that rank 1 never reaches."""
    folder = bench.new_folder("hang")
    job, pids = begin(bench, "hangs", folder, own=recorders(folder, "--on-hang", "2s", "--cooldown", "1s", "--most", "2"))
    own = [folder / f"own{rank}.trace" for rank in range(bench.ranks)]
    try:
        wait_for(own, job, bench.bounded_s(HANG_S), "each recorder told of the hang")
        record["told_of_hang"] = "all ranks"
    except jobs.CaseError as error:
        record["told_of_hang"] = str(error)
    bench.say("  --on-hang:", record["told_of_hang"], {path.name: path.exists() for path in own})
    time.sleep(1)  # the files are complete
    record["snapshots"], now = snapshots(bench, folder, pids, "now")
    traces = [one if one.is_file() else other for one, other in zip(own, now)]
    record["stderr_of_recorders"] = job.paths[1].read_text(encoding="utf-8", errors="replace")[-2000:]
    record["kept"] = {trace.name: bench.keep(trace, f"hang-{trace.name}") for trace in traces}
    record["reports"], record["texts"] = [], []
    lines = [figures.lines_marked(PROGRAM, "waits"), figures.lines_marked(PROGRAM, "hangs")]
    for rank, trace in enumerate(traces):
        document = bench.json_of("report", trace, "--rows", 0)
        text = bench.cli("report", "--no-pager", trace).stdout
        wanted = lines[min(rank, 1)] if rank < 2 else lines[0]
        row = {**figures.short_report(document), "names_line": figures.names_line(text, PROGRAM, wanted), "lines": wanted}
        record["reports"].append(row)
        record["texts"].append(text[:6000])
        bench.say(f"  report of rank {rank}: names line {wanted}: {'yes' if row['names_line'] else 'NO'}")
        ddp.say_findings(bench, "report", document)
    verdict = bench.json_of("ranks", *traces, "--rows", 0)
    record["verdict"], record["ranks_text"] = figures.short_verdict(verdict), bench.cli("ranks", "--no-pager", *traces).stdout[:6000]
    record["names_rank_1"] = bool(re.search(r"\brank 1\b", record["ranks_text"]))
    bench.say(f"  ranks: names rank 1: {'yes' if record['names_rank_1'] else 'NO'}; its line: {figures.names_line(record['ranks_text'], PROGRAM, lines[1])}")
    bench.say(record["ranks_text"][:2500])


def cases():
    return [("live.attach", attach), ("live.record", record_and_snapshot), ("live.hang", hang)]
