"""Runs the tests beside busy loops, several times, and says which failed and how often: what fails here is decided by time.

  python3 tests/under_load.py [--rounds 3] [--busy 6] [--nice 5] [--build build/release] [WORDS OF CTEST...]

`--nice 0` gives the loops the same share of the processors as the tests. The output of what failed is in BUILD/under_load.log.
"""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SOURCE = pathlib.Path(__file__).resolve().parents[1]
# It ends by itself when the process that started it is gone.
LOOP = "import os, sys\nos.nice(int(sys.argv[1]))\nwhile os.getppid() == int(sys.argv[2]): sum(range(10_000))"


@contextlib.contextmanager
def busy_loops(count, niceness):
    loops = [subprocess.Popen([sys.executable, "-S", "-c", LOOP, str(niceness), str(os.getpid())]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run_once(build, words, log):
    """(names of the tests that ran, names of those that failed)"""
    with tempfile.TemporaryDirectory(prefix="gprof-load-") as folder:
        results = pathlib.Path(folder) / "results.xml"
        subprocess.run(["ctest", "--test-dir", build, "--output-on-failure", "--timeout", "600", "--output-junit", results,
                        "--parallel", str(os.cpu_count() * 3 // 2 or 1), *words], stdout=log, stderr=log, stdin=subprocess.DEVNULL, check=False)
        cases = xml.etree.ElementTree.parse(results).getroot().findall("testcase") if results.is_file() else []
    ran = [case for case in cases if case.get("status") != "notrun"]
    return {case.get("name") for case in ran}, {case.get("name") for case in ran if case.get("status") == "fail"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--busy", type=int, default=6)
    parser.add_argument("--nice", type=int, default=5)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    return parser.parse_known_args()


def main():
    options, words = arguments()
    times_failed, most_ran = {}, 0
    with open(options.build / "under_load.log", "w", encoding="utf-8") as log, busy_loops(options.busy, options.nice):
        for number in range(1, options.rounds + 1):
            ran, failed = run_once(options.build, words, log)
            most_ran = max(most_ran, len(ran))
            print(f"round {number} of {options.rounds}: {len(failed)} of {len(ran)} tests failed", flush=True)
            for name in failed:
                times_failed[name] = times_failed.get(name, 0) + 1
    for name, times in sorted(times_failed.items()):
        print(f"{name} failed in {times} of {options.rounds} rounds")
    sys.exit(1 if times_failed or not most_ran else 0)


if __name__ == "__main__":
    main()
