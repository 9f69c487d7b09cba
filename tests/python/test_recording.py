"""A program, or a cell of a notebook, says what of it is recorded: gprof_cli.capture(), schedule() and %%gprof."""

import environment

environment.run_here_or_there()

import asyncio
import contextlib
import io
import importlib.util
import os
import pathlib
import shutil
import sys
import tempfile
import types
import unittest
import unittest.mock
import warnings

import gprof_cli
from gprof_cli import magic, recording

RUN = {"GPROF_OUTPUT": "/tmp/run.trace"}
COMMAND = """#!/bin/sh
echo "$@" >> "{log}"
case $1 in
status) echo '{{"sessions": [{{"session": "other", "program_pid": 4999999}}, {{"session": "nb", "program_pid": {pid}}}]}}' ;;
start) while [ "$1" != -o ]; do shift; done; cp "{trace}" "$2" ;;
profile) case $* in *--nonsense*) exit 125 ;; esac
    while [ "$1" != -o ]; do shift; done; cp "{trace}" "$2"; shift 3; exec "$@" ;;
esac
"""


class Steps(unittest.TestCase):
    """What is switched on and off, by a driver that only tells."""

    def setUp(self):
        self.told = []
        recording._warned.clear()
        driver = types.SimpleNamespace(cuInit=lambda _: 0, cuProfilerStart=lambda: self.told.append("on"),
                                       cuProfilerStop=lambda: self.told.append("off"))
        patches = [unittest.mock.patch.object(recording.ctypes, "CDLL", lambda _: driver),
                   unittest.mock.patch.dict(sys.modules, {"torch": None, "nvtx": types.SimpleNamespace(
                       push_range=self.told.append, pop_range=lambda: self.told.append("pop"))})]
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)
        del sys.modules["torch"]

    @contextlib.contextmanager
    def under(self, **variables):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GPROF_")}
        with unittest.mock.patch.dict(os.environ, {**kept, **variables}, clear=True), \
                warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield caught

    def train(self, steps, **plan):
        with gprof_cli.schedule(**plan) as schedule:
            for step in range(steps):
                self.told.append(step)
                schedule.step()

    def test_a_capture_is_what_is_within(self):
        with self.under(**RUN, GPROF_CAPTURE="cudaProfilerApi") as caught:
            with self.assertRaises(KeyError), gprof_cli.capture():
                self.told.append("work")
                raise KeyError
        self.assertEqual((self.told, caught), (["on", "work", "off"], []))

    def test_a_capture_is_the_range_that_is_waited_for(self):
        for domain in ("", "@*"):
            self.told.clear()
            with self.under(**RUN, GPROF_CAPTURE="nvtx", GPROF_NVTX_CAPTURE="train" + domain), gprof_cli.capture():
                self.told.append("work")
            self.assertEqual(self.told, ["train", "work", "pop"])

    def test_a_range_of_a_domain_is_not_guessed(self):
        with self.under(**RUN, GPROF_CAPTURE="nvtx", GPROF_NVTX_CAPTURE="train@mine") as caught, gprof_cli.capture():
            pass
        self.assertEqual(self.told, [])
        self.assertIn("'mine'", str(caught[0].message))

    def test_without_gprof_cli_nothing_happens_and_one_warning_says_so(self):
        with self.under() as caught:
            for _ in range(3):
                with gprof_cli.capture():
                    pass
            self.train(3, wait=0, warmup=0, active=1)
        self.assertEqual(self.told, [0, 1, 2])
        self.assertEqual([("does not run under gprof-cli" in str(w.message), w.filename) for w in caught], [(True, __file__)])

    def test_where_all_is_recorded_a_warning_says_what_to_use(self):
        with self.under(**RUN, GPROF_CAPTURE="begin") as caught, gprof_cli.capture():
            pass
        self.assertEqual(["-c cudaProfilerApi" in str(w.message) for w in caught], [True])

    def test_a_schedule_has_cycles(self):
        with self.under(**RUN, GPROF_CAPTURE="cudaProfilerApi", GPROF_CAPTURE_END="repeat") as caught:
            self.train(10, skip_first=1, wait=1, warmup=1, active=2, repeat=2)
        self.assertEqual(self.told, [0, 1, 2, "on", 3, 4, "off", 5, 6, "on", 7, 8, "off", 9])
        self.assertEqual(caught, [])

    def test_a_schedule_without_waits_goes_on_to_the_end(self):
        with self.under(**RUN, GPROF_CAPTURE="cudaProfilerApi", GPROF_CAPTURE_END="repeat"):
            self.train(3, wait=0, warmup=0, active=2)
        self.assertEqual(self.told, ["on", 0, 1, "off", "on", 2, "off"])

    def test_cycles_that_are_not_recorded_are_told(self):
        with self.under(**RUN, GPROF_CAPTURE="cudaProfilerApi") as caught:
            self.train(1, wait=0, warmup=0, active=1)
        self.assertEqual([("--capture-range-end repeat" in str(w.message), w.filename) for w in caught], [(True, __file__)])

    def test_with_sample_steps_the_tracer_counts(self):
        with self.under(**RUN, GPROF_CAPTURE="steps", GPROF_NVTX_CAPTURE="step") as caught:
            self.train(2, wait=5, warmup=1, active=3)
        self.assertEqual((self.told, caught), (["step", 0, "pop", "step", 1, "pop", "step", "pop"], []))

    def test_a_schedule_without_an_active_step_is_refused(self):
        for plan in ({"active": 0}, {"active": 1, "repeat": -1}):
            with self.assertRaises(ValueError):
                gprof_cli.schedule(wait=0, warmup=0, **plan)


