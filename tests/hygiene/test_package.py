"""What is installed works from anywhere, needs libc only, and is small; the .deb and .tar.gz hold just that."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import tree

MOST_BYTES = 20_000_000
CMAKE = os.environ.get("GPROF_CMAKE", "cmake")
CPACK = os.environ.get("GPROF_CPACK", "cpack")
IS_RELEASE = os.environ.get("GPROF_BUILD_TYPE") == "Release"
LIBC = re.compile(r"^(libc\.so\.6|libm\.so\.6|libdl\.so\.2|libpthread\.so\.0|librt\.so\.1|ld-linux[-a-z0-9_]*\.so\.\d)$")


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


@unittest.skipUnless(tree.COMMAND.is_file(), "gprof-cli was not built")
class Package(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-package-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def check_prefix(self, prefix):
        command = prefix / "bin" / "gprof-cli"
        version = tree.run(command, "--version", cwd=self.folder)
        self.assertEqual(version.returncode, 0, version.stderr)
        expected = re.search(r"project\(gprof-cli VERSION ([0-9.]+)", tree.text("CMakeLists.txt")).group(1)
        self.assertIn(expected, version.stdout)
        for wanted in ("share/doc/gprof-cli/copyright", "share/doc/gprof-cli/third-party-licences.txt", "share/doc/gprof-cli/docs/index.md",
                       "share/doc/gprof-cli/README.md", "share/doc/gprof-cli/examples",
                       "share/bash-completion/completions/gprof-cli", "include/gprof/trace/record.h", "include/gprof_cli/serving_nvtx.h",
                       "share/man/man1/gprof-cli-report.1.gz"):
            self.assertTrue((prefix / wanted).exists(), wanted)
        if tree.TRACER.is_file():
            self.assertTrue((prefix / "lib/gprof-cli/libgprof-tracer.so").is_file())
            self.check_profile(command)

    def check_profile(self, command):
        # Finds its tracer beside itself, not in the build tree or in what is installed on this machine.
        trace = self.folder / "run.trace"
        done = tree.run(command, "profile", "-o", trace, "--", shutil.which("true"), cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(trace.is_file(), done.stderr)
        trace.unlink()

    def check_needs(self, prefix):
        printed = tree.run("readelf", "-W", "-d", prefix / "bin" / "gprof-cli").stdout
        needed = re.findall(r"\(NEEDED\).*\[(.*?)\]", printed)
        self.assertEqual([name for name in needed if not LIBC.match(name)], [])

    def test_an_installed_tree_works_from_anywhere(self):
        prefix = self.folder / "anywhere" / "usr"
        done = tree.run(CMAKE, "--install", tree.BUILD, "--prefix", prefix, "--strip", "--component", "gprof")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_prefix(prefix)
        if IS_RELEASE:
            self.assertLessEqual(size_of(prefix), MOST_BYTES)
            if shutil.which("readelf"):
                self.check_needs(prefix)

    def pack(self, generator):
        out = self.folder / generator
        done = tree.run(CPACK, "-G", generator, "-B", out, "-D", "CPACK_COMPONENTS_ALL=gprof", "--config", tree.BUILD / "CPackConfig.cmake",
                        cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        shutil.rmtree(out / "_CPack_Packages", ignore_errors=True)
        packages = [path for path in out.iterdir() if path.is_file()]
        self.assertEqual(len(packages), 1, packages)
        return packages[0]

    @unittest.skipUnless(shutil.which(CPACK), "cpack was not found")
    def test_the_archive_works_where_it_is_unpacked(self):
        archive = self.pack("TGZ")
        shutil.unpack_archive(archive, self.folder / "unpacked")
        found = list((self.folder / "unpacked").rglob("bin/gprof-cli"))
        self.assertEqual(len(found), 1)
        self.check_prefix(found[0].parents[1])

    @unittest.skipUnless(shutil.which(CPACK), "cpack was not found")
    @unittest.skipUnless(shutil.which("dpkg-shlibdeps") and shutil.which("dpkg-deb"), "dpkg-shlibdeps was not found")
    def test_the_debian_package_works_where_it_is_unpacked(self):
        package = self.pack("DEB")
        target = self.folder / "unpacked"
        subprocess.run(["dpkg-deb", "-x", package, target], check=True, timeout=280)
        self.check_prefix(target / "usr")
        if IS_RELEASE:
            depends = tree.run("dpkg-deb", "-f", package, "Depends").stdout.strip()
            names = {part.split()[0] for part in depends.split(",") if part.strip()}
            self.assertEqual(names, {"libc6"}, depends)


if __name__ == "__main__":
    tree.main()
