"""The installed library: a project that finds it reads traces, needs nothing else, and may have a zstd of its own."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("GPROF_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("GPROF_BUILD_DIR", SOURCE / "build/release"))
CMAKE = os.environ.get("GPROF_CMAKE", "cmake")
CPACK = os.environ.get("GPROF_CPACK", "cpack")
CXX = os.environ.get("GPROF_CXX", "c++")
GENERATOR = os.environ.get("GPROF_GENERATOR", "Unix Makefiles")
TRACE = SOURCE / "tests/data/known_facts.trace"
REPORT = SOURCE / "tests/data/known_facts.report.json"
# What every C++ program needs.
RUNTIME = re.compile(r"^(lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s)\.so\.\d+|ld-linux[-a-z0-9_]*\.so\.\d)$")


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=280, **more)


def cpp_blocks(page):
    return re.findall(r"^```cpp\n(.*?)^```", (SOURCE / page).read_text(encoding="utf-8"), re.M | re.S)


NAMES = ("ZSTD_decompress", "ZSTD_createDCtx", "inflate", "inflateInit2_", "sqlite3_open_v2", "sqlite3_step",
         "__gcclibcxx_demangle_callback")
ERRORS = """
#include <gprof/library.h>
#include <cstdio>
int main(int, char** argv) {
  try {
    gprof::ReadTrace(argv[1]);
  } catch (const gprof::Error& error) {
    std::printf("%s|%s", error.what(), error.hint().c_str());
    return static_cast<int>(error.code());
  }
}
"""
OWN_NAMES = "".join(f'extern "C" long {name}() {{ return 42; }}\n' for name in NAMES) + f"""
#include <gprof/library.h>
#include <cstdio>
int main(int, char** argv) {{
  const gprof::Trace trace = gprof::ReadTrace(argv[1]);
  std::printf("%ld %zu", {" + ".join(f"{name}()" for name in NAMES)}, trace.ops.size());
  return trace.ops.empty() ? 1 : 0;
}}
"""
PLUGIN = """
#include <gprof/library.h>
extern "C" int Ops(const char* path) { return static_cast<int>(gprof::ReadTrace(path).ops.size()); }
"""


class Library(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-library-", dir=BUILD))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.prefix = cls.folder / "prefix"
        for component in ("gprof", "dev"):
            done = run(CMAKE, "--install", BUILD, "--prefix", cls.prefix, "--component", component)
            assert done.returncode == 0, done.stderr
        cls.programs = cls.build("users", cls.users_project())

    @classmethod
    def users_project(cls):
        """A project with several programs, as users would have them; configuring one for each takes longer."""
        source = cls.folder / "users-source"
        source.mkdir()
        (source / "plugin.cpp").write_text(PLUGIN, encoding="utf-8")
        lines = ["cmake_minimum_required(VERSION 3.25)", "project(users LANGUAGES CXX)", "find_package(gprof 0.2 REQUIRED)",
                 "add_library(plugin SHARED plugin.cpp)", "target_link_libraries(plugin PRIVATE gprof::gprof)"]
        pages = {f"page{number}": code for number, code in enumerate(cpp_blocks("docs/library.md"))}
        for name, code in {"errors": ERRORS, "own_names": OWN_NAMES, **pages}.items():
            (source / f"{name}.cpp").write_text(code, encoding="utf-8")
            lines += [f"add_executable({name} {name}.cpp)", f"target_link_libraries({name} PRIVATE gprof::gprof)"]
        (source / "CMakeLists.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return source

    @classmethod
    def build(cls, name, source):
        out = cls.folder / name
        done = run(CMAKE, "-S", source, "-B", out, "-G", GENERATOR, f"-DCMAKE_PREFIX_PATH={cls.prefix}",
                   f"-DCMAKE_CXX_COMPILER={CXX}", "-DCMAKE_CXX_FLAGS=-O0")
        assert done.returncode == 0, done.stdout + done.stderr
        done = run(CMAKE, "--build", out)
        assert done.returncode == 0, done.stdout + done.stderr
        return out

    def test_the_example_builds_and_reads_a_trace(self):
        # As it is installed: what a user has is the example there.
        source = self.prefix / "share/doc/gprof-cli/examples/library"
        program = self.build("example", source) / "longest_kernels"
        done = run(program, TRACE)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(REPORT.read_text(encoding="utf-8"))
        kernels = sum(metric["value"] for metric in report["metrics"]
                      if metric["id"] == "kernels.count" and metric["scope"] == "")
        self.assertGreater(kernels, 0)
        counts = [int(count) for count in re.findall(r"^kernel .*: (\d+), \d+ ns$", done.stdout, re.M)]
        self.assertEqual(sum(counts), kernels)
        for finding in report["findings"]:
            self.assertIn(finding["id"] + ": ", done.stdout)
        if shutil.which("readelf"):
            needed = re.findall(r"\(NEEDED\).*\[(.*?)\]", run("readelf", "-W", "-d", program).stdout)
            self.assertEqual([name for name in needed if not RUNTIME.match(name)], [])

    def test_a_file_that_is_no_trace_is_an_error_with_a_hint(self):
        text = self.folder / "text.txt"
        text.write_text("no trace\n")
        done = run(self.programs / "errors", text)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("text.txt", done.stdout)

    def test_names_of_what_it_is_made_with_do_not_meet_those_of_the_program(self):
        done = run(self.programs / "own_names", TRACE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(done.stdout.startswith(f"{42 * len(NAMES)} "), done.stdout)

    def test_the_examples_of_the_page_run(self):
        pages = sorted(path for path in self.programs.glob("page*") if path.is_file())
        self.assertEqual(len(pages), len(cpp_blocks("docs/library.md")))
        self.assertTrue(pages)
        for page in pages:
            with self.subTest(page=page.name):
                done = run(page, TRACE)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertTrue(done.stdout)

    def test_a_shared_library_of_a_user_can_hold_it(self):
        code = f"import ctypes; print(ctypes.CDLL({str(self.programs / 'libplugin.so')!r}).Ops({str(TRACE)!r}.encode()))"
        done = run(sys.executable, "-c", code)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(int(done.stdout), 0)

    @unittest.skipUnless(shutil.which(CPACK) and shutil.which("dpkg-shlibdeps") and shutil.which("dpkg-deb"),
                         "cpack or dpkg-shlibdeps was not found")
    def test_it_is_a_debian_package_of_its_own(self):
        out = self.folder / "deb"
        done = run(CPACK, "-G", "DEB", "-B", out, "-D", "CPACK_COMPONENTS_ALL=dev", "--config", BUILD / "CPackConfig.cmake",
                   cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        packages = list(out.glob("*.deb"))
        self.assertEqual(len(packages), 1, packages)
        version = re.search(r"project\(gprof-cli VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual(run("dpkg-deb", "-f", packages[0], "Package").stdout.strip(), "gprof-cli-dev")
        self.assertIn(f"gprof-cli (= {version})", run("dpkg-deb", "-f", packages[0], "Depends").stdout)
        files = {line.split()[-1].removeprefix("./usr/") for line in run("dpkg-deb", "-c", packages[0]).stdout.splitlines()
                 if line.startswith("-")}
        self.assertIn("include/gprof/library.h", files)
        # Debian's packages may not have a file in common.
        self.assertEqual([name for name in files if name.startswith("include/gprof/trace/")], [])
        allowed = re.compile(r"include/gprof/\w+\.h|lib(/[-\w]+)?/(libgprof\.a|cmake/gprof/gprof-config(-version)?\.cmake)|"
                             r"share/doc/gprof-cli/examples/library/CMakeLists\.txt")
        self.assertEqual([name for name in files if not allowed.fullmatch(name)], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
