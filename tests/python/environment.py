"""A Python that has what the module needs: this one, or one of an environment in the build folder."""

import importlib.util
import os
import pathlib
import sys

SOURCE = pathlib.Path(os.environ.get("GPROF_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", SOURCE / "build/release"))
DATA = SOURCE / "tests/data"
MODULE = BUILD / "python"
sys.path.insert(0, str(SOURCE / "tests/export"))
import packages  # noqa: E402


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def run_here_or_there():
    """Returns where NumPy is here; else runs this script where it is, and ends with its exit code."""
    if importlib.util.find_spec("numpy"):
        sys.path.insert(0, str(MODULE))
        return
    python, reason = packages.python_with("numpy")
    if python is None:
        skip(f"NumPy is not here, and pip could not install it: {reason}")
    sys.exit(packages.run_script(python, {**os.environ, "PYTHONPATH": str(MODULE)}, timeout=560).returncode)
