#!/usr/bin/env python3
"""Does doing what a finding advises save what the finding says? Measured on a machine with a GPU.

    interventions.py GPROF_CLI OUT [--cuda-variants BINARY] [--only REGEX] [--repeats N] [--seconds N]

For each pair of programs, one with one thing done wrong and one with that mended: records the first by gprof-cli, takes what its
findings say can be saved from the report in JSON, times both without any tracer in turn, and prints the claim beside what was
saved. OUT gets interventions.json and the traces.
"""

import argparse
import concurrent.futures
import dataclasses
import fcntl
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCE = 0.15  # a claim may be this much below what was saved


@dataclasses.dataclass
class Pair:
    program: str
    spoiled: str
    fixed: str
    advice: tuple  # ids of the findings that advise what `fixed` does
    apart: bool = False  # in processes of their own: an environment variable tells them apart

    @property
    def name(self):
        return f"{self.program.partition('_')[0]}/{self.spoiled}"


TORCH, ARRAYS, CUDA = "torch_variants.py", "array_variants.py", "cuda_variants"
WAITING = ("idle.host", "sync.drains", "sync.site", "idle.sync")
LAUNCHING = ("launch.bound", "kernels.chain", "kernels.small", "idle.launch", "idle.host")
PAIRS = [
    Pair(CUDA, "managed_each_step", "managed_prefetched", ("memory.page_faults", "memory.migrations")),
    Pair(CUDA, "round_trip_pinned", "round_trip_kept", ("memcpy.round_trip",)),
    Pair(CUDA, "small_copies", "small_copies_in_one", ("memcpy.small",)),
    Pair(CUDA, "malloc_each_step", "malloc_once", ("memory.churn", "sync.implied", "idle.memory")),
    Pair(CUDA, "copies_in_line", "copies_overlapped", ("memcpy.overlap", "streams.one_only", "streams.no_overlap")),
    Pair(CUDA, "six_streams_pageable", "six_streams_pinned", ("memcpy.pageable", "streams.no_overlap")),
    Pair(CUDA, "few_blocks", "enough_blocks", ("occupancy.small_grid",)),
    Pair(CUDA, "blocks_of_16", "blocks_of_256", ("occupancy.small_block",)),
    Pair(CUDA, "tiny_kernels", "tiny_kernels_graph", LAUNCHING),
    Pair(CUDA, "sync_each_kernel", "sync_at_the_end", WAITING),
    Pair(CUDA, "default_stream_between", "no_default_stream", ("streams.default_splits",)),
    Pair(CUDA, "pageable_input", "pinned_input", ("memcpy.pageable",)),
    Pair(ARRAYS, "numba_arrays_of_the_host", "numba_arrays_of_the_gpu", ("memcpy.pageable", "memcpy.round_trip", "idle.copy")),
    Pair(ARRAYS, "numba_sync_each_kernel", "numba_sync_at_the_end", WAITING),
    Pair(ARRAYS, "cupy_get_each_iteration", "cupy_get_at_the_end", (*WAITING, "idle.copy")),
    Pair(ARRAYS, "cupy_many_small", "cupy_many_small_fused", LAUNCHING),
    Pair(ARRAYS, "cupy_round_trip", "cupy_stays_on_the_gpu", ("memcpy.round_trip",)),
    Pair(ARRAYS, "cupy_no_pool", "cupy_pool", ("memory.churn", "sync.implied", "idle.memory")),
    Pair(TORCH, "pageable_loader", "batches_in_pinned_memory", ("memcpy.pageable",)),
    Pair(TORCH, "decode_eager", "decode_graph_of_100", LAUNCHING),
    Pair(TORCH, "slow_loader", "loader_in_background", ("idle.host",)),
    Pair(TORCH, "sync_each_op", "sync_each_step", WAITING),
    Pair(TORCH, "launch_blocking", "launches_do_not_block", ("launch.blocking",), apart=True),
    Pair(TORCH, "back_and_forth", "stays_on_the_gpu", ("memcpy.round_trip",)),
    Pair(TORCH, "many_tiny_ops", "many_tiny_ops_in_graph", LAUNCHING),
    Pair(TORCH, "optimizer_foreach_false", "optimizer_fused", LAUNCHING),
    Pair(TORCH, "item_each_step", "losses_stay_on_the_gpu", (*WAITING, "idle.copy")),
    Pair(TORCH, "two_streams_pageable", "two_streams_pinned", ("memcpy.pageable", "streams.no_overlap")),
    Pair(TORCH, "allocate_on_cpu_each_step", "allocate_on_gpu_each_step", ("idle.host",)),
    Pair(TORCH, "cpu_each_step", "cpu_by_pinned_memory", ("memcpy.pageable",)),
    Pair(TORCH, "empty_cache_each_step", "cache_is_kept", ("memory.churn", "sync.implied", "idle.memory")),
]


