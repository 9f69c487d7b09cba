"""A command that is measured: seconds on the clock, of processors, its memory, within a limit of time."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time

KINDS = {"RssAnon": "anonymous_bytes", "RssFile": "file_bytes", "RssShmem": "shared_bytes"}


@dataclasses.dataclass
class Run:
    words: list
    code: int            # negative: the signal that ended it
    seconds: float       # on the clock
    user_s: float
    system_s: float
    peak_bytes: int      # resident, of the largest process of it
    peak_anonymous: int  # of these no page of a file; 0 where it was not sampled
    output: str
    is_late: bool = False

    @property
    def processor_s(self):
        return self.user_s + self.system_s

    def why(self):
        """Why it does not count, None where it does."""
        if self.is_late:
            return f"not done after {self.seconds:.0f} s"
        return None if self.code == 0 else f"ended with {self.code}: {self.output.strip()[-300:]}"

    def figures(self):
        """What is kept of it in a document."""
        found = {"seconds": round(self.seconds, 4), "user_s": round(self.user_s, 4), "system_s": round(self.system_s, 4),
                 "peak_bytes": self.peak_bytes}
        if self.peak_anonymous:
            found["peak_anonymous_bytes"] = self.peak_anonymous
        return found if self.why() is None else {**found, "failed": self.why()}


def memory(text):
    """{"anonymous_bytes": …} of the text of /proc/PID/status."""
    found = {}
    for line in text.splitlines():
        key, _, rest = line.partition(":")
        if key in KINDS:
            found[KINDS[key]] = int(rest.split()[0]) * 1024
    return found


def memory_of(pid):
    try:
        return memory(pathlib.Path(f"/proc/{pid}/status").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return {}


class Sampler(threading.Thread):
    """The most ordinary memory of a process, and samples of all its memory every so often."""

    def __init__(self, pid, pause_s):
        super().__init__(daemon=True)
        self.pid, self.pause_s, self.peak_anonymous, self.is_over = pid, pause_s, 0, threading.Event()

    def run(self):
        while not self.is_over.wait(self.pause_s):
            self.peak_anonymous = max(self.peak_anonymous, memory_of(self.pid).get("anonymous_bytes", 0))


def on_cores(count):
    """For a new process: the first `count` cores that this one may use. None: all."""
    if count is None:
        return None
    chosen = sorted(os.sched_getaffinity(0))[:count]
    return lambda: os.sched_setaffinity(0, chosen)


def run(*words, limit_s=600, env=None, cores=None, sample_s=0, output=None):
    """Runs a command to its end, or ends it with all its children. `output`: a file for what it prints; without, the last
    of it is kept. `sample_s`: how often its memory is looked at, which costs a little time."""
    with open(output, "wb+") if output else tempfile.TemporaryFile() as told:
        started = time.monotonic()
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=told, stderr=told, env=env,
                                   start_new_session=True, preexec_fn=on_cores(cores))
        late = threading.Event()
        timer = threading.Timer(max(limit_s, 0.1), lambda: (late.set(), end(process.pid)))
        timer.start()
        sampler = Sampler(process.pid, sample_s)
        if sample_s:
            sampler.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - started
        timer.cancel()
        sampler.is_over.set()
        process.returncode = os.waitstatus_to_exitcode(status)
        told.seek(max(0, told.seek(0, os.SEEK_END) - 100_000))
        text = told.read().decode(errors="replace")
    return Run(list(words), process.returncode, seconds, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024,
               sampler.peak_anonymous, text, late.is_set())


def end(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Limit:
    """What is left of the time of a script: no step begins that is not likely to end within it."""

    def __init__(self, seconds):
        self.seconds, self.started = seconds, time.monotonic()

    def left_s(self):
        return self.seconds - (time.monotonic() - self.started)

    def has_room_for(self, seconds):
        return seconds < self.left_s()


class Document:
    """Results that are written as they come: whoever ends the script early keeps what there is."""

    def __init__(self, folder, name, schema, **facts):
        self.folder, self.name = folder, name
        self.facts = {"schema": schema, **facts}
        folder.mkdir(parents=True, exist_ok=True)

    def save(self, text):
        (self.folder / f"{self.name}.json").write_text(json.dumps(self.facts, indent=1))
        (self.folder / f"{self.name}.md").write_text(text)
