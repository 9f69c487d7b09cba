"""The wheel: in an environment of its own the command records and reports, the module reads, and the tag says what it needs."""

import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest
import zipfile

import package
import wheel_contents

import platform_tag

# A cell is recorded by the command of the wheel, with a double of IPython.
USES_THE_MODULE = """
import sys, types, gprof_cli
trace = gprof_cli.read(sys.argv[1])
assert gprof_cli.__version__ == sys.argv[2] and "kernel" in gprof_cli.KINDS
assert "<table" in trace._repr_html_() and trace.findings() and trace.metrics()
assert trace._trace._process._program.args[0] == sys.prefix + "/bin/gprof-cli", trace._trace._process._program.args
try:
    trace.kernel
except ImportError as error:
    assert "pip install numpy" in str(error)
else:
    raise SystemExit("NumPy is there")
magics = {}
gprof_cli.load_ipython_extension(types.SimpleNamespace(register_magic_function=lambda magic, kind, name: magics.update({name: magic})))
cell = magics["gprof"]("-t nvtx", "print('from the cell')")
assert cell.is_complete and cell.report()["processes"]
"""


@unittest.skipUnless(package.COMMAND.is_file() and package.TRACER.is_file(), "the command or the tracer was not built")
@unittest.skipUnless(shutil.which("readelf"), "readelf is not installed")
class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-wheel-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        made = cls.pip_wheel("wheels")
        if "No module named pip" in made.stderr:
            raise unittest.SkipTest("pip is not installed")
        assert made.returncode == 0, made.stdout + made.stderr
        cls.wheel, = (cls.folder / "wheels").glob("*.whl")
        cls.environment("env")
        done = cls.pip("env", "install", "--no-index", cls.wheel)
        assert done.returncode == 0, done.stdout + done.stderr
        cls.command = cls.folder / "env/bin/gprof-cli"

    @classmethod
    def environment(cls, name):
        done = package.run(sys.executable, "-m", "venv", "--without-pip", cls.folder / name)
        assert done.returncode == 0, done.stdout + done.stderr

    @classmethod
    def pip(cls, environment, *words):
        return package.run(sys.executable, "-m", "pip", "--python", cls.folder / environment / "bin/python3", *words)

    @classmethod
    def pip_wheel(cls, out, **settings):
        words = [f"--config-settings={name}={value}" for name, value in {"build-dir": package.BUILD, **settings}.items()]
        return package.run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w",
                           cls.folder / out, *words, package.SOURCE)

    def test_records_and_reports_in_an_environment(self):
        done = package.run(self.command, "--version")
        self.assertEqual((done.returncode, done.stdout.strip()), (0, f"gprof-cli {package.version()}"))
        if not package.EXAMPLE.is_file():
            self.skipTest("the example nvtx_cpu was not built")
        trace = self.folder / "run.trace"
        done = package.run(self.command, "profile", "-o", trace, "--", package.EXAMPLE)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = package.run(self.command, "report", "--format", "json", trace)
        self.assertEqual(done.returncode, 0, done.stderr)
        values = {metric["id"]: metric["value"] for metric in json.loads(done.stdout)["metrics"] if not metric.get("scope")}
        self.assertGreater(values["nvtx.ranges"], 100)

    def test_the_module_works_without_numpy_in_every_python(self):
        """What a notebook shows, and the magic, need nothing but Python and the command in the wheel."""
        tried, pythons = [], [path for minor in range(9, 15) if (path := shutil.which(f"python3.{minor}"))] or [sys.executable]
        for python in pythons:
            folder = self.folder / pathlib.Path(python).name
            done = package.run(python, "-m", "venv", "--without-pip", folder)
            if done.returncode != 0:
                continue  # an interpreter without the module venv, or a shim of pyenv for one that is not chosen
            done = package.run(sys.executable, "-m", "pip", "--python", folder / "bin/python", "install", "--no-index", self.wheel)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = package.run(folder / "bin/python", "-c", USES_THE_MODULE, package.TRACE, package.version(), cwd=self.folder,
                               env={**os.environ, "PATH": "/usr/bin:/bin"})
            self.assertEqual(done.returncode, 0, f"{python}: {done.stderr}")
            tried.append(python)
        self.assertTrue(tried)

    def test_takes_its_tracer_and_no_other(self):
        done = package.run(self.command, "doctor", "--format", "json")
        self.assertIn(str(self.folder / "env/lib/gprof-cli/libgprof-tracer.so"), done.stdout)

    def test_has_manual_pages_completions_licence_and_parts_list(self):
        for wanted in ("share/man/man1/gprof-cli-report.1.gz", "share/bash-completion/completions/gprof-cli"):
            self.assertTrue((self.folder / "env" / wanted).is_file(), wanted)
        names = zipfile.ZipFile(self.wheel).namelist()
        info = f"gprof_cli-{package.version()}.dist-info"
        self.assertIn(f"{info}/licenses/LICENSE", names)
        parts = json.loads(zipfile.ZipFile(self.wheel).read(f"{info}/sboms/gprof-cli.cdx.json"))
        self.assertIn("zstd", [part["name"] for part in parts["components"]])

    def test_goes_away_whole(self):
        self.environment("second")
        for words in (("install", "--no-index", self.wheel), ("uninstall", "-y", "gprof-cli")):
            done = self.pip("second", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([path for path in (self.folder / "second").rglob("*gprof*") if path.is_file()], [])

    def test_the_tag_follows_from_what_was_linked(self):
        tag = platform_tag.tag_of([package.COMMAND, package.TRACER])
        self.assertTrue(self.wheel.name.endswith(f"-py3-none-{tag}.whl"), self.wheel.name)
        text = zipfile.ZipFile(self.wheel).read(f"gprof_cli-{package.version()}.dist-info/WHEEL").decode()
        self.assertIn(f"Tag: py3-none-{tag}\n", text)
        if package.RUNS_ON_OLD_GLIBC:
            self.assertRegex(tag, r"^manylinux_2_28_")

    def test_a_tag_that_is_not_true_is_refused(self):
        machine = platform_tag.machine(package.COMMAND)
        done = self.pip_wheel("lies", tag=f"manylinux_2_5_{machine}")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout + done.stderr, r"is not true: \S+gprof-cli needs GLIBC_2\.\d+, for \w+")
        self.assertEqual(list((self.folder / "lies").glob("*.whl")), [])
        with self.assertRaises(platform_tag.TagError):
            platform_tag.check_tag("manylinux_2_99_riscv64", [package.COMMAND])
        with self.assertRaises(platform_tag.TagError):
            platform_tag.check_tag("linux_x86_64", [package.COMMAND])

    def test_what_is_linked_to_more_than_libc_gets_no_tag(self):
        program = self.folder / "needs_more"
        source = program.with_suffix(".cpp")
        source.write_text("#include <iostream>\nint main() { std::cout << 1; }\n")
        if not shutil.which("c++") or package.run("c++", "-o", program, source).returncode != 0:
            self.skipTest("there is no compiler")
        with self.assertRaisesRegex(platform_tag.TagError, r"libstdc\+\+"):
            platform_tag.tag_of([program])

    def test_is_small_and_the_same_for_the_same_files(self):
        if package.IS_RELEASE:
            self.assertLessEqual(self.wheel.stat().st_size, wheel_contents.MOST_BYTES)
        self.assertEqual(self.pip_wheel("again").returncode, 0)
        again, = (self.folder / "again").glob("*.whl")
        self.assertEqual(again.read_bytes(), self.wheel.read_bytes())

    def test_every_file_has_its_checksum(self):
        archive = zipfile.ZipFile(self.wheel)
        record = archive.read(f"gprof_cli-{package.version()}.dist-info/RECORD").decode().splitlines()
        self.assertEqual({line.split(",")[0] for line in record}, set(archive.namelist()))
        self.assertEqual([line for line in record if not re.fullmatch(r"[^,]+,(sha256=[\w-]{43},\d+|,)", line)], [])


if __name__ == "__main__":
    package.main()
