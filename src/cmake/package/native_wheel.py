"""Makes the wheel `gprof-cli`: the command and its tracer, laid out as they are installed, and the Python module. The build backend
of pyproject.toml.

`pip wheel .` builds in build/wheel. `--config-settings build-dir=FOLDER` takes what is already built there, and
`--config-settings tag=TAG` demands a tag, which fails where the files do not keep what it promises (platform_tag.py).
The files are native, so pip puts the command itself into bin/, where it finds its tracer as in any other prefix.
"""

import base64
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

import platform_tag
import sbom

SOURCE = pathlib.Path(__file__).resolve().parents[3]
NAME = "gprof_cli"
SUMMARY = "Command-line CUDA profiler: records any program, says why the GPU was idle"
SHARED = ("lib/gprof-cli", "share/gprof-cli/skills", "share/man", "share/bash-completion", "share/zsh", "share/fish")
LICENCES = "share/doc/gprof-cli/third-party-licences.txt"
MODULE = SOURCE / "src/python/gprof_cli"
EXTRAS = {"numpy": "numpy>=1.22", "pandas": "pandas>=1.5", "arrow": "pyarrow>=10"}  # imported where they are needed
TARGETS = ("gprof-cli", "gprof_tracer", "gprof_cures", "completions", "manuals", "licences_gprof")
OLDEST_ZIP_TIME = (1980, 1, 1, 0, 0, 0)


