#!/usr/bin/env python3
"""What `gprof-cli requests` says of a server that knows the truth (programs/serving_engine.py), and what telling it costs.

    tests/gpu/measure_serving.py OUT truth [--requests 5000] [--look-s 60]   requests, tokens, steps and members equal to its log; sums
    tests/gpu/measure_serving.py OUT plants                                  interferences: are they named for the tokens they delayed?
    tests/gpu/measure_serving.py OUT cost [--rounds 4]                       steps untraced and recorded, in turns

--cpu sleeps in place of kernels and needs no GPU. OUT/serving_*.json has what was measured. Exits with 1 when a request, a step or
a sum is wrong, or an interference is not named; cost only measures.
"""

import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import statistics
import sys
import time

import support

PROGRAMS = support.SOURCE / "tests" / "gpu" / "programs"
HOOKS = support.BUILD / "lib" / "gprof-cli" / "hooks"  # has gprof_serving.py
PLANTS = ("long-prefill", "slow-tokeniser", "slow-tokeniser", "stalled-scheduler", "preemption", "slow-detokeniser", "gpu-hog", "gpu-hog")
# What may be said of tokens that were delayed so.
REASONS = {
    "long-prefill": ("prefill of others in the same step", "host code in prefill of others"),
    "slow-tokeniser": ("host code",),
    "stalled-scheduler": ("host code",),
    "preemption": ("preemption", "its prompt, computed again"),
    "slow-detokeniser": ("output",),
    "gpu-hog": ("work of ", "other work on the GPU"),
}
EVENT_ARRIVED, EVENT_TOKENS = 1, 2
FIELD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')
GRAPH_OF_16 = range(9, 17)  # requests
LATE_NS = 1_000_000  # between what the engine notes and what it tells


def run(*words, env=None):
    done = support.run(*words, env=env)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))[:300]} ended with {done.returncode}: {done.stderr[-1000:]}")
    return done


class Engine:
    def __init__(self, wanted):
        self.wanted = wanted
        self.out = wanted.out
        self.env = support.environment(PYTHONPATH=str(HOOKS))

    def serve(self, name, *options, profile=None):
        """Untraced without `profile`, which are its options. The trace and the engine's own log."""
        log, trace = self.out / f"{name}.log.json", self.out / f"{name}.trace"
        tool = [] if profile is None else [support.COMMAND, "profile", "-q", "-f", "-o", trace, *profile, "--"]
        device = ["--cpu"] if self.wanted.cpu else []
        run(*tool, sys.executable, "-B", PROGRAMS / "serving_engine.py", "--log", log, *device, *options, env=self.env)
        return trace, json.loads(log.read_text(encoding="utf-8"))

    def tables(self, trace, *options):
        done = run(support.COMMAND, "requests", trace, "--rows", "0", "--format", "json", *options)
        return {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}

    def tokens_of(self, trace, name):
        return {int(row["token"]) - 1: row for row in self.tables(trace, "--request", name)["request_tokens"]}


def sum_is_exact(row):
    return sum(value for key, value in row.items() if key.endswith("_ns") and key not in ("latency_ns", "longest_between_ns")) == row["latency_ns"]


def fields(line):
    return {key: value.strip('"') for key, value in FIELD.findall(line)}


