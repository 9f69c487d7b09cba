"""The recipe of docs/cluster.md for dask-mpi, with Open MPI: processes of mpirun are the scheduler, the script and the workers."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import fleet

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests"), str(SOURCE / "tests/export")]
import endings  # noqa: E402
import packages  # noqa: E402

PAGE = (SOURCE / "docs/cluster.md").read_text(encoding="utf-8")
MODULE = pathlib.Path(os.environ["GPROF_TEST_MODULE"])
MPIRUN = "mpirun.openmpi"
DEADLINE_S = 240


class DaskMpi(fleet.FleetTest):
    def test_the_recipe(self):
        if shutil.which(MPIRUN) is None or not MODULE.exists():
            self.skipTest("Open MPI is not installed, or the Python module is not built")
        python, why = packages.python_with("dask")
        if python is None:
            self.skipTest(f"dask-mpi cannot be installed: {why}")
        recipe = re.search(r"```python\n(# mpirun .*?)```", PAGE, re.S).group(1)
        script = self.folder / "verdict.py"
        script.write_text(recipe.replace("/shared/traces", str(self.traces)))
        env = {**os.environ, "PYTHONPATH": str(MODULE), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = subprocess.run([MPIRUN, "--oversubscribe", "-n", "4", python, script], env=env, cwd=self.folder, capture_output=True,
                              text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [finding["message"] for finding in self.analyze(self.traces)["findings"]])
        workers = set(re.findall(r"Register worker addr: (\S+)", done.stderr))
        self.assertEqual(len(workers), 2, done.stderr)


if __name__ == "__main__":
    endings.main()
