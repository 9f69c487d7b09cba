"""what-if on a program of known steps: what is delayed is delayed by as much as the plan says, nothing else is, and the
program does not notice. How much a delay is worth is a matter of time, which unit tests and the GPU judge."""
import json
import pathlib
import subprocess
import sys

import attach_case
import harness
from test_python import interpreters


class WhatIf(harness.Case):
    def what_if(self, *options, command=("600",), codes=(0, 4)):
        """4: nothing could be told, which depends on how quiet the machine is."""
        words = [str(harness.GPROF), "what-if", "--only-trace", "-t", "cuda,nvtx", "-o", str(self.folder / "out"), *options, "--",
                 *self.command("steps", command)]
        done = subprocess.run(words, capture_output=True, timeout=harness.DEADLINE_S, check=False, cwd=self.folder,
                              env=self.environment("13.0", None), stdin=subprocess.DEVNULL)
        self.assertIn(done.returncode, codes, done.stdout.decode() + done.stderr.decode())
        violations = self.folder / "violations"
        self.assertEqual(violations.read_text() if violations.exists() else "", "")
        return done.stdout.decode(), done.stderr.decode()

    def trace(self):
        return harness.Trace(self.folder / "out" / "delayed-1.trace")

    def windows(self, trace):
        return sorted(trace.of("delay_window"), key=lambda r: r["number"])

    def ranges(self, trace, name):
        """Start and end of each, on one thread."""
        spans, open_ranges = [], []
        for event in sorted(trace.of("nvtx"), key=lambda r: r["time_ns"]):
            if event["event"] == 2:
                open_ranges.append((event["message"], event["time_ns"]))
            elif event["event"] == 3:
                message, start = open_ranges.pop()
                spans += [(start, event["time_ns"])] if message == name else []
        return spans

    def test_every_other_window_is_without_delays(self):
        self.what_if("-n", "1", "--of", "range:load")
        windows = self.windows(self.trace())
        self.assertGreaterEqual(len(windows), 4)
        self.assertEqual([r["number"] for r in windows], list(range(1, len(windows) + 1)))
        for window in windows:
            self.assertEqual(window["thing"] or "", "range:load" if window["number"] % 2 == 0 else "", window)
            if not window["thing"]:
                # One that was in the midst of its delay when the window ended still counts the time.
                self.assertEqual((window["delay_ns"], window["instances"]), (0, 0))
            else:
                self.assertGreaterEqual(window["inserted_ns"], window["delay_ns"] * max(0, window["instances"] - 1))
        for before, after in zip(windows, windows[1:]):
            self.assertGreaterEqual(after["start_ns"], before["start_ns"] + before["duration_ns"])

    def test_a_delayed_range_is_longer_by_the_delay(self):
        self.what_if("-n", "1", "--of", "range:load")
        trace = self.trace()
        spans = self.ranges(trace, "load")
        self.assertEqual(len(spans), 600)
        for window in self.windows(trace):
            if not window["thing"]:
                continue
            end = window["start_ns"] + window["duration_ns"]
            within = [stop - start for start, stop in spans if window["start_ns"] < start and stop < end]
            if len(within) < 3:
                continue  # the program hardly ran
            # What begins while the window is switched, which takes a while on a busy machine, is delayed or not.
            self.assertGreaterEqual(sorted(within)[len(within) // 2], 1_000_000 + window["delay_ns"])
            self.assertGreater(window["instances"], 0)

    def test_calls_are_delayed_once(self):
        """A call of the runtime and the driver's within it are one."""
        self.what_if("-n", "1", "--of", "launches,sync")
        trace = self.trace()
        launches = [r["start_ns"] for r in trace.of("api") if "Launch" in r["function"]]
        waits = [r["start_ns"] for r in trace.of("api") if "Synchronize" in r["function"]]
        self.assertEqual((len(launches), len(waits)), (600, 600))
        seen = set()
        for window in self.windows(trace):
            if not window["thing"]:
                continue
            seen.add(window["thing"])
            calls = launches if window["thing"] == "launches" else waits
            within = sum(window["start_ns"] <= start < window["start_ns"] + window["duration_ns"] for start in calls)
            # Twice as many, were the calls of the driver counted as well.
            self.assertLess(window["instances"], 1.5 * within + 5, window)
        self.assertEqual(seen, {"launches", "sync"})

    def test_the_same_seed_is_the_same_order(self):
        orders = []
        for seed in ("5", "5", "6"):
            self.what_if("-n", "1", "--seed", seed, "--of", "launches,sync,range:load", command=("1500",))
            orders.append([(r["thing"], r["delay_ns"] > 0) for r in self.windows(self.trace())])
        shortest = min(map(len, orders))
        self.assertGreaterEqual(shortest, 8)
        self.assertEqual([thing for thing, _ in orders[0][:shortest]], [thing for thing, _ in orders[1][:shortest]])

    def test_json_has_the_table(self):
        out, err = self.what_if("-n", "2", "--of", "range:load", "--format", "json")
        result = json.loads(out)
        self.assertEqual((result["schema"], result["progress"], result["runs"]), ("gprof.what_if/1", "step", 2))
        self.assertEqual([row["thing"] for row in result["table"]["rows"]], ["range:load"])
        self.assertIn("run 2 of 2 with delays", err)
        report = subprocess.run([harness.GPROF, "report", self.folder / "out" / "delayed-2.trace", "--only", "delays"], capture_output=True,
                                timeout=harness.DEADLINE_S, check=False)
        self.assertIn(b"range:load", report.stdout)

    def test_what_cannot_be_measured(self):
        _, err = self.what_if("--of", "range:nothing", codes=(4,))
        self.assertIn("nothing to delay", err)
        _, err = self.what_if("--progress", "epoch", codes=(4,))
        self.assertIn("no NVTX range 'epoch' repeats", err)
        _, err = self.what_if("--of", "everything", codes=(2,))
        self.assertIn("nothing that can be delayed", err)
        _, err = self.what_if(command=("50", "7"), codes=(125,))
        self.assertIn("ended with exit code 7", err)


class Lines(harness.Case):
    """Lines of Python, which a hook makes ranges."""
    PROGRAM = pathlib.Path(__file__).resolve().parent / "programs" / "python_lines.py"
    STEPS = 1000
    START, END = 4, 5  # events of NVTX

    def line_of(self, comment):
        lines = self.PROGRAM.read_text(encoding="utf-8").splitlines()
        return next(n for n, line in enumerate(lines, 1) if line.endswith("# " + comment))

    def what_if(self, python, line, codes=(0, 4)):
        words = [str(harness.GPROF), "what-if", "--only-trace", "-t", "cuda,nvtx", "-n", "1", "--progress", "step", "-o", str(self.folder / "out"),
                 "--of", line, "--format", "json", "--", python, str(self.PROGRAM), str(self.STEPS), str(harness.PROGRAMS / "nvtx_steps.so")]
        env = {"PYENV_VERSION": None, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(words, capture_output=True, timeout=harness.DEADLINE_S, check=False, cwd=self.folder,
                              env=self.environment("13.0", env), stdin=subprocess.DEVNULL)
        self.assertIn(done.returncode, codes, done.stdout.decode() + done.stderr.decode())
        return done

    def durations(self, trace, name):
        begun, durations = {}, []
        for event in sorted(trace.of("nvtx"), key=lambda r: r["time_ns"]):
            if event["event"] == self.START and event["message"] == name:
                begun[event["range"]] = event["time_ns"]
            elif event["event"] == self.END and event["range"] in begun:
                durations.append(event["time_ns"] - begun[event["range"]])
        return durations, len(begun)

    def test_each_execution_is_delayed(self):
        word = f"line:programs/python_lines.py:{self.line_of('THE LINE')}"
        for minor, python in interpreters().items():
            with self.subTest(minor=minor):
                done = self.what_if(python, word)
                # Whether windows can be used is a matter of time.
                self.assertLessEqual({row["thing"] for row in json.loads(done.stdout)["table"]["rows"]}, {word})
                durations, begun = self.durations(harness.Trace(self.folder / "out" / "undelayed.trace"), word)
                # The function is known when it is called for the first time.
                self.assertEqual((len(durations), begun), (self.STEPS, self.STEPS))
                self.assertGreaterEqual(min(durations), 290_000)
                trace = harness.Trace(self.folder / "out" / "delayed-1.trace")
                windows = [w for w in trace.of("delay_window") if w["thing"]]
                self.assertEqual({w["thing"] for w in windows}, {"range:" + word})
                self.assertGreater(sum(w["instances"] for w in windows), 0)
                for window in windows:
                    self.assertGreaterEqual(window["inserted_ns"], window["delay_ns"] * max(0, window["instances"] - 1))

    def test_a_line_that_is_left_by_an_exception(self):
        word = f"line:python_lines.py:{self.line_of('THE RAISE')}"
        self.what_if(sys.executable, word)
        durations, begun = self.durations(harness.Trace(self.folder / "out" / "undelayed.trace"), word)
        self.assertEqual(begun, self.STEPS)
        self.assertGreaterEqual(len(durations), self.STEPS - 1)

    def test_lines_that_cannot_be_delayed(self):
        for word in ("line:train.py", "line:train.py:x", "line::12", "line:"):
            done = self.what_if(sys.executable, word, codes=(2,))
            self.assertIn(b"is no line of a file", done.stderr)
        done = self.what_if(sys.executable, "line:python_lines.py:1", codes=(4,))
        self.assertIn(b"nothing to delay", done.stderr)


class LinesOfCalls(harness.Case):
    """Lines of C++, which are known by the calls that they make."""
    SOURCE = pathlib.Path(__file__).resolve().parent / "programs" / "lines.cpp"
    STEPS = 400

    def word(self, comment):
        lines = self.SOURCE.read_text(encoding="utf-8").splitlines()
        return f"line:programs/lines.cpp:{next(n for n, line in enumerate(lines, 1) if line.endswith('// ' + comment))}"

    def what_if(self, *words, codes=(0, 4)):
        done = subprocess.run([str(harness.GPROF), "what-if", "--only-trace", "-t", "cuda,nvtx", "-n", "1", "-o", str(self.folder / "out"), *words,
                               "--format", "json", "--", *self.command("lines", (self.STEPS,))], capture_output=True, timeout=harness.DEADLINE_S,
                              check=False, cwd=self.folder, env=self.environment("13.0", {"MOCK_KERNEL_US": "500"}), stdin=subprocess.DEVNULL)
        self.assertIn(done.returncode, codes, done.stdout.decode() + done.stderr.decode())
        return done

    def test_calls_from_a_line_are_delayed(self):
        alone, both = self.word("ALONE"), self.word("BOTH")
        done = self.what_if("--of", f"{alone},{both}")
        self.assertLessEqual({row["thing"] for row in json.loads(done.stdout)["table"]["rows"]}, {alone, both})
        trace = harness.Trace(self.folder / "out" / "delayed-1.trace")
        launches = [r["start_ns"] for r in trace.of("api") if "LaunchKernel" in r["function"]]
        self.assertEqual(len(launches), 3 * self.STEPS)
        windows = [w for w in trace.of("delay_window") if w["thing"]]
        self.assertTrue(windows)
        self.assertLessEqual({w["thing"] for w in windows}, {alone, both})
        for window in windows:
            end = window["start_ns"] + window["duration_ns"]
            within = sum(window["start_ns"] <= start < end for start in launches)
            # A call of three is ALONE, and two are made from BOTH.
            share = 1 / 3 if window["thing"] == alone else 2 / 3
            self.assertAlmostEqual(window["instances"], share * within, delta=4)
            self.assertGreaterEqual(window["inserted_ns"], window["delay_ns"] * max(0, window["instances"] - 1))

    def test_a_line_without_calls(self):
        done = self.what_if("--of", "line:programs/lines.cpp:1", codes=(4,))
        self.assertIn(b"debug information", done.stderr)


@harness.unittest.skipUnless(attach_case.may_trace(), "ptrace is not permitted here")
class Attached(attach_case.AttachCase):
    """Of a program that runs already: the first recording is without delays, and each has a plan of its own."""

    def begin_steps(self, count):
        self.program = subprocess.Popen(self.command("steps", (count, 7)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                        cwd=self.folder, env=self.environment("13.0", {"MOCK_DRIVER_THREAD": "1"}))
        self.addCleanup(self.program.stdout.close)
        self.addCleanup(self.program.stderr.close)
        self.addCleanup(self.program.wait)
        self.addCleanup(self.program.kill)
        harness.wait_for(self.driver_thread, "the thread of the driver")

    def what_if(self, *words, codes=(0, 4)):
        done = subprocess.run([str(harness.GPROF), "what-if", "--attach", str(self.program.pid), "--only-trace", "-t", "cuda,nvtx", *words],
                              capture_output=True, timeout=harness.DEADLINE_S, check=False, cwd=self.folder,
                              env=self.environment("13.0", None), stdin=subprocess.DEVNULL)
        self.assertIn(done.returncode, codes, done.stdout.decode() + done.stderr.decode())
        return done

    def windows(self, name):
        return harness.Trace(self.folder / "out" / name).of("delay_window")

    def test_recordings_with_and_without_delays(self):
        self.begin_steps(12_000)
        self.what_if("--experimental", "--duration", "2", "-n", "2", "--of", "launches,sync", "-o", str(self.folder / "out"))
        self.assertEqual(self.windows("undelayed.trace"), [])
        for name in ("delayed-1.trace", "delayed-2.trace"):
            windows = self.windows(name)
            self.assertEqual([w["number"] for w in sorted(windows, key=lambda w: w["number"])], list(range(1, len(windows) + 1)))
            delayed = [w for w in windows if w["thing"]]
            self.assertLessEqual({w["thing"] for w in delayed}, {"launches", "sync"})
            self.assertGreater(sum(w["instances"] for w in delayed), 0)
            self.assertGreater(sum(w["inserted_ns"] for w in delayed), 0)
        # It goes on as before.
        out, err = self.program.communicate(timeout=harness.DEADLINE_S)
        self.assertEqual((self.program.returncode, out, err), (7, b"12000 steps\n", b""))

    def test_what_it_refuses(self):
        self.begin_steps(12_000)
        self.assertIn(b"--experimental", self.what_if(codes=(2, 125)).stderr)
        self.assertIn(b"when the program starts", self.what_if("--experimental", "--of", "line:a.py:1", codes=(2,)).stderr)
        # Of a tracer that came with another command, and knows of no delays.
        self.attach(self.program.pid, "-d", "0.3", "-o", "a.trace")
        done = self.what_if("--experimental", "--duration", "1", "-n", "1", "--of", "launches", codes=(4,))
        self.assertIn(b"nothing was delayed", done.stderr)


if __name__ == "__main__":
    harness.main()
