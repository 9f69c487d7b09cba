#!/usr/bin/env python3
"""How often the first findings of `gprof-cli report` are what an expert would say, on captures with labels (README.md).

    score.py                   the captures of this tree: a line for each, and totals
    score.py --all             all captures, where ../shared/samples has them: lines for the tuning set, totals for every set
    score.py --only PATTERN    these captures alone, as in `--only 'cuda/*'`
    score.py --hidden          lines for the hidden sets, too: then they are used up for whoever reads them
    score.py --update          writes the totals into floor.json, below which test_judgement.py fails

GPROF_TEST_BUILD names the build, as for the other tests.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import fnmatch
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import wording

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", ROOT / "build" / "release")).resolve()
COMMAND = BUILD / "bin" / "gprof-cli"
SAMPLES = ROOT.parent / "shared" / "samples"  # all captures: not everywhere there
FLOOR = HERE / "floor.json"
SHOWN = 3  # findings above the tables, as src/cli/render/render_text.cpp has it
TIME_LIMIT_S = 240
NONE = "none"  # instead of an id: no finding is shown, or information only
KEPT, TUNING = "kept", "tuning"  # the captures of this tree, whichever set they are of; those whose lines were read
# Nobody looks at these one by one. The lines of blind4 to blind8 were read on 2026-11-26: they count as tuning.
HIDDEN = ("examination", "blind3", "blind9", "blind10", "blind11", "blind12", "blind13")
SETS = (TUNING, *HIDDEN)


def set_of(capture):
    folder = capture["name"].partition("/")[0]
    return folder if folder in HIDDEN else TUNING


@dataclasses.dataclass
class Label:
    """What the corpus says of a capture. Words with a dot are ids of findings, with `*`; others are mechanisms."""

    first: list
    also: list
    wrong: list
    wrong_text: list

    @classmethod
    def of(cls, capture, mechanisms):
        def ids(words):
            return [one for word in words for one in (mechanisms[word]["findings"] if "." not in word else [word])]

        return cls(ids(capture["first"]), ids(capture.get("also", [])), ids(capture["wrong"]), capture.get("wrong_text", []))

    def is_right(self, finding_id):
        return matches(finding_id, self.first)

    def is_wrong(self, finding):
        if any(re.search(text, " ".join([finding["message"], *finding["evidence"], finding["advice"]])) for text in self.wrong_text):
            return True
        return matches(finding["id"], self.wrong) and not matches(finding["id"], self.first + self.also)


def matches(finding_id, patterns):
    return any(fnmatch.fnmatchcase(finding_id, pattern) for pattern in patterns)


@dataclasses.dataclass
class Verdict:
    name: str
    shown: list  # ids
    first: bool
    in_three: bool
    wrong: list  # ids
    contradictions: list  # sentences
    size_bytes: int = 0  # of the report in JSON
    wording: list = dataclasses.field(default_factory=list)  # sentences


def shown_findings(report):
    """As the report in text shows them: what another finding already says stands below the tables, the trace's health at the top."""
    about_the_program = [finding for finding in report["findings"] if not finding["id"].startswith("health.")]
    return [finding for finding in about_the_program
            if finding["same_as"] is None and not finding["is_minor"]][:SHOWN]


def judge(name, label, report):
    shown = shown_findings(report)
    ids = [finding["id"] for finding in shown]
    says_nothing = all(finding["severity"] == "info" for finding in shown)
    first = label.is_right(ids[0] if ids else NONE) or (says_nothing and NONE in label.first)
    in_three = first or any(label.is_right(one) for one in ids)
    wrong = [finding["id"] for finding in shown if label.is_wrong(finding)]
    return Verdict(name, ids, first, in_three, wrong, list(contradictions(report)),
                   wording=list(wording.faults(report)))


# Of time that is no part of the window, or of time that several GPUs have at once.
OUTSIDE_THE_WINDOW = ("startup.load", "startup.slow", "traces.straggler")


def metric(report, name):
    return next((m["value"] for m in report["metrics"] if m["id"] == name and not m["scope"]), 0)


def double_promises(report):
    """No nanosecond is claimed by two findings: of each time they claim no more than there is, and of idle time as a whole."""
    claims = collections.Counter()
    for finding in report["findings"]:
        claims.update(finding["claims"])
        claimed = sum(finding["claims"].values())
        if finding["claims"] and finding["same_as"] is None and claimed != finding["gain_ns"]:
            yield f"{finding['id']} promises {finding['gain_ns']} ns and claims {claimed}"
    idle = sum(ns for time, ns in claims.items() if time.startswith("idle."))
    for time, ns in [*claims.items(), ("gpu.idle_ns", idle)]:
        if ns > metric(report, time) * 1.000001:
            yield f"findings claim {ns} ns of {time}, which is {metric(report, time):.0f} ns"


def contradictions(report):
    """What cannot all be true in one report, whatever the program."""
    window = metric(report, "gpu.window_ns")
    about_the_program = [f for f in report["findings"] if not f["id"].startswith("health.")]
    for finding in about_the_program:
        if 0 < window * 1.000001 < finding["gain_ns"] and finding["id"] not in OUTSIDE_THE_WINDOW:
            yield f"{finding['id']} claims {finding['gain_ns']} ns of a window of {window:.0f} ns"
    claimed = sum(f["gain_ns"] for f in about_the_program if f["same_as"] is None and f["id"] not in OUTSIDE_THE_WINDOW)
    if claimed > window * 1.000001 > 0:
        yield f"findings together claim {claimed} ns of a window of {window:.0f} ns"
    yield from double_promises(report)
    says = " ".join(f["message"] for f in about_the_program)
    if "kernel-bound" in says and "copy-bound" in says:
        yield "kernel-bound and copy-bound"
    blocked = [f for f in about_the_program if f["id"] == "memcpy.pageable"]
    in_copies = next((f for f in about_the_program if f["id"] == "idle.copy" and not f["is_minor"]), None)
    if in_copies and blocked and all("host not blocked" in f["message"] for f in blocked):
        yield "the host sat in blocking copies, and none of them blocked it"
    for table in report["tables"]:
        for row in table["rows"]:
            for key, value in row.items():
                if isinstance(value, (int, float)) and key.startswith("self") and value < 0:
                    yield f"{table['id']}.{key} is {value}"
                if table["id"] in ("nvtx", "idle") and key == "percent" and value is not None and value > 100.0001:
                    yield f"{table['id']}.{key} is {value} %"
    notices = [n["message"] for n in report["notices"]]
    said = [f["message"] for f in report["findings"] if f["id"] == "health.notice"]
    if len(said) != len(set(said)) or len(said) > len(set(notices)):
        yield "a notice is said more than once"


