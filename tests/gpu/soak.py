"""A long mixed load whose counts must add up: workers come and go, launch kernels, copies, memsets and graphs,
push ranges, and end in order, by _exit or by SIGKILL. Every worker counts what it has waited for.

    tests/gpu/soak.py GPROF_CLI OUT [--minutes 30] [--workers 6] [--seed 1]

Needs CuPy. Writes OUT/soak.trace and OUT/soak.json; exits with 1 when anything is missing, there twice, or lost, and
with 77 where CuPy or a GPU is missing."""

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
import traceback

KINDS = ("kernel", "memset", "memcpy", "graph_launch", "push")
SOURCE = 'extern "C" __global__ void soak_add(float* x) { x[threadIdx.x] += 1; }'
START_S = 120  # longest that a worker may take to import CuPy, make a context and compile
SKIP = 77


class Load:
    """What a worker launches, and how often it did."""

    def __init__(self, seed):
        import cupy
        from cupy.cuda import runtime

        self.cupy, self.runtime, self.dice, self.counts = cupy, runtime, random.Random(seed), collections.Counter()
        self.kernel = cupy.RawKernel(SOURCE, "soak_add")
        self.memory = runtime.malloc(1 << 16)
        self.streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(3)]
        owned = cupy.cuda.UnownedMemory(self.memory, 1 << 16, None)
        self.array = cupy.ndarray((64,), cupy.float32, cupy.cuda.MemoryPointer(owned, 0))
        with self.streams[0]:
            self.streams[0].begin_capture()
            for _ in range(5):
                self.kernel((1,), (64,), (self.array,))
            self.graph = self.streams[0].end_capture()
        try:
            from cupy.cuda import nvtx

            self.push, self.pop = nvtx.RangePush, nvtx.RangePop
        except (ImportError, AttributeError):  # CuPy was built without NVTX
            self.push = self.pop = None

    def launch(self, what, stream):
        with stream:
            if what == "kernel":
                self.kernel((1,), (64,), (self.array,))
            elif what == "memset":
                self.runtime.memsetAsync(self.memory, 1, 4096, stream.ptr)
            elif what == "memcpy":
                self.runtime.memcpyAsync(self.memory + 8192, self.memory, 4096, self.runtime.memcpyDeviceToDevice,
                                         stream.ptr)
            else:
                self.graph.launch(stream)
        self.counts[what] += 1

    def run_round(self):
        if self.push:
            self.push("round")
            self.counts["push"] += 1
        for _ in range(self.dice.randrange(1, 40)):
            self.launch(self.dice.choice(KINDS[:4]), self.dice.choice(self.streams))
        self.runtime.deviceSynchronize()
        if self.pop:
            self.pop()


def work(pipe, seed, seconds, end):
    """Rounds of work. After each, what is finished is told to the parent, which outlives this process."""
    try:
        load = Load(seed)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            load.run_round()
            pipe.send({"counts": dict(load.counts)})
            time.sleep(load.dice.random() * 0.01)
        pipe.send({"done": True})
    except BaseException:  # a worker that fails is a result, and the parent must not wait for it
        pipe.send({"done": True, "error": traceback.format_exc()})
        raise
    if end == "_exit":
        os._exit(0)
    if end == "kill":
        time.sleep(START_S)


class Worker:
    """A process of the load, as its parent sees it."""

    def __init__(self, number, left_s, dice):
        context = multiprocessing.get_context(dice.choice(("spawn", "fork")))
        self.pipe, theirs = context.Pipe(False)
        self.end, self.counts, self.error, self.is_done = dice.choice(("return", "_exit", "kill")), {}, None, False
        self.seconds = min(left_s, dice.uniform(1, 12))
        self.process = context.Process(target=work, args=(theirs, number, self.seconds, self.end))
        self.process.start()
        theirs.close()
        self.started = time.monotonic()

    def listen(self):
        """Takes what it has told. A sibling forked meanwhile may hold the pipe open, so its end proves nothing."""
        try:
            while self.pipe.poll(0.005):
                told = self.pipe.recv()
                self.counts = told.get("counts", self.counts)
                self.error = told.get("error", self.error)
                self.is_done = self.is_done or "done" in told
        except EOFError:
            self.is_done = True
        if not self.is_done and not self.process.is_alive() and not self.pipe.poll(0.05):
            self.is_done, self.error = True, f"ended early with {self.process.exitcode}"
        if not self.is_done and time.monotonic() > self.started + self.seconds + START_S:
            self.is_done, self.error = True, "hangs"
            self.process.kill()

    def finish(self):
        if self.end == "kill" and self.process.is_alive():
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.join(START_S)
        self.pipe.close()
        return {"pid": self.process.pid, "end": self.end, "counts": self.counts, "error": self.error}


