"""Python packages of other tools, in an environment of their own in the build folder."""

import fcntl
import os
import pathlib
import shutil
import subprocess
import sys

CACHE = pathlib.Path(os.environ.get("GPROF_TEST_CACHE", ""))
PIP = ["-m", "pip", "--disable-pip-version-check", "-q", "--retries", "1", "--timeout", "15"]


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=240)


def python_with(name, *installs):
    """The Python of an environment with what each of `installs` (arguments of pip install) brings, or the reason why not."""
    if not CACHE.is_absolute():
        return None, "GPROF_TEST_CACHE names no folder"
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests that run side by side want the same environment
        return make(CACHE / name, installs)


def make(folder, installs):
    python, done = folder / "bin" / "python3", folder / "complete"
    wanted = "\n".join(" ".join(words) for words in installs)
    if done.is_file() and done.read_text() == wanted:
        return python, ""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        for words in ([sys.executable, "-m", "venv", folder],
                      *([python, *PIP, "install", "--only-binary", ":all:", *install] for install in installs)):
            made = run(*words)
            if made.returncode != 0:
                return None, (made.stderr or made.stdout).strip().splitlines()[-1:]
    except subprocess.TimeoutExpired:
        return None, "pip took too long"
    done.write_text(wanted)
    return python, ""
