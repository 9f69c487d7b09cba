"""The same bytes whatever reads the traces: one process or many, in any order, with mpirun, after workers were killed."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import time
import unittest

import fleet

DEADLINE_S = 60


def children_of(pid):
    """Their command lines by process id."""
    found = {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if int((process / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                found[int(process.name)] = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            pass  # it has ended
    return found


class Laws(fleet.FleetTest):
    """A partial is a set, and merging is its union."""

    def setUp(self):
        super().setUp()
        self.parts = [self.partial(f"{path.stem}.gpart", path) for path in self.paths]
        self.all = self.partial("all.gpart", self.traces).read_bytes()

    def test_any_order_and_any_tree(self):
        chance = random.Random(7)
        for tree in range(6):
            left = [*self.parts]
            while len(left) > 1:
                chance.shuffle(left)
                group = chance.randrange(2, 6)
                made = self.merge(f"tree{tree}-{len(left)}.gpart", *left[:group])
                left = [made, *left[group:]]
            self.assertEqual(left[0].read_bytes(), self.all)

    def test_twice_is_once(self):
        once = self.merge("once.gpart", *self.parts, self.parts[3], self.parts[0])
        self.assertEqual(once.read_bytes(), self.all)
        self.assertEqual(self.merge("again.gpart", once, once).read_bytes(), self.all)

    def test_shards_are_all_of_it(self):
        shards = [self.partial(f"shard{i}.gpart", self.traces, "--shard", f"{i}/5") for i in range(5)]
        self.assertEqual(self.merge("shards.gpart", *shards).read_bytes(), self.all)

    def test_number_of_workers(self):
        for workers in (1, 2, 7):
            made = self.folder / f"workers{workers}.gpart"
            self.cli("ranks", self.traces, "--workers", workers, "-o", made)
            self.assertEqual(made.read_bytes(), self.all)

    def test_number_of_threads(self):
        for threads in (1, 3):
            made = self.partial(f"threads{threads}.gpart", self.traces, "--threads", threads)
            self.assertEqual(made.read_bytes(), self.all)

    def test_no_byte_can_change_unnoticed(self):
        path, chance = self.folder / "damaged.gpart", random.Random(5)
        whole = self.parts[0].read_bytes()
        for _ in range(40):
            at = chance.randrange(len(whole))
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1:])
            self.assertIn("damaged.gpart", self.cli("merge", path, "-o", "none.gpart", code=3).stderr)
        for size in (0, 10, 30, len(whole) - 1):
            path.write_bytes(whole[:size])
            self.cli("merge", path, "-o", "none.gpart", code=3)
        self.assertFalse((self.folder / "none.gpart").exists())


class Inputs(fleet.FleetTest):
    def test_a_file_that_is_no_trace_is_named(self):
        (self.folder / "notes.trace").write_text("no trace\n")
        found = self.analyze(self.traces, "notes.trace")
        self.assertEqual([entry["trace"] for entry in found["unreadable"]], ["notes.trace"])
        self.assertEqual(found["ranks"], self.RANKS - 1)

    def test_nothing_that_can_be_read_is_an_error_and_no_report(self):
        for form in ("text", "json", "html"):
            done = self.cli("ranks", "gone.trace", "--format", form, code=3)
            self.assertEqual(done.stdout, "")
            self.assertIn("cannot read 'gone.trace': No such file", done.stderr)
            self.assertIn("hint: check the names", done.stderr)
        (self.folder / "notes.trace").write_text("no trace\n")
        several = self.cli("ranks", "notes.trace", "gone.trace", code=3).stderr
        for words in ("none of the 2 traces can be read", "'notes.trace': not a gprof-cli trace", "'gone.trace': No such"):
            self.assertIn(words, several)

    def test_a_list_of_which_some_are_gone(self):
        (self.folder / "list.txt").write_text("".join(f"{path}\n" for path in [*self.paths[:8], "gone.trace"]))
        found = self.analyze("list.txt")
        self.assertEqual([entry["trace"] for entry in found["unreadable"]], ["gone.trace"])
        self.assertEqual(found["ranks"], 8)
        self.assertIn("[fleet.unreadable]", self.cli("ranks", "list.txt").stdout)

    def test_a_list(self):
        (self.folder / "list.txt").write_text("".join(f"{path}\n" for path in self.paths))
        self.assertEqual(self.analyze("list.txt"), self.analyze(self.traces))

    def test_words_that_make_no_sense(self):
        for words in (["partial"], ["merge"], ["ranks"], ["partial", self.traces, "-o", "a.gpart", "--shard", "4/4"],
                      ["ranks", self.traces, "--engine", "mpi"]):
            self.assertIn("hint:", self.cli(*words, code=2).stderr)
        (self.folder / "empty").mkdir()
        self.assertIn("no traces", self.cli("ranks", "empty", code=3).stderr)


class Killed(fleet.FleetTest):
    """A pipe in place of a trace: its worker waits for what the pipe brings, and is killed meanwhile."""

    def setUp(self):
        super().setUp()
        self.pipe = self.folder / self.paths[4].name
        self.into_pipe = fleet.pipe_at(self.pipe)
        self.addCleanup(self.into_pipe.close)

    def start(self, **more):
        words = [fleet.CLI, "ranks", *self.paths[:4], self.pipe, "--workers", "1", "-o", self.folder / "made.gpart"]
        process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **more)
        self.addCleanup(process.kill)
        return process

    def worker_at_the_pipe(self, process, but=None):
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            for pid, words in children_of(process.pid).items():
                if pid != but and words[1:2] == [b"partial"] and str(self.pipe).encode() in words:
                    return pid
            time.sleep(0.01)
        self.fail("no worker reads the pipe")

    def kill(self, pid):
        os.kill(pid, signal.SIGKILL)
        return pid

    def test_its_traces_are_read_again(self):
        process = self.start()
        first = self.kill(self.worker_at_the_pipe(process))
        self.worker_at_the_pipe(process, first)  # else the dead one may take what is written
        self.into_pipe.write(self.paths[4].read_bytes())
        self.into_pipe.close()
        _, errors = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 0, errors)
        self.assertIn("was killed by SIGKILL; its traces are read again", errors)
        whole = self.partial("whole.gpart", *self.paths[:5])
        self.assertEqual((self.folder / "made.gpart").read_bytes(), whole.read_bytes())

    def test_what_kills_it_each_time_is_named(self):
        process = self.start()
        first = self.kill(self.worker_at_the_pipe(process))
        self.kill(self.worker_at_the_pipe(process, first))
        _, errors = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 0, errors)
        found = self.analyze("made.gpart")
        self.assertEqual(found["ranks"], 4)
        self.assertEqual([entry["trace"] for entry in found["unreadable"]], [self.pipe.name])
        self.assertIn("killed", found["unreadable"][0]["why"])

    def test_an_interrupted_one_leaves_nothing_behind(self):
        work = self.folder / "work"
        work.mkdir()
        process = self.start(env={**os.environ, "TMPDIR": str(work)}, start_new_session=True)
        self.worker_at_the_pipe(process)
        self.assertEqual(len(list(work.iterdir())), 1)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, errors = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, -signal.SIGINT, errors)
        self.assertEqual(list(work.iterdir()), [])
        self.assertFalse((self.folder / "made.gpart").exists())


class Mpi(fleet.FleetTest):
    """With each of the mpirun that are here."""

    def test_mpirun(self):
        names = [name for name in ("mpirun.openmpi", "mpirun.mpich") if shutil.which(name)]
        if not names:
            self.skipTest("no mpirun here")
        whole = self.partial("whole.gpart", self.traces).read_bytes()
        env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        for name in names:
            for count in (1, 3):
                out = self.folder / f"{name}-{count}"
                more = ["--oversubscribe"] if "openmpi" in name else []
                done = fleet.run(name, *more, "-n", count, fleet.CLI, "ranks", self.traces, "--engine", "mpi", "-o", out, env=env)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout.count("Findings"), 1)
                self.assertEqual([path.name for path in out.iterdir()], ["all.gpart"])
                self.assertEqual((out / "all.gpart").read_bytes(), whole)

    def test_a_process_that_is_gone_is_not_waited_for_forever(self):
        for starter in ({"PMI_RANK": "0", "PMI_SIZE": "2"}, {"FLUX_TASK_RANK": "0", "FLUX_JOB_SIZE": "2"}):
            with self.subTest(starter):
                failed = self.cli("ranks", self.traces, "--engine", "mpi", "-o", "out", "--timeout", "1", code=3,
                                  env={**os.environ, **starter})
                self.assertIn("did not arrive within 1 s", failed.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
