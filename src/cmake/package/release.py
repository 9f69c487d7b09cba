"""What a release needs beside its packages.

  release.py version TAG            checks that the tag is the version of CMakeLists.txt, and prints it
  release.py notes VERSION          the section of CHANGELOG.md, for the page of the release
  release.py checksums FOLDER       writes SHA256SUMS of every file in the folder, as sha256sum does
  release.py spack SDIST            the Spack recipe with version and checksum of the source archive
"""

import hashlib
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[3]


class ReleaseError(Exception):
    pass


def project_version():
    return re.search(r"project\(gprof-cli VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)


def version(tag):
    name = tag.removeprefix("refs/tags/")
    found = re.fullmatch(r"v(\d+\.\d+\.\d+)", name)
    if not found:
        raise ReleaseError(f"'{name}' is no tag of a release, such as v{project_version()}")
    if found.group(1) != project_version():
        raise ReleaseError(f"the tag is {name}, and CMakeLists.txt says {project_version()}: change one of them")
    return found.group(1)


def notes(wanted, changelog=None):
    """The section of a version, without its heading."""
    text = changelog or (SOURCE / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.split(r"^## +\[?([^\]\s]+)\]?.*$", text, flags=re.M)
    found = dict(zip(sections[1::2], sections[2::2]))
    body = found.get(wanted, "").strip()
    if not body:
        raise ReleaseError(f"CHANGELOG.md has no section for {wanted}: rename Unreleased, with the date of the release")
    return body + "\n"


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def checksums(folder):
    folder = pathlib.Path(folder)
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    if not files:
        raise ReleaseError(f"there is no file in {folder}")
    text = "".join(f"{digest(path)}  {path.name}\n" for path in files)
    (folder / "SHA256SUMS").write_text(text, encoding="utf-8")
    return text


def spack(sdist):
    recipe = (pathlib.Path(__file__).parent / "spack_package.py").read_text(encoding="utf-8")
    return recipe.replace("@VERSION@", project_version()).replace("@SHA256@", digest(pathlib.Path(sdist)))


COMMANDS = {"version": version, "notes": notes, "checksums": checksums, "spack": spack}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    try:
        print(COMMANDS[sys.argv[1]](sys.argv[2]), end="\n" if sys.argv[1] == "version" else "")
    except (ReleaseError, OSError) as error:
        sys.exit(f"release.py: {error}")


if __name__ == "__main__":
    main()
