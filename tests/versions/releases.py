"""Releases of CUPTI: NVIDIA's packages, their headers and libraries, fetched once into a cache."""
import os
import pathlib
import re
import subprocess
import sys
import zipfile

# The first and the last of each major version, and those between that changed records. 94 MB together.
REQUIREMENTS = pathlib.Path(__file__).resolve().parents[2] / "src/cmake/requirements/cupti_releases.txt"
PINS = re.findall(r"^(nvidia-[\w-]+==(\d+\.\d+)\.\d+ (?:\\\n.*)+)", REQUIREMENTS.read_text(encoding="utf-8"), re.M)
RELEASES = {release: pin for pin, release in PINS}
HEADERS = ("cupti_activity.h", "cupti_activity_deprecated.h", "cupti_callbacks.h", "cupti_common.h", "cupti_result.h",
           "cupti_driver_cbid.h", "cupti_runtime_cbid.h", "cupti_nvtx_cbid.h", "cuda_stdint.h", "cupti_version.h")


class Unavailable(Exception):
    """The package cannot be had here."""


def cache():
    folder = pathlib.Path(os.environ.get("GPROF_TEST_CACHE", "packages"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def download(requirement, folder):
    name, pin = requirement.split()[0], folder / "requirement.txt"
    pin.write_text(requirement, encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--only-binary", ":all:",
               "--disable-pip-version-check", "--retries", "1", "--timeout", "15", "-d", str(folder), "--require-hashes", "-r", str(pin)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"{name}: pip took too long") from error
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        reason = done.stderr.strip().splitlines()
        raise Unavailable(f"{name}: {reason[-1] if reason else 'pip failed'}")
    return wheels[0]


def fetch(release):
    """The folder of a release: its headers, and its libcupti under the name `libcupti`."""
    folder = cache() / release
    if (folder / "complete").exists():
        return folder
    folder.mkdir(exist_ok=True)
    wheel = download(RELEASES[release], folder)
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            plain = pathlib.PurePosixPath(name).name
            if plain in HEADERS:
                (folder / plain).write_bytes(archive.read(name))
            elif plain.startswith("libcupti.so"):
                (folder / "libcupti").write_bytes(archive.read(name))
    wheel.unlink()
    (folder / "complete").touch()
    return folder


# In a process of its own: two copies of libcupti in one collide. The distance of two records in a buffer that holds
# nothing but the number of their kind is the length of such a record, which needs no driver to know.
STRIDES = r"""
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
version = ctypes.c_uint32()
if library.cuptiGetVersion(ctypes.byref(version)) != 0:
    sys.exit()
print("version", version.value)
for kind in map(int, sys.argv[2:]):
    buffer = (ctypes.c_uint32 * 2048)(*[kind] * 2048)
    record = ctypes.c_void_p()
    found = []
    for _ in range(2):
        if library.cuptiActivityGetNextRecord(ctypes.byref(buffer), ctypes.c_size_t(8192), ctypes.byref(record)) == 0:
            found.append(record.value)
    print(kind, found[1] - found[0] if len(found) == 2 else 0)
"""


def strides(folder, kinds):
    """What cuptiGetVersion answers, and the record lengths of the library by kind; 0 for a kind that it does not know.

    0 and nothing from a library that answers nothing without a driver, as libcupti does from 13.2 on."""
    done = subprocess.run([sys.executable, "-c", STRIDES, str(folder / "libcupti"), *map(str, kinds)], capture_output=True,
                          text=True, timeout=60, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    if not rows:
        return 0, {}
    return int(rows[0][1]), {int(kind): int(size) for kind, size in rows[1:]}
