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

# A part of ours, and words of its licence that no other has.
LICENCES = {
    "CLI11": "University of Cincinnati", "fmt": "Victor Zverovich", "nlohmann_json": "Niels Lohmann", "zstd": "Facebook",
    "zlib": "Jean-loup Gailly", "sqlite3": "on the public domain by the sqlite3", "protozero": "Mapbox", "re2": "Lucent Technologies",
    "ncurses": "Thomas E. Dickey",
    "libstdc++": "GCC RUNTIME LIBRARY EXCEPTION", "libgcc": "GCC RUNTIME LIBRARY EXCEPTION",
    "NVTX": "Apache License v2.0 with LLVM Exceptions", "CUPTI": "Copyright 2010-", "CUDA occupancy calculator": "Copyright 1993-",
}


def version():
    return re.search(r"project\(gprof-cli VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=280, **more)


def without_licence(text):
    """Parts of gprof-cli that a file third-party-licences.txt lacks."""
    import sbom
    return [row[0] for row in sbom.COMPONENTS if row[0] not in text or LICENCES[row[0]] not in text]


def pack(generator, folder, component="gprof"):
    """The package that cpack makes of the build tree."""
    out = folder / f"{generator}-{component}"
    done = run(CPACK, "-G", generator, "-B", out, "-D", f"CPACK_COMPONENTS_ALL={component}", "--config",
               BUILD / "CPackConfig.cmake", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(out / "_CPack_Packages", ignore_errors=True)
    package, = (path for path in out.iterdir() if path.is_file())
    return package
