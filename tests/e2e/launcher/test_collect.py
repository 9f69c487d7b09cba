"""The load of the host, from a process beside the program: what becomes of it changes nothing else."""

import os
import resource
import signal
import subprocess
import time
import unittest

from collecting import CollectTest, collectors_of, fields_of
from launcher import DEADLINE_S, state_of, wait_until


class Asking(CollectTest):
    def test_off(self):
        process = self.shell("sleep 0.4", "--host-load", "off")
        time.sleep(0.1)
        self.assertEqual(collectors_of(process.pid), [])
        self.assertEqual(self.ended(process)[0], 0)
        self.assertEqual(self.recorded(), self.trace_bytes())

    def test_how_often(self):
        rates = []
        for hertz in (4, 40):
            self.assertEqual(self.ended(self.shell(self.until_sampled(), "-f", "--flush-ms", "500", "--host-load", str(hertz)))[0], 0)
            samples = self.tracks()["runnable threads", 0]
            length_s = (sum(samples[-1][:2]) - samples[0][0]) / 1e9
            self.assertLessEqual(len(samples), length_s * hertz + 1.5, "no more often than was asked for")
            rates.append(len(samples) / length_s)
        self.assertGreater(rates[1], rates[0])

    def test_nonsense_is_refused(self):
        for word in ("maybe", "0", "-1", "101", "nan", "10x", ""):
            done = self.profile("--host-load", word, "touch", "ran")
            self.assertEqual(done.returncode, 125, word)
            self.assertIn(b"on, off", done.stderr)
        self.assertFalse((self.folder / "ran").exists())

    def test_a_program_that_is_not_recorded_leaves_an_empty_trace(self):
        done = self.profile("-s", "launching", "sleep", "0.5")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"nothing was recorded", done.stderr)
        self.assertEqual(self.recorded(), b"")

    def test_short_runs_have_no_samples(self):
        for _ in range(5):
            self.assertEqual(self.ended(self.shell("true", "-f", "--host-load", "0.01"))[0], 0)
            self.assertEqual(self.recorded(), self.trace_bytes())

    def test_how_the_program_failed_is_in_the_trace(self):
        ways = {"exit 0": "", "exit 7": "The program ended with exit code 7", "kill -SEGV $$": "The program was killed by SIGSEGV"}
        for end, said in ways.items():
            with self.subTest(end):
                self.ended(self.shell(self.until_sampled() + end, "-f", "--flush-ms", "100"))
                notices = [fields_of(line)["message"] for line in self.dump() if line.startswith("notice ")]
                self.assertEqual([n for n in notices if n.startswith("The program")], [said] if said else [])

    def test_only_while_it_is_recorded(self):
        """From the delay on, and until it is said that recording has stopped."""
        before_ns = time.monotonic_ns()
        process = self.shell(self.UNTIL_GO, "-y", "0.5", "-d", "0.4")
        collector = self.collector(process)
        while b"recording stopped" not in (line := process.stderr.readline()):
            self.assertTrue(line, "it ended before that")
        stopped_ns = time.monotonic_ns()
        self.wait_for_looks(collector, 2)
        self.go()
        self.assertEqual(self.ended(process)[0], 0)
        samples = self.tracks()["runnable threads", 0]
        self.assertGreaterEqual(samples[0][0], before_ns + 500_000_000)
        self.assertLessEqual(samples[-1][0], stopped_ns)


