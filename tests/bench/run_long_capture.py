"""Memory of the tracer over a long capture, on the doubles of CUDA and CUPTI: no GPU.

    GPROF_TEST_BUILD=BUILD tests/bench/run_long_capture.py --out DIR [--events 200e6] [--rate 2e6]

Runs tests/e2e/tracer/programs/long_capture alone, and recorded at a given number of events a second; the difference of
their memory is the tracer's. Then reads the trace: info, report, and whether all was recorded.
Writes DIR/long_capture.json and DIR/long_capture.md.

    tests/bench/run_long_capture.py --out DIR --events 108e6 --rate 60e3 --points 180    # 30 minutes, told every 10 s
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "gpu")]

import measured  # noqa: E402
import paired  # noqa: E402
import support  # noqa: E402
from run_recording import machine  # noqa: E402

PROGRAM = support.BUILD / "tests" / "e2e" / "tracer" / "long_capture"
MOCK = support.BUILD / "tests" / "mock" / "13.0"
PATIENCE_S = 1200


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--events", type=float, default=200e6)
    parser.add_argument("--rate", type=float, default=2e6, help="events a second; 0: on when the trace has grown")
    parser.add_argument("--points", type=int, default=20)
    return parser.parse_args()


class RunFolder(threading.Thread):
    """The most that lay in the run folder at once, in bytes."""

    def __init__(self, base):
        super().__init__(daemon=True)
        self.base, self.most, self.is_over = pathlib.Path(base), 0, threading.Event()

    def run(self):
        while not self.is_over.wait(0.2):
            size = 0
            for path in self.base.rglob("*"):
                try:
                    size += path.stat().st_blocks * 512
                except OSError:
                    continue  # gone in the meantime
            self.most = max(self.most, size)


def run(words, arguments, rate, environment):
    """The points that the program told, and the seconds it took."""
    command = [*words, PROGRAM, int(arguments.events), arguments.points]
    if rate:
        command.append(rate)
    started = time.monotonic()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"ended with {done.returncode}: {done.stderr[-500:]}")
    facts = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"fact"')]
    return [fact for fact in facts if fact["fact"] == "memory"], time.monotonic() - started


def table(points):
    lines = ["| events | anonymous, more than alone | shared memory | trace | bytes an event | s |", "|" + "---|" * 6]
    for point in points:
        each = point["trace_bytes"] / point["events"] if point["events"] else 0
        lines.append(f"| {point['events'] / 1e6:.1f} million | {point['anonymous_more_kib'] / 1024:.1f} MiB | "
                     f"{point['shared_more_kib'] / 1024:.1f} MiB | {paired.bytes_text(max(point['trace_bytes'], 0))} | "
                     f"{each:.2f} | {point['ms'] / 1e3:.1f} |")
    return "\n".join(lines) + "\n"


def line(points):
    """What the curve comes to: the most and the growth of memory after the first tenth, and of the trace."""
    late = [point for point in points if point["events"] * 10 >= points[-1]["events"]]
    memory = [(point["anonymous_more_kib"] + point["shared_more_kib"]) / 1024 for point in late]
    each = [point["trace_bytes"] / point["events"] for point in late]
    return (f"memory after the first tenth: {min(memory):.1f} to {max(memory):.1f} MiB, {memory[-1] - memory[0]:+.1f} MiB "
            f"from there to the end; {min(each):.3f} to {max(each):.3f} bytes an event")


def read(trace):
    """How the trace is read: {command: figures}, and what `report` says of its health."""
    found = {}
    for name in ("info", "report"):
        command = [support.COMMAND, name, trace]
        found[name] = measured.run(*command, env=os.environ | {"TMPDIR": str(trace.parent)}, limit_s=PATIENCE_S).figures()
    health = trace.parent / "health.json"
    words = ["report", "--only", "health", "--format", "json", "-o", health]
    measured.run(support.COMMAND, *words, trace, env=os.environ | {"TMPDIR": str(trace.parent)}, limit_s=PATIENCE_S)
    document = json.loads(health.read_text())
    return {"commands": found, "records": document["trace"]["records"], "lost": document["health"]["lost_records"],
            "complete": document["health"]["complete"]}


def main():
    arguments = parse_arguments()
    if not PROGRAM.is_file() or not support.COMMAND.is_file():
        print("skipped: long_capture or gprof-cli was not built in", support.BUILD)
        return support.SKIP
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gprof-long-", dir=arguments.out) as folder:
        trace = pathlib.Path(folder) / "run.trace"
        base = tempfile.mkdtemp(prefix="gprof-long-run-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        environment = support.environment(LD_LIBRARY_PATH=str(MOCK), TEST_CUDART=str(MOCK / "libcudart.so.13"),
                                          GPROF_RUN_BASE=base, LONG_CAPTURE_TRACE=str(trace))
        alone, alone_s = run([], arguments, 0, {**environment, "LONG_CAPTURE_TRACE": ""})
        watcher = RunFolder(base)
        watcher.start()
        traced, traced_s = run([support.COMMAND, "profile", "-q", "-f", "-o", trace, "--"], arguments, arguments.rate,
                               environment)
        watcher.is_over.set()
        watcher.join()
        shutil.rmtree(base, ignore_errors=True)
        for point, without in zip(traced, alone, strict=True):
            point["anonymous_more_kib"] = point["anonymous_kib"] - without["anonymous_kib"]
            point["shared_more_kib"] = point["shared_kib"] - without["shared_kib"]
        document = {"schema": "gprof.long_capture/1", "machine": machine(), "rate": arguments.rate, "points": traced,
                    "seconds": {"alone": alone_s, "recorded": traced_s}, "run_folder_most_bytes": watcher.most,
                    "trace_bytes": trace.stat().st_size, "line": line(traced)}
        document["reading"] = reading = read(trace)
    (arguments.out / "long_capture.json").write_text(json.dumps(document, indent=1))
    (arguments.out / "long_capture.md").write_text(table(traced))
    print(table(traced))
    print(document["line"])
    for name, figures in reading.pop("commands").items():
        print(f"{name}: {json.dumps(figures)}")
    print(json.dumps(reading))
    print(f"alone {alone_s:.1f} s, recorded {traced_s:.1f} s; run folder at most {paired.bytes_text(watcher.most)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
