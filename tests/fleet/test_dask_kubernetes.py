"""The recipe of docs/cluster.md for dask-kubernetes: its specification of pods, and workers on this machine in place of them."""

import json
import os
import pathlib
import re
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
DEADLINE_S = 240
IN_PLACE_OF_PODS = """
import json
import dask.distributed, dask_kubernetes.operator

def cluster_of(custom_cluster_spec):
    with open("spec.json", "w") as file:
        json.dump(custom_cluster_spec, file)
    return dask.distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)

dask_kubernetes.operator.KubeCluster = cluster_of
"""


class DaskKubernetes(fleet.FleetTest):
    def test_the_recipe(self):
        if not MODULE.exists():
            self.skipTest("the Python module is not built")
        python, why = packages.python_with("dask_kubernetes")
        if python is None:
            self.skipTest(f"dask-kubernetes cannot be installed: {why}")
        recipe = re.search(r"```python\n(# KubeCluster\n.*?)```", PAGE, re.S).group(1)
        script = self.folder / "verdict.py"
        script.write_text(IN_PLACE_OF_PODS + recipe.replace('"/traces/', f'"{self.traces}/'))
        done = subprocess.run([python, script], env={**os.environ, "PYTHONPATH": str(MODULE)}, cwd=self.folder, capture_output=True,
                              text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [finding["message"] for finding in self.analyze(self.traces)["findings"]])
        spec = json.loads((self.folder / "spec.json").read_text())["spec"]["worker"]
        (container,), (volume,) = spec["spec"]["containers"], spec["spec"]["volumes"]
        (mount,) = container["volumeMounts"]
        self.assertEqual((spec["replicas"], container["image"], container["args"][0]), (16, "gprof-dask", "dask-worker"))
        self.assertEqual(mount["name"], volume["name"])
        self.assertIn(f'glob.glob("{mount["mountPath"]}/', recipe)


if __name__ == "__main__":
    endings.main()
