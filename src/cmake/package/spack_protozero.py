# Spack recipe of a library that gprof-cli is built with, and that Spack's own repository lacks.
from spack.package import *


class Protozero(CMakePackage):
    """Protocol buffer encoder and decoder for C++, headers only."""

    homepage = "https://github.com/mapbox/protozero"
    git = "https://github.com/mapbox/protozero.git"

    license("BSD-2-Clause")
    version("1.7.1", tag="v1.7.1")

    depends_on("cxx", type="build")

    def cmake_args(self):
        return [self.define("BUILD_TESTING", False), self.define("WERROR", False)]
