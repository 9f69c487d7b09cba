"""FSDP, tensor parallel, a pipeline, and bandwidth: what the program knows beside what is reported."""

from two_gpus import ddp, figures, jobs

PROGRAM = jobs.PROGRAMS / "torch_parallel_cases.py"
STEPS = {"fsdp": 20, "tensor": 20, "pipeline": 10, "bandwidth": 1}


def recorded_run(bench, record, case):
    """The traces of the ranks, their records, and what `ranks` and `report` say of them."""
    folder = bench.new_folder(f"parallel-{case}")
    own = jobs.profile(folder / "rank%q{RANK}.trace", "--compress")
    done = bench.run(*jobs.torchrun(bench.ranks, PROGRAM, case, STEPS[case], own=own)).must_be_well(case)
    record["told"], record["seconds"] = sorted(done.documents(), key=lambda told: told.get("rank", 0)), done.seconds
    traces = [folder / f"rank{rank}.trace" for rank in range(bench.ranks)]
    record["kept"] = {trace.name: bench.keep(trace, f"{case}-{trace.name}") for trace in traces}
    got = ddp.in_parallel(verdict=lambda: bench.json_of("ranks", *traces, "--rows", 0), report=lambda: bench.json_of("report", *traces, "--rows", 0),
                          **{str(rank): lambda trace=trace: bench.records(trace, "kernel,collective,loss") for rank, trace in enumerate(traces)})
    records = [got[str(rank)] for rank in range(bench.ranks)]
    record["ranks"], record["report"] = figures.short_verdict(got["verdict"]), figures.short_report(got["report"])
    record["operations"] = [figures.operations(one) for one in records]
    record["problems"], record["loss"] = [one.problems for one in records], [one["loss"] for one in records]
    compare_counts(bench, record)
    compare_exposed(bench, record, records)
    bench.say(f"  {done.seconds:.1f} s, {record['kept']}")
    for row in record["ranks"]["tables"].get("groups", []):
        bench.say("    group", row)
    ddp.say_findings(bench, "ranks", got["verdict"])
    ddp.say_findings(bench, "report", got["report"])


def compare_counts(bench, record):
    """Of each function: between the least and the most that the program expects, in each rank."""
    record["counts"] = []
    for told, by_communicator in zip(record["told"], record["operations"]):
        found = figures.sums_of(by_communicator)
        for function, (least, most) in told.get("expected", {}).items():
            holds = least <= found.get(function, 0) <= most
            record["counts"].append({"rank": told["rank"], "function": function, "least": least, "most": most, "found": found.get(function, 0), "holds": holds})
        bench.say(f"  rank {told['rank']}: communicators {by_communicator}")
    record["counts_are_equal"] = all(row["holds"] for row in record["counts"])
    for row in record["counts"]:
        bench.say(f"  rank {row['rank']}: {row['function']} {row['found']}, expected {row['least']} to {row['most']}: {'yes' if row['holds'] else 'NO'}")


def compare_exposed(bench, record, records):
    """Exposed NCCL in integers, from the records and from the report of all ranks."""
    of_ranks = [figures.exposed_and_hidden(one["kernel"]) for one in records]
    own = {key: sum(of[key] for rank in of_ranks for of in rank.values()) for key in ("nccl_ns", "exposed_ns")}
    metrics = record["report"]["metrics"]
    told = {key: metrics.get(f"nccl.{key.replace('nccl_ns', 'total_ns')}") for key in own}
    record["exposed"] = {"by_rank": of_ranks, "records": own, "report": told, "hidden_ns": own["nccl_ns"] - own["exposed_ns"], "is_equal": own == told}
    record["exposed_is_equal"] = own == told
    bench.say(f"  exposed {own['exposed_ns']} of {own['nccl_ns']} ns of NCCL; report {told}: {'equal' if own == told else 'DIFFERENT'}; waiting {metrics.get('nccl.waiting_ns')}")


def pipeline(bench, record):
    recorded_run(bench, record, "pipeline")
    rows = []
    steps = {step["rank"]: step for step in record["ranks"]["steps"]}
    for told in record["told"]:
        step = steps.get(told["rank"], {})
        if "bubble_percent" not in told or not step.get("wall_ns"):
            continue
        rows.append({"rank": told["rank"], "program_percent": told["bubble_percent"], "theory_percent": told["bubble_of_theory_percent"],
                     "gprof_percent": 100 * (1 - step.get("kernel_ns", 0) / step["wall_ns"]), "exposed_nccl_percent": 100 * step.get("exposed_ns", 0) / step["wall_ns"]})
    record["bubble"] = rows
    for row in rows:
        bench.say("  bubble", {key: round(value, 2) for key, value in row.items()})


def bandwidth(bench, record):
    """nccl_operations has a row for each function and size; of an all-gather NCCL tells what a rank sends."""
    recorded_run(bench, record, "bandwidth")
    table = record["report"]["tables"].get("nccl_operations", [])
    record["compared"] = []
    for told in record["told"][0].get("rows", []):
        sizes = (told["bytes"], told["bytes"] // bench.ranks)
        rows = [row for row in table if row["function"] == told["function"] and row["size_bytes"] in sizes and row["count"] >= record["told"][0]["repeats"]]
        if told["function"] != "AllReduce":  # of two that fit, the one with the size of a part
            rows = [row for row in rows if row["size_bytes"] == sizes[1]] or rows
        else:
            rows = [row for row in rows if row["size_bytes"] == sizes[0]]
        found = [row.get("bus_bytes_per_second") for row in rows]
        best = max((value for value in found if value), default=None)
        ratio = best / told["bus_bytes_per_second"] if best else None
        record["compared"].append({**told, "gprof_bus_bytes_per_second": best, "rows": rows, "ratio": ratio})
        shown = "nothing" if best is None else f"{best / 1e9:.1f} GB/s ({ratio:.3f})"
        bench.say(f"  {told['function']} {told['bytes'] >> 20} MiB: program {told['bus_bytes_per_second'] / 1e9:.1f} GB/s, gprof-cli {shown}")
    bench.say(f"  nccl.bus_bytes_per_second {record['report']['metrics'].get('nccl.bus_bytes_per_second')}")


def cases():
    return [("parallel.pipeline", pipeline), ("parallel.bandwidth", bandwidth),
            *((f"parallel.{case}", lambda bench, record, case=case: recorded_run(bench, record, case)) for case in ("fsdp", "tensor"))]
