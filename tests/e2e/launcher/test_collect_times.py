"""Times that the load of the host tells, against those that the programs say themselves, however little of a processor they get."""

import pathlib
import sys
import time
import unittest

from collecting import CollectTest
from launcher import wait_until


class Truth(CollectTest):
    def test_cpu_time_is_what_the_program_took(self):
        before_ns = time.monotonic_ns()
        code, out, err = self.ended(self.shell(f"exec '{sys.executable}' -S busy.py 0.7"))
        self.assertEqual(code, 0, err)
        pid, took_s, end_ns = int(out.split()[0]), float(out.split()[1]), int(out.split()[2])
        tracks = self.tracks()
        cpu = tracks["CPU", pid]
        told_s = sum(duration * value / 1e4 for _, duration, value in cpu) / 1e9
        # It has one thread, so what it took before the first look and after the last is no more than the time that this was.
        unseen_s = (cpu[0][0] - before_ns + max(0, end_ns - sum(cpu[-1][:2]))) / 1e9
        self.assertLessEqual(told_s, took_s + 0.02)
        self.assertGreaterEqual(told_s, took_s - unseen_s - 0.05)
        self.assertGreater(len(cpu), 1)
        self.check_that_they_follow_each_other(tracks, pid)

    def check_that_they_follow_each_other(self, tracks, pid):
        """Without holes."""
        self.assertEqual({name for name, of in tracks if of == pid}, {"CPU", "waiting for a CPU", "resident memory"})
        self.assertEqual({name for name, of in tracks if of == 0}, {"CPU", "runnable threads"})
        for name in ("CPU", "waiting for a CPU"):
            samples = tracks[name, pid]
            for (start, duration, _), (following, _, _) in zip(samples, samples[1:]):
                self.assertEqual(start + duration, following)
        length_s = (sum(samples[-1][:2]) - samples[0][0]) / 1e9
        self.assertGreaterEqual(len(samples), 1)
        self.assertLessEqual(len(samples), length_s / 0.1 + 1.5, "no more often than was asked for")
        memory = [value for _, _, value in tracks["resident memory", pid]]
        self.assertTrue(all(1 << 20 < value < 1 << 32 for value in memory), memory)

    def test_waiting_and_sleeping_are_no_cpu_time(self):
        code, _, err = self.ended(self.shell("echo $$ > pid; sleep 0.5"))
        self.assertEqual(code, 0, err)
        pid = int((self.folder / "pid").read_text(encoding="utf-8"))
        self.assertLess(sum(duration * value / 1e4 for _, duration, value in self.tracks()["CPU", pid]), 0.25e9)

    def test_every_process_of_the_run_is_told(self):
        # A file each: two programs that write into one pipe may be read as one.
        code, _, err = self.ended(self.shell(
            f"'{sys.executable}' -S busy.py 0.6 > first & '{sys.executable}' -S busy.py 0.6 > second; wait"))
        self.assertEqual(code, 0, err)
        pids = {int((self.folder / name).read_text(encoding="utf-8").split()[0]) for name in ("first", "second")}
        told = {pid for name, pid in self.tracks() if name == "CPU"}
        self.assertLessEqual(pids, told)

    def test_children_can_be_left_out(self):
        code, out, err = self.ended(self.shell(f"'{sys.executable}' -S busy.py 0.5; echo", "--trace-children", "false"))
        self.assertEqual(code, 0, err)
        self.assertNotIn(("CPU", int(out.split()[0])), self.tracks())

    def test_exec_keeps_the_process(self):
        process = self.shell(f"echo $$ > pid; until test -e turn; do sleep 0.01; done; exec sh -c '{self.UNTIL_GO}' other")
        collector = self.collector(process)
        self.wait_for_looks(collector)
        pid = int((self.folder / "pid").read_text(encoding="utf-8"))
        (self.folder / "turn").touch()
        wait_until(lambda: b"other" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"), "it is another program")
        turned_ns = time.monotonic_ns()
        self.wait_for_looks(collector)
        self.go()
        self.assertEqual(self.ended(process)[0], 0)
        samples = self.tracks()["resident memory", pid]
        self.assertLess(samples[0][0], turned_ns)
        self.assertGreater(samples[-1][0], turned_ns)


if __name__ == "__main__":
    unittest.main()
