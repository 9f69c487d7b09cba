"""What the tests of this folder share."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from endings import main as main  # noqa: E402

SOURCE = pathlib.Path(os.environ.get("GPROF_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("GPROF_BUILD_DIR", SOURCE / "build/release"))
CMAKE = os.environ.get("GPROF_CMAKE", "cmake")
CPACK = os.environ.get("GPROF_CPACK", "cpack")
SCRIPTS = SOURCE / "src/cmake/package"
COMMAND = BUILD / "bin/gprof-cli"
TRACER = BUILD / "lib/gprof-cli/libgprof-tracer.so"
EXAMPLE = BUILD / "share/gprof-cli/examples/nvtx_cpu"
TRACE = SOURCE / "tests/data/normalise_v1.trace"
IS_RELEASE = os.environ.get("GPROF_BUILD_TYPE", "Release") == "Release"
RUNS_ON_OLD_GLIBC = os.environ.get("GPROF_OLD_GLIBC") == "ON"
sys.path.insert(0, str(SCRIPTS))


def version():
    return re.search(r"project\(gprof-cli VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=280, **more)


def pack(generator, folder, component="gprof"):
    """The package that cpack makes of the build tree."""
    out = folder / f"{generator}-{component}"
    done = run(CPACK, "-G", generator, "-B", out, "-D", f"CPACK_COMPONENTS_ALL={component}", "--config",
               BUILD / "CPackConfig.cmake", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(out / "_CPack_Packages", ignore_errors=True)
    package, = (path for path in out.iterdir() if path.is_file())
    return package
