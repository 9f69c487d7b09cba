#!/usr/bin/env python3
"""Jobs that need a GPU, side by side and unattended, on a machine that is lent for some minutes: tests/gpu/session_jobs.py has them.

    python3 -B tests/gpu/session.py PLAN --out DIR [--build BUILD] [--total-s 550] [--only REGEX] [--list]

A plan has lanes: jobs that run one after the other, on GPUs and processors of their own, so that what is measured in one lane
is not disturbed by others. Each job has a time limit. When --total-s is over, all jobs are ended and what they left is kept.

DIR/session.json    how each job ended, complete at any time
DIR/results.N.tar   NAME.tgz of each job that has ended: its log and its files, but for those that are too large
"""

import argparse
import contextlib
import dataclasses
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

import marked_processes
import session_jobs

MARK = "SESSION_JOB"  # in the environment of what a job has started, in whatever session or group that is
GRACE_S, END_S = 3, 8  # a job has to end after SIGTERM; before the end, for packing
LEAST_S = 10  # of the time, to begin a job
FILE_BYTES, JOB_BYTES, TAR_BYTES, MOST_TARS = 6_000_000, 12_000_000, 15_000_000, 4
SAID_BYTES = 900  # of the log of a job, at the end of the output
SKIP = 77


def cpus_by_core():
    """The processors that may be used, those of one core side by side: lanes shall not share a core."""
    cores = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        path = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        key = path.read_text(encoding="ascii").strip() if path.is_file() else str(cpu)
        cores.setdefault(key, []).append(cpu)
    return [cpu for core in cores.values() for cpu in core]


class Results:
    """What comes back: small files first, in as few and as large files as may be."""

    def __init__(self, out):
        self.out, self.number, self.lock = out, 1, threading.Lock()

    def pack(self, folder):
        """Returns the files that are too large."""
        left_out, used, content = [], 0, io.BytesIO()
        files = sorted((path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()), key=lambda path: path.stat().st_size)
        with tarfile.open(fileobj=content, mode="w:gz", compresslevel=6) as archive:
            for path in files:
                size = path.stat().st_size
                if size > FILE_BYTES or used + size > JOB_BYTES:
                    left_out.append(f"{path.relative_to(folder)} ({size} bytes)")
                    continue
                used += size
                with contextlib.suppress(OSError):  # a process that outlives the job may remove it
                    archive.add(path, f"{folder.name}/{path.relative_to(folder)}", recursive=False)
        if not self.append(f"{folder.name}.tgz", content.getvalue()):
            left_out.append(f"all of it ({content.tell()} bytes): the results are full")
        return left_out

    def append(self, name, content):
        with self.lock:
            path = self.out / f"results.{self.number}.tar"
            if path.exists() and path.stat().st_size + len(content) > TAR_BYTES:
                if self.number == MOST_TARS:
                    return False
                self.number += 1
                path = self.out / f"results.{self.number}.tar"
            with tarfile.open(path, "a") as archive:
                member = tarfile.TarInfo(name)
                member.size, member.mtime = len(content), int(time.time())
                archive.addfile(member, io.BytesIO(content))
            return True


