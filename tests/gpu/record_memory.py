#!/usr/bin/env python3
"""Whether `gprof-cli record` takes the same memory for as long as a program runs, and what slow-down it measures meanwhile.

    tests/gpu/record_memory.py OUT [--minutes 8] [--kind eager|graph] [--keep 10s] [--budget 1%]
    tests/gpu/record_memory.py OUT --minutes 1 -- PROGRAM ... {gate} ...        any program that ends when the file {gate} appears

The programs are steps of PyTorch, launched kernel by kernel or as a CUDA graph (programs/steady_service.py). OUT/record_memory.json
has a reading a second: memory that the ring takes in /dev/shm, of the recorder and of the program, and what `status` says of the
slow-down. Snapshots are taken after an eighth, in the middle and at the end. Exits with 1 when the memory of the ring or of the recorder grew by
more than 1 MB between the second and the last quarter of the run, or when the program did not end as it does without us.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import support

PROGRAM = support.SOURCE / "tests" / "gpu" / "programs" / "steady_service.py"
MOST_GROWTH_BYTES = 1 << 20
START_S, END_S = 90, 60
SNAPSHOTS_AT = (0.125, 0.5)  # of the time; what the first one takes of the recorder's memory is there before the second quarter


def resident_bytes(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def ring_bytes(base):
    return sum(path.stat().st_blocks * 512 for path in base.glob("*/*/ring"))


def child_of(pid):
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return int(children[0]) if children else None


class Recording:
    def __init__(self, wanted):
        self.out, self.gate = wanted.out, wanted.out / "gate"
        self.gate.unlink(missing_ok=True)
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="record-memory-", dir="/dev/shm"))
        self.env = {**os.environ, "GPROF_RUN_BASE": str(self.base)}
        program = wanted.program or [sys.executable, "-B", PROGRAM, wanted.kind, "{gate}"]
        options = ["--keep", wanted.keep, *(["--budget", wanted.budget] if wanted.budget else []), "-o", self.out / "last.trace"]
        words = [support.COMMAND, "record", *options, "--", *(str(word).replace("{gate}", str(self.gate)) for word in program)]
        with open(self.out / "program.out", "wb") as out, open(self.out / "record.err", "wb") as err:
            self.process = subprocess.Popen([str(word) for word in words], env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def cli(self, *words):
        return subprocess.run([str(support.COMMAND), *map(str, words)], env=self.env, capture_output=True, text=True, check=False, timeout=END_S)

    def wait_for_the_ring(self):
        until = time.monotonic() + START_S
        while not ring_bytes(self.base) and self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.1)

    def reading(self):
        return {"at_s": time.monotonic(), "ring_bytes": ring_bytes(self.base), "recorder_bytes": resident_bytes(self.process.pid),
                "program_bytes": resident_bytes(child_of(self.process.pid) or 0)}

    def slow_down(self):
        status = self.cli("status", "--format", "json")
        recorders = json.loads(status.stdout).get("recorders", []) if status.returncode == 0 else []
        return recorders[0].get("slow_down") if recorders else None

    def snapshot(self, name):
        began = time.monotonic()
        done = self.cli("snapshot", "-f", "-o", self.out / name)
        path = self.out / name
        return {"exit_code": done.returncode, "took_s": time.monotonic() - began, "bytes": path.stat().st_size if path.exists() else None, "said": done.stderr[-300:]}

    def end(self):
        self.gate.touch()
        try:
            return self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            return None


def growth(readings, key):
    """From the second quarter, when the ring is full, to the last one."""
    values = [reading[key] for reading in readings if reading[key] is not None]
    quarter = len(values) // 4
    if not quarter:
        return None
    second, last = values[quarter:2 * quarter], values[-quarter:]
    return {"second_quarter_bytes": statistics.median(second), "last_quarter_bytes": statistics.median(last),
            "growth_bytes": statistics.median(last) - statistics.median(second), "least_bytes": min(second + last), "most_bytes": max(second + last)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--kind", choices=("eager", "graph"), default="eager")
    parser.add_argument("--keep", default="10s")
    parser.add_argument("--budget", default="")
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    wanted = parser.parse_args(words[:cut])
    wanted.program = words[cut + 1:]
    if not wanted.program and (reason := support.why_not()):
        print("skipped:", reason)
        return support.SKIP
    wanted.out.mkdir(parents=True, exist_ok=True)
    recording, readings, snapshots = Recording(wanted), [], []
    recording.wait_for_the_ring()
    began = time.monotonic()
    while time.monotonic() - began < wanted.minutes * 60 and recording.process.poll() is None:
        readings.append(recording.reading())
        if len(snapshots) < len(SNAPSHOTS_AT) and time.monotonic() - began > wanted.minutes * 60 * SNAPSHOTS_AT[len(snapshots)]:
            snapshots.append(recording.snapshot("middle.trace"))
        time.sleep(1)
    result = {"minutes": (time.monotonic() - began) / 60, "slow_down": recording.slow_down(), "snapshots": [*snapshots, recording.snapshot("end.trace")]}
    result["exit_code"] = recording.end()
    result.update({key: growth(readings, key) for key in ("ring_bytes", "recorder_bytes", "program_bytes")})
    result["said"] = (recording.out / "record.err").read_text(encoding="utf-8", errors="replace")[-1500:]
    result["program"] = (recording.out / "program.out").read_text(encoding="utf-8", errors="replace")[-500:]
    print(json.dumps(result, indent=1), flush=True)
    result["readings"] = readings
    (wanted.out / "record_memory.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    is_flat = all(result[key] and result[key]["growth_bytes"] <= MOST_GROWTH_BYTES for key in ("ring_bytes", "recorder_bytes"))
    return int(not is_flat or result["exit_code"] != 0)


if __name__ == "__main__":
    sys.exit(main())