def told(trace):
    """{request: [tokens of its prompt, tokens handed out]}, and [(waiting, cache, blocks, members)] of the steps in their order."""
    names, requests, steps, members = {}, collections.defaultdict(lambda: [0, 0]), {}, collections.defaultdict(list)
    for line in run(support.COMMAND, "dump", trace, "--kind", "request_event,engine_step,step_request").stdout.splitlines():
        kind, row = line.split(" ", 1)[0], fields(line)
        number = {key: int(value) for key, value in row.items() if value.isdigit()}
        if kind == "request_event" and "name" in row:
            names[row["request"]] = row["name"]
        elif kind == "request_event" and number.get("event") == EVENT_ARRIVED:
            requests[row["request"]][0] += number.get("tokens", 0)
        elif kind == "request_event" and number.get("event") == EVENT_TOKENS:
            requests[row["request"]][1] += number.get("tokens", 0)
        elif kind == "engine_step":
            steps[number["step"]] = [number.get(key, 0) for key in ("waiting", "cache_used", "cache_blocks")]
        elif kind == "step_request":
            members[number["step"]].append([row["request"], *(number.get(key, 0) for key in ("tokens", "cached", "tokens_out", "is_prefill"))])
    named = [[*steps[step], [[names.get(one[0]), *one[1:]] for one in members[step]]] for step in sorted(steps)]
    return {names.get(request): values for request, values in requests.items()}, named


def truth(engine, wanted):
    trace, log = engine.serve("truth", "--requests", str(wanted.requests), profile=[])
    requests, steps = told(trace)
    known = {name: [one["prompt"], len(one["tokens_ns"])] for name, one in log["requests"].items()}
    known_steps = [[step["waiting"], step["cache_used"], step["cache_blocks"], [[*m[:4], int(m[4])] for m in step["members"]]] for step in log["steps"]]
    first = engine.tables(trace)["requests_slowest"]
    differences = [row["latency_ns"] - (log["requests"][row["request"]]["tokens_ns"][0] - log["requests"][row["request"]]["arrived_ns"]) for row in first]
    result = {"trace_bytes": trace.stat().st_size, "requests": len(requests), "tokens": sum(values[1] for values in requests.values()), "steps": len(steps),
              "requests_are_equal": requests == known, "steps_are_equal": steps == known_steps,
              "first_tokens": {"count": len(first), "sums_exact": sum(map(sum_is_exact, first)), **spread(differences)}}
    result["next_tokens"] = look_at_tokens(engine, trace, log, wanted.look_s)
    trace.unlink()
    result["is_right"] = (result["requests_are_equal"] and result["steps_are_equal"] and result["first_tokens"]["count"] == len(known) and
                          all(result[key]["sums_exact"] == result[key]["count"] for key in ("first_tokens", "next_tokens")))
    return result


