"""What is inside gprof-cli besides its own code, as a CycloneDX document: sbom.py [VERSION] > gprof-cli.cdx.json

The list is kept here, a test holds it against src/cmake/GprofDependencies.cmake. Versions are those of the headers that the
compiler finds, as these are what the program is built with; one that is not there has no version.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

SOURCE = pathlib.Path(__file__).resolve().parents[3]

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
    ("protozero", "BSD-2-Clause", "protozero/version.hpp",
     "PROTOZERO_VERSION_MAJOR PROTOZERO_VERSION_MINOR PROTOZERO_VERSION_PATCH", "headers"),
    ("libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1", "cstddef", "__GNUC__ __GNUC_MINOR__ __GNUC_PATCHLEVEL__",
     "static library"),
    ("NVTX", "Apache-2.0 WITH LLVM-exception", "nvtx3/nvToolsExt.h", "NVTX_VERSION", "headers"),
    ("CUPTI", "LicenseRef-NVIDIA-CUDA-Toolkit-EULA", "cupti_version.h", "CUPTI_API_VERSION", "headers"),
)


def compiler(*words, given=""):
    command = [os.environ.get("CXX", "c++"), "-x", "c++", *words, "-"]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout if done.returncode == 0 else None


def folders():
    """Where the build finds the headers of CUDA, which are not among the compiler's own."""
    given = [os.environ.get("GPROF_CUDA_INCLUDE", ""), "/usr/local/cuda/include", str(SOURCE / "build/cuda/include")]
    return [f"-I{folder}" for folder in given if folder and pathlib.Path(folder).is_dir()]


def split(number, base):
    """90100 to the base of 100 as ["9", "1", "0"]."""
    return [str(number // base // base), str(number // base % base), str(number % base)]


def version_of(header, macros):
    """"1.5.4", or None where the compiler does not find the header."""
    macros, _, base = macros.partition("/")
    printed = compiler("-std=c++20", "-E", "-P", *folders(), given=f"#include <{header}>\nGPROF_VERSION {macros}\n")
    line = re.search(r"^GPROF_VERSION ([\d ]+)$", printed or "", re.M)
    if not line:
        return None
    return ".".join(split(int(line.group(1)), int(base)) if base else line.group(1).split())


def component(name, licence, header, macros, part):
    version = version_of(header, macros)
    is_expression = " " in licence
    found = {"type": "library", "bom-ref": name, "name": name,
             "licenses": [{"expression": licence}] if is_expression else [{"license": licence_of(licence)}],
             "properties": [{"name": "gprof-cli:part", "value": part}]}
    if version:
        found["version"] = version
        found["purl"] = f"pkg:generic/{name.replace('+', '%2B')}@{version}"
    return found


def licence_of(licence):
    return {"name": licence.removeprefix("LicenseRef-")} if licence.startswith("LicenseRef-") else {"id": licence}


def document(version):
    components = [component(*row) for row in COMPONENTS]
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