def load(seconds, workers, seed):
    """Keeps as many workers going; a line of JSON for each that has ended."""
    dice, number = random.Random(seed), 0
    running, until = [], time.monotonic() + seconds
    while running or time.monotonic() < until:
        while len(running) < workers and time.monotonic() < until:
            number += 1
            running.append(Worker(number, until - time.monotonic(), dice))
        for worker in list(running):
            worker.listen()
            if worker.is_done:
                running.remove(worker)
                print(json.dumps(worker.finish()), flush=True)
    return 0


def recorded(lines):
    """What the dump of a trace has of each process, and what it says of losses."""
    counts, losses, pid = collections.defaultdict(collections.Counter), [], 0
    for line in lines:
        kind = line.split(" ", 1)[0]
        if kind == "chunk":
            pid = int(re.search(r"pid=(\d+)", line)[1])
        elif kind in KINDS:
            counts[pid][kind] += 1
        elif kind == "nvtx" and " event=2 " in line and 'message="round"' in line:
            counts[pid]["push"] += 1
        elif kind == "loss" or line.startswith("#"):
            losses.append(line.strip())
    return counts, losses


def differences(told, found):
    """Where the trace has not what the workers counted. Numbers of processes come again in a long run."""
    expected, ends = collections.defaultdict(collections.Counter), {}
    for worker in told:
        expected[worker["pid"]].update(worker["counts"])
        ends[worker["pid"]] = worker["end"]
    return [{"pid": pid, "end": ends[pid], "kind": kind, "expected": counts[kind], "recorded": found.get(pid, {}).get(kind, 0)}
            for pid, counts in expected.items() for kind in KINDS if counts[kind] != found.get(pid, {}).get(kind, 0)]


def why_not():
    """Why the load cannot run here, None when it can. In a process of its own: this one stays without a driver."""
    probe = "import cupy; cupy.cuda.runtime.getDeviceCount() or exit('no GPU')"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=START_S, check=False)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no CuPy"])[-1]


def soak(wanted):
    wanted.out.mkdir(parents=True, exist_ok=True)
    trace = wanted.out / "soak.trace"
    words = [wanted.command, "profile", "-q", "-f", "-t", "cuda,nvtx", "--cuda-graph-trace", "graph", "-o", trace, "--",
             sys.executable, "-B", __file__, wanted.command, wanted.out, "--load", "--minutes", wanted.minutes,
             "--workers", wanted.workers, "--seed", wanted.seed]
    with open(wanted.out / "soak.err", "w", encoding="utf-8") as errors:
        done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=errors, text=True, check=False,
                              timeout=wanted.minutes * 60 + 2 * START_S)
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    with subprocess.Popen([wanted.command, "dump", trace], stdout=subprocess.PIPE, text=True, errors="replace") as dump:
        found, losses = recorded(dump.stdout)
    wrong = differences(told, found)
    failed = [worker for worker in told if worker["error"]]
    sums = sum((collections.Counter(worker["counts"]) for worker in told), collections.Counter())
    result = {"minutes": wanted.minutes, "exit": done.returncode, "workers": len(told), "counts": sums, "wrong": wrong,
              "losses": losses, "failed": failed, "bytes": trace.stat().st_size,
              "ends": collections.Counter(worker["end"] for worker in told)}
    (wanted.out / "soak.json").write_text(json.dumps(result, indent=1), encoding="utf-8")
    print(json.dumps({**result, "wrong": len(wrong), "losses": len(losses), "failed": len(failed)}))
    return 1 if wrong or losses or failed or done.returncode or not sums else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--load", action="store_true", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.load:
        return load(wanted.minutes * 60, wanted.workers, wanted.seed)
    if reason := why_not():
        print("skipped:", reason)
        return SKIP
    return soak(wanted)


if __name__ == "__main__":
    sys.exit(main())
