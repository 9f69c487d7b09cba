"""Where things are, for the tests of this folder, and how they end."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from endings import main as main  # noqa: E402

SOURCE = pathlib.Path(os.environ.get("GPROF_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("GPROF_BUILD_DIR", SOURCE / "build" / "release"))
COMMAND = BUILD / "bin" / "gprof-cli"
TRACER = BUILD / "lib" / "gprof-cli" / "libgprof-tracer.so"

GENERATED = re.compile(r"(^|/)(build[^/]*|__pycache__|\.venv|\.git)(/|$)|\.pyc$")


def git(*arguments):
    """What git prints, or None where there is no repository (a source archive)."""
    if shutil.which("git") is None or not (SOURCE / ".git").exists():
        return None
    command = ["git", "-c", "safe.directory=*", "-C", str(SOURCE), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    return done.stdout if done.returncode == 0 else None


def files(*folders, suffixes=None):
    """Relative paths of the files that belong to the project, below the folders named (all without any)."""
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed is not None:
        names = [name for name in listed.split("\0") if name]
    else:
        paths = (path.relative_to(SOURCE) for path in SOURCE.rglob("*") if path.is_file())
        names = [path.as_posix() for path in paths if not GENERATED.search(path.as_posix())]
    chosen = []
    for name in sorted(set(names)):
        if folders and not any(name.startswith(folder.rstrip("/") + "/") for folder in folders):
            continue
        if suffixes and not name.endswith(tuple(suffixes)):
            continue
        if (SOURCE / name).is_file():
            chosen.append(name)
    return chosen


def text(name):
    return (SOURCE / name).read_text(encoding="utf-8")


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=280, **options)
