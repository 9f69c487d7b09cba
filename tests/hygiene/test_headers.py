"""Public headers stand alone; those of the format are C++17, so that others can use them."""

import os
import shutil
import subprocess
import unittest

import tree

COMPILER = os.environ.get("GPROF_CXX") or shutil.which("g++") or shutil.which("clang++")
FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion", "-Wshadow", "-Wold-style-cast",
         "-Werror", "-x", "c++", f"-I{tree.SOURCE / 'include'}"]


@unittest.skipUnless(COMPILER, "no C++ compiler was found")
class Headers(unittest.TestCase):
    def compile(self, header, *flags):
        # Through a source file: a header that is the main file warns about its own #pragma once.
        line = f'#include "{header.removeprefix("include/")}"\n'
        command = [COMPILER, *FLAGS, *flags, "-"]
        done = subprocess.run(command, input=line, capture_output=True, text=True, timeout=280)
        self.assertEqual(done.returncode, 0, f"{header} does not compile alone\n{done.stderr}")

    def test_headers_of_the_format_are_cxx17_without_exceptions(self):
        headers = tree.files("include/gprof/trace", suffixes=(".h",))
        self.assertTrue(headers)
        for header in headers:
            with self.subTest(header=header):
                self.compile(header, "-std=c++17", "-fno-exceptions", "-fno-rtti")

    def test_other_public_headers_are_cxx20(self):
        for header in tree.files("include/gprof", suffixes=(".h",)):
            if "/trace/" not in header:
                with self.subTest(header=header):
                    self.compile(header, "-std=c++20")


if __name__ == "__main__":
    tree.main()
