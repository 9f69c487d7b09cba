"""What recording costs two ranks of a balanced DDP: untraced, `profile`, without NCCL's plug-in, and nsys, in turn."""

import os
import statistics

import nsys

from two_gpus import ddp, jobs

STEPS, CALLS, ROUNDS = 150, 400, 3
WITHOUT_NCCL = "cuda,nvtx,osrt,mpi,gemm"  # the default without nccl
FIGURES = ("step_ms", "call_us")


def variants(bench, folder):
    """(name, command before that of the program, environment)"""
    profile = jobs.profile(folder / "with.trace")
    found = [("untraced", [], {}), ("profile", profile, {}), ("profile_without_nccl", jobs.profile(folder / "without.trace", "-t", WITHOUT_NCCL), {})]
    if bench.nsys:
        libraries = nsys.environment().get("LD_LIBRARY_PATH", "")
        env = {"LD_LIBRARY_PATH": libraries} if libraries else {}
        found.append(("nsys", [bench.nsys, "profile", "-f", "true", "-o", folder / "nsys"], env))
    return found


def measure(bench, record, name, command, env):
    done = bench.run(*command, *jobs.torchrun(bench.ranks, ddp.PROGRAM, "balanced", STEPS, CALLS), **env)
    told = next((one for one in done.documents() if "step_ms" in one), {})
    row = {"variant": name, "exit_code": done.code, "seconds": done.seconds, **{key: told.get(key) for key in FIGURES}}
    if done.code != 0:
        row["stderr"] = done.stderr[-800:]
    record["runs"].append(row)
    bench.say(f"  {name}: step {row['step_ms']} ms, all_reduce of 8 bytes {row['call_us']} us, {done.seconds:.1f} s, exit code {done.code}")


def summary(runs):
    """Of each variant the median, the least and the most, and the median in percent of that of untraced runs."""
    rows, base = {}, {}
    for name in dict.fromkeys(run["variant"] for run in runs):
        row = rows[name] = {}
        for key in FIGURES:
            values = [run[key] for run in runs if run["variant"] == name and run[key] is not None]
            if not values:
                continue
            middle = statistics.median(values)
            row[key] = {"median": middle, "least": min(values), "most": max(values), "runs": len(values)}
            if name == "untraced":
                base[key] = middle
            elif key in base:
                row[key]["overhead_percent"] = 100 * (middle / base[key] - 1)
    return rows


def overhead(bench, record):
    folder = bench.new_folder("overhead")
    record["runs"], record["nsys"], record["cpus"] = [], str(bench.nsys), os.cpu_count()
    longest_s = 0
    for _ in range(ROUNDS):
        for name, command, env in variants(bench, folder):
            if bench.left_s() < longest_s:
                bench.say("  no time for more runs")
                break
            measure(bench, record, name, command, env)
            longest_s = max(longest_s, record["runs"][-1]["seconds"])
        record["summary"] = summary(record["runs"])
    for name, row in record["summary"].items():
        bench.say(f"  {name}: {row}")


def cases():
    return [("overhead.ddp", overhead)]
