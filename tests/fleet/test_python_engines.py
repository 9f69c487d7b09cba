"""Dask and Ray, as their packages are today, make the partial that gprof-cli makes; a worker that is killed costs nothing."""

import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MODULE = os.environ["GPROF_TEST_MODULE"]
DEADLINE_S = 120

sys.path.insert(0, str(SOURCE / "tests/export"))
import packages  # noqa: E402

if importlib.util.find_spec("gprof_cli") is None:
    # Outside: of each engine one environment, in which this script runs again.
    codes, here = [], os.environ.get("PYTHONPATH", "")
    for name in ("dask", "ray"):
        python, reason = packages.python_with(name)
        if python is None:
            print(f"skipped: {name} is not here, and pip could not install it: {reason}")
            continue
        env = {**os.environ, "PYTHONPATH": MODULE, "GPROF_TEST_ENGINE": name, "RAY_USAGE_STATS_ENABLED": "0",
               "RAY_AUTH_MODE": "disabled", "PATH": f"{python.parent}:{os.environ['PATH']}"}
        codes.append(packages.run_script(python, env, timeout=560).returncode)
    sys.exit(max(codes, default=77))

import fleet  # noqa: E402
import gprof_cli.fleet  # noqa: E402

ENGINE = os.environ.get("GPROF_TEST_ENGINE", "none")


def started(call, *args, **keywords):
    """Ray gives itself half a minute to start, which is too little on a busy machine: then again."""
    for _ in range(3):
        try:
            return call(*args, **keywords)
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
    return call(*args, **keywords)


class Engine(fleet.FleetTest):
    def setUp(self):
        super().setUp()
        (self.folder / "notes.trace").write_text("no trace\n")
        self.inputs = [*self.paths, self.folder / "notes.trace"]

    def test_the_same_bytes(self):
        whole = self.partial("whole.gpart", *self.inputs).read_bytes()
        self.assertEqual(gprof_cli.fleet.partial_of(self.inputs, "none"), whole)
        self.assertEqual(started(gprof_cli.fleet.partial_of, self.inputs[::-1], ENGINE, workers=2), whole)
        self.cli("ranks", *self.inputs, "--engine", ENGINE, "--workers", 2, "-o", "made.gpart")
        self.assertEqual((self.folder / "made.gpart").read_bytes(), whole)

    def test_the_verdict(self):
        found = gprof_cli.analyze(self.inputs, "none", rows=16)
        self.assertEqual(found, self.analyze(*self.inputs))

    def test_what_makes_no_sense(self):
        with self.assertRaisesRegex(ValueError, "no engine 'spark'"):
            gprof_cli.analyze(self.inputs, "spark")
        with self.assertRaisesRegex(ValueError, "no traces"):
            gprof_cli.analyze([], "none")
        with self.assertRaises(gprof_cli.InputError):
            gprof_cli.fleet.merge([b"no partial"])


@unittest.skipUnless(ENGINE == "dask", "is the same with each engine")
class Threads(fleet.FleetTest):
    """Workers share the cores of a machine."""

    def test_a_trace_is_read_by_as_many_as_are_asked_for(self):
        with unittest.mock.patch.object(gprof_cli._core.subprocess, "run", wraps=subprocess.run) as run:
            gprof_cli.fleet.partial(self.paths[0], 3)
        words = run.call_args.args[0]
        self.assertEqual(words[words.index("--threads") + 1], "3")

    def test_workers_have_their_share(self):
        cores = len(os.sched_getaffinity(0))
        self.assertEqual([gprof_cli.fleet.threads_of_a_worker(n, None) for n in (1, cores, 5 * cores)], [cores, 1, 1])
        self.assertEqual(gprof_cli.fleet.threads_of_a_worker(1, "tcp://scheduler:8786"), 1)


@unittest.skipUnless(ENGINE == "dask", "asks Dask who does what")
class KilledWorker(fleet.FleetTest):
    def test_its_trace_is_read_by_another(self):
        from dask import distributed
        pipe = self.folder / self.paths[0].name
        into_pipe = fleet.pipe_at(pipe)
        with distributed.Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
            address = client.scheduler.address
            made = []
            # A daemon: where no worker comes, it waits for one forever, and the test has to end all the same.
            work = threading.Thread(target=lambda: made.append(gprof_cli.fleet.partial_of([pipe, self.paths[1]], "dask", cluster=address)), daemon=True)
            work.start()
            first = self.reader_of(pipe, client)
            command = self.command_of(first)
            os.kill(first, signal.SIGKILL)
            os.kill(command, signal.SIGKILL)  # it would wait for the pipe as well
            # Its nanny starts another one, which opens the pipe.
            self.reader_of(pipe, client, but=first)
            into_pipe.write(self.paths[0].read_bytes())
            into_pipe.close()
            work.join(DEADLINE_S)
        self.assertEqual(made, [self.partial("whole.gpart", *self.paths[:2]).read_bytes()])

    def command_of(self, worker):
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            for told in pathlib.Path(f"/proc/{worker}/task").glob("*/children"):
                if pids := told.read_text().split():
                    return int(pids[0])
            time.sleep(0.05)
        self.fail("the worker has started no gprof-cli")

    def reader_of(self, pipe, client, but=None):
        """The worker that was given the traces. It answers while it waits for the pipe: other threads of Python run while the command does."""
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            for pid in client.run(os.getpid, on_error="ignore").values():
                busy = [key for keys in client.processing().values() for key in keys]
                if pid != but and busy:
                    return pid
            time.sleep(0.05)
        self.fail(f"no worker has the traces: {client.scheduler_info()['workers'].keys()}, {client.processing()}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
