"""The licences of everything that a package contains, as its file third-party-licences.txt: licences.py [--strict] [PART...]

All parts of the program without PART. The texts are those that are installed with what the compiler finds: the copyright file of
a Debian package, the first comment of a header of CUDA, the agreement of a CUDA Toolkit. One that is not found is named on
stderr and in the text; with --strict that is an error, so that no release is without.
"""

import pathlib
import re
import sys
import textwrap

import sbom

HEAD = """gprof-cli contains the following parts of others, or is compiled with their headers. Its own licence, Apache-2.0, is the file
copyright (LICENSE in a wheel) beside this one. A text named as /usr/share/common-licenses/NAME is on every Debian system; it is
needed for none of these parts but Apache-2.0.
"""
RULE = "=" * 100


def copyright_file(package):
    path = sbom.DOCS / package.partition(":")[0] / "copyright"
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None


def agreement(header):
    """The licence of a CUDA Toolkit, or of NVIDIA's package with this header, near the header."""
    for folder in header.resolve().parents[:4]:
        for pattern in ("EULA.txt", "dist-info/nvidia_cuda_runtime-*/**/License.txt", "nvidia_cuda_runtime*.dist-info/**/License.txt"):
            for path in sorted(folder.glob(pattern)):
                return path.read_text(encoding="utf-8", errors="replace")
    return None


def first_comment(header):
    found = re.match(r"\s*/\*(.*?)\*/", header.read_text(encoding="utf-8", errors="replace"), re.S)
    return textwrap.dedent(re.sub(r"^ ?\*(?= |$)", "", found.group(1), flags=re.M)) if found else None


def text_of(part):
    """The licence text, or None where it is not installed."""
    if not part.header:
        return None
    if part.package:
        return copyright_file(part.package)
    return agreement(part.header) if part.kind == "CUDA library" else first_comment(part.header)


def notices(parts):
    """(text, names of the parts without a text): parts with the same text share it."""
    texts = {}
    for part in parts:
        texts.setdefault(text_of(part), []).append(part)
    missing = [part.name for part in texts.pop(None, [])]
    rows = [f"{part.name} {part.version or ''}".strip() + f" ({part.licence}), {part.kind}" for part in parts]
    blocks = [HEAD, "\n".join(rows), *(f"{RULE}\n{', '.join(part.name for part in group)}\n{RULE}\n{text.strip()}"
                                       for text, group in texts.items())]
    if missing:
        blocks.append(f"The machine that built this has no licence text of: {', '.join(missing)}.")
    return "\n\n".join(blocks) + "\n", missing


def main():
    names = [word for word in sys.argv[1:] if word != "--strict"]
    known = {row[0] for row in sbom.COMPONENTS + sbom.OF_EXAMPLES}
    if set(names) - known:
        sys.exit(f"licences.py: there is no part {', '.join(sorted(set(names) - known))}; there are {', '.join(sorted(known))}")
    text, missing = notices([sbom.find(*row) for row in sbom.COMPONENTS + sbom.OF_EXAMPLES
                             if row[0] in names or not names and row in sbom.COMPONENTS])
    sys.stdout.write(text)
    if missing:
        print(f"licences.py: no licence text found of {', '.join(missing)}", file=sys.stderr)
        sys.exit(1 if "--strict" in sys.argv else 0)


if __name__ == "__main__":
    main()