def version():
    return re.search(r"project\(gprof-cli VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)


def header_wheels():
    """NVIDIA's packages with the headers of CUDA, as setup.sh fetches them."""
    return re.findall(r"^[\w-]+==[\d.]+", (SOURCE / "src/cmake/requirements/cuda_headers.txt").read_text(), re.M)


def has_toolkit():
    folders = [os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    given = os.environ.get("GPROF_CUDA_INCLUDE")
    return bool(given) or any(folder and (pathlib.Path(folder) / "include/cuda.h").is_file() for folder in folders)


def cuda_definitions():
    """What CMake is told of the headers: nothing where a toolkit is installed, else where pip put the wheels."""
    if given := os.environ.get("GPROF_CUDA_INCLUDE"):
        return [f"-DGPROF_CUDA_INCLUDE={given}"]
    if has_toolkit():
        return []
    found = sorted(pathlib.Path(sysconfig.get_path("purelib")).glob("nvidia/cu*/include"))
    return [f"-DGPROF_CUDA_INCLUDE={found[-1]}"] if found else []


def build():
    folder = SOURCE / "build/wheel"
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    subprocess.run(["cmake", "-S", SOURCE, "-B", folder, *generator, "-DCMAKE_BUILD_TYPE=Release",
                    "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG", "-DGPROF_BUILD_TESTS=OFF", "-DGPROF_BUILD_EXAMPLES=OFF",
                    "-DGPROF_BUILD_TRACER=ON", *cuda_definitions()], check=True)
    subprocess.run(["cmake", "--build", folder, "--parallel", str(os.cpu_count() or 1), "--target", *TARGETS], check=True)
    return folder


def installed(folder, prefix):
    """{path in the wheel's data folder: file}"""
    subprocess.run(["cmake", "--install", folder, "--prefix", prefix, "--component", "gprof", "--strip"], check=True,
                   stdout=subprocess.DEVNULL)
    if not (prefix / "lib/gprof-cli/libgprof-tracer.so").is_file():
        sys.exit(f"native_wheel.py: {folder} was built without the tracer, and a wheel without it could not record")
    files = {"scripts/gprof-cli": prefix / "bin/gprof-cli"}
    for shared in SHARED:
        for path in sorted((prefix / shared).rglob("*")):
            if path.is_file():
                files[f"data/{path.relative_to(prefix).as_posix()}"] = path
    return files


def module_files():
    """{path in the wheel: file} It finds the command above itself, in bin/."""
    return {f"gprof_cli/{path.name}": path for path in sorted(MODULE.iterdir()) if path.suffix in (".py", ".pyi", ".typed")}


def metadata():
    readme = (SOURCE / "README.md").read_text(encoding="utf-8")
    extras = "".join(f"Provides-Extra: {name}\nRequires-Dist: {needs}; extra == \"{name}\"\n" for name, needs in EXTRAS.items())
    return (f"Metadata-Version: 2.4\nName: gprof-cli\nVersion: {version()}\nSummary: {SUMMARY}\nLicense-Expression: Apache-2.0\n"
            "License-File: LICENSE\nLicense-File: third-party-licences.txt\nRequires-Python: >=3.9\nKeywords: CUDA,profiler,CUPTI,NVTX\n"
            "Classifier: Environment :: Console\nClassifier: Environment :: GPU :: NVIDIA CUDA\n"
            "Classifier: Operating System :: POSIX :: Linux\nClassifier: Topic :: Software Development :: Debuggers\n"
            f"{extras}Description-Content-Type: text/markdown\n\n{readme}")


class Wheel:
    def __init__(self, path):
        self.path, self.record = path, []
        self.file = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)

    def add(self, name, content, mode=0o644):
        info = zipfile.ZipInfo(name, OLDEST_ZIP_TIME)  # the same bytes for the same files
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.file.writestr(info, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")

    def close(self, record_name):
        lines = "\n".join([*self.record, f"{record_name},,", ""])
        info = zipfile.ZipInfo(record_name, OLDEST_ZIP_TIME)
        info.external_attr = 0o100644 << 16
        self.file.writestr(info, lines)
        self.file.close()


def pack(folder, wheel_directory, tag):
    with tempfile.TemporaryDirectory(prefix="gprof-wheel-") as prefix:
        files = installed(folder, pathlib.Path(prefix))
        native = [files["scripts/gprof-cli"], files["data/lib/gprof-cli/libgprof-tracer.so"]]
        if tag:
            platform_tag.check_tag(tag, native)
        tag = tag or platform_tag.tag_of(native)
        name = f"{NAME}-{version()}-py3-none-{tag}.whl"
        info = f"{NAME}-{version()}.dist-info"
        wheel = Wheel(pathlib.Path(wheel_directory) / name)
        for path, file in files.items():
            is_program = path.startswith("scripts/") or path.endswith(".so")
            wheel.add(f"{NAME}-{version()}.data/{path}", file.read_bytes(), 0o755 if is_program else 0o644)
        for path, file in module_files().items():
            wheel.add(path, file.read_bytes())
        wheel.add(f"{info}/METADATA", metadata().encode())
        wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: gprof-cli native_wheel.py\nRoot-Is-Purelib: false\n"
                                   f"Tag: py3-none-{tag}\n".encode())
        wheel.add(f"{info}/licenses/LICENSE", (SOURCE / "LICENSE").read_bytes())
        wheel.add(f"{info}/licenses/third-party-licences.txt", (pathlib.Path(prefix) / LICENCES).read_bytes())
        wheel.add(f"{info}/sboms/gprof-cli.cdx.json", sbom.text(version()).encode())
        wheel.close(f"{info}/RECORD")
        return name


def setting(config_settings, name):
    return (config_settings or {}).get(name, "")


# ---- What pip calls (PEP 517) ----


def get_requires_for_build_wheel(config_settings=None):
    if setting(config_settings, "build-dir"):
        return []
    tools = [] if shutil.which("cmake") else ["cmake>=3.25"]
    if not shutil.which("ninja") and not shutil.which("make"):
        tools.append("ninja")
    return tools + ([] if has_toolkit() else header_wheels())


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    del metadata_directory
    folder = setting(config_settings, "build-dir")
    try:
        return pack(pathlib.Path(folder).resolve() if folder else build(), wheel_directory, setting(config_settings, "tag"))
    except platform_tag.TagError as error:
        sys.exit(f"native_wheel.py: {error}")


def build_sdist(sdist_directory, config_settings=None):
    """What git knows of, so that nothing of a build gets in."""
    del config_settings
    base = f"{NAME}-{version()}"
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
    with tarfile.open(pathlib.Path(sdist_directory) / f"{base}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name in filter(None, listed.split("\0")):
            archive.add(SOURCE / name, f"{base}/{name}", recursive=False)
        content = metadata().encode()
        info = tarfile.TarInfo(f"{base}/PKG-INFO")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return f"{base}.tar.gz"
