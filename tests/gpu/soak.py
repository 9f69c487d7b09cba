"""A long mixed load whose counts must add up: workers come and go, launch kernels, copies, memsets and graphs, push ranges,
train with PyTorch on data that two more processes load, reduce with NCCL (two ranks where there are two GPUs), and end in
order, by _exit or by SIGKILL. Every worker counts what it has waited for. Of a killed one, GPU work of its last second may
be missing (docs/losses.md), which is counted apart.

Then a short run of workers that outlive a full disk: the trace lies in a small tmpfs that is filled three times. What is in
the trace and what the tracer counted as lost must together be what was done. It is a run of its own, since a process that
ends while the disk is full has nowhere to write what it lost.

    tests/gpu/soak.py GPROF_CLI OUT [--minutes 30] [--full-disk-minutes 2] [--workers 6] [--seed 1]

Needs CuPy; without PyTorch nobody trains or reduces, and the full disk needs the right to mount. 0 minutes leave a run out.
Writes OUT/soak.trace, OUT/full.trace and OUT/soak.json; exits with 1 when anything else is missing, there twice or lost, and
with 77 without CuPy or a GPU."""

import argparse
import collections
import functools
import importlib.util
import json
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
import typing

GPU_KINDS = ("kernel", "memset", "memcpy", "graph_launch")
KINDS = (*GPU_KINDS, "push", "all_reduce")
CALLS = {"LaunchKernel": "kernel", "Memcpy": "memcpy", "Memset": "memset"}  # in names of functions: what they become
LOST_KINDS = {10: "kernel", 11: "memcpy", 13: "memset", 18: "graph_launch", 19: "nvtx"}  # RecordKind in record.h
WRITE_FAILED = 2  # LossReason
SOURCE = 'extern "C" __global__ void soak_add(float* x) { x[threadIdx.x] += 1; }'
START_S = 120  # longest that a worker may take to import CuPy, make a context and compile
LATE_S = 1  # what a worker did longer before it was killed is in the trace: CUPTI is asked twice a second
DISK_MIB = 256
FULL_TIMES = 3
SKIP = 77


class Rounds:
    """Work that is done until the time is over."""

    def goes_on(self, is_wanted):
        return is_wanted


class Load(Rounds):
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
            self.launch(self.dice.choice(GPU_KINDS), self.dice.choice(self.streams))
        self.runtime.deviceSynchronize()
        if self.pop:
            self.pop()


class Training(Rounds):
    """Steps of a small model on data of two processes that start anew for each round. What a step launches is PyTorch's
    business: the GPU work of the trace has to match the calls of the trace, and the ranges what was counted."""

    def __init__(self, seed):
        import torch

        torch.manual_seed(seed)
        torch.set_num_threads(1)
        self.torch, self.counts, self.dice = torch, collections.Counter(), random.Random(seed)
        self.model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.01)
        data = torch.utils.data.TensorDataset(torch.randn(3200, 64))
        self.data = torch.utils.data.DataLoader(data, 32, num_workers=2, multiprocessing_context="fork")

    def run_round(self):
        for (batch,) in self.data:
            self.torch.cuda.nvtx.range_push("round")
            self.optimizer.zero_grad()
            self.model(batch.cuda()).square().mean().backward()
            self.optimizer.step()
            self.torch.cuda.nvtx.range_pop()
            self.counts["push"] += 1
        self.torch.cuda.synchronize()


