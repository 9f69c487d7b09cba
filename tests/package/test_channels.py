"""Packages and recipes: what is in them, what they need, and that they go onto a machine and off it again."""

import ast
import pathlib
import re
import shutil
import tempfile
import unittest

import os

import package

import platform_tag

TRACER_GLIBC = (2, 17)  # of the containers that programs run in
FOLDERS_OF_DPKG = ("info", "updates", "triggers", "parts")


class Channels(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-channels-"))
        self.addCleanup(shutil.rmtree, self.folder, True)


@unittest.skipUnless(package.COMMAND.is_file() and package.TRACER.is_file(), "the command or the tracer was not built")
class Packages(Channels):
    def runs(self, root):
        done = package.run(root / "usr/bin/gprof-cli", "--version")
        self.assertEqual((done.returncode, done.stdout.strip()), (0, f"gprof-cli {package.version()}"))
        self.has_licences(root / "usr/share/doc/gprof-cli")

    def has_licences(self, folder):
        self.assertIn("Apache License", (folder / "copyright").read_text(encoding="utf-8"))
        self.assertEqual(package.without_licence((folder / "third-party-licences.txt").read_text(encoding="utf-8")), [])

    @unittest.skipUnless(package.RUNS_ON_OLD_GLIBC and shutil.which("readelf"), "not linked for old systems, or no readelf")
    def test_an_old_glibc_is_enough(self):
        for file, most in ((package.COMMAND, platform_tag.LEAST_GLIBC), (package.TRACER, TRACER_GLIBC)):
            beyond = {version: names for version, names in platform_tag.glibc_needs(file).items() if version > most}
            self.assertEqual(beyond, {}, f"{file.name} needs more than glibc {most}: src/glibc has what to do about it")

    @unittest.skipUnless(shutil.which("dpkg") and shutil.which("dpkg-deb") and os.geteuid() == 0, "dpkg as root is needed")
    def test_the_deb_is_installed_and_removed(self):
        deb = package.pack("DEB", self.folder)
        root = self.folder / "root"
        for name in FOLDERS_OF_DPKG:
            (root / "var/lib/dpkg" / name).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        done = package.run("dpkg", f"--root={root}", "--force-depends", "-i", deb)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.runs(root)
        if package.RUNS_ON_OLD_GLIBC:
            self.assertEqual(package.run("dpkg-deb", "-f", deb, "Depends").stdout.strip(), "libc6 (>= 2.28)")
        done = package.run("dpkg", f"--root={root}", "-P", "gprof-cli")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertFalse((root / "usr").exists())

    @unittest.skipUnless(shutil.which("rpmbuild") and shutil.which("rpm") and os.geteuid() == 0, "rpm as root is needed")
    def test_the_rpm_is_installed_and_removed(self):
        rpm = package.pack("RPM", self.folder)
        root = self.folder / "root"
        root.mkdir()
        done = package.run("rpm", "--root", root, "--nodeps", "-i", rpm)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.runs(root)
        listed = package.run("rpm", "-qpl", rpm).stdout.splitlines()
        shared = {"/usr/bin", "/usr/lib", "/usr/include", "/usr/share/man/man1", "/usr/share/zsh/site-functions"}
        self.assertEqual(shared & set(listed), set(), "folders of the system belong to no package of ours")
        self.assertIn("License     : Apache-2.0", package.run("rpm", "-qpi", rpm).stdout)
        if package.RUNS_ON_OLD_GLIBC:
            needs = package.run("rpm", "-qpR", rpm).stdout
            versions = [tuple(map(int, found)) for found in re.findall(r"GLIBC_(\d+)\.(\d+)", needs)]
            self.assertLessEqual(max(versions), platform_tag.LEAST_GLIBC)
        done = package.run("rpm", "--root", root, "-e", "gprof-cli")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertFalse((root / "usr/bin/gprof-cli").exists())
        self.assertFalse((root / "usr/share/doc/gprof-cli").exists())

    def test_the_archive_is_one_folder_that_runs_anywhere(self):
        shutil.unpack_archive(package.pack("TGZ", self.folder), self.folder / "here")
        top, = (self.folder / "here").iterdir()
        self.assertTrue(top.name.startswith(f"gprof-cli-{package.version()}"), top)
        shutil.move(top, self.folder / "there it is")
        done = package.run(self.folder / "there it is/bin/gprof-cli", "report", package.TRACE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "there it is/lib/gprof-cli/libgprof-tracer.so").is_file())
        self.has_licences(self.folder / "there it is/share/doc/gprof-cli")


