"""Several runs: the same for each program, a trace for each run, and a run file that is good at every moment."""

import json
import os
import pathlib
import pty
import signal
import sys
import unittest

from launcher import DEADLINE_S, LauncherTest, wait_until
from test_signals import Screen

SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCE / "tests" / "schema"))
import json_schema  # noqa: E402

SCHEMA = json.loads((SOURCE / "docs" / "schema" / "runs.schema.json").read_text(encoding="utf-8"))

# Counts its runs in a file and ends with the code that its arguments have for this one.
COUNTING = """
import pathlib, sys
runs = pathlib.Path("count")
number = len(runs.read_text()) if runs.exists() else 0
runs.write_text("x" * (number + 1))
print("run", number + 1)
sys.exit(int(sys.argv[1:][number]))
"""

# What a program can find out about how it was started.
PORTRAIT = r"""
import os, re, sys
status = open("/proc/self/status").read()
print(re.findall(r"^(?:Sig\w+|Groups|NSpid|Umask).*$", re.sub(r"(?m)^(NSpid|SigQ).*$", "", status), re.M))
print(sorted(os.listdir("/proc/self/fd")), os.getpgrp() == os.getpgid(os.getppid()), os.getcwd(), sys.argv[1:])
print({name: len(value) if name in ("GPROF_OUTPUT", "GPROF_RUN_FOLDER") else value
       for name, value in sorted(os.environ.items()) if name != "GPROF_RUN_ID"})
"""

# Says its pid, waits for signals, tells which came and ends by the first, or well where it is told to.
WAITING = """
import os, signal, sys
signals = [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1]
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
os.write(1, f"{os.getpid()}\\n".encode())
number = signal.sigwait(signals)
os.write(1, f"{signal.Signals(number).name}\\n".encode())
if "well" in sys.argv:
    os._exit(0)
signal.signal(number, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
os.kill(os.getpid(), number)
"""


class SeriesTest(LauncherTest):
    def run_file(self, name="run.runs.json"):
        document = json.loads((self.folder / name).read_text(encoding="utf-8"))
        self.assertEqual(list(json_schema.problems(document, SCHEMA, is_strict=True)), [])
        return document

    def outcomes(self, name="run.runs.json"):
        return [("warm-up " if run["warm_up"] else "") + run["outcome"] for run in self.run_file(name)["runs"]]

    def names(self):
        return sorted(path.name for path in self.folder.iterdir() if path.suffix != ".py")

    def counting(self, *options, codes):
        script = self.write("counting.py", COUNTING)
        return self.profile(*options, sys.executable, script, *codes)


