"""Times that the load of the host tells, against those that the programs say themselves. What runs beside it would take them processor time."""

import sys
import unittest

from collecting import CollectTest


class Truth(CollectTest):
    def test_cpu_time_is_what_the_program_took(self):
        process = self.shell(f"exec '{sys.executable}' -S busy.py 1.5")
        code, out, err = self.ended(process)
        self.assertEqual(code, 0, err)
        pid, took_s = int(out.split()[0]), float(out.split()[1])
        cpu = self.tracks()["CPU", pid]
        told_s = sum(duration * value / 1e4 for _, duration, value in cpu) / 1e9
        # From the first look, a moment after the start, to the last, a tenth of a second before the end.
        self.assertLessEqual(told_s, took_s + 0.02)
        self.assertGreaterEqual(told_s, took_s - 0.4)
        for _, duration, value in cpu:
            self.assertLessEqual(value, 10000 + 1e4 * 20e6 / duration, "one thread, one processor")

    def test_samples_follow_each_other_without_holes(self):
        code, out, err = self.ended(self.shell(f"exec '{sys.executable}' -S busy.py 1"))
        self.assertEqual(code, 0, err)
        pid = int(out.split()[0])
        tracks = self.tracks()
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
        code, _, err = self.ended(self.shell("echo $$ > pid; sleep 0.3; exec sleep 0.4"))
        self.assertEqual(code, 0, err)
        pid = int((self.folder / "pid").read_text(encoding="utf-8"))
        samples = self.tracks()["resident memory", pid]
        self.assertGreaterEqual(len(samples), 2)


if __name__ == "__main__":
    unittest.main()
