"""Writes the versions and checksums of Python packages that tests and releases install: lock.py FILE...

The head of each file says what it is made of: "# packages: ..." with all that they need, "# alone: ..." without. pip finds the
versions for the Python that runs this, and the checksums of their wheels for each Python and machine of the two lists below.
"""

import json
import pathlib
import re
import subprocess
import sys

PYTHONS = ("3.11", "3.12", "3.13")
MACHINES = ("x86_64", "aarch64")
PIP = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--only-binary", ":all:", "--report", "-"]


class NotThere(Exception):
    pass


def resolved(*words):
    """[(name, version, SHA-256)] of what pip would install."""
    done = subprocess.run([*PIP, *words], capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise NotThere(done.stderr.strip().splitlines()[-1])
    found = [(part["metadata"], part["download_info"]) for part in json.loads(done.stdout)["install"]]
    return [(re.sub(r"[-_.]+", "-", metadata["name"]).lower(), metadata["version"], download["archive_info"]["hashes"]["sha256"])
            for metadata, download in found]


def for_another(python, machine):
    platforms = [f"linux_{machine}", *(f"manylinux_2_{minor}_{machine}" for minor in range(5, 40)), f"manylinux2014_{machine}"]
    return ["--no-deps", "--target", "none", "--python-version", python, *(f"--platform={platform}" for platform in platforms)]


def checksums(pins):
    """{pin: set of SHA-256} A package may have no wheel for some Python or machine."""
    found = {pin: set() for pin in pins}
    for options in (for_another(python, machine) for python in PYTHONS for machine in MACHINES):
        try:
            parts = resolved(*options, *pins)
        except NotThere:
            parts = [part for pin in pins for part in one(pin, options)]
        for name, version, digest in parts:
            found[f"{name}=={version}"].add(digest)
    return found


def one(pin, options):
    try:
        return resolved(*options, pin)
    except NotThere as why:
        print(f"{pin}: {why}", file=sys.stderr)
        return []


def packages(head, key):
    return " ".join(re.findall(rf"^# {key}: (.*)$", head, re.M)).split()


def lock(path):
    head = "".join(line for line in path.read_text(encoding="utf-8").splitlines(True) if line.startswith("#"))
    parts = resolved(*packages(head, "packages")) if packages(head, "packages") else []
    parts += [part for pin in packages(head, "alone") for part in resolved("--no-deps", pin)]
    found = checksums(sorted({f"{name}=={version}" for name, version, _ in parts}))
    for name, version, digest in parts:
        found[f"{name}=={version}"].add(digest)
    rows = [" \\\n    ".join([pin, *(f"--hash=sha256:{digest}" for digest in sorted(found[pin]))]) for pin in sorted(found)]
    path.write_text(head + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in sys.argv[1:]:
        lock(pathlib.Path(name))
