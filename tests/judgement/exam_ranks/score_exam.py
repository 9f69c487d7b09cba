#!/usr/bin/env python3
"""Scores the fourteenth examination: jobs of many ranks, and warm captures, with labels that were written before.

    score_exam.py --build build/release                  a line for each job of the half that is shown, and totals of both halves
    score_exam.py --build build/release --only PATTERN   such jobs alone, with what was said
    score_exam.py --build build/release --held-back      the other half, too: then it is used up for whoever reads it
"""

import argparse
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import exam
import exam_more  # noqa: F401 (adds its jobs)
import make
import score

BLAME = (exam.LATE, exam.SLOW, exam.MORE, exam.COPY, "fleet.skewed_clock")
NUMBERS = re.compile(r"\branks? ((?:\d+(?:-\d+)?(?:, | and |,)?)+)")
NODE = re.compile(r"\bnode(\d+)\b")


def is_held_back(name):
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 == 1


def text_of(finding):
    return " ".join([finding.get("about") or "", finding["message"], *finding.get("evidence", [])])


def ranks_of(finding, per_host):
    """The ranks that a finding is about, as its subject names them: numbers, spans of numbers, or all ranks of a host."""
    subject = finding.get("about") or ""
    if "rank" not in subject:
        subject += " " + finding["message"].split(":")[0]
    named = set()
    for found in NUMBERS.finditer(subject):
        for part in re.findall(r"\d+(?:-\d+)?", found[1]):
            first, _, last = part.partition("-")
            named |= set(range(int(first), int(last or first) + 1))
    if not named:
        for found in NODE.finditer(subject):
            named |= set(range(int(found[1]) * per_host, (int(found[1]) + 1) * per_host))
    return named


def fits(cause, finding, per_host):
    """A finding about ranks of the cause and no others, with its reason."""
    if finding["id"] not in cause["ids"] or not all(re.search(word, text_of(finding)) for word in cause["words"]):
        return False
    if cause["about"]:
        return re.search(cause["about"], text_of(finding)) is not None
    named = ranks_of(finding, per_host)
    return not cause["ranks"] or bool(named) and named <= set(cause["ranks"])


def covered(cause, findings, per_host):
    """All ranks of the cause are named, or as many as three findings can name one by one."""
    right = [finding for finding in findings if fits(cause, finding, per_host)]
    if cause["about"] or not cause["ranks"]:
        return bool(right)
    named = set().union(*(ranks_of(finding, per_host) for finding in right))
    return named == set(cause["ranks"]) or len(right) == 3


def matches(finding, ids):
    return any(fnmatch.fnmatchcase(finding["id"], one) for one in ids)


def judge_ranks(job, document):
    """(right first, right among three, misleading, the three)."""
    per_host, causes = job.get("per_host", 8), job["causes"]
    told = [finding for finding in document["findings"] if not matches(finding, job["also"])]
    three = told[:3]
    blamed = [finding for finding in three if finding["id"] in BLAME and not any(fits({**cause, "words": []}, finding, per_host) for cause in causes)]
    blamed = [finding for finding in blamed if not matches(finding, job["accept"])]
    if not causes:
        right = not three or not blamed and all(matches(finding, job["accept"]) or finding.get("severity") == "info" for finding in three)
        return right, right, bool(blamed), three
    accepted = lambda finding: matches(finding, job["accept"])
    candidates = causes if job["any_first"] else causes[:1]
    first = bool(three) and (accepted(three[0]) or any(fits(cause, three[0], per_host) for cause in candidates))
    among = any(map(accepted, three)) or all(covered(cause, three, per_host) for cause in causes)
    return first, among, bool(blamed), three


def judge_report(job, document, mechanisms):
    """As score.py does, and the finding has to say `words`."""
    label = score.Label.of(job, mechanisms)
    three = score.shown_findings(document)
    right = [label.is_right(finding["id"]) and all(re.search(word, text_of(finding)) for word in job["words"]) for finding in three]
    if score.NONE in label.first and all(finding["severity"] == "info" for finding in three):
        right = [True, *right]
    return bool(right[:1] and right[0]), any(right), any(label.is_wrong(finding) for finding in three), three


def paths_of(job, folder, build):
    if job["program"]:
        return make.write(job, folder, build / "tests" / "bin" / "assemble_trace")
    folder.mkdir()
    with tarfile.open(HERE / "real" / "traces.tar.xz") as packed:
        packed.extractall(folder, [one for one in packed.getmembers() if fnmatch.fnmatchcase(one.name, job["files"])], filter="data")
    return sorted(folder.iterdir())


def judge(job, build, mechanisms):
    with tempfile.TemporaryDirectory(prefix="gprof-exam-") as folder:
        paths = paths_of(job, pathlib.Path(folder) / job["name"], build)
        more = ["--workers", "1"] if job["tool"] == "ranks" else []
        done = subprocess.run([build / "bin" / "gprof-cli", job["tool"], *paths, "--format", "json", *more], capture_output=True, text=True, timeout=240)
    if done.returncode:
        return False, False, True, [{"id": f"exit {done.returncode}", "message": done.stderr[:300]}], {}
    document = json.loads(done.stdout)
    judged = judge_ranks(job, document) if job["tool"] == "ranks" else judge_report(job, document, mechanisms)
    return *judged, document


def print_job(job, verdict, with_words):
    first, among, wrong, three, _ = verdict
    mark = "first" if first else "in 3 " if among else "  -  "
    print(f"{job['name']:26} {mark} {'WRONG' if wrong else '     '} " + ", ".join(f"{finding['id']} ({finding.get('about') or ''})" for finding in three))
    if with_words:
        for finding in three:
            print(f"      {finding['id']}: {text_of(finding)}")


def print_totals(title, verdicts):
    count = max(1, len(verdicts))
    columns = [sum(bool(verdict[i]) for verdict in verdicts) for i in range(3)]
    print(f"{title:12} {len(verdicts):4} captures   right first {columns[0]:3} ({100 * columns[0] / count:.0f} %)   among three {columns[1]:3} ({100 * columns[1] / count:.0f} %)   "
          f"misleading {columns[2]:3} ({100 * columns[2] / count:.0f} %)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="*")
    parser.add_argument("--held-back", action="store_true")
    options = parser.parse_args()
    mechanisms = score.load()["mechanisms"]
    jobs = [job for job in exam.ALL if fnmatch.fnmatchcase(job["name"], options.only)]
    with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        verdicts = list(pool.map(lambda job: judge(job, options.build.resolve(), mechanisms), jobs))
    for job, verdict in zip(jobs, verdicts):
        if options.held_back or not is_held_back(job["name"]):
            print_job(job, verdict, options.only != "*")
    print()
    for title, held_back in (("shown", (False,)), ("held back", (True,)), ("all", (False, True))):
        print_totals(title, [verdict for job, verdict in zip(jobs, verdicts) if is_held_back(job["name"]) in held_back])


if __name__ == "__main__":
    main()
