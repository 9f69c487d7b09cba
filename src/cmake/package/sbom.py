"""What is inside gprof-cli besides its own code, as a CycloneDX document: sbom.py [VERSION] > gprof-cli.cdx.json

The list is kept here, tests hold it against src/cmake/GprofDependencies.cmake and against what is linked. Versions are those of the
Debian packages with the headers that the compiler finds, as these are what the program is built with, and the checksums are those
of these packages in Debian's index. Where a header is in no Debian package, its version is what its macros say, and there is no
checksum; a part that is not there has no version. licences.py beside this file has the licences of the same parts.
"""

import collections
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse
import uuid

SOURCE = pathlib.Path(__file__).resolve().parents[3]
DOCS = pathlib.Path("/usr/share/doc")

# Name, licence, header, the macros that make the version, and what is in the program. A macro with a base holds several
# numbers: 90100 to the base of 100 is 9.1.0.
COMPONENTS = (
    ("CLI11", "BSD-3-Clause", "CLI/Version.hpp", "CLI11_VERSION_MAJOR CLI11_VERSION_MINOR CLI11_VERSION_PATCH", "headers"),
    ("fmt", "MIT", "fmt/core.h", "FMT_VERSION/100", "headers"),
    ("nlohmann_json", "MIT", "nlohmann/json.hpp",
     "NLOHMANN_JSON_VERSION_MAJOR NLOHMANN_JSON_VERSION_MINOR NLOHMANN_JSON_VERSION_PATCH", "headers"),
    ("zstd", "BSD-3-Clause", "zstd.h", "ZSTD_VERSION_MAJOR ZSTD_VERSION_MINOR ZSTD_VERSION_RELEASE", "static library"),
    ("zlib", "Zlib", "zlib.h", "ZLIB_VER_MAJOR ZLIB_VER_MINOR ZLIB_VER_REVISION", "static library"),
    ("sqlite3", "blessing", "sqlite3.h", "SQLITE_VERSION_NUMBER/1000", "static library"),
    ("re2", "BSD-3-Clause", "re2/re2.h", "", "static library"),
    ("ncurses", "X11-distribute-modifications-variant", "curses.h",
     "NCURSES_VERSION_MAJOR NCURSES_VERSION_MINOR", "static library"),
    ("protozero", "BSD-2-Clause", "protozero/version.hpp",
     "PROTOZERO_VERSION_MAJOR PROTOZERO_VERSION_MINOR PROTOZERO_VERSION_PATCH", "headers"),
    ("libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1", "cstddef", "__GNUC__ __GNUC_MINOR__ __GNUC_PATCHLEVEL__",
     "static library"),
    ("libgcc", "GPL-3.0-or-later WITH GCC-exception-3.1", "unwind.h", "__GNUC__ __GNUC_MINOR__ __GNUC_PATCHLEVEL__", "static library"),
    ("NVTX", "Apache-2.0 WITH LLVM-exception", "nvtx3/nvToolsExt.h", "NVTX_VERSION", "headers"),
    ("CUPTI", "LicenseRef-NVIDIA-CUDA-Toolkit-EULA", "cupti_version.h", "CUPTI_API_VERSION", "headers"),
    ("CUDA occupancy calculator", "LicenseRef-NVIDIA-CUDA-Toolkit-EULA", "cuda_occupancy.h", "", "headers"),
)
# In programs of gprof-cli-examples alone.
OF_EXAMPLES = (
    ("CUDA runtime", "LicenseRef-NVIDIA-CUDA-Toolkit-EULA", "cuda_runtime_api.h", "CUDART_VERSION", "CUDA library"),
)

Part = collections.namedtuple("Part", "name licence kind header version package debian")
DebianPackage = collections.namedtuple("DebianPackage", "name version architecture source source_version sha256")


def run(*command, given=None):
    """What it prints, or None where it fails or is not there."""
    if not shutil.which(command[0]):
        return None
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=120, check=False)
    return done if done.returncode == 0 else None


def folders():
    """Where the build finds the headers of CUDA, which are not among the compiler's own."""
    given = [os.environ.get("GPROF_CUDA_INCLUDE", ""), "/usr/local/cuda/include", str(SOURCE / "build/cuda/include")]
    return [f"-I{folder}" for folder in given if folder and pathlib.Path(folder).is_dir()]


