"""Programs with a collector beside them, and what their traces say of the load of the host."""

import os
import pathlib
import re

from launcher import DEADLINE_S, LauncherTest, wait_until

# Uses the processor for as many seconds of it as it is told, and says what it took in the end.
BUSY = """
import os, sys, time
print(os.getpid(), flush=True)
while time.process_time() < float(sys.argv[1]):
    pass
print(time.process_time(), flush=True)
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


class CollectTest(LauncherTest):
    def setUp(self):
        super().setUp()
        (self.folder / "part").write_bytes(self.trace_bytes())
        self.busy = self.write("busy.py", BUSY)

    # The stub records nothing, so the program adds to its trace itself.
    RECORD = 'cat part >> "$GPROF_OUTPUT"; '

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
        sources, tracks = {}, {}
        for line in self.dump(name):
            kind, fields = line.split(" ", 1)[0], fields_of(line)
            if kind == "metric_source":
                sources[fields["id"]] = (fields["name"], int(fields.get("pid", 0)))
            if kind == "metric_block":
                self.assertIn(fields["source"], sources, "a sample comes behind its source")
                sample = tuple(int(fields.get(key, 0)) for key in ("start_ns", "duration_ns", "value"))
                tracks.setdefault(sources[fields["source"]], []).append(sample)
        return tracks

    def wait_for_samples(self, count=1, name="run.trace"):
        wait_until(lambda: sum(line.startswith("metric_block") for line in self.dump(name)) >= count, "there are samples")

    def assert_nothing_is_left(self):
        self.assertEqual([path for folder in self.base.iterdir() for path in folder.iterdir()], [])
