"""Python packages of other tools, in an environment of their own in the build folder."""

import fcntl
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

CACHE = pathlib.Path(os.environ.get("GPROF_TEST_CACHE", ""))
OPTIONS = ["--disable-pip-version-check", "-q", "--retries", "1", "--timeout", "15"]
# Python compiles what is imported: that is a small part of what there is.
INSTALL = ["install", "--no-compile", "--no-deps", "--only-binary", ":all:", "--require-hashes", "-r"]
REQUIREMENTS = pathlib.Path(__file__).resolve().parents[2] / "src/cmake/requirements"


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=240)


def run_script(python, env, **options):
    """Runs the script that this process runs with another Python. What it compiles of large packages is kept in the build folder."""
    return subprocess.run([str(python), *sys.argv], env={**env, "PYTHONPYCACHEPREFIX": str(CACHE / "pycache")}, **options)


def python_with(name):
    """The Python of an environment with the packages of src/cmake/requirements/NAME.txt, or the reason why there is none."""
    if not CACHE.is_absolute():
        return None, "GPROF_TEST_CACHE names no folder"
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests that run side by side want the same environment
        return make(CACHE / name, REQUIREMENTS / f"{name}.txt")


def ways_to_make(folder):
    """Arguments of Python: for an environment, and for pip that installs into it. A pip of its own takes seconds to set up."""
    python = folder / "bin" / "python3"
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "venv", "--without-pip", folder], [sys.executable, "-m", "pip", "--python", python]
    return [sys.executable, "-m", "venv", folder], [python, "-m", "pip"]


def make(folder, requirements):
    python, done, wanted = folder / "bin" / "python3", folder / "complete", requirements.read_text(encoding="utf-8")
    if done.is_file() and done.read_text(encoding="utf-8") == wanted:
        return python, ""
    shutil.rmtree(folder, ignore_errors=True)
    environment, pip = ways_to_make(folder)
    try:
        for words in (environment, [*pip, *OPTIONS, *INSTALL, requirements]):
            made = run(*words)
            if made.returncode != 0:
                return None, (made.stderr or made.stdout).strip().splitlines()[-1:]
    except subprocess.TimeoutExpired:
        return None, "pip took too long"
    done.write_text(wanted, encoding="utf-8")
    return python, ""
