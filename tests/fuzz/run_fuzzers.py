"""Builds the libFuzzer targets and runs them side by side for a given time, from the kept corpora and made-up seeds on.

    tests/fuzz/run_fuzzers.py build [--build build/fuzz] [--clang clang++-16]
    tests/fuzz/run_fuzzers.py run --out DIR [--build build/fuzz] [--minutes 8] [--processes CORES] [--only NAME ...] [--seed 0]

`build` needs clang 16 or newer. Its programs are in BUILD/tests/bin without debug information, so that they can be carried to a
larger machine; `run` needs nothing else but this folder. The processes are shared out among the fuzzers; with fewer
processes than fuzzers, these take turns. DIR/NAME.inputs is what was found, made smaller, for keep_corpus.py and
tests/fuzz/corpus; DIR/NAME/failures has the inputs that failed, DIR/NAME/log.N what was said. The corpora grow in --corpora,
in DIR without. The minutes that are printed are of processor time. Exits with 1 when there is a failure."""

import argparse
import concurrent.futures
import os
import pathlib
import pickle
import re
import subprocess
import sys

import keep_corpus

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FUZZERS = ["fuzz_trace", "fuzz_assemble", "fuzz_unwind", "fuzz_sqlite", "fuzz_kineto", "fuzz_ncu", "fuzz_snapshot"]
SEEDERS = ["fuzz_seeds", "fuzz_sqlite_smoke", "fuzz_kineto_smoke"]
SECONDS_OF_AN_INPUT = 20
LIMITS = [f"-timeout={SECONDS_OF_AN_INPUT}", "-rss_limit_mb=4000", "-malloc_limit_mb=1024", "-max_len=65536", "-print_final_stats=1"]
SLOW = ["fuzz_trace", "fuzz_assemble"]  # they try four times as many inputs without
MERGE_S = 60
MOST_KEPT_BYTES = 185_000
EXECUTED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")


def build(wanted):
    clang = [f"-DCMAKE_CXX_COMPILER={wanted.clang}", f"-DCMAKE_C_COMPILER={wanted.clang.replace('clang++', 'clang')}"]
    subprocess.run(["cmake", "--preset", "fuzz", *clang, "-B", wanted.build, "-S", SOURCE], check=True)
    subprocess.run(["cmake", "--build", wanted.build, "--parallel", str(wanted.processes), "--target", *FUZZERS, *SEEDERS],
                   check=True)
    programs = [wanted.build / "tests" / "bin" / name for name in [*FUZZERS, *SEEDERS]]
    subprocess.run(["strip", "--strip-debug", *programs], check=True)
    print(f"{sum(program.stat().st_size for program in programs) / 1e6:.0f} MB in {programs[0].parent}")


def ncu_seed():
    head = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size",
            "Device", "CC", "gpu__time_duration.sum", "dram__bytes_read.sum", "sm__cycles_elapsed.max"]
    units = [""] * 11 + ["us", "Mbyte", "cycle"]
    row = ["0", "12", "app", "127.0.0.1", "add(float *, int)", "1", "7", "(256, 1, 1)", "(64, 1, 1)", "0", "9.0", "8.25",
           "16.78", "12,345"]
    return "\n".join(",".join(f'"{cell}"' for cell in line) for line in (head, units, row, row)).encode()


def snapshot_seed():
    frames = [{"filename": "train.py", "line": 40, "name": "step"}]
    entry = {"action": "alloc", "addr": 1 << 20, "size": 4096, "stream": 0, "time_us": 1_700_000_000_000_000, "frames": frames}
    freed = {**entry, "action": "free_completed", "time_us": 1_700_000_000_000_100}
    block = {"address": 1 << 20, "size": 4096, "state": "active_allocated", "requested_size": 4000, "frames": frames}
    segment = {"device": 0, "address": 1 << 20, "total_size": 1 << 21, "stream": 0, "blocks": [block], "segment_type": "large"}
    return pickle.dumps({"segments": [segment], "device_traces": [[entry, freed]]}, protocol=4)


