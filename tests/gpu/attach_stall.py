"""How long the threads of a program stand still while it is attached to, and where that time goes.

    tests/gpu/attach_stall.py OUT --attaches 300      each kind of program is attached to that often, and its turns are compared
    tests/gpu/attach_stall.py OUT --steps             the steps of an attach, one after the other, with CUPTI alone: libcupti's
                                                      attributes for buffers at their defaults and smaller

The programs are `gpu_scripted work` (launch, mark, wait), `steady_loops.py` for PyTorch eager, graphs, numba and JAX where these can be
imported. A program is started anew every 20 attaches, half of them armed (`gprof-cli env`). For each kind, OUT/attach_stall.json has:
attaches, crashes, wrong results, by how much a turn takes longer once nothing is recorded any more, percentiles of the stall (the longest turn in the 100 ms around the begin of the recording, less
the median turn) and of the time from the command to the first record. A kind for which --limit-s is not enough is attached to less
often. Needs a GPU (exit code 77 without).
"""
import argparse
import json
import math
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", "build/release")).resolve()
GPROF = BUILD / "bin" / "gprof-cli"
SKIP = 77
PER_PROGRAM = 20  # attaches to one process
RECORDED_S, END_S = "0.3", 30  # of an attach; what is left when no more is begun
AROUND_NS = 100_000_000
TURN = r"""
import sys, time
{setup}
begin = time.monotonic_ns()
print(json.dumps({{"ready": 1}}), flush=True)
while not os.path.exists(sys.argv[1]):
    turn = time.monotonic_ns()
    {turn}
    sys.stdout.write("%d %d\n" % (turn, time.monotonic_ns() - turn))
"""
SETUPS = {
    "torch_eager": ("import torch\nx = torch.ones(512, 512, device='cuda')", "y = (x @ x).relu().sum().item(); assert y == 512 ** 3, y"),
    "torch_graph": ("import torch\nx = torch.ones(512, 512, device='cuda')\ntorch.cuda.synchronize()\ng = torch.cuda.CUDAGraph()\n"
                    "s = torch.cuda.Stream()\ns.wait_stream(torch.cuda.current_stream())\n"
                    "with torch.cuda.stream(s):\n    y = (x @ x).relu().sum()\ntorch.cuda.current_stream().wait_stream(s)\n"
                    "with torch.cuda.graph(g):\n    y = (x @ x).relu().sum()", "g.replay(); assert y.item() == 512 ** 3"),
    "numba": ("import numba.cuda, numpy\n@numba.cuda.jit\ndef add(a):\n    a[numba.cuda.grid(1)] += 1\na = numba.cuda.to_device(numpy.zeros(256)); n = 0",
              "add[1, 256](a); n += 1; assert a.copy_to_host()[7] == n"),
    "jax": ("import jax, jax.numpy as jnp\nf = jax.jit(lambda x: (x @ x).sum())\nx = jnp.ones((512, 512)); f(x)", "assert f(x).item() == 512 ** 3"),
}


def percentile(values, share):
    return sorted(values)[min(int(len(values) * share), len(values) - 1)] if values else None


class Program:
    def __init__(self, kind, folder, is_armed):
        self.gate = folder / f"gate-{time.monotonic_ns()}"
        env = dict(os.environ)
        if is_armed:
            plain = subprocess.run([GPROF, "env", "--format", "plain"], capture_output=True, text=True, check=True).stdout
            env.update(line.split("=", 1) for line in plain.splitlines())
        if kind == "launches":
            command = [BUILD / "tests/bin/gpu_scripted", "launch", "2", "say", "ready", "work", self.gate, "exit", "0"]
        else:
            setup, turn = SETUPS[kind]
            command = [sys.executable, "-c", "import json, os\n" + TURN.format(setup=setup, turn=turn), self.gate]
        self.process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True)
        self.turns = []
        line = self.process.stdout.readline()
        self.is_ready = "ready" in line
        self.reader = threading.Thread(target=self.read, args=(kind,), daemon=True)
        self.reader.start()

    def read(self, kind):
        last = None
        for line in self.process.stdout:
            if kind == "launches":
                found = re.search(r'"before_ns":(\d+)', line)
                if found:
                    now = int(found.group(1))
                    if last is not None:
                        self.turns.append((last, now - last))
                    last = now
            else:
                begin, took = line.split()
                self.turns.append((int(begin), int(took)))

    def end(self):
        self.gate.touch()
        try:
            code = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "hung"
        self.reader.join(10)
        return code, self.process.stderr.read()[-500:]


def begun_ns(trace):
    dump = subprocess.run([GPROF, "dump", "--kind", "capture", trace], capture_output=True, text=True, check=False).stdout
    found = re.search(r"^capture time_ns=(\d+)", dump, re.M)
    return int(found.group(1)) if found else None


