"""`pip install ./src/python` makes a wheel with the module and nothing else, which works where it is installed."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import environment

if os.environ.get("GPROF_TEST_PIP") != "1":
    environment.skip("it compiles everything again: GPROF_TEST_PIP=1 runs it")

REQUIREMENTS = environment.SOURCE / "src/cmake/requirements"
ALLOWED = re.compile(r"gprof_cli/(__init__\.pyi?|fleet\.pyi?|notebook\.pyi?|tables\.pyi?|py\.typed|_core\.py|libgprof_python\.so)|gprof_cli_analysis-[\d.]+\.dist-info/.*")


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=560)


class Pip(unittest.TestCase):
    def test_the_wheel(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-pip-"))
        self.addCleanup(shutil.rmtree, folder, True)
        self.assertEqual(run(sys.executable, "-m", "venv", folder / "env").returncode, 0)
        python = folder / "env/bin/python3"
        for name in ("python_module", "numpy"):
            got = run(python, "-m", "pip", "install", "--only-binary", ":all:", "--require-hashes", "-r", REQUIREMENTS / f"{name}.txt")
            self.assertEqual(got.returncode, 0, got.stdout + got.stderr)
        made = run(python, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", folder / "wheels", environment.SOURCE / "src/python")
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
        wheel, = (folder / "wheels").glob("gprof_cli_analysis-*.whl")
        self.assertIn("-py3-none-", wheel.name)
        names = zipfile.ZipFile(wheel).namelist()
        self.assertEqual([name for name in names if not ALLOWED.fullmatch(name)], [])
        self.assertIn("gprof_cli/py.typed", names)
        notices, = (name for name in names if name.endswith(".dist-info/licenses/third-party-licences.txt"))
        self.assertIn(b"Facebook", zipfile.ZipFile(wheel).read(notices))
        self.assertIn(notices.replace("third-party-licences.txt", "LICENSE"), names)
        installed = run(python, "-m", "pip", "install", "--no-index", wheel)
        self.assertEqual(installed.returncode, 0, installed.stdout + installed.stderr)
        trace = environment.DATA / "known_facts.trace"
        code = f"import gprof_cli, json; print(json.dumps(gprof_cli.read({str(trace)!r}).metrics()))"
        read = run(python, "-c", code)
        self.assertEqual(read.returncode, 0, read.stderr)
        self.assertGreater(json.loads(read.stdout)["kernels.count"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