class Reducing(Rounds):
    """All-reduces of a communicator that comes and goes with each round. Where one GPU has room for one rank only, NCCL
    launches a kernel for a mean, nothing for a sum in place, and a copy for a gathering. What is launched is checked as in
    training, and the all-reduces by the ranges that NCCL itself pushes. Ranks of a world have the same seed."""

    def __init__(self, seed, rank=0, world=1, meeting=None):
        import torch
        import torch.distributed

        self.torch, self.counts, self.dice = torch, collections.Counter(), random.Random(seed)
        self.rank, self.world, self.rounds = rank, world, 0
        stores = torch.distributed
        self.store = stores.FileStore(str(meeting), world) if meeting else stores.HashStore()

    def goes_on(self, is_wanted):
        """Rank 0 says for all."""
        self.rounds += 1
        if self.rank == 0:
            self.store.set(f"goes on {self.rounds}", str(int(is_wanted)))
        return self.store.get(f"goes on {self.rounds}") == b"1"

    def run_round(self):
        reduce, device = self.torch.distributed, self.torch.device("cuda", self.rank)
        store = reduce.PrefixStore(f"round {self.rounds}", self.store)
        reduce.init_process_group("nccl", store=store, rank=self.rank, world_size=self.world, device_id=device)
        data, gathered = (self.torch.ones(size << 16, device=device) for size in (1, self.world))
        for _ in range(self.dice.randrange(100, 300)):
            reduce.all_reduce(data, op=self.dice.choice((reduce.ReduceOp.SUM, reduce.ReduceOp.AVG)))
            self.counts["all_reduce"] += 1
            if self.dice.random() < 0.2:
                reduce.all_gather_into_tensor(gathered, data)
        self.torch.cuda.synchronize(device)
        reduce.destroy_process_group()


def work(pipe, make, seconds, end):
    """Rounds of work. After each, what is finished is told to the parent, which outlives this process."""
    try:
        load = make()
        until = time.monotonic() + seconds
        while load.goes_on(time.monotonic() < until):
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


class Plan(typing.NamedTuple):
    """What a worker is to do."""

    what: str
    make: typing.Callable
    end: str
    seconds: float


def plans(number, left_s, wanted, dice):
    """Of the workers that start together. One that lasts works to the end of the load and returns."""
    if wanted.lasts:
        return [Plan("Load", functools.partial(Load, number), "return", left_s)]
    end, seconds = dice.choice(("return", "_exit", "kill")), min(left_s, dice.uniform(1, 12))
    if dice.random() >= 0.3 or not importlib.util.find_spec("torch"):
        return [Plan("Load", functools.partial(Load, number), end, seconds)]
    end = dice.choice(("return", "_exit"))
    if dice.random() < 0.5:
        return [Plan("Training", functools.partial(Training, number), end, seconds)]
    if wanted.gpus < 2:
        return [Plan("Reducing", functools.partial(Reducing, number), end, seconds)]
    meeting = wanted.out.resolve() / f"ranks{number}"
    return [Plan("Reducing", functools.partial(Reducing, number, rank, 2, meeting), end, seconds) for rank in range(2)]


class Worker:
    """A process of the load, as its parent sees it."""

    def __init__(self, plan, dice):
        context = multiprocessing.get_context(dice.choice(("spawn", "fork")))
        self.pipe, theirs = context.Pipe(False)
        self.what, make, self.end, self.seconds = plan
        self.told, self.error, self.is_done = [(0, {})], None, False
        self.process = context.Process(target=work, args=(theirs, make, self.seconds, self.end))
        self.process.start()
        theirs.close()
        self.started = time.monotonic()

    def listen(self):
        """Takes what it has told. A sibling forked meanwhile may hold the pipe open, so its end proves nothing."""
        try:
            while self.pipe.poll(0.005):
                told = self.pipe.recv()
                if "counts" in told:
                    self.told.append((time.monotonic(), told["counts"]))
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
        """What it did in all, and what of it must have reached the trace."""
        due = counts = self.told[-1][1]
        if self.end == "kill" and self.process.is_alive():
            due = [earlier for told, earlier in self.told if told <= time.monotonic() - LATE_S or not told][-1]
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.join(START_S)
        self.pipe.close()
        return {"pid": self.process.pid, "end": self.end, "what": self.what, "counts": counts,
                "due": {**due, "push": counts.get("push", 0)}, "error": self.error}


