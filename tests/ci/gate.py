"""What the tests of this folder share: where things are, and how the command is run."""

import os
import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", SOURCE / "build" / "release")).resolve()
COMMAND = BUILD / "bin" / "gprof-cli"
TRACES = SOURCE / "tests" / "data"
TIME_LIMIT_S = 240
# Of the CI system that these tests may run on themselves.
FOREIGN = ("GITHUB_", "GITLAB_", "CI", "JENKINS_", "BUILD_", "GPROF_")


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return {**kept, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "COLUMNS": "80", **more}


def run(*words, cwd=None, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace", cwd=cwd,
                          stdin=subprocess.DEVNULL, timeout=TIME_LIMIT_S, env=environment(**more))


def check(*words, cwd=None, **more):
    return run(COMMAND, "check", *words, cwd=cwd, **more)