def spread(differences):
    """Of what is told from what the engine knows."""
    sizes = sorted(map(abs, differences))
    if not sizes:
        return {}
    return {"differ_ns_median": statistics.median(sizes), "differ_ns_p99": sizes[len(sizes) * 99 // 100], "differ_ns_most": sizes[-1],
            "differ_by_over_1_ms": sum(size > LATE_NS for size in sizes)}


def look_at_tokens(engine, trace, log, look_s):
    """One by one, those of as many requests as there is time for, spread over the run."""
    names, until = list(log["requests"]), time.monotonic() + look_s
    stride = 37 if len(names) % 37 else 41
    in_turn = [names[i * stride % len(names)] for i in range(len(names))]

    def look(name):
        if time.monotonic() > until:
            return None
        times, rows = log["requests"][name]["tokens_ns"], engine.tokens_of(trace, name)
        differences = [row["latency_ns"] - (times[token] - times[token - 1]) for token, row in rows.items() if token > 0]
        return len(rows), sum(map(sum_is_exact, rows.values())), len(rows) == len(times), differences
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        looked = [one for one in pool.map(look, in_turn) if one]
    return {"requests": len(looked), "count": sum(one[0] for one in looked), "sums_exact": sum(one[1] for one in looked),
            "all_tokens": sum(one[2] for one in looked) == len(looked), **spread(list(itertools.chain.from_iterable(one[3] for one in looked)))}


def plants(engine, wanted):
    found = [planted(engine, f"{plant}-{number}", plant, number) for number, plant in enumerate(PLANTS) if not (wanted.cpu and plant == "gpu-hog")]
    named, made = sum(one["named"] for one in found), sum(one["made"] for one in found)
    late = sum(one["with_late_tokens"] for one in found)
    return {"plants": found, "made": made, "with_late_tokens": late, "named": named, "is_right": named == made}


def planted(engine, name, plant, number):
    """For each time that it was made, whether a token that it delayed has it for its reason; and the reasons of all those tokens."""
    trace, log = engine.serve(name, "--requests", "200", "--rate", "250", "--seed", str(number + 1), "--plant", plant, profile=[])
    delayed = [one["delayed"] for one in log["plants"] if one["plant"] == plant]
    requests = sorted({request for one in delayed for request, _ in one})
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        rows = dict(zip(requests, pool.map(lambda request: engine.tokens_of(trace, request), requests)))
    result = {"plant": plant, "made": len(delayed), "named": 0, "with_late_tokens": 0, "delayed_tokens": 0, "late_tokens": 0, "named_tokens": 0, "trace_bytes": trace.stat().st_size}
    said = collections.Counter()
    for one in delayed:
        reasons = [rows[request][token].get("late_because") or "" for request, token in one if token > 0 and token in rows[request]]
        hits = sum(reason.startswith(REASONS[plant]) for reason in reasons)
        said.update(reason or "not late" for reason in reasons)
        result["named"] += hits > 0
        result["with_late_tokens"] += any(reasons)
        result["delayed_tokens"] += len(reasons)
        result["late_tokens"] += sum(map(bool, reasons))
        result["named_tokens"] += hits
    result["reasons"] = dict(said.most_common(8))
    (engine.out / f"{name}.txt").write_text(run(support.COMMAND, "requests", trace, "--no-pager").stdout, encoding="utf-8")
    print(plant, json.dumps(result), flush=True)
    return result


def cost(engine, wanted):
    """Batches of one CUDA graph only, without prompts: they are all alike."""
    variants = {"untraced": None, "told": ["--only-trace", "-t", "nvtx", "-s", "none"], "profile": []}
    runs = collections.defaultdict(list)
    for turn in range(wanted.rounds):
        for name in list(variants) if turn % 2 else list(variants)[::-1]:
            trace, log = engine.serve(f"cost-{name}", "--requests", "400", "--rate", "5000", "--seed", "5", profile=variants[name])
            full = [step["end_ns"] - step["begin_ns"] for step in log["steps"] if len(step["members"]) in GRAPH_OF_16 and not any(m[4] for m in step["members"])]
            tokens = sum(len(one["tokens_ns"]) for one in log["requests"].values())
            took_ns = log["steps"][-1]["end_ns"] - log["steps"][0]["begin_ns"]
            runs[name].append({"step_ns": statistics.median(full) if full else None, "full_steps": len(full), "tokens_per_s": tokens / took_ns * 1e9})
            print(name, runs[name][-1], flush=True)
            trace.unlink(missing_ok=True)
    return {"runs": runs, "slow_down_percent": {key: slow_down(runs, key) for key in ("step_ns", "tokens_per_s")}, "is_right": True}


def slow_down(runs, key):
    """By turns: the median, the least and the most."""
    found = {}
    for name in ("told", "profile"):
        pairs = [(off[key], on[key]) for off, on in zip(runs["untraced"], runs[name]) if off[key] and on[key]]
        percents = [100 * ((on / off if key == "step_ns" else off / on) - 1) for off, on in pairs]
        if percents:
            found[name] = {"median": statistics.median(percents), "least": min(percents), "most": max(percents)}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("what", choices=("truth", "plants", "cost"))
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--look-s", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--cpu", action="store_true")
    wanted = parser.parse_args()
    if not wanted.cpu and (reason := support.why_not()):
        print("skipped:", reason)
        return support.SKIP
    wanted.out.mkdir(parents=True, exist_ok=True)
    result = {"truth": truth, "plants": plants, "cost": cost}[wanted.what](Engine(wanted), wanted)
    (wanted.out / f"serving_{wanted.what}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({key: value for key, value in result.items() if key not in ("plants", "runs")}, indent=1))
    return int(not result["is_right"])


if __name__ == "__main__":
    sys.exit(main())
