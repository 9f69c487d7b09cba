"""Whether a gprof-cli for another machine prints what the one of this machine prints, byte for byte.

  same_output.py NATIVE -- COMMAND...      COMMAND starts the other one, such as: qemu-aarch64 build/aarch64/release/bin/gprof-cli

Every recorded trace and capture of tests/data is reported, checked, converted and dumped by both. Fails where one of them prints or
writes other bytes, or leaves with another code.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DATA = SOURCE / "tests/data"
TIME_LIMIT_S = 280
ON_STDOUT = (("report",), ("report", "--full"), ("report", "--format", "json", "--tables"), ("report", "--format", "md", "--full"),
             ("report", "--format", "html"), ("report", "--format", "line"), ("stats",), ("info",), ("dump",),
             ("check", "--fail-if", "gpu.idle_percent > 10", "--warn-if", "memcpy.pageable_bytes > 0", "--format", "json"))
FORMATS = ("perfetto", "chrome", "sqlite", "csv", "jsonl", "parquet", "folded", "speedscope", "pprof", "otlp")
PAIRS = (("normalise_v1", "normalise_v2"), ("nccl_after", "nccl_beside"))


def inputs():
    return sorted(DATA.glob("*.trace")) + sorted((DATA / "torch").glob("*.gz"))


def contents(path):
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return {str(file.relative_to(path)): file.read_bytes() for file in files if file.is_file()}


class Machine:
    """One of the two. Both work in folders of the same name, since reports say what they were given."""

    def __init__(self, command, folder):
        self.command, self.folder = command, folder
        folder.mkdir()
        # What other runs on this machine left behind is none of its business.
        self.environment = os.environ | {"GPROF_RUN_BASE": str(folder / "runs")}

    def run(self, words):
        done = subprocess.run([*self.command, *words], cwd=DATA, capture_output=True, stdin=subprocess.DEVNULL,
                              env=self.environment, timeout=TIME_LIMIT_S, check=False)
        return done.returncode, done.stdout, done.stderr

    def export(self, trace, form):
        out = self.folder / "out"
        code, _, said = self.run(["export", str(trace.relative_to(DATA)), "--format", form, "-q", "-o", str(out)])
        written = contents(out) if out.exists() else {}
        shutil.rmtree(out, True) if out.is_dir() else out.unlink(missing_ok=True)
        return code, written, said.replace(str(self.folder).encode(), b"")


def first_difference(one, other):
    """In words, of two results that are not the same."""
    if one[0] != other[0]:
        return f"codes {one[0]} and {other[0]}: {other[2].decode(errors='replace')[:400]}"
    if isinstance(one[1], dict):
        names = [name for name in sorted(one[1].keys() | other[1].keys()) if one[1].get(name) != other[1].get(name)]
        return f"files {', '.join(names)}" if names else "what is said on stderr"
    for left, right in zip(one[1].splitlines(), other[1].splitlines()):
        if left != right:
            return f"\n  here   {left.decode(errors='replace')[:300]}\n  there  {right.decode(errors='replace')[:300]}"
    return "lengths of the output, or what is said on stderr"


def compare(here, there):
    """The number of comparisons, and those that failed."""
    count, wrong = 0, []

    def both(what, do):
        nonlocal count
        count += 1
        one, other = do(here), do(there)
        if one != other:
            wrong.append(f"{what}: {first_difference(one, other)}")

    for trace in inputs():
        name = trace.relative_to(DATA).as_posix()
        for words in ON_STDOUT:
            if words[0] in ("info", "dump") and trace.suffix != ".trace":
                continue
            line = [words[0], name, *words[1:]]
            both(" ".join(line), lambda machine, line=line: machine.run(line))
        for form in FORMATS:
            both(f"export {name} --format {form}", lambda machine, trace=trace, form=form: machine.export(trace, form))
    for pair in PAIRS:
        line = ["diff", *(f"{name}.trace" for name in pair)]
        both(" ".join(line), lambda machine, line=line: machine.run(line))
    return count, wrong


def main():
    if len(sys.argv) < 4 or sys.argv[2] != "--":
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="gprof-machines-") as folder:
        here = Machine([sys.argv[1]], pathlib.Path(folder) / "here")
        there = Machine(sys.argv[3:], pathlib.Path(folder) / "there")
        count, wrong = compare(here, there)
    for line in wrong:
        print(f"not the same: {line}")
    print(f"{count - len(wrong)} of {count} outputs are the same")
    sys.exit(1 if wrong or count == 0 else 0)


if __name__ == "__main__":
    main()
