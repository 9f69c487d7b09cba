#!/usr/bin/env python3
"""Makes the captures of the examination, and says who makes whom wait in them, as the model knows it.

    make.py --assemble R/tests/bin/assemble_trace FOLDER [PATTERN]     captures of jobs with such names
    make.py --truth [PATTERN]                                          who was last, and for how much of the time others waited for it
"""

import argparse
import collections
import fnmatch
import pathlib

import exam
import exam_more  # noqa: F401 (adds its jobs)
import model_parallel
import mpi_codes
import simulate
import singles
import training
import write_kineto
import write_nsys
import write_trace
import write_xla

PROGRAMS = {name: program for module in (training, model_parallel, mpi_codes, singles) for name, program in vars(module).items() if callable(program)}
WRITERS = {"trace": write_trace, "kineto": write_kineto, "nsys": write_nsys, "xla": write_xla}


def run(job):
    return simulate.World(job).run(PROGRAMS[job["program"]])


def write(job, folder, assemble):
    """The captures of a job, without those that are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    ranks = [rank for rank in run(job) if rank.number not in rank.job["missing"]]
    return WRITERS[ranks[0].job["format"]].write(folder, ranks, assemble)


def truth(job):
    """(time of the job, for how long others waited for each rank, who was last how often)."""
    ranks = run(job)
    waited, last = collections.Counter(), collections.Counter()
    for meeting in ranks[0].world.meetings.values():
        if len(meeting.arrivals) < 2:
            continue
        latest = max(meeting.arrivals, key=meeting.arrivals.get)
        last[latest] += 1
        waited[latest] += sum(meeting.arrivals[latest] - at for at in meeting.arrivals.values())
    return max(rank.t for rank in ranks) - simulate.DAY_NS, waited, last


def print_truth(job):
    ns, waited, last = truth(job)
    share = {rank: 100 * wait / ns / max(1, job["ranks"] - 1) for rank, wait in waited.most_common(6)}
    print(f"{job['name']:24} {ns / 1e6:8.1f} ms  " + ", ".join(f"rank {rank}: {percent:.1f} % ({last[rank]})" for rank, percent in share.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--truth", action="store_true")
    parser.add_argument("--assemble")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    words = options.words if options.truth else options.words[1:]
    for job in exam.ALL:
        if any(fnmatch.fnmatchcase(job["name"], word) for word in words or ["*"]):
            if options.truth:
                print_truth(job)
            else:
                write(job, pathlib.Path(options.words[0]) / job["name"], options.assemble)


if __name__ == "__main__":
    main()