def load(wanted):
    """Keeps as many workers going; a line of JSON for each that has ended."""
    dice, number = random.Random(wanted.seed), 0
    running, until = [], time.monotonic() + wanted.minutes * 60
    while running or time.monotonic() < until:
        while len(running) < wanted.workers and time.monotonic() < until:
            number += 1
            running += [Worker(plan, dice) for plan in plans(number, until - time.monotonic(), wanted, dice)]
        for worker in list(running):
            worker.listen()
            if worker.is_done:
                running.remove(worker)
                print(json.dumps(worker.finish()), flush=True)
    return 0


def recorded(lines):
    """What the dump of a trace has of each process: its records, its calls of functions that become GPU work, and what
    could not be written. Then all else that is lost."""
    counts, calls, unwritten, pid = (*(collections.defaultdict(collections.Counter) for _ in range(3)), 0)
    losses = []
    for line in lines:
        kind = line.split(" ", 1)[0]
        if kind == "chunk":
            pid = int(re.search(r"pid=(\d+)", line)[1])
        elif kind in GPU_KINDS:
            counts[pid][kind] += 1
        elif kind == "nvtx":
            counts[pid]["nvtx"] += 1
            counts[pid]["push"] += " event=2 " in line and 'message="round"' in line
            counts[pid]["all_reduce"] += " event=2 " in line and 'AllReduce"' in line
        elif kind == "api":
            function = re.search(r'function="([^"]*)"', line)[1]
            calls[pid].update(became for name, became in CALLS.items() if name in function)
        elif kind == "loss" and f"reason={WRITE_FAILED} " in line:
            lost_kind, count = re.search(r"lost_kind=(\d+) count=(\d+)", line).groups()
            unwritten[pid][LOST_KINDS.get(int(lost_kind), lost_kind)] += int(count)
        elif kind == "loss" or line.startswith("#"):
            losses.append(line.strip())
    return counts, calls, unwritten, losses


def differences(told, found, calls):
    """Where the trace has not what the workers counted, and how much of killed workers' last work it lacks. Numbers of
    processes come again in a long run."""
    done, due, owners = (collections.defaultdict(kind) for kind in (collections.Counter, collections.Counter, list))
    for worker in told:
        done[worker["pid"]].update(worker["counts"])
        due[worker["pid"]].update(worker["due"])
        owners[worker["pid"]].append(worker)
    wrong, late = [], 0
    for pid, workers in owners.items():
        if all(worker["what"] != "Load" for worker in workers):  # they know their calls, and not what these launch
            done[pid].update(calls[pid])
            due[pid].update(calls[pid])
        for kind in KINDS:
            late += max(0, done[pid][kind] - found[pid][kind])
            if not due[pid][kind] <= found[pid][kind] <= done[pid][kind]:
                wrong.append({"pid": pid, "end": workers[0]["end"], "what": workers[0]["what"], "kind": kind,
                              "due": due[pid][kind], "done": done[pid][kind], "recorded": found[pid][kind]})
    return wrong, late


def count_gpus():
    """How many there are, or why the load cannot run here. In a process of its own: this one stays without a driver."""
    probe = "import cupy; print(cupy.cuda.runtime.getDeviceCount() or exit('no GPU'))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=START_S, check=False)
    if done.returncode == 0:
        return int(done.stdout), None
    return 0, (done.stderr.strip().splitlines() or ["no CuPy"])[-1]


def run_load(wanted, minutes, name, trace, *more):
    """Its exit status, what its workers told, and what the trace holds of them."""
    words = [wanted.command, "profile", "-f", "--only-trace", "-t", "cuda,nvtx", "--cuda-graph-trace", "graph", "-o", trace, "--",
             sys.executable, "-B", __file__, wanted.command, wanted.out, "--load", "--minutes", minutes,
             "--workers", wanted.workers, "--seed", wanted.seed, "--gpus", wanted.gpus, *more]
    with open(wanted.out / f"{name}.err", "w", encoding="utf-8") as errors:
        done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=errors, text=True, check=False,
                              timeout=minutes * 60 + 2 * START_S)
    for meeting in wanted.out.glob("ranks*"):  # of those that ended by _exit
        meeting.unlink()
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    with subprocess.Popen([wanted.command, "dump", trace], stdout=subprocess.PIPE, text=True, errors="replace") as dump:
        return done.returncode, told, recorded(dump.stdout)


