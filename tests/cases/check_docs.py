#!/usr/bin/env python3
"""The outputs in docs/commands are those of some of the cases, or the beginning of them. --update copies them."""

import argparse
import pathlib
import re
import sys

import run_cases

HERE = pathlib.Path(__file__).resolve().parent
CASES = [HERE / "report" / "training.test", HERE / "report" / "stats.test", HERE / "check" / "training.test", HERE / "check" / "sets.test",
         HERE / "check" / "baselines.test", HERE / "diff" / "sets.test", HERE / "diff" / "steps.test"]
EXAMPLE = re.compile(r"```console\n\$ (gprof-cli (?:(?:report|stats|info|dump) run\.trace|check|baseline|diff)[^\n]*)\n(.+?)\n```",
                     re.S)


def outputs():
    runs = [section for case in CASES for section in run_cases.read_case(case)[1] if section.kind == "run"]
    return {step.command: step.expected for section in runs for step in run_cases.steps_of(section)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--docs", type=pathlib.Path, default=HERE.parents[1] / "docs" / "commands")
    options = parser.parse_args()
    printed, wrong, found = outputs(), [], 0

    def current(match):
        nonlocal found
        found += 1
        command, shown = match.group(1), match.group(2).split("\n")
        # A page that shows less than half of an output means to show its beginning.
        actual = printed.get(command, [])
        wanted = actual[: len(shown)] if len(shown) < len(actual) / 2 else actual
        if shown != wanted:
            wrong.append(command)
        return f"```console\n$ {command}\n" + "\n".join(wanted) + "\n```"

    for page in sorted(options.docs.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        new = EXAMPLE.sub(current, text)
        if options.update and new != text:
            page.write_text(new, encoding="utf-8")
    if found == 0:
        print("no example found in the pages")
        return 1
    if wrong and not options.update:
        print("not what the command prints now:", ", ".join(wrong), "\nrun tests/cases/check_docs.py --update")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