def split(number, base):
    """90100 to the base of 100 as ["9", "1", "0"]."""
    return [str(number // base // base), str(number // base % base), str(number % base)]


def header_of(header, macros):
    """(path, version such as "1.5.4") of a header, or None for what the compiler does not find or the header does not say."""
    macros, _, base = macros.partition("/")
    done = run(os.environ.get("CXX", "c++"), "-x", "c++", "-std=c++20", "-E", "-P", "-H", *folders(), "-",
               given=f"#include <{header}>\nGPROF_VERSION {macros}\n")
    if not done:
        return None, None
    path = pathlib.Path(re.search(r"^[.!] (.*)$", done.stderr, re.M).group(1))
    line = re.search(r"^GPROF_VERSION ([\d ]+)$", done.stdout, re.M)
    if not line:
        return path, None
    return path, ".".join(split(int(line.group(1)), int(base)) if base else line.group(1).split())


@functools.lru_cache(None)
def debian_package(file):
    """The package that a file belongs to, with the checksum that apt's lists have of it; None for a file of no package."""
    owner = run("dpkg-query", "-S", str(file.resolve()))
    if not owner:
        return None
    name = owner.stdout.partition(": ")[0].partition(",")[0]
    fields = "${Version} ${Architecture} ${source:Package} ${source:Version}"
    version, architecture, source, source_version = run("dpkg-query", "-W", "-f", fields, name).stdout.split()
    shown = run("apt-cache", "show", f"{name}={version}")
    sha256 = re.search(r"^SHA256: ([0-9a-f]{64})$", shown.stdout if shown else "", re.M)
    return DebianPackage(name.partition(":")[0], version, architecture, source, source_version, sha256 and sha256.group(1))


def find(name, licence, header, macros, kind):
    path, version = header_of(header, macros)
    debian = debian_package(path) if path else None
    return Part(name, licence, kind, path, debian.version if debian else version, debian and debian.name, debian)


def debian_facts(debian):
    distribution = re.search(r"^ID=\"?(\w+)", pathlib.Path("/etc/os-release").read_text(encoding="utf-8"), re.M).group(1)
    version = urllib.parse.quote(debian.version, safe="")
    facts = {"version": debian.version,
             "purl": f"pkg:deb/{distribution}/{urllib.parse.quote(debian.name, safe='')}@{version}?arch={debian.architecture}"}
    return {**facts, "hashes": [{"alg": "SHA-256", "content": debian.sha256}]} if debian.sha256 else facts


def component(part):
    is_expression = " " in part.licence
    facts = {"type": "library", "bom-ref": part.name, "name": part.name,
             "licenses": [{"expression": part.licence}] if is_expression else [{"license": licence_of(part.licence)}]}
    properties = [("part", part.kind)]
    if part.debian:
        facts.update(debian_facts(part.debian))
        properties.append(("source", f"{part.debian.source} {part.debian.source_version}"))
    elif part.version:
        facts.update(version=part.version, purl=f"pkg:generic/{urllib.parse.quote(part.name, safe='')}@{part.version}")
    return {**facts, "properties": [{"name": f"gprof-cli:{name}", "value": value} for name, value in properties]}


def licence_of(licence):
    return {"name": licence.removeprefix("LicenseRef-")} if licence.startswith("LicenseRef-") else {"id": licence}


def document(version):
    components = [component(find(*row)) for row in COMPONENTS]
    ours = f"pkg:generic/gprof-cli@{version}"
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([ours, components]))}",
        "metadata": {"component": {"type": "application", "bom-ref": "gprof-cli", "name": "gprof-cli", "version": version,
                                   "purl": ours, "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": components,
        "dependencies": [{"ref": "gprof-cli", "dependsOn": [row[0] for row in COMPONENTS]}],
    }


def text(version):
    return json.dumps(document(version), indent=2) + "\n"


if __name__ == "__main__":
    written = re.search(r"project\(gprof-cli VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
    sys.stdout.write(text(sys.argv[1] if len(sys.argv) > 1 else written))