class Recipes(Channels):
    def shell(self, script):
        if not shutil.which("shellcheck"):
            self.skipTest("shellcheck is not installed")
        path = self.folder / "script.sh"
        path.write_text("#!/bin/sh\n" + script, encoding="utf-8")
        done = package.run("shellcheck", "-S", "warning", path)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_container_file_is_sound(self):
        text = re.sub(r"^#.*\n", "", (package.SCRIPTS / "Dockerfile").read_text(encoding="utf-8"), flags=re.M)
        lines = text.replace("\\\n", " ").strip().splitlines()
        words = [line.split(maxsplit=1)[0] for line in lines]
        self.assertEqual(set(words) - {"ARG", "FROM", "COPY", "RUN", "LABEL", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}, set())
        self.assertLess(words.index("RUN"), words.index("USER"))
        self.assertNotIn("USER 0", text)
        declared = set(re.findall(r"^ARG (\w+)", text, re.M))
        self.assertEqual(set(re.findall(r"\$\{(\w+)\}", text)), declared)
        for line in lines:
            if line.startswith("RUN "):
                self.shell(line.removeprefix("RUN "))
            if line.startswith(("ENTRYPOINT ", "CMD ")):
                self.assertIsInstance(ast.literal_eval(line.split(maxsplit=1)[1]), list)

    def test_the_apptainer_recipe_is_sound(self):
        text = (package.SCRIPTS / "gprof-cli.def").read_text(encoding="utf-8")
        self.assertTrue(text.startswith("Bootstrap: docker\nFrom: debian:12-slim\n"))
        sections = re.split(r"^%(\w+)$", text, flags=re.M)
        found = dict(zip(sections[1::2], sections[2::2]))
        self.assertEqual(list(found), ["files", "post", "test", "runscript", "labels"])
        source, target = found["files"].split()
        self.assertEqual(source, "gprof-cli.tar.gz")
        self.assertIn(target, found["post"])
        for name in ("post", "test", "runscript"):
            self.shell(found[name])

    def test_the_spack_recipe_of_protozero_is_sound(self):
        tree = ast.parse((package.SCRIPTS / "spack_protozero.py").read_text(encoding="utf-8"))
        recipe, = (node for node in tree.body if isinstance(node, ast.ClassDef))
        self.assertEqual((recipe.name, recipe.bases[0].id), ("Protozero", "CMakePackage"))
        calls = [node.value for node in recipe.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
        version, = (call for call in calls if call.func.id == "version")
        self.assertEqual(f"v{version.args[0].value}", version.keywords[0].value.value)

    def test_the_spack_recipe_is_sound(self):
        import release
        sdist = self.folder / "sdist.tar.gz"
        sdist.write_bytes(b"sources")
        text = release.spack(sdist)
        self.assertNotIn("@VERSION@", text)
        tree = ast.parse(text)
        recipe, = (node for node in tree.body if isinstance(node, ast.ClassDef))
        self.assertEqual((recipe.name, recipe.bases[0].id), ("GprofCli", "CMakePackage"))
        calls = [node.value for node in recipe.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
        named = {call.func.id for call in calls}
        self.assertEqual(named, {"license", "version", "variant", "depends_on"})
        version = next(call for call in calls if call.func.id == "version")
        self.assertEqual(version.args[0].value, package.version())
        self.assertEqual(len(version.keywords[0].value.value), 64)
        depends = {call.args[0].value.partition("@")[0] for call in calls if call.func.id == "depends_on"}
        spelled = {"CLI11": "cli11", "fmt": "fmt", "nlohmann_json": "nlohmann-json", "zstd": "zstd", "zlib": "zlib-api",
                   "sqlite3": "sqlite", "protozero": "protozero", "re2": "re2", "ncurses": "ncurses"}
        import sbom
        ours = {row[0] for row in sbom.COMPONENTS} - {"libstdc++", "libgcc", "NVTX", "CUPTI", "CUDA occupancy calculator"}
        self.assertEqual({spelled[name] for name in ours} - depends, set())
        options = (package.SOURCE / "src/cmake/GprofOptions.cmake").read_text() + \
            (package.SOURCE / "src/cmake/GprofDependencies.cmake").read_text()
        for option in re.findall(r'"(GPROF_\w+)"', text):
            self.assertIn(f"option({option} ", options)


if __name__ == "__main__":
    package.main()