class Ends(CollectTest):
    def test_pipes_of_the_program_end_with_it(self):
        """A reader of stdout sees its end at once, and stdin is the program's alone."""
        process = self.shell("cat", stdin=subprocess.PIPE)
        collector = self.collector(process)
        mine = {os.readlink(f"/proc/{process.pid}/fd/{number}") for number in (0, 1, 2)}
        wait_until(lambda: "/dev/null" in self.open_files(collector), "it has let go of everything")
        self.assertFalse(mine & self.open_files(collector))
        self.assertNotEqual(os.getsid(collector), os.getsid(process.pid))
        out, _ = process.communicate(b"all of it\n", timeout=DEADLINE_S)
        self.assertEqual(out, b"all of it\n")
        self.assertEqual(state_of(collector), "X")

    @staticmethod
    def open_files(pid):
        found = set()
        for number in os.listdir(f"/proc/{pid}/fd"):
            try:
                found.add(os.readlink(f"/proc/{pid}/fd/{number}"))
            except OSError:
                pass
        return found

    def test_the_end_is_not_delayed(self):
        """Nothing waits for a period, which is longer here than a test waits for anything."""
        for _ in range(5):
            self.assertEqual(self.ended(self.shell("sleep 0.05", "-f", "--host-load", "0.01"))[0], 0)
        self.assert_nothing_is_left()

    def test_exit_codes_are_the_programs(self):
        self.assertEqual(self.ended(self.shell("sleep 0.2; exit 7"))[0], 7)
        self.assertEqual(self.ended(self.shell("sleep 0.2; kill -9 $$", "-f"))[0], 128 + 9)
        self.assert_nothing_is_left()

    def test_signals_to_the_group_are_not_for_it(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.shell("trap 'exit 5' INT TERM HUP; touch ready; while :; do sleep 0.05; done", "-f", start_new_session=True)
            collector = self.collector(process)
            wait_until(lambda: os.getsid(collector) == collector and (self.folder / "ready").exists(), "both are ready")
            (self.folder / "ready").unlink()
            self.wait_for_looks(collector)
            os.killpg(process.pid, number)
            os.kill(collector, number)
            self.assertEqual(self.ended(process)[0], 5)
            self.assertEqual(state_of(collector), "X")
            self.assertIn(("runnable threads", 0), self.tracks())


class Deaths(CollectTest):
    def kill_program(self):
        """One that has left its number in a file."""
        path = self.folder / "pid"
        wait_until(lambda: path.exists() and path.read_text(encoding="utf-8").endswith("\n"), "the program has begun")
        os.kill(int(path.read_text(encoding="utf-8")), signal.SIGKILL)

    def test_a_killed_collector_costs_what_comes_after(self):
        process = self.shell(self.UNTIL_GO + "exit 4")
        collector = self.collector(process)
        self.wait_for_looks(collector)
        os.kill(collector, signal.SIGKILL)
        self.go()
        code, _, err = self.ended(process)
        self.assertEqual(code, 4)
        self.assertEqual(err.count("host load"), 1, err)
        self.assertIn("killed by SIGKILL", err)
        # It had written nothing yet: what it had was in memory.
        self.assertGreaterEqual(len(self.tracks()["runnable threads", 0]), 2)
        self.assertEqual(sum("was killed: no data after this point" in line for line in self.dump()), 1)
        self.assertFalse(any(line.startswith("#") for line in self.dump()))
        self.assert_nothing_is_left()

    def test_it_is_no_zombie_meanwhile(self):
        process = self.shell(self.UNTIL_GO)
        collector = self.collector(process)
        os.kill(collector, signal.SIGKILL)
        wait_until(lambda: state_of(collector) == "X", "it is waited for")
        self.go()
        self.assertEqual(self.ended(process)[0], 0)

    def test_a_stopped_collector_does_not_stop_the_end(self):
        process = self.shell(self.UNTIL_GO + "exit 6")
        collector = self.collector(process)
        os.kill(collector, signal.SIGSTOP)
        self.go()
        code, _, err = self.ended(process)
        self.assertEqual(code, 6)
        self.assertIn("SIGKILL", err)
        self.assertEqual(state_of(collector), "X")
        self.assert_nothing_is_left()

    def test_without_a_launcher_it_ends_in_order(self):
        process = self.shell("echo $$ > pid; exec sleep 1000")
        collector = self.collector(process)
        self.wait_for_looks(collector)
        process.kill()
        process.wait(DEADLINE_S)
        wait_until(lambda: state_of(collector) in "XZ", "it has ended")
        self.kill_program()
        self.assertIn(("runnable threads", 0), self.tracks())
        self.assertFalse(any("was killed" in line for line in self.dump()))
        self.assert_nothing_is_left()

    def test_both_are_killed_at_once(self):
        process = self.shell("echo $$ > pid; exec sleep 1000")
        collector = self.collector(process)
        self.wait_for_looks(collector)
        os.kill(collector, signal.SIGSTOP)
        process.kill()
        os.kill(collector, signal.SIGKILL)
        process.wait(DEADLINE_S)
        self.kill_program()
        wait_until(lambda: state_of(collector) in "XZ", "it has ended")
        done = self.run_in_folder(self.cli, "info", "run.trace")
        self.assertIn(b"recovered", done.stderr)
        self.assertIn(("runnable threads", 0), self.tracks())
        self.assert_nothing_is_left()

    def test_a_full_disk_is_said_once_and_survived(self):
        process = self.shell(self.UNTIL_GO + "exit 3", "--flush-ms", "300")
        collector = self.collector(process)
        self.wait_for_samples()
        full = resource.prlimit(collector, resource.RLIMIT_FSIZE, (0, -1))
        self.wait_for_looks(collector, 10)  # more than there are from one flush to the next
        resource.prlimit(collector, resource.RLIMIT_FSIZE, full)
        self.go()
        code, _, err = self.ended(process)
        self.assertEqual(code, 3)
        self.assertEqual(err.count("host load"), 1, err)
        self.assertIn("File too large", err)
        losses = [fields_of(line) for line in self.dump() if line.startswith("metric_loss")]
        self.assertTrue(losses and all(int(loss["count"]) > 0 for loss in losses), losses)


class Together(CollectTest):
    def test_series(self):
        self.assertEqual(self.ended(self.shell(self.until_sampled(), "--flush-ms", "50", "--repeat", "2"))[0], 0)
        for number in (1, 2):
            self.assertIn(("runnable threads", 0), self.tracks(f"run-{number}.trace"))
        self.assert_nothing_is_left()

    def test_compressed(self):
        code, _, err = self.ended(self.shell(self.until_sampled(), "--flush-ms", "50", "--compress"))
        self.assertEqual(code, 0, err)
        self.assertNotIn("not compressed", err)
        self.assertIn(("runnable threads", 0), self.tracks())

    def test_sessions(self):
        process = self.start(self.cli, "launch", "-s", "none", "--session", "s", "sh", "-c",
                             "while :; do test -e one.trace && ! test -e done1 && cat part >> one.trace && touch done1; "
                             "test -e two.trace && ! test -e done2 && cat part >> two.trace && touch done2; sleep 0.05; done")
        wait_until(lambda: collectors_of(process.pid), "there is a collector")
        for name, mark in (("one.trace", "done1"), ("two.trace", "done2")):
            done = self.run_in_folder(self.cli, "start", "--session", "s", "-o", name)
            self.assertEqual(done.returncode, 0, done.stderr)
            wait_until((self.folder / mark).exists, "something is recorded")
            self.wait_for_looks(collectors_of(process.pid)[0])
            done = self.run_in_folder(self.cli, "stop", "--session", "s")
            self.assertEqual(done.returncode, 0, done.stderr)
            # What was recorded is in the file when `stop` returns.
            size = (self.folder / name).stat().st_size
            self.assertIn(("runnable threads", 0), self.tracks(name))
            time.sleep(0.3)
            self.assertEqual((self.folder / name).stat().st_size, size)
        self.assertEqual(self.run_in_folder(self.cli, "start", "--session", "s", "-o", "no.trace").returncode, 0)
        time.sleep(0.3)
        self.assertEqual(self.run_in_folder(self.cli, "cancel", "--session", "s").returncode, 0)
        self.assertFalse((self.folder / "no.trace").exists())
        self.run_in_folder(self.cli, "shutdown", "--session", "s")
        self.ended(process)
        self.assert_nothing_is_left()


if __name__ == "__main__":
    unittest.main()
