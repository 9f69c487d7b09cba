"""Packages in whole systems that have nothing of ours: Debian 12 and Debian 11, whose glibc is older than that of the build.

GPROF_TEST_ROOTS names a folder where debootstrap makes them, once; without it nothing is tested. The archive and the .deb are
installed there and record a program, and the container image is built where buildah is installed.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import package

FOLDER = os.environ.get("GPROF_TEST_ROOTS", "")
RELEASES = ("bookworm", "bullseye")
MIRROR = os.environ.get("GPROF_DEBIAN_MIRROR", "")  # debootstrap has one of its own


def whole_system(name):
    root = pathlib.Path(FOLDER) / name
    if not (root / "usr/bin/apt").is_file():
        subprocess.run(["debootstrap", "--variant=minbase", name, root, *filter(None, [MIRROR])], check=True, stdout=subprocess.DEVNULL, timeout=560)
    return root


@unittest.skipUnless(FOLDER and os.geteuid() == 0, "GPROF_TEST_ROOTS names no folder, or this is not root")
class Roots(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-roots-", dir=FOLDER))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.archive, cls.deb = (package.pack(generator, cls.folder) for generator in ("TGZ", "DEB"))

    def within(self, root, script):
        """Runs it in a mount namespace of its own, so that nothing stays mounted."""
        done = package.run("unshare", "-m", "sh", "-ec", 'mount -t proc proc "$0/proc"; exec chroot "$0" sh -ec "$1"', root, script)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def records(self, root, command):
        (root / "opt/try").mkdir(parents=True, exist_ok=True)
        self.addCleanup(shutil.rmtree, root / "opt/try", True)
        shutil.copy(package.EXAMPLE, root / "opt/try")
        shutil.copy(package.TRACE, root / "opt/try")
        printed = self.within(root, f"cd /opt/try; {command} profile -f -o run.trace -- ./nvtx_cpu; {command} report run.trace;"
                                    f"{command} report {package.TRACE.name}; ! {command} report none.trace")
        self.assertIn("40 of frame", printed)
        here = package.run(package.COMMAND, "report", package.TRACE.name, cwd=package.TRACE.parent).stdout
        self.assertTrue(printed.endswith(here), "the report is another one than here")

    def test_the_archive_records_in_each(self):
        for name in RELEASES:
            with self.subTest(system=name):
                root = whole_system(name)
                target = root / "opt/gprof-cli"
                self.addCleanup(shutil.rmtree, target, True)
                shutil.rmtree(target, True)
                shutil.unpack_archive(self.archive, self.folder / name)
                shutil.move(next((self.folder / name).iterdir()), target)
                self.records(root, "/opt/gprof-cli/bin/gprof-cli")

    def test_the_deb_is_installed_with_nothing_forced(self):
        for name in RELEASES:
            with self.subTest(system=name):
                root = whole_system(name)
                shutil.copy(self.deb, root / "opt/gprof-cli.deb")
                self.within(root, "dpkg -i /opt/gprof-cli.deb")
                try:
                    self.records(root, "gprof-cli")
                finally:
                    self.within(root, "dpkg -P gprof-cli; rm /opt/gprof-cli.deb")
                self.assertFalse((root / "usr/lib/gprof-cli").exists())

    @unittest.skipUnless(shutil.which("buildah"), "buildah is not installed")
    def test_the_container_image_is_built_and_runs(self):
        base = self.folder / "base.tar"
        subprocess.run(["tar", "-C", whole_system("bookworm"), "-cf", base, "."], check=True, timeout=280)
        context = self.folder / "context"
        context.mkdir()
        shutil.copy(self.archive, context)
        environment = {**os.environ, "STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}
        buildah = ["buildah", "--root", self.folder / "storage", "--runroot", self.folder / "run"]

        def do(*words):
            done = package.run(*buildah, *words, env=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout.strip()

        container = do("from", "scratch")
        do("add", container, base, "/")
        do("commit", container, "localhost/base")
        do("bud", "--build-arg", "BASE=localhost/base", "--build-arg", f"ARCHIVE={self.archive.name}", "-t", "localhost/gprof-cli",
           "-f", package.SCRIPTS / "Dockerfile", context)
        made = do("from", "localhost/gprof-cli")
        self.assertEqual(do("run", made, "--", "gprof-cli", "--version"), f"gprof-cli {package.version()}")
        self.assertEqual(do("run", made, "--", "id", "-u"), "65534")
        do("rm", "--all")


if __name__ == "__main__":
    package.main()