class Files(SeriesTest):
    def check_names(self, options, *names):
        done = self.profile("--repeat", "2", *options, "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.names(), sorted(names))
        for name in names:
            (self.folder / name).unlink()

    def test_names(self):
        self.check_names([], "run-1.trace", "run-2.trace", "run.runs.json")
        self.check_names(["-o", "fast"], "fast-1.trace", "fast-2.trace", "fast.runs.json")
        self.check_names(["-o", "fast.trace"], "fast-1.trace", "fast-2.trace", "fast.runs.json")
        self.check_names(["-o", "r%n-x.trace"], "r1-x.trace", "r2-x.trace", "r-x.runs.json")
        self.check_names(["-o", "r.%n"], "r.1", "r.2", "r.runs.json")
        self.check_names(["-o", "%n.trace"], "1.trace", "2.trace", "run.runs.json")
        self.check_names(["-o", "100%%-%n.trace"], "100%-1.trace", "100%-2.trace", "100%.runs.json")

    def test_numbers_sort(self):
        done = self.profile("--repeat", "10", "--warmup", "1", "--keep-warmup", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        numbers = [f"run-{number:02}.trace" for number in range(1, 11)]
        self.assertEqual([run["trace"] for run in self.run_file()["runs"]], ["run-warmup-1.trace", *numbers])

    def test_pid_of_each_run(self):
        done = self.profile("--repeat", "2", "-o", "p%p.trace", "sh", "-c", "echo $$")
        pids = done.stdout.decode().split()
        traces = [run["trace"] for run in self.run_file(next(n for n in self.names() if "json" in n))["runs"]]
        self.assertEqual(traces, [f"p{pids[0]}-1.trace", f"p{pids[1]}-2.trace"])

    def test_traces_in_another_folder_are_named_beside_the_run_file(self):
        (self.folder / "out").mkdir()
        for output, name in (("out/a", "out/a.runs.json"), (self.folder / "out" / "b", "out/b.runs.json"),
                             ("./out/../out/c", "out/c.runs.json")):
            self.assertEqual(self.profile("--repeat", "1", "-o", output, "true").returncode, 0)
            self.assertEqual([run["trace"] for run in self.run_file(name)["runs"]], [f"{name[4]}-1.trace"])

    def test_what_is_there_is_refused_before_anything_runs(self):
        for name in ("run.runs.json", "run-2.trace", "run-warmup-1.trace"):
            with self.subTest(name=name):
                (self.folder / name).write_bytes(b"precious")
                done = self.profile("--repeat", "3", "--warmup", "1", "-o", "run.trace", "touch", "ran")
                self.assertEqual(done.returncode, 125)
                self.assertIn(f"'{name}' already exists", done.stderr.decode())
                self.assertEqual(self.names(), [name])
                (self.folder / name).unlink()

    def test_default_name_counts_up(self):
        (self.folder / "run-2.trace").write_bytes(b"precious")
        for _ in range(2):
            self.assertEqual(self.profile("--repeat", "2", "true").returncode, 0)
        self.assertEqual(self.names(), ["run-2.trace", "run.2-1.trace", "run.2-2.trace", "run.2.runs.json",
                                        "run.3-1.trace", "run.3-2.trace", "run.3.runs.json"])

    def test_force_replaces_all_of_them(self):
        self.assertEqual(self.profile("--repeat", "2", "true").returncode, 0)
        (self.folder / "run-1.trace").write_bytes(b"old")
        self.assertEqual(self.profile("-f", "--repeat", "2", "-s", "none", "--", "echo", "new").returncode, 0)
        self.assertEqual(self.run_file()["command"], ["echo", "new"])
        self.assertEqual(self.recorded("run-1.trace"), b"")

    def test_typing_mistake_costs_nothing(self):
        self.assertEqual(self.profile("--repeat", "2", "true").returncode, 0)
        before = (self.folder / "run.runs.json").read_bytes()
        self.assertEqual(self.profile("-f", "--repeat", "2", "no-such-program-of-ours").returncode, 127)
        self.assertEqual((self.folder / "run.runs.json").read_bytes(), before)

    def test_names_that_make_no_series(self):
        (self.folder / "f1").mkdir()
        for output in ("f%n/run.trace", "", "f1/", ".trace", "missing/run", "%x"):
            with self.subTest(output=output):
                done = self.profile("--repeat", "2", "-o", output, "touch", "ran")
                self.assertEqual(done.returncode, 125, done.stderr)
                self.assertIn(b"hint:", done.stderr)
                self.assertEqual(self.names(), ["f1"])


class Runs(SeriesTest):
    def test_run_file(self):
        done = self.profile("--repeat", "3", "sleep", "0.01")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = self.run_file()
        self.assertEqual((document["schema"], document["planned_runs"], document["planned_warm_ups"]), ("gprof.runs/1", 3, 0))
        runs = document["runs"]
        self.assertEqual([run["number"] for run in runs], [1, 2, 3])
        self.assertEqual([run["order"] for run in runs], [1, 2, 3])
        for run in runs:
            self.assertEqual((run["outcome"], run["exit_code"], run["signal"], run["warm_up"]), ("good", 0, 0, False))
            self.assertGreaterEqual(run["wall_ns"], 10_000_000)
            self.assertGreater(run["start_unix_ns"], 1_600_000_000 * 10**9)

    def test_each_finds_the_same(self):
        script = self.write("portrait.py", PORTRAIT)
        words = [sys.executable, script, "an argument"]
        options = {"preexec_fn": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])}
        single = self.profile(*words, **options).stdout
        self.assertEqual(single.count(b"\n"), 3)
        # The traces have longer names than that of one run, so this is said in the same number of letters.
        done = self.profile("--repeat", "4", "--warmup", "2", "-o", "r%n.trace", *words, **options)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 18)
        for number in range(2, 6):
            self.assertEqual(lines[3 * number:3 * number + 3], lines[6:9])
        self.assertEqual(lines[6:8], single.splitlines()[:2])
        self.assertEqual(lines[0:2], lines[6:8])

    def test_output_passes_untouched(self):
        done = self.profile("--repeat", "3", "-q", "sh", "-c", r"printf 'a\0b'; printf 'c\n' >&2")
        self.assertEqual((done.stdout, done.stderr), (b"a\0b" * 3, b"c\n" * 3))

    def test_progress_is_a_line_each(self):
        done = self.profile("--repeat", "2", "--warmup", "1", "-s", "none", "true")
        self.assertEqual(done.stdout, b"")
        lines = done.stderr.decode().splitlines()
        self.assertEqual(lines[:3], ["gprof-cli: warm-up run 1 of 1", "gprof-cli: run 1 of 2", "gprof-cli: run 2 of 2"])
        self.assertIn("nothing was recorded in 2 runs: 'true' made no CUDA or NVTX call", lines[3])
        self.assertEqual(len(lines), 4)

    def test_last_line_says_what_to_type_next(self):
        (self.folder / "good").write_bytes(self.trace_bytes())
        done = self.profile("--repeat", "2", "-o", "my run", "sh", "-c", "cat good >> \"$GPROF_OUTPUT\"")
        line = done.stderr.decode().splitlines()[-1]
        self.assertIn("recorded 2 runs of ", line)
        self.assertIn("; the first has 1 process, 1 kernel, 1 copy", line)
        self.assertTrue(line.endswith(" gprof-cli diff BASE 'my run.runs.json'"), line)

    def test_warning_is_given_once(self):
        self.env["CUDA_INJECTION64_PATH"] = "/other/tool.so"
        done = self.profile("--repeat", "3", "true")
        self.assertEqual(done.stderr.count(b"possibly by another profiler"), 1)

    def test_warm_up_runs(self):
        done = self.profile("--repeat", "2", "--warmup", "2", "sh", "-c", "echo $GPROF_OUTPUT; test -f $GPROF_OUTPUT")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.names(), ["run-1.trace", "run-2.trace", "run.runs.json"])
        traces = [pathlib.Path(line).name for line in done.stdout.decode().splitlines()]
        self.assertEqual(traces, ["run-warmup-1.trace", "run-warmup-2.trace", "run-1.trace", "run-2.trace"])
        runs = self.run_file()["runs"]
        self.assertEqual([(run["warm_up"], run["number"], run["order"], run["trace"]) for run in runs],
                         [(True, 1, 1, None), (True, 2, 2, None), (False, 1, 3, "run-1.trace"), (False, 2, 4, "run-2.trace")])


