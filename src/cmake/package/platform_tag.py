"""Which wheel tag ELF files deserve: platform_tag.py [--tag TAG] FILE...

Prints the tag that follows from what was linked. With --tag it fails where the files need more than that tag promises.
"""

import argparse
import pathlib
import re
import subprocess
import sys

# What every glibc system has. libstdc++ is not among it: its version would have to be checked as well.
LIBC = re.compile(r"(libc\.so\.6|libm\.so\.6|libdl\.so\.2|libpthread\.so\.0|librt\.so\.1|ld-linux[-a-z0-9_]*\.so\.\d)")
LEAST_GLIBC = (2, 28)  # older ones are tested by nobody
MACHINES = {"Advanced Micro Devices X86-64": "x86_64", "AArch64": "aarch64"}


class TagError(Exception):
    pass


def readelf(*words):
    return subprocess.run(["readelf", "-W", *map(str, words)], capture_output=True, text=True, check=True, timeout=60).stdout


def glibc_needs(path):
    """{(major, minor): the symbols that need it}, of one file."""
    sections = readelf("--version-info", path)
    needs = sections.partition("needs section")[2]
    strange = sorted(set(re.findall(r"Name: (\S+)", needs)) - set(re.findall(r"Name: (GLIBC_[0-9.]+)\s", needs)))
    if strange:
        raise TagError(f"{path} needs {', '.join(strange)}, which no wheel tag promises")
    symbols = {}
    for name, version in re.findall(r" UND (\S+?)@{1,2}GLIBC_(\d+\.\d+)", readelf("--dyn-syms", path)):
        symbols.setdefault(tuple(map(int, version.split("."))), []).append(name)
    for version in re.findall(r"Name: GLIBC_(\d+\.\d+)", needs):
        symbols.setdefault(tuple(map(int, version.split("."))), [])
    return symbols


def machine(path):
    name = re.search(r"Machine:\s+(.*)", readelf("-h", path)).group(1).strip()
    if name not in MACHINES:
        raise TagError(f"{path} is for {name}, for which there are no wheels of ours")
    return MACHINES[name]


def foreign_libraries(path):
    return [name for name in re.findall(r"\(NEEDED\).*\[(.*?)\]", readelf("-d", path)) if not LIBC.fullmatch(name)]


def tag_of(paths):
    """"manylinux_2_28_x86_64", of files that go into one wheel."""
    for path in paths:
        if foreign := foreign_libraries(path):
            raise TagError(f"{path} needs {', '.join(foreign)}, which a wheel cannot count on")
    machines = {machine(path) for path in paths}
    if len(machines) != 1:
        raise TagError(f"the files are for different machines: {', '.join(sorted(machines))}")
    major, minor = max([LEAST_GLIBC, *(version for path in paths for version in glibc_needs(path))])
    return f"manylinux_{major}_{minor}_{machines.pop()}"


def check_tag(tag, paths):
    """Raises TagError where the files need more than `tag` promises."""
    promised = re.fullmatch(r"manylinux_(\d+)_(\d+)_(\w+)", tag)
    if not promised:
        raise TagError(f"'{tag}' is no tag such as manylinux_2_28_x86_64")
    needed = re.fullmatch(r"manylinux_(\d+)_(\d+)_(\w+)", tag_of(paths))
    if promised.group(3) != needed.group(3):
        raise TagError(f"{tag} is not true: the files are for {needed.group(3)}")
    limit = tuple(map(int, promised.groups()[:2]))
    for path in paths:
        beyond = {version: names for version, names in glibc_needs(path).items() if version > limit}
        if beyond:
            newest = max(beyond)
            raise TagError(f"{tag} is not true: {path} needs GLIBC_{newest[0]}.{newest[1]}, for "
                           f"{', '.join(sorted(name for names in beyond.values() for name in names)[:5]) or 'itself'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tag")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    try:
        if options.tag:
            check_tag(options.tag, options.files)
        print(options.tag or tag_of(options.files))
    except TagError as error:
        sys.exit(f"platform_tag.py: {error}")


if __name__ == "__main__":
    main()