class Cells(unittest.TestCase):
    """A double of gprof-cli says what it is asked for, and gives a trace that there is."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-cell-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.log = self.folder / "log"
        command = self.folder / "gprof-cli"
        command.write_text(COMMAND.format(log=self.log, pid=os.getppid(), trace=environment.DATA / "known_facts.trace"))
        command.chmod(0o755)
        double = unittest.mock.patch.object(magic, "find_command", lambda: str(command))
        double.start()
        self.addCleanup(double.stop)

    def run_cell(self, line, cell, ran=None):
        def run(cell):
            (ran if ran is not None else []).append(cell)
            return types.SimpleNamespace(success=True)
        ipython = types.SimpleNamespace(run_cell=run, transform_cell=lambda cell: cell, should_run_async=lambda *_, **__: False)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            trace = magic.CellMagic(ipython, gprof_cli.read)(line, cell)
        return trace, printed.getvalue(), self.log.read_text().splitlines()

    def test_a_cell_is_a_program_of_its_own(self):
        trace, printed, asked = self.run_cell("--pytorch modules", "import sys\nprint('hello', sys.argv)")
        self.assertTrue(asked[0].startswith("profile -f --pytorch modules -o "), asked)
        self.assertIn("hello", printed)
        self.assertGreater(len(trace.kernel), 0)

    def test_the_trace_can_be_kept(self):
        kept = self.folder / "kept.trace"
        trace, _, _ = self.run_cell(f"-o {kept}", "pass")
        self.assertEqual((trace.path, kept.is_file()), (str(kept), True))
        with self.assertRaises(ValueError):
            self.run_cell("-o", "pass")

    def test_in_a_session_the_cell_runs_in_the_kernel(self):
        ran = []
        with unittest.mock.patch.dict(os.environ, {"GPROF_CAPTURE": "command"}):
            trace, _, asked = self.run_cell("", "x = 1", ran)
            with self.assertRaises(magic.CellError):
                self.run_cell("--pytorch modules", "x = 1")
        self.assertEqual(ran, ["x = 1"])
        self.assertEqual([line.split(" -f")[0] for line in asked[:3]],
                         ["status --format json", "start --session nb", "stop --session nb"])
        self.assertGreater(len(trace.kernel), 0)

    @unittest.skipUnless(importlib.util.find_spec("IPython"), "IPython is not here")
    def test_ipython_has_the_magic(self):
        result, printed = self.run_in_ipython("%%gprof\nprint('in a child')")
        self.assertIn("in a child", printed)
        self.assertIsInstance(result.result, gprof_cli.Trace)

    def run_in_ipython(self, cell):
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        shell.run_line_magic("load_ext", "gprof_cli")
        with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()):
            return shell.run_cell(cell), printed.getvalue()

    @unittest.skipUnless(importlib.util.find_spec("IPython"), "IPython is not here")
    def test_a_cell_that_fails_shows_its_trace_and_is_an_error(self):
        result, printed = self.run_in_ipython("%%gprof\nprint('until here')\n1/0")
        self.assertIsInstance(result.error_in_exec, magic.CellError)
        self.assertIn("ZeroDivisionError", printed)
        self.assertIn("<Trace ", printed)

    @unittest.skipUnless(importlib.util.find_spec("IPython"), "IPython is not here")
    def test_what_records_nothing_is_told_without_a_traceback(self):
        for cell in ("%%gprof --nonsense\npass", "%%gprof\n%time 1"):
            result, printed = self.run_in_ipython(cell)
            self.assertIsInstance(result.error_in_exec, magic.CellError)
            self.assertNotIn("magic.py", printed)

    def test_the_last_value_is_shown(self):
        for cell, shown in (("a = 6\na * 7", "42"), ("(6 *\n 7)", "42"), ("6 * 7;", ""), ("None", ""), ("a = 1; 'ü', a", "('ü', 1)")):
            _, printed, _ = self.run_cell("", cell)
            self.assertEqual(printed.strip(), shown)

    def test_a_cell_may_await(self):
        _, printed, _ = self.run_cell("", "import asyncio\nprint(await asyncio.sleep(0, 'slept'))")
        self.assertEqual(printed.strip(), "slept")

    @unittest.skipUnless(importlib.util.find_spec("IPython"), "IPython is not here")
    def test_a_cell_may_await_in_the_kernel(self):
        """Whose loop is running then."""
        async def kernel():
            return self.run_in_ipython("%%gprof\nimport asyncio\nslept = await asyncio.sleep(0, 'slept')")
        with unittest.mock.patch.dict(os.environ, {"GPROF_CAPTURE": "command"}):
            result, printed = asyncio.run(kernel())
        self.assertTrue(result.success, printed)
        self.assertEqual(self.run_in_ipython("slept")[0].result, "slept")


if __name__ == "__main__":
    unittest.main()