class Input(SeriesTest):
    def test_file_is_read_by_each_from_where_it_stood(self):
        (self.folder / "input").write_bytes(b"skip\nread\n")
        with open(self.folder / "input", "rb", buffering=0) as file:
            file.seek(5)
            done = self.profile("--repeat", "3", "cat", stdin=file)
        self.assertEqual(done.stdout, b"read\n" * 3)
        self.assertNotIn(b"warning", done.stderr)

    def test_pipe_goes_to_the_first(self):
        done = self.profile("--repeat", "2", "sh", "-c", "wc -c", input=b"text")
        self.assertEqual(done.stdout.split(), [b"4", b"0"])

    def test_pipe_with_something_in_it_is_warned_of(self):
        def run(*options):
            read_end, write_end = os.pipe()
            os.write(write_end, b"text")
            os.close(write_end)
            with open(read_end, "rb") as stdin:
                return self.profile("-f", *options, "cat", stdin=stdin)
        self.assertIn(b"stdin is a pipe", run("--repeat", "2").stderr)
        self.assertNotIn(b"pipe", run("--repeat", "1").stderr)
        self.assertNotIn(b"pipe", run().stderr)

    def test_empty_pipe_is_nothing_to_talk_about(self):
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, write_end)
        with open(read_end, "rb") as stdin:
            self.assertNotIn(b"pipe", self.profile("--repeat", "2", "true", stdin=stdin).stderr)


class Failures(SeriesTest):
    def test_first_failure_ends_the_series(self):
        done = self.counting("--repeat", "4", codes=[0, 6, 0, 0])
        self.assertEqual((done.returncode, done.stdout), (6, b"run 1\nrun 2\n"))
        self.assertIn("ended with exit code 6; series stopped (--keep-going", done.stderr.decode())
        self.assertIn("1 of 4 runs", done.stderr.decode())
        self.assertEqual(self.outcomes(), ["good", "failed"])
        self.assertEqual(self.run_file()["runs"][1]["exit_code"], 6)
        self.assertEqual((self.run_file()["planned_runs"]), 4)
        self.assertTrue((self.folder / "run-2.trace").exists())

    def test_keep_going(self):
        done = self.counting("--repeat", "4", "--warmup", "1", "--keep-going", codes=[3, 0, 7, 0, 8])
        self.assertEqual((done.returncode, done.stdout.count(b"run")), (3, 5))
        self.assertEqual(self.outcomes(), ["warm-up failed", "good", "failed", "good", "failed"])
        self.assertIn("run 2 of", done.stderr.decode())
        self.assertIn("; ignored", done.stderr.decode())

    def test_no_good_run(self):
        done = self.counting("--repeat", "2", "--keep-going", codes=[9, 9])
        self.assertEqual(done.returncode, 9)
        self.assertIn(b"no run succeeded", done.stderr)

    def test_failed_warm_up_keeps_its_trace(self):
        done = self.counting("--repeat", "2", "--warmup", "2", codes=[0, 5])
        self.assertEqual(done.returncode, 5)
        self.assertEqual([run["trace"] for run in self.run_file()["runs"]], [None, "run-warmup-2.trace"])
        self.assertEqual(self.outcomes(), ["warm-up good", "warm-up failed"])

    def test_killed_program(self):
        done = self.profile("--repeat", "2", "sh", "-c", "kill -9 $$")
        self.assertEqual(done.returncode, 137)
        self.assertIn(b"run 1 of 'sh' was killed by SIGKILL", done.stderr)
        self.assertEqual([(run["exit_code"], run["signal"]) for run in self.run_file()["runs"]], [(137, 9)])

    def test_end_that_the_capture_brings_is_no_failure(self):
        done = self.profile("--repeat", "2", "-d", "0.05", "--kill", "sigterm", "sleep", "1000")
        self.assertEqual(done.returncode, 128 + signal.SIGTERM, done.stderr)
        self.assertEqual(self.outcomes(), ["good", "good"])

    def test_program_that_goes_away_in_between(self):
        self.write("once", "#!/bin/sh\nrm once\n", 0o755)
        done = self.profile("--repeat", "3", "./once")
        self.assertEqual(done.returncode, 127)
        self.assertEqual(self.outcomes(), ["good"])
        self.assertEqual(self.names(), ["run-1.trace", "run.runs.json"])


