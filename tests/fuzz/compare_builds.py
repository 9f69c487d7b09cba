#!/usr/bin/env python3
"""Compares two builds of gprof-cli on made-up and damaged traces: whatever both print has to be the same.

    tests/fuzz/compare_builds.py --reference OLD/bin/gprof-cli NEW/bin/gprof-cli [--sort odd] [--count 300] [--seed 1]

Each trace is reported in text and JSON as on 1, 2 and more cores, with selections, and asked for some other output.
Trace I of a seed and a sort is always the same, and so are its commands: `--only I` is that trace alone, `--keep DIR`
leaves it there.
"""

import argparse
import pathlib
import random
import shlex
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "differential"))

import builds  # noqa: E402
import commands  # noqa: E402
import habits  # noqa: E402
import traces  # noqa: E402

SLOW_S = 5
MOST_DIFFERENCES = 20
MOST_BACK = 5  # a trace is compared with one of so many before it


def parse_arguments():
    sorts = "\n".join(f"  {name:8} {what}" for name, what in habits.SORTS.items())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog=f"sorts of traces:\n{sorts}")
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--reference", type=pathlib.Path, required=True, help="gprof-cli whose output is right")
    parser.add_argument("--build",
                        type=pathlib.Path,
                        help="tree with assemble_trace and pretend_cores; that of the program without")
    parser.add_argument("--sort", choices=habits.SORTS, default="usual")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300, help="traces")
    parser.add_argument("--first", type=int, default=0, metavar="I")
    parser.add_argument("--only", type=int, metavar="I", help="this trace alone")
    parser.add_argument("--source",
                        type=pathlib.Path,
                        action="append",
                        default=[],
                        help="a trace to damage beside those of tests/data")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="leave the traces there")
    parser.add_argument("--more",
                        default="",
                        metavar="OPTIONS",
                        help="for the program alone, to see that differences are found")
    options = parser.parse_args()
    options.program, options.reference = options.program.resolve(), options.reference.resolve()
    options.tools = builds.Tools(options.build.resolve() if options.build else builds.build_of(options.program))
    missing = options.tools.missing()
    if missing:
        parser.error(f"there is no {' and no '.join(missing)}: build assemble_trace and pretend_cores, or name --build")
    return options


class Comparison:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.more = tuple(shlex.split(options.more))
        self.runner = builds.Runner(options.tools, folder)
        sources = sorted((HERE.parent / "data").glob("*.trace")) + [source.resolve() for source in options.source]
        self.maker = traces.Maker(options.reference, options.tools.assembler, sources)
        self.compared = self.different = self.slow = 0

    def path_of(self, number):
        return self.folder / f"{self.options.sort}_{self.options.seed}_{number}.trace"

    def trace(self, number):
        """Its name in the folder; made where it is not there."""
        path = self.path_of(number)
        if not path.exists():
            path.write_bytes(self.maker.make(self.options.sort, self.options.seed, number))
        return path.name

    def commands_of(self, number):
        options = self.options
        rng = random.Random(f"commands {options.sort} {options.seed} {number}")
        name, other = self.trace(number), self.trace(max(0, number - rng.randint(1, MOST_BACK)))
        facts = commands.facts_of(
            self.runner.run(options.reference, builds.Command(("report", name, "--format", "json", "--tables"))).stdout)
        rows = ["--rows", "0"] if facts.records < commands.SMALL_RECORDS else []
        return commands.commands(commands.Asked(rng, facts, name, other, rows))

    def compare_trace(self, number):
        for command in self.commands_of(number):
            self.compare(command)
        if self.options.keep is None:
            self.path_of(number - MOST_BACK).unlink(missing_ok=True)

    def compare(self, command):
        options = self.options
        asked = builds.Command(command.arguments + self.more, command.cores, command.columns)
        expected = self.runner.run(options.reference, builds.Command(command.arguments, 2, command.columns))
        found = self.runner.run(options.program, asked)
        self.compared += 1
        if found.processor_s > SLOW_S:
            self.slow += 1
            seconds = f"{found.processor_s:.1f} s (reference {expected.processor_s:.1f} s)"
            print(f"SLOW {seconds}: {self.runner.shown(options.program, asked)}", flush=True)
        if found != expected:
            self.different += 1
            self.explain(command, asked, expected, found)

    def explain(self, command, asked, expected, found):
        """Says what is different, and whether it is the builds that differ."""
        options = self.options
        print(f"DIFFERS: {self.runner.shown(options.program, asked)}")
        if self.runner.run(options.program, asked) != found:
            print("  and not the same from run to run")
        if not self.more and self.runner.run(options.reference, command) == found:
            print("  as the reference does on so many cores, or from run to run")
        for line in builds.differences(expected, found):
            print(" ", line)
        sys.stdout.flush()

    def run(self):
        options = self.options
        began_s = time.monotonic()
        numbers = [options.only] if options.only is not None else range(options.first, options.first + options.count)
        for number in numbers:
            self.compare_trace(number)
            if self.different > MOST_DIFFERENCES:
                print("too much differs: stopped")
                break
        print(
            f"compared {self.compared}, different {self.different}, slow {self.slow} "
            f"({len(numbers)} traces of sort {options.sort}, seed {options.seed}, {time.monotonic() - began_s:.0f} s)")
        return 1 if self.different else 0


def main():
    options = parse_arguments()
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
        return Comparison(options, options.keep.resolve()).run()
    with tempfile.TemporaryDirectory() as folder:
        return Comparison(options, pathlib.Path(folder)).run()


if __name__ == "__main__":
    sys.exit(main())