def run(command, timeout):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}: {(done.stderr or done.stdout)[-300:]}")
    return done.stdout


class Interventions:
    def __init__(self, options):
        self.options, self.out = options, options.out
        self.lock = self.out / "gpu.lock"
        self.end = time.monotonic() + options.seconds

    def words(self, pair, variant):
        start = [self.options.cuda_variants] if pair.program == CUDA else [sys.executable, "-B", HERE / pair.program]
        return [*start, variant, "--lock", self.lock]

    def left(self):
        left = self.end - time.monotonic()
        if left < 5:
            raise RuntimeError("no time left")
        return left

    def trace(self, pair):
        return self.out / f"{pair.name.replace('/', '_')}.trace"

    def record(self, pair):
        more = ["--cuda-um-gpu-page-faults=true"] if "managed" in pair.spoiled else []
        run([self.options.gprof_cli, "profile", "-f", "-q", "-t", "cuda", "-c", "cudaProfilerApi", "--compress", *more,
             "-o", self.trace(pair), "--", *self.words(pair, pair.spoiled)], self.left())

    def recorded(self, pair):
        try:
            self.record(pair)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return str(error)
        return ""

    def commands(self, pair):
        """Of the processes that time both: one, or one each."""
        repeats = ["--repeats", self.options.repeats]
        if not pair.apart:
            return [[*self.words(pair, pair.spoiled), "--beside", pair.fixed, *repeats]]
        return [[*self.words(pair, variant), "--beside", variant, *repeats] for variant in (pair.spoiled, pair.fixed)]

    def time_all(self, pairs):
        """Nobody else may work meanwhile: all processes import what they need first, then one after the other gets the GPU."""
        with open(self.lock, "w", encoding="utf-8") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            started, waits_for = {}, []
            for pair in pairs:
                started[pair.name] = []
                for command in self.commands(pair):
                    if pair.program != CUDA:
                        waits_for.append(self.out / f"ready.{len(waits_for)}")
                        command += ["--ready", waits_for[-1]]
                    started[pair.name].append(subprocess.Popen([str(word) for word in command], text=True,
                                                               stdout=subprocess.PIPE, stderr=subprocess.PIPE))
            while not all(file.exists() for file in waits_for) and time.monotonic() < self.end - 30:
                time.sleep(0.2)
        return started

    def seconds(self, pair, processes):
        """(of the spoiled one, of the mended one), each a list."""
        timed = []
        for process in processes:
            try:
                said, errors = process.communicate(timeout=max(self.end - time.monotonic(), 1))
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                raise RuntimeError("not timed: no time left") from None
            if process.returncode != 0:
                raise RuntimeError(f"{pair.name} ended with {process.returncode}: {(errors or said)[-300:]}")
            timed.append(json.loads(said.splitlines()[-1]))
        return (timed[0]["spoiled"], timed[0]["fixed"]) if not pair.apart else (timed[0]["fixed"], timed[1]["fixed"])

    def all(self, pairs):
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            errors = dict(zip((pair.name for pair in pairs), pool.map(self.recorded, pairs)))
        good = [pair for pair in pairs if not errors[pair.name]]
        results, started = [], self.time_all(good)
        for pair in pairs:
            result = {"name": pair.name}
            try:
                if errors[pair.name]:
                    raise RuntimeError(errors[pair.name])
                result["spoiled"], result["fixed"] = self.seconds(pair, started[pair.name])
                result["findings"] = findings_of(self.options.gprof_cli, self.trace(pair))
            except (RuntimeError, json.JSONDecodeError) as error:
                result["error"] = str(error)
            results.append(result)
        return results