def load():
    return json.loads((HERE / "labels.json").read_text(encoding="utf-8"))


def kept_path(capture):
    """Where this tree has a capture, if it does."""
    folder, name = capture["file"].split("/")
    return (ROOT / "tests" / "data" if folder == "data" else HERE / "data") / name


def is_kept(capture):
    return kept_path(capture).is_file()


def path_of(capture, samples=SAMPLES):
    return kept_path(capture) if is_kept(capture) else samples / capture["file"]


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, timeout=TIME_LIMIT_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr.decode(errors='replace')[:500]}")
    return done.stdout


def document_of(path):
    """The report in JSON as it is by default, in bytes."""
    with tempfile.TemporaryDirectory(prefix="gprof-judgement-") as folder:
        if path.name.endswith(".sqlite.gz"):  # SQLite reads no compressed files
            unpacked = pathlib.Path(folder) / path.name.removesuffix(".gz")
            unpacked.write_bytes(gzip.decompress(path.read_bytes()))
            path = unpacked
        return run([COMMAND, "report", path, "--format", "json", "--tables"])


def judge_all(corpus, captures, samples=SAMPLES):
    def one(capture):
        document = document_of(path_of(capture, samples))
        verdict = judge(capture["name"], Label.of(capture, corpus["mechanisms"]), json.loads(document))
        return dataclasses.replace(verdict, size_bytes=len(document))

    with concurrent.futures.ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        return list(pool.map(one, captures))


@dataclasses.dataclass
class Totals:
    captures: int
    first: int
    first_three: int
    wrong: int

    @classmethod
    def of(cls, verdicts):
        return cls(len(verdicts), sum(v.first for v in verdicts), sum(v.in_three for v in verdicts),
                   sum(bool(v.wrong) for v in verdicts))

    def row(self, title):
        def share(count):
            return f"{count:4} {100 * count / self.captures if self.captures else 0:4.0f} %"

        return f"{title:34} {self.captures:8}   {share(self.first)}   {share(self.first_three)}     {share(self.wrong)}"


def totals_of(corpus, verdicts, everything):
    """Totals by set: of the kept captures alone, or of each set of all captures."""
    if not everything:
        return {KEPT: Totals.of(verdicts)}
    sets = {capture["name"]: set_of(capture) for capture in corpus["captures"]}
    return {one: Totals.of([v for v in verdicts if sets[v.name] == one]) for one in SETS}


def totals_table(totals):
    return "\n".join([f"{'':34} captures  right first   right in 3     wrong in 3", *(of.row(one) for one, of in totals.items())])


def lines_of(verdicts):
    width = max((len(v.name) for v in verdicts), default=0)
    for v in sorted(verdicts, key=lambda v: v.name):
        mark = "first" if v.first else "in 3 " if v.in_three else "  -  "
        shown = ", ".join(f"{one} (wrong)" if one in v.wrong else one for one in v.shown) or "(nothing)"
        yield f"{v.name:{width}}  {mark}  {shown}"


def floors():
    return {one: Totals(**totals) for one, totals in json.loads(FLOOR.read_text(encoding="utf-8")).items()}


def write_floors(totals):
    lines = [f'"{one}": {json.dumps(dataclasses.asdict(of))}' for one, of in {**floors(), **totals}.items()]
    FLOOR.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="all captures, not only those of this tree")
    parser.add_argument("--only", default="*", help="captures with such a name")
    parser.add_argument("--hidden", action="store_true", help="show the lines of the hidden sets, which uses them up")
    parser.add_argument("--update", action="store_true", help="write the totals into floor.json")
    parser.add_argument("--samples", type=pathlib.Path, default=SAMPLES, help="folder with all captures: judgement, nsys, kineto")
    options = parser.parse_args()
    if options.update and options.only != "*":
        parser.error("--update needs all captures: leave out --only")
    return options


def main():
    options = arguments()
    corpus = load()
    wanted = [c for c in corpus["captures"] if fnmatch.fnmatchcase(c["name"], options.only) and (options.all or is_kept(c))]
    missing = [c["name"] for c in wanted if not path_of(c, options.samples).is_file()]
    if missing:
        print(f"{len(missing)} captures do not count, as they are not in {options.samples}: {missing[0]}, ...\n")
    if missing and options.update:
        sys.exit("--update needs all captures")
    wanted = [c for c in wanted if c["name"] not in missing]
    verdicts = judge_all(corpus, wanted, options.samples)
    hidden = {c["name"] for c in wanted if set_of(c) != TUNING and not is_kept(c) and not options.hidden}
    print("\n".join(lines_of([v for v in verdicts if v.name not in hidden])))
    totals = totals_of(corpus, verdicts, options.all)
    print(f"\n{totals_table(totals)}")
    if options.update:
        write_floors(totals)
    return 0


if __name__ == "__main__":
    sys.exit(main())
