# Spack recipe; `release.py spack` fills in the version and the checksum of the source archive.
import os

from spack.package import *


class GprofCli(CMakePackage):
    """Command-line CUDA profiler: records any program, says why the GPU was idle."""

    # The source archive of the release lies in the current folder, or in a mirror.
    manual_download = True
    url = f"file://{os.getcwd()}/gprof_cli-@VERSION@.tar.gz"

    license("Apache-2.0")
    version("@VERSION@", sha256="@SHA256@")

    variant("tracer", default=True, description="Record programs; without it, traces are only read")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("cli11")
    depends_on("fmt")
    depends_on("nlohmann-json")
    depends_on("zstd")
    depends_on("zlib-api")
    depends_on("sqlite")
    depends_on("protozero")
    depends_on("re2")
    depends_on("ncurses")
    depends_on("cuda@11.8:", when="+tracer")  # headers alone; libcupti is that of the profiled program

    def cmake_args(self):
        return [
            self.define_from_variant("GPROF_BUILD_TRACER", "tracer"),
            self.define("GPROF_BUILD_TESTS", False),
            self.define("GPROF_BUILD_EXAMPLES", False),
            self.define("GPROF_BUILD_HTML", False),  # Spack has no esbuild
        ]

    def test_version(self):
        """the installed command starts"""
        gprof_cli = which(self.prefix.bin.join("gprof-cli"))
        out = gprof_cli("--version", output=str.split, error=str.split)
        assert str(self.spec.version) in out