def summary(minutes, code, told, trace):
    """What both runs say, and whether nothing failed so far."""
    failed = [worker for worker in told if worker["error"]]
    sums = sum((collections.Counter(worker["counts"]) for worker in told), collections.Counter())
    of = {key: collections.Counter(worker[key] for worker in told) for key in ("end", "what")}
    result = {"minutes": minutes, "exit": code, "workers": len(told), "ends": of["end"], "loads": of["what"], "counts": sums,
              "failed": failed, "bytes": trace.stat().st_size}
    return result, code == 0 and bool(sums) and not failed


def soak(wanted):
    trace = wanted.out / "soak.trace"
    code, told, (found, calls, unwritten, losses) = run_load(wanted, wanted.minutes, "soak", trace)
    wrong, late = differences(told, found, calls)
    result, is_good = summary(wanted.minutes, code, told, trace)
    result.update(events=sum(counts[kind] for counts in found.values() for kind in KINDS), lacking_of_killed=late,
                  wrong=wrong, losses=losses, unwritten=unwritten)
    return result, is_good and not (wrong or losses or unwritten)


def fill_and_clear(folder, seconds):
    """Makes the disk full three times in that time, for a twelfth of it each."""
    ballast = folder / "ballast"
    for _ in range(FULL_TIMES):
        time.sleep(seconds / 6)
        until = time.monotonic() + seconds / 12
        with open(ballast, "ab", buffering=0) as file:
            while time.monotonic() < until:
                try:
                    file.write(bytes(1 << 20))
                except OSError:
                    time.sleep(0.01)
        ballast.unlink()


def soak_full_disk(wanted):
    minutes, folder = wanted.full_disk_minutes, wanted.out / "small"
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", folder]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        return {"skipped": mounted.stderr.strip()}, True
    try:
        filler = threading.Thread(target=fill_and_clear, args=(folder, minutes * 60))
        filler.start()
        code, told, (found, _, unwritten, _) = run_load(wanted, minutes, "full", folder / "full.trace", "--lasts")
        filler.join()
        trace = pathlib.Path(shutil.copy(folder / "full.trace", wanted.out))
    finally:
        subprocess.run(["umount", folder], check=False)
    wrong = []
    for worker in told:
        pid, done = worker["pid"], {**worker["counts"], "nvtx": 2 * worker["counts"].get("push", 0)}
        for kind in LOST_KINDS.values():
            kept, lost = found[pid][kind], unwritten[pid][kind]
            if kept + lost != done.get(kind, 0):
                wrong.append({"pid": pid, "kind": kind, "done": done.get(kind, 0), "recorded": kept, "lost": lost})
    result, is_good = summary(minutes, code, told, trace)
    lost = sum((unwritten[worker["pid"]] for worker in told), collections.Counter())
    is_said = "no space left" in (wanted.out / "full.err").read_text(encoding="utf-8", errors="replace")
    result.update(wrong=wrong, lost=lost, is_said=is_said)
    return result, is_good and is_said and bool(lost) and not wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--full-disk-minutes", type=float, default=2)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gpus", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--load", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--lasts", action="store_true", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.load:
        return load(wanted)
    wanted.gpus, reason = count_gpus()
    if reason:
        print("skipped:", reason)
        return SKIP
    wanted.out.mkdir(parents=True, exist_ok=True)
    results, is_good = {}, True
    for name, run, minutes in (("mixed", soak, wanted.minutes), ("full_disk", soak_full_disk, wanted.full_disk_minutes)):
        if minutes == 0:
            continue
        results[name], passed = run(wanted)
        is_good = is_good and passed
        (wanted.out / "soak.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
        short = {key: len(value) if isinstance(value, list) else value for key, value in results[name].items()}
        print(json.dumps({name: short}), flush=True)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
