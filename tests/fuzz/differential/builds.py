"""Runs a build of gprof-cli as it would run on a machine with any number of cores."""

import dataclasses
import os
import pathlib
import resource
import shlex
import subprocess
import tempfile

HANGS_S = 60
KEPT = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LD_LIBRARY_PATH")  # of the environment


@dataclasses.dataclass(frozen=True)
class Command:
    arguments: tuple
    cores: int = 1
    columns: int = 100


@dataclasses.dataclass(frozen=True)
class Outcome:
    code: object  # of the exit, or "hangs"
    stdout: bytes
    stderr: bytes
    processor_s: float = dataclasses.field(compare=False)  # others may keep the machine busy


class Tools:
    """What the tests of a build tree have for us."""

    def __init__(self, build):
        self.assembler = build / "tests/bin/assemble_trace"
        self.pretend_cores = build / "tests/lib/libpretend_cores.so"

    def missing(self):
        return [str(path) for path in (self.assembler, self.pretend_cores) if not path.is_file()]


class Runner:
    def __init__(self, tools, folder):
        """Commands run in `folder`, where the traces are."""
        self.tools, self.folder = tools, folder

    def variables(self, command):
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        # A sanitizer would be the first library that is loaded.
        kept["ASAN_OPTIONS"] = kept.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        return kept | {
            "PATH": "/usr/bin:/bin",
            "HOME": "/nonexistent",
            "LC_ALL": "C.UTF-8",
            "NO_COLOR": "1",
            "TMPDIR": str(self.folder),
            "COLUMNS": str(command.columns),
            "LD_PRELOAD": str(self.tools.pretend_cores),
            "PRETEND_CORES": str(command.cores)
        }

    def run(self, program, command):
        used_before_s = processor_s_of_children()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            child = subprocess.Popen([program, *command.arguments], stdout=out, stderr=errors, stdin=subprocess.DEVNULL,
                                     cwd=self.folder, env=self.variables(command))
            try:
                code = child.wait(HANGS_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
                code = "hangs"
            out.seek(0)
            errors.seek(0)
            return Outcome(code, out.read(), errors.read(), processor_s_of_children() - used_before_s)

    def shown(self, program, command):
        """As one would type it."""
        cores = f"PRETEND_CORES={command.cores} LD_PRELOAD={self.tools.pretend_cores}"
        settings = f"COLUMNS={command.columns} NO_COLOR=1 {cores}"
        return f"(cd {self.folder}; {settings} {program} {shlex.join(map(str, command.arguments))})"


def processor_s_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def build_of(program):
    """The build tree that a program is in: BUILD/bin/gprof-cli."""
    return pathlib.Path(program).resolve().parents[1]


def first_difference(expected, found):
    """(line, text before the difference and after it in the one, in the other)"""
    lines, others = expected.split(b"\n"), found.split(b"\n")
    number = next((n for n, (line, other) in enumerate(zip(lines, others)) if line != other),
                  min(len(lines), len(others)))
    line, other = (text[number] if number < len(text) else b"<end>" for text in (lines, others))
    at = max(0, len(os.path.commonprefix([line, other])) - 100)
    return number + 1, *(text[at:at + 220].decode("utf-8", "replace") for text in (line, other))


def differences(expected, found):
    """Lines that say where two outcomes differ, none where they do not."""
    shown = [] if expected.code == found.code else [f"exit {expected.code} -> {found.code}"]
    for stream in ("stdout", "stderr"):
        texts = getattr(expected, stream), getattr(found, stream)
        if texts[0] != texts[1]:
            number, line, other = first_difference(*texts)
            shown.append(f"{stream} line {number}\n    expected {line}\n    found    {other}")
    return shown
