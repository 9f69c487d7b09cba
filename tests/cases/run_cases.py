#!/usr/bin/env python3
"""Runs golden cases: one .test file holds a trace as text, commands, and what they must print.

    # Any text up to the first section says what the case shows.

    --- trace run.trace
    chunk pid=7
    process start_ns=100 pid=7 name="app"
    ...

    --- file notes.txt
    Any text, kept as it is.

    --- run
    $ gprof-cli report run.trace --only kernels
    ...lines of stdout...
    ! lines of stderr...
    [exit 2]                      (left out for 0)

The commands of a case run one after the other by a shell, in a folder that holds the traces and files of the case.
`run_cases.py --update FILE...` writes what the commands print now into the files: read the difference then.
"""

import argparse
import dataclasses
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SECTION = re.compile(r"--- (trace|file|run)(?: (\S+))?\s*$")
TIME_LIMIT_S = 240
# Runs and sessions of anybody else are none of ours.
RUN_BASE = tempfile.TemporaryDirectory(prefix="gprof-base-")


@dataclasses.dataclass
class Section:
    kind: str
    name: str
    lines: list


@dataclasses.dataclass
class Step:
    command: str
    expected: list


def read_case(path):
    """(lines before the first section, sections)"""
    intro, sections = [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        match = SECTION.match(line)
        if match:
            sections.append(Section(match.group(1), match.group(2) or "", []))
        elif sections:
            sections[-1].lines.append(line)
        else:
            intro.append(line)
    if not any(section.kind == "run" for section in sections):
        raise SystemExit(f"{path}: has no `--- run` section")
    return intro, sections


def steps_of(section):
    steps = []
    for line in section.lines:
        if line.startswith("$ "):
            steps.append(Step(line[2:], []))
        elif steps:
            steps[-1].expected.append(line)
        elif line.strip():
            raise SystemExit(f"a line before the first `$ `: {line}")
    for step in steps:
        step.expected = without_blank_end(step.expected)
    return steps


def without_blank_end(lines):
    lines = list(lines)
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def environment(command):
    """The same everywhere: nothing of the caller's terminal, locale or tracer gets in."""
    kept = ("HOME", "TMPDIR", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS")
    path = f"{command.parent}:{os.environ.get('PATH', '/usr/bin:/bin')}"
    return {**{name: os.environ[name] for name in kept if name in os.environ},
            "PATH": path, "LC_ALL": "C.UTF-8", "COLUMNS": "80", "GPROF_RUN_BASE": RUN_BASE.name,
            "SOURCE_DATE_EPOCH": "1795132800"}


def run_step(step, folder, command):
    done = subprocess.run(["bash", "-c", step.command], cwd=folder, env=environment(command), stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=TIME_LIMIT_S, check=False)
    lines = done.stdout.decode("utf-8", "backslashreplace").splitlines()
    lines += ["! " + line for line in done.stderr.decode("utf-8", "backslashreplace").splitlines()]
    if done.returncode != 0:
        lines.append(f"[exit {done.returncode}]")
    return without_blank_end(line.rstrip() if line.startswith("! ") else line for line in lines)


def write_inputs(sections, folder, assemble):
    for section in sections:
        text = "\n".join(section.lines) + "\n"
        if section.kind == "trace":
            done = subprocess.run([assemble], input=text.encode(), capture_output=True, timeout=TIME_LIMIT_S,
                                  check=False)
            if done.returncode != 0:
                raise SystemExit(f"trace {section.name}: {done.stderr.decode(errors='replace')}")
            (folder / section.name).write_bytes(done.stdout)
        elif section.kind == "file":
            (folder / section.name).write_text(text, encoding="utf-8")


def check(path, command, assemble):
    """(is it good, the file as it should be)"""
    intro, sections = read_case(path)
    is_good = True
    out = list(intro)
    with tempfile.TemporaryDirectory(prefix="gprof-case-") as name:
        folder = pathlib.Path(name)
        write_inputs(sections, folder, assemble)
        for section in sections:
            out.append(f"--- {section.kind} {section.name}".rstrip())
            if section.kind != "run":
                out += section.lines
                continue
            for number, step in enumerate(steps_of(section)):
                actual = run_step(step, folder, command)
                if actual != step.expected:
                    is_good = False
                    print(f"{path.name}: $ {step.command}")
                    lines = difflib.unified_diff(step.expected, actual, "expected", "actual", lineterm="")
                    print("\n".join(lines))
                out += ([""] if number else []) + [f"$ {step.command}"] + actual
    return is_good, "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gprof-cli", required=True, type=pathlib.Path)
    parser.add_argument("--assemble", required=True, type=pathlib.Path)
    parser.add_argument("--update", action="store_true", help="write what is printed into the files")
    parser.add_argument("cases", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    failed = []
    for path in options.cases:
        is_good, text = check(path, options.gprof_cli.resolve(), options.assemble.resolve())
        if not is_good and options.update:
            path.write_text(text, encoding="utf-8")
        elif not is_good:
            failed.append(path.name)
    if failed:
        print(f"{len(failed)} of {len(options.cases)} cases differ: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
