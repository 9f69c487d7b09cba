"""DDP in ranks of which one is held up: is it named, why, and the line?"""

import concurrent.futures

from two_gpus import figures, jobs

PROGRAM = jobs.PROGRAMS / "torch_ddp_cases.py"
STEPS = 40
LATE_HOST = {"fleet.late_host"}
STRAGGLERS = {"fleet.slow_gpu", "fleet.more_work", "fleet.slow_copies", "fleet.late_host", "fleet.skewed_clock", "fleet.turns", "fleet.network"}
# What `ranks` should name it by, and words for the reason.
EXPECTED = {
    "balanced": None,
    "sleeps": (LATE_HOST, r"sleep"),
    "computes": (LATE_HOST, r"compute_on_host|CPU|its own code|host code"),
    "multiplies": ({"fleet.more_work"}, r"more of them|more kernels|gemm|kernel"),
    "items": (LATE_HOST, r"item|Synchronize|synchron"),
    "loads": (LATE_HOST, r"load_slowly|sleep"),
}
# One trace has no ranks to compare: there it is NCCL's waiting that tells.
IN_REPORT = {"nccl.straggler"}


def judged(case, document, is_report):
    if EXPECTED[case] is None:
        return figures.judge_balanced(document, IN_REPORT if is_report else STRAGGLERS)
    ids, reason = EXPECTED[case]
    return figures.judge(document, IN_REPORT if is_report else ids, reason, PROGRAM, figures.lines_marked(PROGRAM, case))


def say_judged(bench, source, row):
    if "holds" in row:
        bench.say(f"  {source}: nobody named: {'yes' if row['holds'] else row['wrong']}")
        return
    said = ", ".join(f"{what} {'yes' if row[what] else 'NO'}" for what in ("rank", "reason", "line"))
    bench.say(f"  {source}: {row['id'] or 'no finding of ' + str(row['expected']['ids'])} (place {row['place']}); {said}; line in any finding: {row['line_anywhere']}")


def say_findings(bench, source, document):
    for finding in figures.shown_findings(document)[:4]:
        bench.say(f"    {source} {finding['id']}: {finding['message'][:300]}")


def split_of(records, document):
    """NCCL's time as the report has it and as the records have it; all in nanoseconds."""
    metrics, own = figures.metrics_of(document), figures.waiting_and_transfer(records["kernel"])
    told = {key: metrics.get(key) for key in ("nccl.total_ns", "nccl.waiting_ns", "nccl.late_host_ns", "nccl.exposed_ns")}
    row = {"report": told, "records": own, "exposed": figures.exposed_and_hidden(records["kernel"])}
    if "kernel_ns" in own:
        row["total_is_equal"] = told["nccl.total_ns"] == own["kernel_ns"]
        row["waiting_is_equal"] = told["nccl.waiting_ns"] == own["waiting_ns"]
    row["exposed_is_equal"] = told["nccl.exposed_ns"] == sum(of["exposed_ns"] for of in row["exposed"].values())
    return row


def in_parallel(**calls):
    """{name: result}; these read files only, so nothing on the GPUs is disturbed."""
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        futures = {name: pool.submit(call) for name, call in calls.items()}
        return {name: future.result() for name, future in futures.items()}


def trace_a_rank(bench, record, case):
    """As docs/cluster.md says: torchrun starts a `profile` for each rank."""
    folder = bench.new_folder(f"ddp-{case}")
    own = [*jobs.profile(folder / "rank%q{RANK}.trace", "--compress")]
    done = bench.run(*jobs.torchrun(bench.ranks, PROGRAM, case, STEPS, own=own)).must_be_well("torchrun with a profile a rank")
    record["told"] = done.documents()
    record["seconds"] = done.seconds
    traces = [folder / f"rank{rank}.trace" for rank in range(bench.ranks)]
    record["kept"] = {trace.name: bench.keep(trace, f"ddp-{case}-{trace.name}") for trace in traces}
    got = in_parallel(verdict=lambda: bench.json_of("ranks", *traces, "--rows", 0), both=lambda: bench.json_of("report", *traces, "--rows", 0),
                      one=lambda: bench.json_of("report", traces[1], "--rows", 0))
    record["ranks"], record["judged_ranks"] = figures.short_verdict(got["verdict"]), judged(case, got["verdict"], False)
    record["report_of_both"], record["judged_report_of_both"] = figures.short_report(got["both"]), judged(case, got["both"], True)
    record["report_of_rank_1"] = figures.short_report(got["one"])
    bench.say(f"  trace a rank: {done.seconds:.1f} s, {record['kept']}; clocks: {got['verdict'].get('alignment')}")
    say_judged(bench, "ranks", record["judged_ranks"])
    say_judged(bench, "report of both", record["judged_report_of_both"])
    say_findings(bench, "ranks", got["verdict"])
    say_findings(bench, "report of rank 1", got["one"])


def one_trace(bench, record, case):
    """One `profile` around torchrun."""
    trace = bench.new_folder(f"one-{case}") / "all.trace"
    done = bench.run(*jobs.profile(trace, "--compress"), *jobs.torchrun(bench.ranks, PROGRAM, case, STEPS)).must_be_well("profile of torchrun")
    record["told"], record["seconds"], record["kept"] = done.documents(), done.seconds, bench.keep(trace, f"one-{case}.trace")
    got = in_parallel(report=lambda: bench.json_of("report", trace, "--rows", 0), verdict=lambda: bench.json_of("ranks", trace, "--rows", 0),
                      records=lambda: bench.records(trace, "kernel,loss"))
    report, records = got["report"], got["records"]
    record["report"], record["judged_report"] = figures.short_report(report), judged(case, report, True)
    record["judged_ranks"] = judged(case, got["verdict"], got["verdict"].get("schema") != "gprof.analyze/1")
    record["schema_of_ranks"] = got["verdict"].get("schema")
    record["split"], record["problems"], record["loss"] = split_of(records, report), records.problems, records["loss"]
    bench.say(f"  one trace: {done.seconds:.1f} s, {record['kept']}; {record['split']}")
    say_judged(bench, "report", record["judged_report"])
    say_findings(bench, "report", report)


def cases():
    found = [(f"ddp.{case}", lambda bench, record, case=case: trace_a_rank(bench, record, case)) for case in EXPECTED]
    return found, [(f"one.{case}", lambda bench, record, case=case: one_trace(bench, record, case)) for case in EXPECTED]
