#!/usr/bin/env python3
"""Builds, tries and records the programs of an examination that strangers wrote, on a machine with a GPU.

    strangers.py EXAM GPROF_CLI SOURCES OUT        EXAM as in EXAM_programs.json: exam5 and later ones

EXAM_programs.json beside this file lists the programs, and EXAM_data.py makes what data is missing.
SOURCES has a folder for each repository of the list, with the name that it has there, and EXAM_recipes.json: how each program is built (`build`) and
which values in its sources others take the place of (`constants`: {file: {text: other text}}). Neither is kept in this repository.
OUT/EXAM.tgz   the captures, as they belong into tests/judgement/data
OUT/EXAM.log   what became of each program: how it was built, its exit codes, how long it took, how large its capture is

A program that does not build, fails or runs for too long without a tracer is not recorded. Recording is one by one, with nothing beside it,
in the order of the list. A program with `instead_of` is recorded where the one that it names is not.

Variables: NUMPY            folder of a NumPy that numba takes, where the installed one is too new for it
           SECONDS_IN_ALL   no program is recorded after this long, 280 by default
           ONLY             a regular expression: programs with such a name alone
"""

import concurrent.futures
import importlib
import json
import os
import pathlib
import re
import shutil
import signal
import site
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
NVCC = ["nvcc", "-O3", "-std=c++17", "-arch=sm_90", "-w"]
# Alone a program takes 8 s at most, as the README says; several are tried at once, and importing from a cold disk takes Python long once.
MOST_SECONDS_TRIED, MOST_SECONDS_TRIED_PYTHON, MOST_SECONDS_RECORDED, MOST_SECONDS_BUILT = 15, 60, 40, 150
MOST_BYTES = 1 << 20
BUILT_AT_ONCE, TRIED_AT_ONCE, PYTHON_TRIED_AT_ONCE = 16, 6, 8
# Caches get into traces, and are in somebody's home otherwise; programs that are tried at once share the memory of the GPU.
SETTINGS = {"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.2", "MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1",
          "CUDA_CACHE_PATH": "/tmp/ComputeCache", "CUPY_CACHE_DIR": "/tmp/cupy", "TRITON_CACHE_DIR": "/tmp/triton",
          "MPLCONFIGDIR": "/tmp/matplotlib", "NUMBA_CACHE_DIR": "/tmp/numba"}


class Log:
    def __init__(self, path):
        self.file, self.start = path.open("w", encoding="utf-8"), time.monotonic()

    def seconds(self):
        return time.monotonic() - self.start

    def say(self, text):
        print(f"{self.seconds():6.1f} s  {text}", flush=True)
        print(f"{self.seconds():6.1f} s  {text}", file=self.file, flush=True)


class Program:
    def __init__(self, facts, sources):
        self.name, self.facts = facts["name"], facts
        top = sources / facts["repository"]
        self.folder = top / facts["folder"]
        self.is_compiled = "build" in facts
        places = {"top": str(top), "numpy": os.environ.get("NUMPY", "")}
        own = {key: value.format(**places) for key, value in facts.get("environment", {}).items()}
        self.environment = os.environ | SETTINGS | own

    def is_slow_to_build(self):
        return any(b"thrust/" in file.read_bytes() or b"cub/" in file.read_bytes() for file in self.folder.glob("*.cu"))

    def command(self):
        return [f"./{self.name}" if self.is_compiled else "python3", *self.facts["run"].split()]

    def run(self, command, seconds):
        """(exit code or None when it ran for too long, what it said, seconds it took)"""
        start = time.monotonic()
        with tempfile.TemporaryFile() as output:
            try:
                child = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=output,
                                         stderr=subprocess.STDOUT, start_new_session=True)
                code = wait(child, seconds)
            except OSError as error:
                return None, str(error), 0.0
            output.seek(0)
            said = output.read().decode(errors="replace")
        return code, " ".join(said.split())[-300:], time.monotonic() - start


def wait(child, seconds):
    """None when it ran for too long: then all that it started ends, too."""
    try:
        return child.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return None


def wheels():
    """The folders of NVIDIA's wheels, for a toolkit that has no libraries."""
    return [path for place in site.getsitepackages() for path in pathlib.Path(place).glob("nvidia/*") if path.is_dir()]


def with_wheels(words):
    """The same build with headers and libraries of the wheels, whose libraries have their version in the name only."""
    libraries = [library for folder in wheels() for library in folder.glob("lib/lib*.so*")]
    for word in words:
        name = next((one for one in libraries if word.startswith("-l") and one.name.startswith(f"lib{word[2:]}.so")), None)
        yield f"-l:{name.name}" if name else word
    for folder in wheels():
        yield from (f"-I{folder}/include", f"-L{folder}/lib", "-Xlinker", f"-rpath={folder}/lib")


