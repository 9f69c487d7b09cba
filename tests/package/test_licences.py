"""Every package has the licences of what is linked into its files, and the list of parts names all of it."""

import contextlib
import io
import pathlib
import re
import shutil
import sys
import tempfile
import unittest
from unittest import mock

import package

import licences
import sbom


def static_libraries():
    """Archives of other projects that the command is linked from, by the files of the build."""
    ninja = package.BUILD / "build.ninja"
    if ninja.is_file():
        step = re.search(r"^build bin/gprof-cli: .*?\n\n", ninja.read_text(encoding="utf-8"), re.M | re.S).group(0)
    else:
        step = next(package.BUILD.glob("**/gprof-cli.dir/link.txt")).read_text(encoding="utf-8")
    found = {pathlib.Path(word) for word in re.findall(r"(?<![\w/])/[\w./+-]+\.a\b", step)}
    return {path for path in found if not path.is_relative_to(package.BUILD)}


@unittest.skipUnless(shutil.which("dpkg-query") and sbom.find(*sbom.COMPONENTS[0]).debian, "the parts are not those of Debian")
class Texts(unittest.TestCase):
    def run_main(self, *words):
        with mock.patch.object(sys, "argv", ["licences.py", *words]), contextlib.redirect_stdout(io.StringIO()) as out, \
                contextlib.redirect_stderr(io.StringIO()) as err:
            try:
                licences.main()
            except SystemExit as end:
                return end.code, out.getvalue(), err.getvalue()
        return 0, out.getvalue(), err.getvalue()

    def test_a_release_is_not_made_without_a_text(self):
        with tempfile.TemporaryDirectory() as nothing, mock.patch.object(sbom, "DOCS", pathlib.Path(nothing)):
            code, text, err = self.run_main("--strict", "zstd", "fmt")
            self.assertEqual((code, err), (1, "licences.py: no licence text found of fmt, zstd\n"))
            self.assertIn("has no licence text of: fmt, zstd.", text)
            self.assertEqual(self.run_main("zstd")[0], 0)

    def test_parts_with_the_same_text_share_it(self):
        code, text, _ = self.run_main("--strict", "libstdc++", "libgcc")
        self.assertEqual((code, text.count("GCC RUNTIME LIBRARY EXCEPTION")), (0, text.count("Version 3.1, 31 March 2009")))
        self.assertIn("\nlibstdc++, libgcc\n", text)

    def test_a_part_that_is_not_there_is_refused(self):
        self.assertIn("there is no part Qt", self.run_main("Qt")[0])

    @unittest.skipUnless(package.COMMAND.is_file(), "the command was not built")
    def test_what_is_linked_is_in_the_list_of_parts(self):
        packages = {sbom.find(*row).package for row in sbom.COMPONENTS}
        linked = {path: sbom.debian_package(path) for path in static_libraries()}
        self.assertTrue(linked)
        self.assertEqual([str(path) for path, found in linked.items() if not found or found.name not in packages], [])


@unittest.skipUnless((package.BUILD / "licences").is_dir(), "not all that is packed was built")
class Packages(unittest.TestCase):
    """The examples; test_channels and test_wheel look into the packages of the command."""

    def unpacked(self, component):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-licences-"))
        self.addCleanup(shutil.rmtree, folder, True)
        shutil.unpack_archive(package.pack("TGZ", folder, component), folder / "unpacked")
        return next((folder / "unpacked").rglob("third-party-licences.txt"))

    @unittest.skipUnless(package.EXAMPLE.is_file(), "the example nvtx_cpu was not built")
    def test_the_examples_have_those_of_what_they_contain(self):
        text = self.unpacked("examples").read_text(encoding="utf-8")
        self.assertIn(package.LICENCES["libstdc++"], text)
        self.assertNotIn(package.LICENCES["zstd"], text)
        has_cuda = (package.EXAMPLE.parent / "known_facts").is_file()
        self.assertEqual("\nCUDA runtime\n" in text and "End User License Agreement" in text, has_cuda)


if __name__ == "__main__":
    package.main()
