"""Memory of a recorder and of the program it records, over time, with a snapshot now and then.

    tests/bench/run_recorder.py --seconds 480                        the double of CUDA that tests have, three threads
    tests/bench/run_recorder.py --seconds 3600 --snapshot-every 60 --budget 1% -- python train.py

Prints a line for each reading. The exit code is 1 when memory grew by more than --limit-mb after the time that is kept
was full for the first time, or a snapshot failed. A program that needs no end of its own is killed at the end.
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", "build/release")).resolve()
GPROF = BUILD / "bin" / "gprof-cli"
MB = 1 << 20


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--every", type=float, default=10, help="seconds between two readings")
    parser.add_argument("--snapshot-every", type=float, default=60)
    parser.add_argument("--keep", default="10s")
    parser.add_argument("--memory", default="256M")
    parser.add_argument("--budget")
    parser.add_argument("--limit-mb", type=float, default=1)
    parser.add_argument("app", nargs="*")
    return parser.parse_args()


def rss_mb(pid, field="VmRSS"):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    return 0


def cli(env, *words):
    return subprocess.run([GPROF, *words], capture_output=True, check=False, env=env, text=True, timeout=120)


def growth(readings):
    """Between the smallest of the first quarter and the largest of the last: what waits to be written comes and goes."""
    quarter = max(len(readings) // 4, 1)
    return min(readings[-quarter:]) - min(readings[:quarter])


def main():
    args = arguments()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-recorder-"))
    env = {**os.environ, "GPROF_RUN_BASE": tempfile.mkdtemp(prefix="gprof-recorder-", dir="/dev/shm")}
    app = args.app
    if not app:
        mock = BUILD / "tests" / "mock" / "13.0"
        env.update(LD_LIBRARY_PATH=str(mock), TEST_CUDART=str(mock / "libcudart.so.13"))
        app = [str(BUILD / "tests/e2e/tracer/scripted"), "crowd", str(folder / "end")]
    budget = ["--budget", args.budget] if args.budget else []
    recorder = subprocess.Popen([GPROF, "record", "--keep", args.keep, "--memory", args.memory, *budget, "-o", folder / "end.trace", "--", *app],
                                stdout=subprocess.DEVNULL, env=env)
    begin, next_snapshot, failed, columns = time.monotonic(), args.snapshot_every, 0, []
    keep_s = float(args.keep.rstrip("s"))
    while (passed := time.monotonic() - begin) < args.seconds and recorder.poll() is None:
        time.sleep(args.every)
        status = json.loads(cli(env, "status", "--format", "json").stdout)["recorders"]
        if not status:
            continue
        ring, program = status[0]["memory_bytes"] / MB, status[0]["program_pid"]
        line = {"seconds": round(passed + args.every), "ring_mb": ring, "recorder_mb": rss_mb(recorder.pid), "program_mb": rss_mb(program, "RssAnon"),
                "arena_mb": rss_mb(program, "RssShmem"), "slow_down": status[0].get("slow_down")}
        print(json.dumps(line), flush=True)
        if passed > 1.5 * keep_s:
            columns.append(line)
        if passed >= next_snapshot:
            next_snapshot += args.snapshot_every
            begin_ns = time.monotonic_ns()
            done = cli(env, "snapshot", "-f", "-o", folder / "now.trace")
            failed += done.returncode != 0
            print(json.dumps({"snapshot_ms": (time.monotonic_ns() - begin_ns) / 1e6, "said": done.stderr.strip()}), flush=True)
    (folder / "end").touch()
    try:
        recorder.wait(30)
    except subprocess.TimeoutExpired:
        recorder.send_signal(signal.SIGTERM)
        recorder.wait(60)
    grown = {name: round(growth([line[name] for line in columns]), 3) for name in ("ring_mb", "recorder_mb", "program_mb", "arena_mb")} if columns else {}
    print(json.dumps({"grown": grown, "failed_snapshots": failed}))
    return int(failed != 0 or not grown or any(value > args.limit_mb for value in grown.values()))


if __name__ == "__main__":
    sys.exit(main())
