#!/usr/bin/env python3
"""How often the first findings of `gprof-cli report` are what an expert would say, on captures with labels.

    score.py                   totals, and a line for each capture of the tuning set (corpus.json)
    score.py --only PATTERN    these captures alone, as in `--only 'synthetic/nccl*'`
    score.py --examination     lines for the examinations, too: then they are used up for whoever reads them
    score.py --update          writes the totals of all sets into floor.json, below which test_judgement.py fails

GPROF_TEST_BUILD names the build, as for the other tests.
"""

import argparse
import concurrent.futures
import dataclasses
import fnmatch
import functools
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import examination
import examination2
import examination3
import kinds
import synthetic

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", ROOT / "build" / "release")).resolve()
COMMAND = BUILD / "bin" / "gprof-cli"
ASSEMBLE = BUILD / "tests" / "bin" / "assemble_trace"
SAMPLES = ROOT.parent / "shared" / "samples"  # captures that others published, not everywhere there
FLOOR = HERE / "floor.json"
SHOWN = 3  # findings above the tables, as src/cli/render/render_text.cpp has it
TIME_LIMIT_S = 240
NONE = "none"  # instead of an id: no finding is shown, or information only
TUNING, EXAMINATION = "tuning", "examination"
# Nobody looks at these one by one. The lines of blind4 to blind8 were read on 2026-11-26: they count as tuning.
HIDDEN = (EXAMINATION, "blind", "blind3", "blind9", "blind10", "blind11", "blind12", "blind13")
SETS = (TUNING, *HIDDEN)
MADE_BY = {"synthetic": synthetic.CAPTURES, "kinds": kinds.CAPTURES, "examination": examination.CAPTURES,
           "examination2": examination2.CAPTURES, "examination3": examination3.CAPTURES}


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
        if any(re.search(text, f"{finding['message']} {finding['advice']}") for text in self.wrong_text):
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
    return Verdict(name, ids, first, in_three, wrong, list(contradictions(report)))


# Of time that is no part of the window, or of time that several GPUs have at once.
OUTSIDE_THE_WINDOW = ("startup.load", "startup.slow", "traces.straggler")


def metric(report, name):
    return next((m["value"] for m in report["metrics"] if m["id"] == name and not m["scope"]), 0)


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
    busy_or_idle = sum(f["gain_ns"] for f in about_the_program if f["same_as"] is None and f["id"].startswith("idle."))
    if busy_or_idle > metric(report, "gpu.idle_ns") * 1.000001:
        yield f"findings about idle time claim {busy_or_idle} ns of {metric(report, 'gpu.idle_ns'):.0f} ns"
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
    """The mechanisms, and the captures of all sets: the labels of the examinations have files of their own."""
    corpus = json.loads((HERE / "corpus.json").read_text(encoding="utf-8"))
    for file in sorted(HERE.glob("examination*.json")):
        corpus["captures"] += json.loads(file.read_text(encoding="utf-8"))["captures"]
    return corpus


@functools.cache
def made_text(key, name):
    return MADE_BY[key][name]()


def text_of(capture):
    return next(made_text(key, capture[key]) for key in MADE_BY if key in capture)


def path_of(capture, samples=SAMPLES):
    """None for a capture that is made from text."""
    if "file" not in capture:
        return None
    if is_sample(capture):
        return samples / capture["file"].removeprefix("../shared/samples/")
    return ROOT / capture["file"]


def is_sample(capture):
    return capture.get("file", "").startswith("../shared/samples/")


def is_here(capture, samples=SAMPLES):
    path = path_of(capture, samples)
    return path is None or path.is_file()


def run(command, data=None):
    done = subprocess.run([str(word) for word in command], input=data, capture_output=True, timeout=TIME_LIMIT_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr.decode(errors='replace')[:500]}")
    return done.stdout


def report_of(capture, samples=SAMPLES):
    return json.loads(document_of(capture, samples))


def document_of(capture, samples=SAMPLES):
    """The report in JSON as it is by default, in bytes."""
    with tempfile.TemporaryDirectory(prefix="gprof-judgement-") as folder:
        path = path_of(capture, samples)
        if path is None:
            path = pathlib.Path(folder) / "run.trace"
            path.write_bytes(run([ASSEMBLE], text_of(capture).encode()))
        elif path.name.endswith(".sqlite.gz"):  # SQLite reads no compressed files
            unpacked = pathlib.Path(folder) / path.name.removesuffix(".gz")
            unpacked.write_bytes(gzip.decompress(path.read_bytes()))
            path = unpacked
        return run([COMMAND, "report", path, "--format", "json"])


def judge_all(corpus, captures, samples=SAMPLES):
    def one(capture):
        document = document_of(capture, samples)
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


def totals_table(corpus, verdicts):
    by_name = {capture["name"]: capture for capture in corpus["captures"]}
    lines = [f"{'':34} captures  right first   right in 3     wrong in 3"]
    for wanted in SETS:
        lines.append(counted_totals(corpus, verdicts, wanted).row(wanted))
        mine = [v for v in verdicts if set_of(by_name[v.name]) == wanted]
        if any(is_sample(by_name[v.name]) for v in mine):
            lines.append(Totals.of(mine).row(f"{wanted} with ../shared/samples"))
    return "\n".join(lines)


def lines_of(verdicts):
    width = max((len(v.name) for v in verdicts), default=0)
    for v in sorted(verdicts, key=lambda v: v.name):
        mark = "first" if v.first else "in 3 " if v.in_three else "  -  "
        shown = ", ".join(f"{one} (wrong)" if one in v.wrong else one for one in v.shown) or "(nothing)"
        yield f"{v.name:{width}}  {mark}  {shown}"


def counted_totals(corpus, verdicts, wanted):
    """Of the captures of a set that are everywhere: the others do not count for the test."""
    counted = {c["name"] for c in corpus["captures"] if set_of(c) == wanted and not is_sample(c)}
    return Totals.of([v for v in verdicts if v.name in counted])


def floor(wanted):
    """None before `--update` has written it."""
    totals = json.loads(FLOOR.read_text(encoding="utf-8")).get(wanted)
    return totals and Totals(**totals)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", help="captures with such a name")
    parser.add_argument("--examination", action="store_true", help="show the lines of the examinations, which uses them up")
    parser.add_argument("--update", action="store_true", help="write the totals of all sets into floor.json")
    parser.add_argument("--samples", type=pathlib.Path, default=SAMPLES, help="folder of the captures that others published")
    options = parser.parse_args()
    if options.update and options.only != "*":
        parser.error("--update needs all captures: leave out --only")
    corpus = load()
    wanted = [c for c in corpus["captures"] if fnmatch.fnmatchcase(c["name"], options.only)]
    here = [c for c in wanted if is_here(c, options.samples)]
    verdicts = judge_all(corpus, here, options.samples)
    hidden = set() if options.examination else {c["name"] for c in here if set_of(c) != TUNING}
    print("\n".join(lines_of([v for v in verdicts if v.name not in hidden])))
    print(f"\n{totals_table(corpus, verdicts)}")
    if len(here) != len(wanted):
        print(f"\n{len(wanted) - len(here)} captures are not here: " + ", ".join(c["name"] for c in wanted if c not in here))
    if options.update:
        totals = {one: dataclasses.asdict(counted_totals(corpus, verdicts, one)) for one in SETS}
        FLOOR.write_text(json.dumps(totals) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
