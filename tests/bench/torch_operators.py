"""What recording Python stacks and the operators of PyTorch costs: an eager training step of a transformer, in several ways in turns.

    GPROF_TEST_BUILD=BUILD tests/bench/torch_operators.py [--seconds 60] [--steps 20] [--ways 'ops$|nothing'] [--cpu]

All programs start first and wait; in each turn one after the other does its steps, of which the median counts: the first come
to caches that others have used. Printed is the median of the ratios to the untraced program in the same turn, and to CUDA and NVTX
alone, with intervals that hold the median at 95 %.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import paired

BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build" / "release")).resolve()
GPROF = BUILD / "bin" / "gprof-cli"
# What PyTorch itself takes to tell anybody of each operator, with and without its inputs: less than that no recorder of operators can take.
EMPTY_CALLBACK = """
#include <ATen/record_function.h>
void add(bool needs_inputs) {
  using namespace at;
  const auto begin = [](const RecordFunction&) -> std::unique_ptr<ObserverContext> { return nullptr; };
  addGlobalCallback(RecordFunctionCallback(begin, [](const RecordFunction&, ObserverContext*) {})
                        .needsInputs(needs_inputs).scopes({RecordScope::FUNCTION, RecordScope::BACKWARD_FUNCTION}));
}
"""
PLAIN = ["--only-trace", "-t", "cuda,nvtx", "-s", "none"]
# name: (options of gprof-cli, options of nsys, what torch.profiler is asked for)
WAYS = {
    "untraced": (None, None, None),
    "a callback that does nothing": (None, None, "callback with inputs"),
    "a callback without inputs that does nothing": (None, None, "callback"),
    "gprof-cli -t cuda,nvtx": (PLAIN, None, None),
    "gprof-cli -t cuda,nvtx --python-backtrace cuda": ([*PLAIN, "--python-backtrace", "cuda"], None, None),
    "gprof-cli -t cuda,nvtx --pytorch ops": ([*PLAIN, "--pytorch", "ops"], None, None),
    "gprof-cli -t cuda,nvtx, and a callback that does nothing": (PLAIN, None, "callback with inputs"),
    "gprof-cli": ([], None, None),
    "gprof-cli --pytorch ops": (["--pytorch", "ops"], None, None),
    "gprof-cli --pytorch ops,modules": (["--pytorch", "ops,modules"], None, None),
    "gprof-cli --pytorch autograd-shapes-nvtx": (["--pytorch", "autograd-shapes-nvtx"], None, None),
    "torch.profiler": (None, None, {}),
    "torch.profiler record_shapes": (None, None, {"record_shapes": True}),
    "torch.profiler record_shapes with_stack": (None, None, {"record_shapes": True, "with_stack": True}),
    "nsys --pytorch=autograd-shapes-nvtx": (None, ["-s", "none", "--pytorch=autograd-shapes-nvtx"], None),
    "nsys --pytorch=autograd-shapes-nvtx --python-backtrace=cuda": (
        None, ["--pytorch=autograd-shapes-nvtx", "--python-backtrace=cuda", "--cudabacktrace=all"], None),
}


def make_step(device):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "programs"))
    import torch
    from torch_training import WIDTH, Block
    torch.manual_seed(1)
    small = device == "cpu"
    model = torch.nn.Sequential(*(Block() for _ in range(2 if small else 4))).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.randn(1 if small else 8, 16 if small else 256, WIDTH, device=device)

    def step():
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    return step


def be_the_program(device, asked):
    """A line on stdin: as many steps. The answer: nanoseconds of the median one."""
    import torch
    if device == "cpu":  # what waits for CUDA goes on without it
        torch.set_num_threads(1)
        [queued[0]() for queued in torch.cuda._queued_calls if queued[0].__module__ == "sitecustomize"]
    if isinstance(asked, str):
        from torch.utils import cpp_extension
        cpp_extension.load_inline("empty_callback", EMPTY_CALLBACK, functions=["add"], verbose=False).add("inputs" in asked)
        asked = None
    step = make_step(device)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    for _ in range(5):
        step()
    wait()
    print("ready", flush=True)
    for line in sys.stdin:
        with contextlib.nullcontext() if asked is None else torch.profiler.profile(**asked):
            laps = []
            for _ in range(int(line)):
                started = time.perf_counter_ns()
                step()
                laps.append(time.perf_counter_ns() - started)
            wait()
        print(statistics.median(laps), flush=True)


def command_of(way, device, folder, number):
    options, nsys, asked = WAYS[way]
    program = [sys.executable, "-B", os.path.abspath(__file__), "--be", device, json.dumps(asked)]
    if options is not None:
        return [str(GPROF), "profile", "-f", "-o", f"{folder}/{number}.trace", *options, "--", *program]
    if nsys is not None:
        return ["nsys", "profile", "-f", "true", "-o", f"{folder}/{number}", "-t", "cuda,nvtx", "--cpuctxsw=none", *nsys, *program]
    return program


def measure(running, steps, seconds):
    """way → {turn: ns}"""
    times, turn, end = {way: {} for way in running}, 0, time.monotonic() + seconds
    while time.monotonic() < end:
        order = list(running)
        for way in order[turn % len(order):] + order[:turn % len(order)]:
            running[way].stdin.write(f"{steps}\n")
            running[way].stdin.flush()
            answer = running[way].stdout.readline()
            times[way][turn] = float(answer)
        turn += 1
    return times


def ratio_text(times, base):
    found = paired.ratios(times, base)
    if not found:
        return ""
    low, high = paired.interval(found) or (min(found), max(found))
    return f"{statistics.median(found):.3f} ({low:.3f} to {high:.3f})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--ways", default="", help="a regular expression: only those beside the untraced program")
    parser.add_argument("--cpu", action="store_true")
    arguments = parser.parse_args()
    device = "cpu" if arguments.cpu else "cuda"
    ways = [way for way in WAYS if way == "untraced" or re.search(arguments.ways, way)]
    ways = [way for way in ways if WAYS[way][1] is None or shutil.which("nsys")]
    with tempfile.TemporaryDirectory(prefix="gprof-ops-") as folder:
        running = {way: subprocess.Popen(command_of(way, device, folder, n), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                   for n, way in enumerate(ways)}
        for way, process in list(running.items()):
            if process.stdout.readline().strip() != "ready":
                print(f"{way}: does not run here")
                running.pop(way)
        times = measure(running, arguments.steps, arguments.seconds)
        for process in running.values():
            process.communicate()
    untraced = times["untraced"]
    print(f"untraced {paired.time_text(statistics.median(untraced.values()))} a step, {len(untraced)} turns of {arguments.steps} steps")
    for way in list(times)[1:]:
        plain = times.get("gprof-cli -t cuda,nvtx", {})
        print(f"{ratio_text(times[way], untraced)}  {ratio_text(times[way], plain):24}  {way}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--be"]:
        be_the_program(sys.argv[2], json.loads(sys.argv[3]))
    else:
        main()