def attach(pid, trace):
    """What went wrong."""
    try:
        tool = subprocess.run([GPROF, "attach", "--experimental", str(pid), "-d", RECORDED_S, "-q", "-f", "-o", trace], capture_output=True, text=True, check=False,
                              timeout=60)
    except subprocess.TimeoutExpired:
        return "it took more than a minute"
    return tool.stderr.strip() or f"exit code {tool.returncode}" if tool.returncode != 0 else None


def measure(kind, folder, attaches, until):
    stalls, firsts, failures, ends = {"ptrace": [], "armed": []}, [], [], []
    afterwards = []
    done = 0
    while done < attaches and time.monotonic() < until:
        way = "armed" if done // PER_PROGRAM % 2 else "ptrace"
        program = Program(kind, folder, way == "armed")
        if not program.is_ready:
            return {"left_out": program.end()[1][-200:]}
        time.sleep(1)
        before = [took for _, took in program.turns[len(program.turns) // 2:]]
        for _ in range(min(PER_PROGRAM, attaches - done)):
            if time.monotonic() > until:
                break
            asked_ns = time.monotonic_ns()
            trace = folder / "now.trace"
            problem = attach(program.process.pid, trace)
            done += 1
            if problem:
                failures.append(problem)
                continue
            at = begun_ns(trace)
            if at is None:
                failures.append("no capture record")
                continue
            firsts.append((at - asked_ns) / 1e6)
            usual = statistics.median(took for _, took in program.turns)
            near = [took for begin, took in program.turns if asked_ns <= begin + took and begin <= at + AROUND_NS]
            stalls[way].append((max(near, default=0) - usual) / 1e6)
        left_ns = time.monotonic_ns()
        time.sleep(1)
        after = [took for begin, took in list(program.turns) if begin > left_ns]
        if before and after:
            afterwards.append(100 * (statistics.median(after) / statistics.median(before) - 1))
        code, err = program.end()
        ends.append(code)
        if code != 0:
            failures.append(f"the program ended with {code}: {err}")
        print(f"{kind}: {done} attaches, {len(failures)} failures, the last program ended with {code}", flush=True)
    return {"attaches": done, "failures": failures, "wrong_ends": sum(code != 0 for code in ends),
            "stall_ms": {way: {"p50": percentile(all_, 0.5), "p90": percentile(all_, 0.9), "p99": percentile(all_, 0.99), "max": max(all_, default=None)}
                         for way, all_ in stalls.items()},
            "slower_afterwards_percent": {"median": percentile(afterwards, 0.5), "least": min(afterwards, default=None), "most": max(afterwards, default=None)},
            "first_record_ms": {"p50": percentile(firsts, 0.5), "p99": percentile(firsts, 0.99)}}


def find_cupti():
    done = subprocess.run([GPROF, "doctor", "--format", "json"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"(/[^\" ]*libcupti\.so[^\" ,]*)", done)
    return found.group(1) if found else "libcupti.so.13"


def steps(out):
    """Attribute 0 is the size of a device buffer, 6 and 7 how many buffers and pools of semaphores are made ahead, 3 the size of such a pool, 8 pinned host memory for them."""
    cupti = find_cupti()
    for name, attributes in (("defaults", []), ("one small buffer", ["0=262144", "6=1", "3=4096", "7=1"]), ("nothing ahead", ["6=0", "7=0"]), ("device memory", ["8=0"])):
        for again in range(5):
            done = subprocess.run([BUILD / "tests/bin/gpu_attach_stall", cupti, *attributes], capture_output=True, text=True, check=False, timeout=60)
            if done.returncode == SKIP:
                sys.exit(SKIP)
            out.setdefault(name, []).append([json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")])
        worst = {}
        for run in out[name]:
            for step in run:
                worst.setdefault(step["step"], []).append((step["longest_turn_ms"], step["took_ms"]))
        print(f"{name}: median of the longest turn, and of the step itself, in ms")
        for step, values in worst.items():
            print(f"  {step:32} {statistics.median(v[0] for v in values):9.3f} {statistics.median(v[1] for v in values):9.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--attaches", type=int, default=0)
    parser.add_argument("--kinds", default="launches," + ",".join(SETUPS))
    parser.add_argument("--limit-s", type=float, default=math.inf)
    parser.add_argument("--steps", action="store_true")
    args = parser.parse_args()
    if not pathlib.Path("/dev/nvidiactl").exists():
        return SKIP
    until = time.monotonic() + args.limit_s - END_S
    signal.signal(signal.SIGINT, signal.default_int_handler)
    args.out.mkdir(parents=True, exist_ok=True)
    result = {"steps": {}, "kinds": {}}
    if args.steps:
        steps(result["steps"])
    for kind in args.kinds.split(",") if args.attaches else ():
        result["kinds"][kind] = measure(kind, args.out, args.attaches, until)
        print(kind, json.dumps(result["kinds"][kind]), flush=True)
        (args.out / "attach_stall.json").write_text(json.dumps(result, indent=1))
    (args.out / "attach_stall.json").write_text(json.dumps(result, indent=1))
    return int(any(kind.get("failures") for kind in result["kinds"].values()))


if __name__ == "__main__":
    sys.exit(main())