def fill_corpora(wanted, names):
    corpora = {name: (wanted.corpora or wanted.out) / name / "corpus" for name in FUZZERS}
    programs = wanted.build / "tests" / "bin"
    for name, corpus in corpora.items():
        corpus.mkdir(parents=True, exist_ok=True)
        (wanted.out / name / "failures").mkdir(parents=True, exist_ok=True)
        kept = SOURCE / "tests" / "fuzz" / "corpus" / f"{name}.inputs"
        if kept.is_file() and name in names:
            keep_corpus.unpack(kept, corpus)
    subprocess.run([programs / "fuzz_seeds", corpora["fuzz_trace"], corpora["fuzz_assemble"]], check=True)
    for name in ("fuzz_sqlite", "fuzz_kineto"):
        subprocess.run([programs / f"{name}_smoke", corpora[name]], check=True)
    (corpora["fuzz_ncu"] / "seed").write_bytes(ncu_seed())
    (corpora["fuzz_snapshot"] / "seed").write_bytes(snapshot_seed())
    return corpora


def fuzz(program, corpus, folder, seconds, number, seed):
    """How many inputs one process has tried, and the seconds of processor time that it took."""
    more = ["-entropic=0"] if program.name in SLOW else []
    command = [program, f"-max_total_time={seconds}", *LIMITS, *more, f"-seed={seed + number + 1}",
               f"-artifact_prefix={folder}/failures/", corpus]
    with open(folder / f"log.{number}", "w+", encoding="utf-8", errors="replace") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        usage = os.wait4(process.pid, 0)[2]
        log.seek(0)
        found = EXECUTED.search(log.read())
    return int(found.group(1)) if found else 0, usage.ru_utime + usage.ru_stime


def merge(program, corpus, folder, out):
    """What is needed of the corpus, in one file."""
    merged = corpus.parent / "merged"
    merged.mkdir(exist_ok=True)
    command = [program, "-merge=1", f"-max_total_time={MERGE_S}", *LIMITS, f"-artifact_prefix={folder}/failures/",
               merged, corpus]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=False)
    keep_corpus.keep(merged, out, MOST_KEPT_BYTES)


def run(wanted):
    names = wanted.only or FUZZERS
    corpora = fill_corpora(wanted, names)
    program = {name: wanted.build / "tests" / "bin" / name for name in names}
    jobs = [names[i % len(names)] for i in range(max(wanted.processes, len(names)))]
    seconds = int(wanted.minutes * 60 * wanted.processes / len(jobs))
    with concurrent.futures.ThreadPoolExecutor(wanted.processes) as pool:
        tried = list(pool.map(lambda job: fuzz(program[job[1]], corpora[job[1]], wanted.out / job[1], seconds, job[0], wanted.seed), enumerate(jobs)))
        list(pool.map(lambda name: merge(program[name], corpora[name], wanted.out / name, wanted.out / f"{name}.inputs"), names))
    failures = 0
    print(f"{'fuzzer':16} {'minutes':>8} {'inputs':>14} failures")
    for name in names:
        failed = sorted(path.name for path in (wanted.out / name / "failures").iterdir())
        failures += len(failed)
        inputs, cpu_s = (sum(values) for values in zip(*(one for one, job in zip(tried, jobs) if job == name)))
        print(f"{name:16} {cpu_s / 60:8.1f} {inputs:14,} {', '.join(failed) or 'none'}", flush=True)
        if inputs == 0:
            print(f"{name} has tried nothing: see {wanted.out / name}/log.*")
            failures += 1
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("build", "run"))
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build" / "fuzz")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--only", nargs="*", choices=FUZZERS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--corpora", type=pathlib.Path)
    parser.add_argument("--clang", default="clang++")
    wanted = parser.parse_args()
    if wanted.action == "build":
        return build(wanted)
    if wanted.out is None:
        parser.error("run needs --out")
    return run(wanted)


if __name__ == "__main__":
    sys.exit(main())