def build(program, log):
    words = [*NVCC, "-o", program.name, *program.facts["build"].split()]
    code, said, took = program.run(words, MOST_SECONDS_BUILT)
    if code:
        code, said, took = program.run(list(with_wheels(words)), MOST_SECONDS_BUILT)
    log.say(f"{program.name}: built with exit code {code} in {took:.1f} s" + (f": {said}" if code != 0 else ""))
    return code == 0


def put_constants(top, constants):
    """A text that is not there, or twice, is a mistake in the list, unless the other one stands there from an earlier run."""
    for name, changes in constants.items():
        file = top / name
        if not file.is_file():  # then the program does not run, and says so
            continue
        text = file.read_text(encoding="utf-8")
        for old, new in changes.items():
            if text.count(old) == 1:
                text = text.replace(old, new)
            elif text.count(new) != 1:
                sys.exit(f"{file}: {text.count(old)} times {old!r}")
        file.write_text(text, encoding="utf-8")


def run_alone(program, log):
    limit = MOST_SECONDS_TRIED if program.is_compiled else MOST_SECONDS_TRIED_PYTHON
    code, said, took = program.run(program.command(), limit)
    log.say(f"{program.name}: alone exit code {code}, {took:.1f} s" + (f": {said}" if code != 0 else ""))
    return code == 0


def record_once(program, gprof, file, log, options):
    tracer = [gprof, "profile", "-f", "-q", *options, "--compress", "-o", str(file), "--"]
    code, said, took = program.run(tracer + program.command(), MOST_SECONDS_RECORDED)
    size = file.stat().st_size if file.is_file() else 0
    is_good = code == 0 and 0 < size <= MOST_BYTES
    kind = "recorded" if not options else f"recorded with {' '.join(options)}"
    log.say(f"{program.name}: {kind} exit code {code}, {took:.1f} s, {size} bytes" + (f": {said}" if not is_good else ""))
    if not is_good:
        file.unlink(missing_ok=True)
    return code == 0, is_good


def record(program, gprof, file, log):
    """True where there is a capture now: as everybody records, and where that is too large, without stacks and samples."""
    did_run, is_good = record_once(program, gprof, file, log, [])
    if did_run and not is_good:
        is_good = record_once(program, gprof, file, log, ["-t", "cuda,nvtx,osrt"])[1]
    return is_good


def those_that_run(programs, log):
    """Python's programs are tried while the others are built: they mostly import."""
    compiled = sorted((one for one in programs if one.is_compiled), key=lambda one: not one.is_slow_to_build())
    python = [one for one in programs if not one.is_compiled]
    pool = concurrent.futures.ThreadPoolExecutor
    with pool(BUILT_AT_ONCE) as builders, pool(PYTHON_TRIED_AT_ONCE) as importers:
        imported = [importers.submit(run_alone, one, log) for one in python]
        built = list(builders.map(lambda one: build(one, log), compiled))
        good = {one.name for one, result in zip(python, imported) if result.result()}
    compiled = [one for one, is_built in zip(compiled, built) if is_built]
    with pool(TRIED_AT_ONCE) as tried:
        good |= {one.name for one, is_good in zip(compiled, tried.map(lambda one: run_alone(one, log), compiled)) if is_good}
    return [one for one in programs if one.name in good]


def record_in_turn(programs, gprof, captures, log):
    last = float(os.environ.get("SECONDS_IN_ALL", "280"))
    recorded = set()
    for program in programs:
        if program.facts.get("instead_of") in recorded:
            log.say(f"{program.name}: not needed")
        elif log.seconds() > last:
            log.say(f"{program.name}: no time left")
        elif record(program, gprof, captures / f"{captures.name}_{program.name}.trace", log):
            recorded.add(program.name)
    log.say(f"{len(recorded)} captures")


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    exam, (gprof, sources, out) = sys.argv[1], (pathlib.Path(word).resolve() for word in sys.argv[2:])
    captures = out / exam
    shutil.rmtree(captures, ignore_errors=True)
    captures.mkdir(parents=True)
    log = Log(out / f"{exam}.log")
    importlib.import_module(f"{exam}_data").make(sources)
    only = re.compile(os.environ.get("ONLY", ""))
    listed = json.loads((HERE / f"{exam}_programs.json").read_text(encoding="utf-8"))["programs"]
    recipes = json.loads((sources / f"{exam}_recipes.json").read_text(encoding="utf-8"))
    listed = [{**facts, **recipes.get(facts["name"], {})} for facts in listed if only.search(facts["name"])]
    for facts in listed:
        put_constants(sources / facts["repository"], facts.get("constants", {}))
    programs = [Program(facts, sources) for facts in listed]
    running = those_that_run(programs, log)
    log.say(f"{len(running)} of {len(programs)} programs run")
    record_in_turn(running, str(gprof), captures, log)
    with tarfile.open(out / f"{exam}.tgz", "w:gz") as archive:
        for file in sorted(captures.iterdir()):
            archive.add(file, file.name)
    shutil.rmtree(captures)


if __name__ == "__main__":
    main()
