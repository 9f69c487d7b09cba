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

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MODULE = os.environ["GPROF_TEST_MODULE"]
DEADLINE_S = 120

sys.path.insert(0, str(SOURCE / "tests/export"))
import packages  # noqa: E402

if importlib.util.find_spec("gprof_cli") is None:
    # Outside: of each engine one environment, in which this script runs again.
    codes, here = [], os.environ.get("PYTHONPATH", "")
    for name, install in (("dask", ["numpy", "dask", "distributed"]), ("ray", ["numpy", "ray"])):
        python, reason = packages.python_with(name, ["--no-compile", *install])
        if python is None:
            print(f"skipped: {name} is not here, and pip could not install it: {reason}")
            continue
        env = {**os.environ, "PYTHONPATH": MODULE, "GPROF_TEST_ENGINE": name, "RAY_USAGE_STATS_ENABLED": "0",
               "RAY_AUTH_MODE": "disabled", "PATH": f"{python.parent}:{os.environ['PATH']}"}
        codes.append(subprocess.run([str(python), "-B", *sys.argv], env=env, timeout=560).returncode)
    sys.exit(max(codes, default=77))

import fleet  # noqa: E402
import gprof_cli.fleet  # noqa: E402

ENGINE = os.environ.get("GPROF_TEST_ENGINE", "none")


class Engine(fleet.FleetTest):
    def setUp(self):
        super().setUp()
        (self.folder / "notes.trace").write_text("no trace\n")
        self.inputs = [*self.paths, self.folder / "notes.trace"]

    def test_the_same_bytes(self):
        whole = self.partial("whole.gpart", *self.inputs).read_bytes()
        self.assertEqual(gprof_cli.fleet.partial_of(self.inputs, "none"), whole)
        self.assertEqual(gprof_cli.fleet.partial_of(reversed(self.inputs), ENGINE, workers=2), whole)
        self.cli("analyze", *self.inputs, "--engine", ENGINE, "--workers", 2, "-o", "made.gpart")
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


@unittest.skipUnless(ENGINE == "dask", "asks Dask who does what")
class KilledWorker(fleet.FleetTest):
    def test_its_trace_is_read_by_another(self):
        from dask import distributed
        pipe = self.folder / self.paths[0].name
        os.mkfifo(pipe)
        with distributed.Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
            address = client.scheduler.address
            made = []
            work = threading.Thread(target=lambda: made.append(gprof_cli.fleet.partial_of([pipe, self.paths[1]], "dask", cluster=address)))
            work.start()
            first = self.reader_of(pipe, client)
            os.kill(first, signal.SIGKILL)
            # Its nanny starts another one, which opens the pipe.
            self.reader_of(pipe, client, but=first)
            pipe.write_bytes(self.paths[0].read_bytes())
            work.join(DEADLINE_S)
        self.assertEqual(made, [self.partial("whole.gpart", *self.paths[:2]).read_bytes()])

    def reader_of(self, pipe, client, but=None):
        """The worker that was given the traces. It answers while it waits for the pipe: other threads of Python run while C++ does."""
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            for pid in client.run(os.getpid, on_error="ignore").values():
                busy = [key for keys in client.processing().values() for key in keys]
                if pid != but and busy:
                    return pid
            time.sleep(0.05)
        self.fail("no worker has the traces")


if __name__ == "__main__":
    unittest.main(verbosity=2)