class Stopping(SeriesTest):
    def begin(self, *words):
        script = self.write("waiting.py", WAITING)
        self.process = self.start(self.cli, "profile", "--repeat", "3", sys.executable, script, *words,
                                  start_new_session=True)
        self.first = int(self.process.stdout.readline())

    def next_run(self):
        """The first run is ended by its own signal, and the second begins."""
        os.kill(self.first, signal.SIGUSR1)
        self.assertEqual(self.process.stdout.readline(), b"SIGUSR1\n")
        return int(self.process.stdout.readline())

    def test_signal_for_us_reaches_the_program_once_and_ends_the_series(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number.name):
                for path in self.folder.glob("run*"):
                    path.unlink()
                self.begin("well")
                self.next_run()
                # What is finished is on disk while the next one runs.
                self.assertEqual(self.outcomes(), ["good"])
                os.kill(self.process.pid, number)
                self.assertEqual(self.process.stdout.read(), number.name.encode() + b"\n")
                # The program ended well, but the series did not.
                self.assertEqual(self.process.wait(DEADLINE_S), 128 + number)
                self.assertEqual(self.outcomes(), ["good", "interrupted"])
                err = self.process.stderr.read().decode()
                self.assertIn(f"{number.name} stopped the series; ", err)
                self.assertNotIn("run 3 of 3", err)

    def test_code_of_the_program_comes_first(self):
        self.begin()
        os.kill(self.process.pid, signal.SIGINT)
        self.assertEqual(self.process.wait(DEADLINE_S), 130)
        self.assertEqual(self.outcomes(), ["interrupted"])
        self.assertEqual(self.run_file()["runs"][0]["signal"], signal.SIGINT)

    def test_signal_for_the_program_alone_is_a_failure(self):
        self.begin()
        os.kill(self.first, signal.SIGTERM)
        self.assertEqual(self.process.wait(DEADLINE_S), 143)
        self.assertEqual(self.outcomes(), ["failed"])

    def test_killed_launcher_leaves_what_was_finished(self):
        self.begin("well")
        second = self.next_run()
        self.process.kill()
        self.process.wait(DEADLINE_S)
        self.assertEqual(self.outcomes(), ["good"])
        self.assertEqual(self.names(), ["run-1.trace", "run-2.trace", "run.runs.json"])
        os.kill(second, signal.SIGKILL)

    def test_interrupt_key(self):
        script = self.write("waiting.py", WAITING)
        words = [str(self.cli), "profile", "--repeat", "3", sys.executable, str(script)]
        try:
            pid, descriptor = pty.fork()
        except OSError as error:
            self.skipTest(f"no pseudo terminals here: {error}")
        if pid == 0:
            os.chdir(self.folder)
            os.execve(words[0], words, self.env)
        screen, ended = Screen(descriptor), []
        try:
            screen.expect(b"run 1 of 3\r\n")
            screen.expect(b"\r\n")
            os.write(descriptor, b"\x03")
            screen.expect(b"SIGINT\r\n")
            screen.expect(b"SIGINT stopped the series")
            # Closing the terminal would be one more signal.
            wait_until(lambda: ended.append(os.waitpid(pid, os.WNOHANG)) or ended[-1][0] == pid, "the launcher ended")
        finally:
            if not ended or ended[-1][0] != pid:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            os.close(descriptor)
        self.assertEqual(os.waitstatus_to_exitcode(ended[-1][1]), 130)
        self.assertEqual(self.outcomes(), ["interrupted"])


if __name__ == "__main__":
    unittest.main()
