"""A long mixed load whose counts must add up: workers come and go, launch kernels, copies, memsets and graphs,
push ranges, and end in order, by _exit or by SIGKILL. Every worker counts what it has waited for.

    tests/gpu/soak.py GPROF_CLI OUT [--seconds 1800] [--workers 6] [--seed 1]

Needs CuPy. Writes OUT/soak.trace and OUT/soak.json; exits with 1 when anything is missing, there twice, or lost."""

import argparse
import collections
import json
import multiprocessing
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

KINDS = ("kernel", "memset", "memcpy", "graph_launch", "push")
SOURCE = 'extern "C" __global__ void soak_add(float* x) { x[threadIdx.x] += 1; }'


def work(pipe, seed, seconds, end):
    """Rounds of work. After each, what is finished is told to the parent, which outlives this process."""
    import cupy
    from cupy.cuda import nvtx, runtime

    dice, counts = random.Random(seed), collections.Counter()
    kernel = cupy.RawKernel(SOURCE, "soak_add")
    memory = runtime.malloc(1 << 16)
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(3)]
    owned = cupy.cuda.UnownedMemory(memory, 1 << 16, None)
    array = cupy.ndarray((64,), cupy.float32, cupy.cuda.MemoryPointer(owned, 0))
    with streams[0]:
        streams[0].begin_capture()
        for _ in range(5):
            kernel((1,), (64,), (array,))
        graph = streams[0].end_capture()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        nvtx.RangePush("round")
        counts["push"] += 1
        for _ in range(dice.randrange(1, 40)):
            stream, what = dice.choice(streams), dice.choice(KINDS[:4])
            with stream:
                if what == "kernel":
                    kernel((1,), (64,), (array,))
                elif what == "memset":
                    runtime.memsetAsync(memory, 1, 4096, stream.ptr)
                elif what == "memcpy":
                    runtime.memcpyAsync(memory + 8192, memory, 4096, runtime.memcpyDeviceToDevice, stream.ptr)
                else:
                    graph.launch(stream)
            counts[what] += 1
        runtime.deviceSynchronize()
        nvtx.RangePop()
        pipe.send(dict(counts))
        time.sleep(dice.random() * 0.01)
    pipe.send(None)
    if end == "_exit":
        os._exit(0)
    if end == "kill":
        time.sleep(60)


def load(seconds, workers, seed):
    """Keeps as many workers going; a line of JSON for each that has ended."""
    dice, number = random.Random(seed), 0
    running, until = [], time.monotonic() + seconds
    while running or time.monotonic() < until:
        while len(running) < workers and time.monotonic() < until:
            number += 1
            context = multiprocessing.get_context(dice.choice(("spawn", "fork")))
            ours, theirs = context.Pipe(False)
            end = dice.choice(("return", "_exit", "kill"))
            left = until - time.monotonic()
            process = context.Process(target=work, args=(theirs, number, min(left, dice.uniform(1, 12)), end))
            process.start()
            theirs.close()
            running.append([process, ours, end, {}, False])
        for entry in list(running):
            process, ours, end, _, _ = entry
            try:
                while ours.poll(0.005):
                    told = ours.recv()
                    if told is not None:
                        entry[3] = told
                    else:
                        entry[4] = True
            except EOFError:
                entry[4] = True
            if not entry[4]:
                continue
            if end == "kill":
                os.kill(process.pid, signal.SIGKILL)
            process.join()
            running.remove(entry)
            print(json.dumps({"pid": process.pid, "end": end, "counts": entry[3]}), flush=True)


def recorded(command, path):
    """What the trace has of each process, and what it says of losses."""
    counts, losses, pid = collections.defaultdict(collections.Counter), 0, 0
    with subprocess.Popen([command, "dump", path], stdout=subprocess.PIPE, text=True, errors="replace") as dump:
        for line in dump.stdout:
            kind = line.split(" ", 1)[0]
            if kind == "chunk":
                pid = int(re.search(r"pid=(\d+)", line)[1])
            elif kind in KINDS:
                counts[pid][kind] += 1
            elif kind == "nvtx" and ' event=2 ' in line and 'message="round"' in line:
                counts[pid]["push"] += 1
            elif kind == "loss" or line.startswith("#"):
                losses += 1
    return counts, losses


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--load", action="store_true", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.load:
        return load(wanted.seconds, wanted.workers, wanted.seed)
    trace = wanted.out / "soak.trace"
    words = [wanted.command, "profile", "-q", "-f", "-t", "cuda,nvtx", "--cuda-graph-trace", "graph", "-o", trace, "--",
             sys.executable, "-B", __file__, wanted.command, wanted.out, "--load", "--seconds", wanted.seconds,
             "--workers", wanted.workers, "--seed", wanted.seed]
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, text=True, check=False)
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found, losses = recorded(wanted.command, trace)
    wrong, sums = [], collections.Counter()
    for worker in told:
        got = found.get(worker["pid"], collections.Counter())
        for kind in KINDS:
            expected = worker["counts"].get(kind, 0)
            sums[kind] += expected
            if got[kind] != expected:
                wrong.append({**worker, "kind": kind, "expected": expected, "recorded": got[kind]})
    result = {"seconds": wanted.seconds, "exit": done.returncode, "workers": len(told), "counts": sums, "wrong": wrong,
              "losses": losses, "ends": collections.Counter(worker["end"] for worker in told),
              "bytes": trace.stat().st_size}
    (wanted.out / "soak.json").write_text(json.dumps(result, indent=1))
    print(json.dumps({**result, "wrong": len(wrong)}))
    return 1 if wrong or losses or done.returncode or not told else 0


if __name__ == "__main__":
    sys.exit(main())
