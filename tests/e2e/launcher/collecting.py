"""Programs with a collector beside them, and what their traces say of the load of the host."""

import os
import pathlib
import re

from launcher import DEADLINE_S, LauncherTest, wait_until

# Uses the processor for as many seconds of it as it is told, and says what it took in the end, and when that was.
BUSY = """
import os, sys, time
print(os.getpid(), flush=True)
while time.process_time() < float(sys.argv[1]):
    pass
print(time.process_time(), time.monotonic_ns(), flush=True)
"""
FIELD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')


def fields_of(line):
    return {name: value.strip('"') for name, value in FIELD.findall(line)}


def parent_of(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return int(text.rsplit(")", 1)[1].split()[1])


def collectors_of(launcher):
    """Children of a launcher that look at its program."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or parent_of(entry) != launcher:
            continue
        try:
            name = pathlib.Path(f"/proc/{entry}/comm").read_text(encoding="utf-8").strip()
        except OSError:
            continue
        if name == "gprof-collect":
            found.append(int(entry))
    return found


def naps_of(pid):
    """How often a process has gone to sleep."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.M).group(1))


class CollectTest(LauncherTest):
    # A program lives until its test has seen what it waits for, however long that takes.
    UNTIL_GO = "until test -e go; do sleep 0.01; done; "

    def setUp(self):
        super().setUp()
        (self.folder / "part").write_bytes(self.trace_bytes())
        self.busy = self.write("busy.py", BUSY)

    # The stub records nothing, so the program adds to its trace itself.
    RECORD = 'cat part >> "$GPROF_OUTPUT"; '

    def until_sampled(self):
        """A line of a script that waits until its trace has a sample, for programs with a short --flush-ms."""
        return f"until '{self.cli}' dump \"$GPROF_OUTPUT\" 2> dump.err | grep -q '^metric_block '; do sleep 0.05; done; "

    def go(self):
        (self.folder / "go").touch()

    @staticmethod
    def wait_for_looks(collector, count=6):
        """A collector sleeps after each look; what it sees is in its memory at first."""
        enough = naps_of(collector) + count
        wait_until(lambda: naps_of(collector) >= enough, f"the collector has looked {count} times more")

    def shell(self, script, *options, command="profile", **others):
        # One collector says what is true of all.
        return self.start(self.cli, command, "-s", "none", "--nvml", "off", *options, "sh", "-c",
                          self.RECORD + script, **others)

    def ended(self, process):
        out, err = process.communicate(timeout=DEADLINE_S)
        return process.returncode, out.decode(), err.decode()

    def collector(self, process):
        wait_until(lambda: collectors_of(process.pid), "there is a collector")
        found = collectors_of(process.pid)
        self.assertEqual(len(found), 1)
        return found[0]

    def dump(self, name="run.trace"):
        done = self.run_in_folder(self.cli, "dump", name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode().splitlines()

    def tracks(self, name="run.trace"):
        """{(what, pid): [(start_ns, duration_ns, value)]}; pid 0 is the machine."""
        lines = [(line.split(" ", 1)[0], fields_of(line)) for line in self.dump(name)]
        sources = {fields["id"]: (fields["name"], int(fields.get("pid", 0))) for kind, fields in lines if kind == "metric_source"}
        tracks = {}
        for kind, fields in lines:
            if kind == "metric_block":
                self.assertIn(fields["source"], sources, "a sample has a source")
                sample = tuple(int(fields.get(key, 0)) for key in ("start_ns", "duration_ns", "value"))
                tracks.setdefault(sources[fields["source"]], []).append(sample)
        return tracks

    def wait_for_samples(self, count=1, name="run.trace"):
        wait_until(lambda: sum(line.startswith("metric_block") for line in self.dump(name)) >= count, "there are samples")

    def assert_nothing_is_left(self):
        self.assertEqual([path for folder in self.base.iterdir() for path in folder.iterdir()], [])
