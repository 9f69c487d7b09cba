"""Looks into a wheel without installing it: wheel_contents.py WHEEL MACHINE, such as aarch64."""

import base64
import hashlib
import json
import pathlib
import re
import struct
import sys
import tempfile
import zipfile

import package

import platform_tag

MOST_BYTES = 7_500_000
PROGRAMS = {"scripts/gprof-cli": 0o755, "data/lib/gprof-cli/libgprof-tracer.so": 0o755}
MODULE = ("gprof_cli/__init__.py", "gprof_cli/__init__.pyi", "gprof_cli/magic.py", "gprof_cli/py.typed")
LICENCES = ("licenses/LICENSE", "licenses/third-party-licences.txt")
FILES = (*PROGRAMS, "data/share/man/man1/gprof-cli-report.1.gz", "data/share/bash-completion/completions/gprof-cli",
         "data/share/gprof-cli/skills/gprof-cli/SKILL.md", "data/share/zsh/site-functions/_gprof-cli", "data/share/fish/vendor_completions.d/gprof-cli.fish")


def wrong_records(archive, info):
    """Files whose checksum or size in RECORD is not theirs, and those that it does not name."""
    wrong, named = [], set()
    for line in archive.read(f"{info}/RECORD").decode().splitlines():
        name, digest, size = line.rsplit(",", 2)
        named.add(name)
        if name == f"{info}/RECORD":
            continue
        content = archive.read(name)
        made = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        if (digest, size) != (f"sha256={made}", str(len(content))):
            wrong.append(f"RECORD has another checksum of {name}")
    return wrong + [f"RECORD lacks {name}" for name in sorted(set(archive.namelist()) - named)]


def wrong_pages(file):
    """Why the kernels of aarch64 that have pages of 64 KiB could not load it, or could not map a file over the tracer's arena."""
    content, page = file.read_bytes(), 1 << 16
    program_at, section_at = struct.unpack_from("<QQ", content, 32)
    program_size, programs, section_size, sections, names = struct.unpack_from("<5H", content, 54)
    wrong = []
    for at in range(program_at, program_at + programs * program_size, program_size):
        kind, alignment = struct.unpack_from("<I44xQ", content, at)
        if kind == 1 and alignment % page:
            wrong.append(f"{file.name} has a segment that is aligned to {alignment} bytes")
    headers = [struct.unpack_from("<I12xQQQ", content, section_at + i * section_size) for i in range(sections)]
    for name, address, _, size in headers:
        at = headers[names][2] + name
        if content[at:at + 12] == b"gprof_arena\0" and (address % page or size % page):
            wrong.append(f"{file.name} has an arena of {size} bytes at {address:#x}, which are no whole pages")
    return wrong


def wrong_programs(archive, data, tag, machine):
    """What is for another machine than the wheel's, or needs more than its tag promises."""
    with tempfile.TemporaryDirectory(prefix="gprof-wheel-") as folder:
        files = [pathlib.Path(archive.extract(f"{data}/{name}", folder)) for name in PROGRAMS]
        try:
            platform_tag.check_tag(tag, files)
            others = [file.name for file in files if platform_tag.machine(file) != machine]
        except platform_tag.TagError as error:
            return [str(error)]
        pages = [text for file in files for text in wrong_pages(file)] if machine == "aarch64" else []
    return [f"{name} is not for {machine}" for name in others] + pages


def wrong_in(wheel, machine):
    """What is wrong with the wheel, in sentences."""
    found = re.fullmatch(r"gprof_cli-(\d+\.\d+\.\d+)-py3-none-(\w+)\.whl", wheel.name)
    if not found:
        return [f"{wheel.name} is no name of a wheel of ours"]
    version, tag = found.groups()
    info, data = f"gprof_cli-{version}.dist-info", f"gprof_cli-{version}.data"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        wanted = [*MODULE, *(f"{data}/{name}" for name in FILES)] + [f"{info}/{name}" for name in ("METADATA", "WHEEL", *LICENCES)]
        wrong = [f"there is no {name}" for name in wanted if name not in names]
        if wrong:
            return wrong
        for name, mode in PROGRAMS.items():
            if archive.getinfo(f"{data}/{name}").external_attr >> 16 & 0o777 != mode:
                wrong.append(f"{name} is not executable")
        if f"Tag: py3-none-{tag}\n" not in archive.read(f"{info}/WHEEL").decode():
            wrong.append("WHEEL has another tag than the name")
        if f"Version: {version}\n" not in archive.read(f"{info}/METADATA").decode():
            wrong.append("METADATA has another version than the name")
        without = package.without_licence(archive.read(f"{info}/{LICENCES[1]}").decode())
        wrong += [f"it lacks the licence of {name}" for name in without]
        parts = json.loads(archive.read(f"{info}/sboms/gprof-cli.cdx.json"))
        if parts["metadata"]["component"]["version"] != version or "zstd" not in [part["name"] for part in parts["components"]]:
            wrong.append("the list of parts is not of this program")
        wrong += wrong_records(archive, info) + wrong_programs(archive, data, tag, machine)
    if wheel.stat().st_size > MOST_BYTES:
        wrong.append(f"it has {wheel.stat().st_size:,} bytes, more than {MOST_BYTES:,}")
    return wrong


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    wheel = pathlib.Path(sys.argv[1])
    wrong = wrong_in(wheel, sys.argv[2])
    for line in wrong:
        print(f"{wheel.name}: {line}")
    if not wrong:
        print(f"{wheel.name}: whole, {wheel.stat().st_size / 1e6:.1f} MB")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