def findings_of(gprof_cli, trace):
    return json.loads(run([gprof_cli, "report", trace, "--format", "json", "--rows", 1], 60))["findings"]


def judged(result):
    """Adds what was claimed, and by whom."""
    pair = next(p for p in PAIRS if p.name == result["name"])
    shown = [f for f in result["findings"] if not f["id"].startswith("health.") and f["same_as"] is None and not f["is_minor"]][:3]
    result["shown"] = [f["id"] for f in shown]
    # Several may advise the same, as those about both directions of pageable copies do: what is left of their gains adds up.
    advising = [(place, f) for place, f in enumerate(shown, 1) if f["id"] in pair.advice]
    result["place"], finding = advising[0] if advising else (0, None)
    result["finding"] = finding["id"] if finding else "-"
    result["claim_ms"] = sum(f["gain_ns"] for _, f in advising) / 1e6
    result["took_ms"] = 1e3 * statistics.median(result["spoiled"])
    result["saved_ms"] = result["took_ms"] - 1e3 * statistics.median(result["fixed"])
    result["bounds"] = result["claim_ms"] >= (1 - TOLERANCE) * result["saved_ms"]
    return result


def table(results):
    lines = [f"{'program':34} {'first finding':24} {'advising (place)':28} {'loop ms':>9} {'claim ms':>9} {'saved ms':>9}  bound"]
    for r in results:
        if "error" in r:
            lines.append(f"{r['name']:34} FAILED: {r['error']}")
            continue
        first = r["shown"][0] if r["shown"] else "-"
        lines.append(f"{r['name']:34} {first:24} {r['finding'] + ' (' + str(r['place']) + ')':28} {r['took_ms']:9.2f} {r['claim_ms']:9.2f} "
                     f"{r['saved_ms']:9.2f}  {'yes' if r['bounds'] else 'NO'}")
    good = [r for r in results if "error" not in r]
    lines.append(f"{len(good)} of {len(results)} measured, {sum(r['bounds'] for r in good)} claims bound what was saved, "
                 f"{sum(r['place'] == 1 for r in good)} advised first")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gprof_cli", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--cuda-variants", type=pathlib.Path, help="cuda_variants.cu, compiled; its pairs are left out without it")
    parser.add_argument("--again", action="store_true", help="measure nothing: take the traces and times of OUT, and report anew")
    parser.add_argument("--only", default=".", help="a regular expression: pairs with such a name alone")
    parser.add_argument("--repeats", type=int, default=5, help="how often each program is timed")
    parser.add_argument("--seconds", type=float, default=300, help="time for all of it")
    parser.add_argument("--jobs", type=int, default=5, help="programs that import at the same time; one at a time uses the GPU")
    options = parser.parse_args()
    options.gprof_cli, options.out = options.gprof_cli.resolve(), options.out.resolve()
    options.cuda_variants = options.cuda_variants and options.cuda_variants.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    pairs = [p for p in PAIRS if re.search(options.only, p.name) and (p.program != CUDA or options.cuda_variants)]
    file = options.out / "interventions.json"
    if options.again:
        results = json.loads(file.read_text(encoding="utf-8"))
        for result in results:
            if "error" not in result:
                result["findings"] = findings_of(options.gprof_cli, options.out / f"{result['name'].replace('/', '_')}.trace")
    else:
        results = Interventions(options).all(pairs)
    results = [judged(r) if "error" not in r else r for r in results]
    file.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(table(results))


if __name__ == "__main__":
    main()
