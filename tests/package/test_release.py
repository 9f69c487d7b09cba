"""What a release is made with: version from the tag, notes, checksums, the list of parts, and its workflow."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import tarfile
import tempfile
import unittest

import package
import wheel_contents

import native_wheel
import platform_tag
import release
import sbom

OF_CUDA = {"NVTX", "CUPTI", "CUDA occupancy calculator"}  # a machine may have no headers of CUDA
WORKFLOW = package.SOURCE / ".github/workflows/release.yml"


def captures_commit():
    return re.search(r"^captures_commit=(\w+)$", (package.SCRIPTS / "release.sh").read_text(encoding="utf-8"), re.M).group(1)


class Release(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-release-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def test_the_version_is_that_of_the_tag(self):
        version = package.version()
        self.assertEqual(release.version(f"refs/tags/v{version}"), version)
        for tag in ("v99.0.0", "main", f"v{version}-rc1", version):
            with self.subTest(tag=tag), self.assertRaises(release.ReleaseError):
                release.version(tag)

    def test_notes_are_the_section_of_the_changelog(self):
        changelog = "# Changelog\n\n## Unreleased\n\n* new\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n* a thing\n\n## 0.1.0\n\n* old\n"
        self.assertEqual(release.notes("0.2.0", changelog), "### Added\n\n* a thing\n")
        self.assertEqual(release.notes("0.1.0", changelog), "* old\n")
        with self.assertRaisesRegex(release.ReleaseError, "no section for 9.9.9"):
            release.notes("9.9.9", changelog)
        self.assertTrue(release.notes("Unreleased"))

    def test_checksums_are_those_that_sha256sum_checks(self):
        (self.folder / "a.deb").write_bytes(b"a")
        (self.folder / "b c.whl").write_bytes(b"b")
        text = release.checksums(self.folder)
        self.assertIn(f"{hashlib.sha256(b'a').hexdigest()}  a.deb\n", text)
        done = package.run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(release.checksums(self.folder), text)

    def test_the_commands_say_what_is_wrong_and_fail(self):
        script = package.SCRIPTS / "release.py"
        for words in (("version", "v99.0.0"), ("notes", "99.0.0"), ("checksums", self.folder), ("spack", "none.tar.gz"), ()):
            with self.subTest(words=words):
                done = package.run("python3", "-B", script, *words)
                self.assertNotEqual(done.returncode, 0)
                self.assertNotIn("Traceback", done.stderr)

    def test_every_dependency_is_in_the_list_of_parts(self):
        cmake = (package.SOURCE / "src/cmake/GprofDependencies.cmake").read_text(encoding="utf-8")
        packages = set(re.findall(r"^ *find_package\((\w+)", cmake, re.M)) - {"Threads", "GTest", "Python3"}
        headers = set(re.findall(r"^ *find_path\(\w+ ([\w./]+)", cmake, re.M)) - {"cuda.h"}
        names = {row[0] for row in sbom.COMPONENTS}
        self.assertEqual(packages - names, set())
        parts = {row[2] for row in sbom.COMPONENTS}
        other = {"cupti.h": "cupti_version.h", "protozero/pbf_writer.hpp": "protozero/version.hpp"}
        self.assertEqual({other.get(header, header) for header in headers} - parts, set())

    def test_the_list_of_parts_is_cyclonedx_with_versions(self):
        document = json.loads(sbom.text(package.version()))
        self.assertEqual((document["bomFormat"], document["specVersion"], document["version"]), ("CycloneDX", "1.5", 1))
        self.assertRegex(document["serialNumber"], r"^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
        refs = {part["bom-ref"] for part in document["components"]}
        self.assertEqual(set(document["dependencies"][0]["dependsOn"]), refs)
        for part in document["components"]:
            with self.subTest(part=part["name"]):
                self.assertEqual(part["type"], "library")
                self.assertEqual(len(part["licenses"]), 1)
                if part["name"] not in OF_CUDA:
                    self.assertRegex(part.get("version", ""), r"^(\d+:)?\d+([.+]\w+)+")
        self.assertEqual(sbom.text(package.version()), sbom.text(package.version()))
        self.assertEqual((sbom.split(90100, 100), sbom.split(3040001, 1000)), (["9", "1", "0"], ["3", "40", "1"]))

    def test_parts_from_debian_have_its_version_and_the_checksum_of_its_package(self):
        shown = package.run("apt-cache", "show", "zlib1g-dev").stdout if shutil.which("apt-cache") else ""
        if "SHA256: " not in shown:
            self.skipTest("this machine has no lists of Debian packages")
        parts = {part["name"]: part for part in json.loads(sbom.text(package.version()))["components"]}
        for name in set(parts) - OF_CUDA:
            with self.subTest(part=name):
                self.assertRegex(parts[name]["purl"], r"^pkg:deb/\w+/[\w%.-]+@[\w%.~-]+\?arch=\w+$")
                self.assertEqual([(made["alg"], len(made["content"])) for made in parts[name]["hashes"]], [("SHA-256", 64)])
        zlib = package.run("dpkg-query", "-W", "-f", "${Version}", "zlib1g-dev").stdout
        self.assertEqual(parts["zlib"]["version"], zlib)
        self.assertIn(parts["zlib"]["hashes"][0]["content"], shown)

    def test_a_part_from_elsewhere_has_the_version_of_its_header(self):
        part = sbom.Part("fmt", "MIT", "headers", "core.h", "9.1.0", None, None)
        self.assertEqual(sbom.component(part), {
            "type": "library", "bom-ref": "fmt", "name": "fmt", "licenses": [{"license": {"id": "MIT"}}], "version": "9.1.0",
            "purl": "pkg:generic/fmt@9.1.0", "properties": [{"name": "gprof-cli:part", "value": "headers"}]})

    def test_the_headers_that_pip_fetches_are_those_of_setup(self):
        wheels = native_wheel.header_wheels()
        self.assertEqual([name for name in wheels if not re.fullmatch(r"nvidia-[\w-]+==[\d.]+", name)], [])
        self.assertTrue(any("cupti" in name for name in wheels))


@unittest.skipUnless(package.COMMAND.is_file() and package.TRACER.is_file(), "the command or the tracer was not built")
@unittest.skipUnless((package.BUILD / "completions/fish").is_file() and (package.BUILD / "man").is_dir(), "not all that is packed was built")
@unittest.skipUnless(shutil.which("rpmbuild") and shutil.which("dpkg-deb") and shutil.which("readelf"), "rpm, dpkg or binutils is not installed")
class Rehearsal(unittest.TestCase):
    """A release of what is built, with all but the tag and the upload."""

    @classmethod
    def setUpClass(cls):
        if package.run("git", "-C", package.SOURCE, "rev-parse", "--git-dir").returncode != 0:
            raise unittest.SkipTest("the source archive is made of what git knows, and this is no checkout")
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-rehearsal-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.dist, cls.version = cls.folder / "dist", package.version()
        environment = {**os.environ, "BUILD": str(package.BUILD), "COMPONENTS": "gprof"}
        cls.done = package.run(package.SCRIPTS / "release.sh", "rehearse", cls.dist, env=environment)
        assert cls.done.returncode == 0, cls.done.stdout + cls.done.stderr
        cls.machine = platform_tag.machine(package.COMMAND)

    def test_all_files_are_there_and_no_other(self):
        debian = package.run("dpkg", "--print-architecture").stdout.strip()
        version, machine = self.version, self.machine
        has_captures = package.run("git", "-C", package.SOURCE, "cat-file", "-e", captures_commit()).returncode == 0
        self.assertEqual(sorted(path.name for path in self.dist.iterdir()), sorted((
            *([f"gprof-cli-captures-{version}.tar"] if has_captures else []),
            f"gprof-cli_{version}_{debian}.deb", f"gprof-cli-{version}-1.{machine}.rpm", f"gprof-cli-{version}-Linux-{machine}.tar.gz",
            f"gprof_cli-{version}-py3-none-manylinux_2_28_{machine}.whl", f"gprof_cli-{version}.tar.gz",
            f"gprof-cli-{machine}.cdx.json", "spack_package.py", "spack_protozero.py", "Dockerfile", "gprof-cli.def", "SHA256SUMS", "notes.md")))

    def test_the_captures_are_all_that_have_labels(self):
        archive = self.dist / f"gprof-cli-captures-{self.version}.tar"
        if not archive.is_file():
            self.skipTest("this clone lacks the history that has the captures")
        labels = json.loads((package.SOURCE / "tests/judgement/labels.json").read_text(encoding="utf-8"))
        with tarfile.open(archive) as opened:
            packed = {member.name for member in opened if member.isfile()}
        self.assertEqual(packed, {c["file"] for c in labels["captures"] if c["file"].startswith("judgement/")})

    def test_checksums_are_of_what_is_published(self):
        done = package.run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=self.dist)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        named = {line.split("  ")[1] for line in (self.dist / "SHA256SUMS").read_text().splitlines()}
        self.assertEqual({path.name for path in self.dist.iterdir()} - named, {"SHA256SUMS", "notes.md"})

    def test_every_package_has_the_version_of_the_tag(self):
        deb, = self.dist.glob("*.deb")
        rpm, = self.dist.glob("*.rpm")
        self.assertEqual(package.run("dpkg-deb", "-f", deb, "Version").stdout.strip(), self.version)
        self.assertEqual(package.run("rpm", "-qp", "--queryformat", "%{VERSION}", rpm).stdout, self.version)
        parts = json.loads(next(self.dist.glob("*.cdx.json")).read_text(encoding="utf-8"))
        self.assertEqual(parts["metadata"]["component"]["version"], self.version)
        shutil.unpack_archive(self.dist / f"gprof-cli-{self.version}-Linux-{self.machine}.tar.gz", self.folder / "archive")
        top, = (self.folder / "archive").iterdir()
        self.assertEqual(package.run(top / "bin/gprof-cli", "--version").stdout.strip(), f"gprof-cli {self.version}")

    def test_the_wheel_is_whole(self):
        wheel, = self.dist.glob("*.whl")
        self.assertEqual(wheel_contents.wrong_in(wheel, self.machine), [])

    def test_the_source_archive_is_the_checkout_and_what_the_recipe_names(self):
        archive = self.dist / f"gprof_cli-{self.version}.tar.gz"
        with tarfile.open(archive) as names:
            found = {name.partition("/")[2] for name in names.getnames()}
        listed = package.run("git", "-C", package.SOURCE, "ls-files").stdout.splitlines()
        self.assertEqual(found, {*listed, "PKG-INFO"})
        self.assertIn(hashlib.sha256(archive.read_bytes()).hexdigest(), (self.dist / "spack_package.py").read_text())

    def test_the_notes_are_the_unreleased_changes(self):
        self.assertEqual((self.dist / "notes.md").read_text(encoding="utf-8").strip(), release.notes("Unreleased").strip())

    def test_a_folder_with_something_in_it_is_left_alone(self):
        done = package.run(package.SCRIPTS / "release.sh", "rehearse", self.dist)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is not empty", done.stderr)


class Workflow(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            import yaml
        except ImportError:
            raise unittest.SkipTest("python has no yaml") from None
        cls.document = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
        cls.jobs = cls.document["jobs"]

    def test_it_runs_for_tags_of_versions_alone(self):
        self.assertEqual(self.document[True], {"push": {"tags": ["v*"]}})  # YAML takes `on` for a truth
        self.assertEqual(self.document["permissions"], {"contents": "read"})

    def test_its_jobs_are_whole(self):
        for name, job in self.jobs.items():
            self.assertIn("timeout-minutes", job, name)
            self.assertTrue(set(job.get("needs", [])) <= set(self.jobs), name)
            for step in job["steps"]:
                self.assertEqual(len({"run", "uses"} & set(step)), 1, step)
                if "uses" in step:
                    self.assertRegex(step["uses"], r"^[\w.-]+/[\w./-]+@[\w.]+$")

    def test_it_names_scripts_and_commands_that_are_there(self):
        scripts = "\n".join(step["run"] for job in self.jobs.values() for step in job["steps"] if "run" in step)
        for name in set(re.findall(r"(?:src|tests)/[\w./-]+\.(?:py|sh)", scripts)):
            self.assertTrue((package.SOURCE / name).is_file(), name)
        for command in set(re.findall(r"release\.py (\w+)", scripts)):
            self.assertIn(command, release.COMMANDS)
        for step in ("release.sh packages dist", 'release.sh publish "$GITHUB_REF" dist', "tests/package/aarch64_command.sh",
                     "tests/package/aarch64_units.sh all"):
            self.assertIn(step, scripts)

    def test_its_shell_is_sound(self):
        if not shutil.which("shellcheck"):
            self.skipTest("shellcheck is not installed")
        for job in self.jobs.values():
            for step in (step for step in job["steps"] if "run" in step):
                script = re.sub(r"\$\{\{.*?\}\}", "value", step["run"])
                with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
                    file.write("#!/bin/bash\n" + script)
                    file.flush()
                    done = package.run("shellcheck", "-S", "warning", file.name)
                self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    package.main()