class Session:
    def __init__(self, wanted):
        self.out, self.build = wanted.out.resolve(), wanted.build.resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.began = time.monotonic()
        self.until = self.began + wanted.total_s - END_S
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="session-"))
        self.results, self.lock, self.cpus = Results(self.out), threading.Lock(), cpus_by_core()
        self.document = {"schema": "gpu_session/1", "plan": wanted.plan, "machine": machine(self.cpus), "jobs": {}}

    def left_s(self):
        return self.until - time.monotonic()

    def note(self, name, **what):
        """The document is complete at any time."""
        with self.lock:
            self.document["jobs"].setdefault(name, {}).update(what)
            new = self.out / "session.json.new"
            new.write_text(json.dumps(self.document, indent=1) + "\n", encoding="utf-8")
            new.replace(self.out / "session.json")

    def say(self, *words):
        print(f"[{time.monotonic() - self.began:5.0f}]", *words, flush=True)

    def environment(self, lane, job, token):
        env = {**os.environ, "GPROF_TEST_BUILD": str(self.build), "CUDA_VISIBLE_DEVICES": lane.gpus, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}
        if (self.build / "nsys-libs").is_dir():
            env["GPROF_TEST_NSYS_LIBS"] = str(self.build / "nsys-libs")
        if job.needs_wheels and (self.build / "wheels").is_dir():
            env["PYTHONPATH"] = ":".join(filter(None, [str(self.build / "wheels"), env.get("PYTHONPATH", "")]))
        return {**env, **job.env, MARK: token}

    def run_job(self, lane, job):
        if self.left_s() < LEAST_S:
            self.note(job.name, how="not begun: no time was left")
            return
        folder, token = self.folder / job.name, f"{os.getpid()}.{job.name}"
        folder.mkdir()
        limit_s = min(job.limit_s, self.left_s())
        words = [str(word).format(out=folder, build=self.build, limit_s=int(limit_s)) for word in job.words]
        cpus = sorted({self.cpus[i % len(self.cpus)] for i in lane.cpus})
        self.note(job.name, command=words, gpus=lane.gpus, cpus=cpus, began_s=round(time.monotonic() - self.began, 1), how="running")
        self.say("begin", job.name)

        def settle():
            os.sched_setaffinity(0, cpus)
            os.nice(lane.nice)
        started = time.monotonic()
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=session_jobs.SOURCE, start_new_session=True,
                                       preexec_fn=settle, env=self.environment(lane, job, token))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(limit_s)
            code = process.poll()
            end_all(process, token)
        how = f"exit code {code}" if code is not None else "ended at its limit"
        self.note(job.name, how="skipped" if code == SKIP else how, code=code, took_s=round(time.monotonic() - started, 1))
        self.note(job.name, left_out=self.results.pack(folder), said=end_of(folder / "log"))
        self.say(how, job.name)

    def run_lane(self, lane, after, done):
        try:
            for lane_before in after:
                lane_before.wait()
            for job in lane.jobs:
                try:
                    self.run_job(lane, job)
                except Exception as error:  # the other jobs are still wanted
                    self.note(job.name, how=f"{type(error).__name__}: {error}")
        finally:
            done.set()

    def run(self, lanes):
        done = {lane.name: threading.Event() for lane in lanes}
        threads = [threading.Thread(target=self.run_lane, args=(lane, [done[name] for name in lane.after], done[lane.name])) for lane in lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name, job in self.document["jobs"].items():
            print(f"\n== {name}: {job['how']}, {job.get('took_s', 0)} s, left out {job.get('left_out')}\n{job.get('said', '')}")


def end_all(process, token):
    """Asks all of its processes to end, and then no longer asks."""
    if left := marked_processes.find(MARK, token):
        marked_processes.send(left, signal.SIGTERM)
        until = time.monotonic() + GRACE_S
        while time.monotonic() < until and marked_processes.find(MARK, token):
            time.sleep(0.1)
        marked_processes.send(marked_processes.find(MARK, token), signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def end_of(log):
    content = log.read_bytes()
    return content[-SAID_BYTES:].decode("utf-8", "replace").strip()


def first_line(*words):
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False).stdout.strip()[:2000]
    return None


def machine(cpus):
    return {"gpus": first_line("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"), "kernel": os.uname().release, "cpus_by_core": cpus,
            "python": sys.version.split()[0], "model": next((line for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), None)}


def chosen(lanes, only):
    return [dataclasses.replace(lane, jobs=[job for job in lane.jobs if re.search(only, job.name)]) for lane in lanes]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", choices=session_jobs.PLANS)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=session_jobs.SOURCE / "build" / "release")
    parser.add_argument("--total-s", type=float, default=550)
    parser.add_argument("--only", default="", help="the jobs in whose names this is found")
    parser.add_argument("--list", action="store_true")
    wanted = parser.parse_args()
    lanes = chosen(session_jobs.PLANS[wanted.plan](), wanted.only)
    if wanted.list:
        for lane in lanes:
            for job in lane.jobs:
                print(f"{lane.name:10} gpus {lane.gpus:4} {len(lane.cpus):2} cpus  {job.limit_s:4} s  {job.name:20} {' '.join(map(str, job.words))}")
        return 0
    if wanted.out is None:
        parser.error("--out is missing")
    if not (wanted.build / "bin" / "gprof-cli").is_file():
        sys.exit(f"cannot run: there is no bin/gprof-cli in {wanted.build}; name the build by --build")
    session = Session(wanted)
    session.run(lanes)
    return int(any(job.get("code") not in (0, SKIP) for job in session.document["jobs"].values()))


if __name__ == "__main__":
    sys.exit(main())
