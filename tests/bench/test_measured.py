"""How figures are made of runs by measured.py, run_report.py, run_scale.py and run_targets.py: no GPU, nothing that depends
on time."""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import measured  # noqa: E402
import run_long_capture  # noqa: E402
import run_report  # noqa: E402
import run_scale  # noqa: E402
import run_targets  # noqa: E402

STATUS = "Name:\tx\nVmRSS:\t   300 kB\nRssAnon:\t     100 kB\nRssFile:\t     150 kB\nRssShmem:\t      50 kB\n"
# Stands for Nsight Systems: a recording whose program says when it ended, an export with three rows, statistics.
NSYS = """#!/bin/sh
last=$(eval echo \\$$#)
previous=$(eval echo \\$$(($# - 1)))
case $1 in
  profile) for word; do case $before in -o) out=$word;; esac; before=$word; done
           echo '{"end_ns": 1000}'; printf 0123456789 >"$out.nsys-rep";;
  export) python3 -c "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.execute('CREATE TABLE NVTX_EVENTS (a)')
d.executemany('INSERT INTO NVTX_EVENTS VALUES (?)', [(1,), (2,), (3,)]); d.commit()" "$previous";;
  stats) echo "cannot read $last" >&2; exit 4;;
esac
"""


def finished(seconds, code=0, **more):
    facts = {"words": ["x"], "code": code, "seconds": seconds, "user_s": seconds, "system_s": 0.5, "peak_bytes": 1000,
             "peak_anonymous": 0, "output": "words\n"}
    return measured.Run(**{**facts, **more})


class Measured(unittest.TestCase):
    def test_memory_of_a_process(self):
        self.assertEqual(measured.memory(STATUS), {"anonymous_bytes": 102400, "file_bytes": 153600, "shared_bytes": 51200})
        self.assertGreater(measured.memory_of(os.getpid())["anonymous_bytes"], 0)
        self.assertEqual(measured.memory_of(2**30), {})

    def test_a_command(self):
        code = "import os, sys; print(len(os.sched_getaffinity(0))); x = bytearray(50 << 20); sys.exit(3)"
        run = measured.run(sys.executable, "-c", code, cores=1)
        self.assertEqual((run.code, run.output, run.is_late), (3, "1\n", False))
        self.assertGreater(run.peak_bytes, 50 << 20)
        self.assertIn("ended with 3: 1", run.why())

    def test_a_command_that_takes_too_long_is_ended_with_its_children(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out"
            for limit_s in (0.5, 5, 50):  # on a busy machine it may take its time to begin
                run = measured.run("sh", "-c", "echo begun; sleep 1000 & wait", limit_s=limit_s, output=path)
                if path.read_text():
                    break
            self.assertEqual((run.is_late, path.read_text()), (True, "begun\n"))
        self.assertIn("not done after", run.figures()["failed"])

    def test_the_limit_of_a_script(self):
        limit = measured.Limit(100)
        self.assertTrue(limit.has_room_for(50))
        self.assertFalse(limit.has_room_for(101))


class Reports(unittest.TestCase):
    def test_the_run_in_the_middle_counts(self):
        runs = [finished(3.0, peak_bytes=5), finished(1.0, peak_bytes=9), finished(2.0, peak_bytes=7), finished(0.1, code=1)]
        figures = run_report.median_of(runs)
        self.assertEqual((figures["seconds"], figures["user_s"], figures["peak_bytes"], figures["runs"]), (2.0, 2.0, 9, 3))
        self.assertIn("failed", run_report.median_of([finished(1.0, code=-9)]))

    def test_the_end_that_a_program_tells(self):
        self.assertEqual(run_report.end_of('Collecting\n{"operations": {}, "end_ns": 123}\nGenerating'), 123)
        self.assertIsNone(run_report.end_of("nothing"))

    def test_figures_are_for_each_event(self):
        row = {"tool": "gprof-cli", "wanted": 2e6, "events": 2_000_000, "bytes": 8_000_000, "seconds": 5.0, "lost": 0,
               "end_to_trace_s": 0.25, "commands": {"report": {"seconds": 0.5, "user_s": 0.75, "system_s": 0.25, "peak_bytes": 90_000_000},
                                                    "report, 1 core": {"failed": "not done after 9 s"}}}
        text = run_report.text_of([row])
        self.assertIn("| gprof-cli | 2,000,000 | 2,000,000 | 0 | 8 MB | 4.00 | 5.00 s | 0.25 s |", text)
        self.assertIn("| report | 0.50 s | 0.75 + 0.25 s | 90 MB | 45 | 2.00 |", text)
        self.assertIn("* gprof-cli, 2,000,000: report, 1 core: not done after 9 s", text)

    def test_nsys(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "nsys").write_text(NSYS)
            (folder / "nsys").chmod(0o755)
            limit = measured.Limit(300)
            with mock.patch.object(run_report.nsys, "find", return_value=str(folder / "nsys")):
                found, report = run_report.record("nsys", 2e6, folder, 300)
                commands, facts = run_report.read_nsys(report, limit, 300)
        self.assertEqual((found["bytes"], found["end_to_trace_s"] > 0), (10, True))
        self.assertEqual(facts["events"], 3)
        self.assertNotIn("failed", commands["export --type sqlite"])
        self.assertIn("ended with 4: cannot read", commands["stats"]["failed"])


class Scale(unittest.TestCase):
    POINTS = [{"s": s, "events": s * 100, "anonymous_kib": 1024 + s, "shared_kib": 2048 * min(s, 3)} for s in range(11)]
    ALONE = [{"s": 0, "events": 0, "anonymous_kib": 1000, "shared_kib": 0}, {"s": 1, "events": 9, "anonymous_kib": 1024, "shared_kib": 0}]

    def test_what_the_program_has_alone_is_taken_off(self):
        points = run_scale.with_difference(self.POINTS, self.ALONE)
        self.assertEqual((points[4]["anonymous_more_kib"], points[4]["shared_more_kib"]), (4, 6144))
        # The first tenth is that of the start: from 100 events on, 2 MiB at first and 6 MiB from 300 on.
        self.assertEqual(run_scale.growth(points), {"least_mib": 2.0, "most_mib": 6.0, "end_less_begin_mib": 4.0})

    def test_a_long_capture_in_a_line(self):
        points = [{**point, "trace_bytes": point["events"] * 3.5} for point in run_scale.with_difference(self.POINTS, self.ALONE)]
        self.assertEqual(run_long_capture.line(points), "memory after the first tenth: 2.0 to 6.0 MiB, +4.0 MiB from there to "
                                                        "the end; 3.500 to 3.500 bytes an event")

    def test_what_the_program_says(self):
        text = "".join(json.dumps({"fact": "memory", **point}) + "\n" for point in self.POINTS)
        points, end = run_scale.facts("words\n" + text + '{"fact": "end", "ranges": 5, "launches": 1}\n')
        self.assertEqual((len(points), end["ranges"]), (11, 5))
        self.assertEqual(run_scale.facts("killed"), ([], None))

    def test_steps_that_do_not_fit_are_left_out_and_the_others_teach(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "report.json").write_text('{"trace": {"records": 7}, "health": {"lost_records": 0, "complete": true}}')
            reader = run_scale.Reader(argparse.Namespace(without=["info"]), folder, measured.Limit(1000))
            self.assertEqual(reader.steps(), ["report"])
            with mock.patch.object(run_scale, "available_bytes", return_value=10**9):
                self.assertIn("not enough memory", reader.read("report", folder / "x", 1e9)[0]["skipped"])
            with mock.patch.object(measured, "run", return_value=finished(20.0, peak_bytes=5 * 10**8)):
                figures, found = reader.read("report", folder / "x", 1e6)
            self.assertEqual((figures["seconds"], found["events"], reader.each_bytes), (20.0, 7, 500))
            with mock.patch.object(run_scale, "available_bytes", return_value=10**15):
                self.assertEqual(reader.read("report", folder / "x", 1e8)[0], {"skipped": "no time: about 2400 s"})

    def test_rows(self):
        row = {"name": "synthetic, 10 million", "wanted": 1e7, "bytes": 5e7, "making": {"seconds": 1},
               "steps": {"report": {"seconds": 5.0, "user_s": 4.0, "system_s": 2.0, "peak_bytes": 900_000_000},
                         "info": {"skipped": "no time: about 9 s"}}}
        text = run_scale.text_of([row])
        self.assertIn("| synthetic, 10 million | 10,000,000 | 50 MB | report | 5.00 s | 0.500 | 4.0 + 2.0 s (0.60 µs) | 900 MB | 90 | 0 B |", text)
        self.assertIn("| info | no time: about 9 s |", text)


class Targets(unittest.TestCase):
    MACHINE = {"cpu": "a processor", "cores": 16, "gpu": "a GPU"}

    def page(self, **steps):
        return run_targets.text_of({"date": "today", "version": "gprof-cli 1", "machine": self.MACHINE, **steps})

    def recording(self, **variants):
        return {"repetitions": 3, "samples_ns": {"launch": {name: [ns - 1, ns, ns + 500] for name, ns in variants.items()}}}

    def test_rounds_are_compared_with_themselves(self):
        samples = {"CUPTI floor": [100, 200, 400], "gprof-cli": [98, 202, 392], "nsys": [110, 100]}
        text = self.page(recording={"repetitions": 1, "samples_ns": {"launch": samples}})
        self.assertIn("| launch, by the floor of CUPTI | 0.98 | 1.00 | 0.80 | met |", text)

    def test_medians_are_compared_with_those_of_the_same_run(self):
        variants = {"untraced": 3000, "CUPTI floor": 4000, "gprof-cli -t none": 3010, "gprof-cli": 4040, "nsys": 5000}
        text = self.page(recording=self.recording(**variants))
        self.assertIn("| launch, by the floor of CUPTI | 1.01 | 1.00 | 1.25 | met |", text)  # within noise
        self.assertIn("| launch with an idle tracer, by untraced | 1.00 | 1.00 |  | met |", text)
        self.assertIn("| cudaGetDevice, by untraced |  | 1.05 |  | not measured |", text)
        missed = self.page(recording=self.recording(**{**variants, "gprof-cli": 4100}))
        self.assertIn("| launch, by the floor of CUPTI | 1.02 | 1.00 | 1.25 | MISSED |", missed)

    def test_reports(self):
        commands = {"report": {"seconds": 0.125, "peak_bytes": 150_000_000}, "report, 1 core": {"seconds": 0.25, "peak_bytes": 1}}
        ours = {"tool": "gprof-cli", "events": 3_000_000, "bytes": 21_000_000, "end_to_trace_s": 0.15, "end_alone_s": 0.1,
                "commands": commands}
        peer = {"tool": "nsys", "events": 3_000_000, "bytes": 54_000_000, "end_to_trace_s": 20.0,
                "commands": {"export --type sqlite": {"seconds": 8.0}, "stats": {"seconds": 4.5}}}
        later = {**ours, "events": 9_000_000}
        text = self.page(report={"results": [ours, later, peer]})
        self.assertIn("| from the end of the program to its trace | 0.15 s, 0.10 s without a tracer | 0.10 s | 20.0 s | met |", text)
        self.assertIn("| bytes an event on disk | 7.0 | 6 | 18.0 | MISSED |", text)
        self.assertIn("(a real trace of 3.00 million events) | 0.12 s | 0.15 s | 12.5 s: export, stats | met |", text)
        self.assertIn("| report, million events a second on one core | 12.0 | 20 |  | MISSED |", text)
        self.assertIn("| memory of report, bytes an event | 50 | 48 |  | MISSED |", text)

    def test_what_was_not_measured_is_said(self):
        text = self.page(reader=[{"records": 1_000_000, "seconds": 0.04}], command={"start_s": 0.004, "installed_bytes": 8_000_000})
        self.assertIn("million events a second on one core | 25.0 (0.040 s) | 20 |  | met |", text)
        self.assertIn("| start of the command (`gprof-cli version`) | 4.0 ms |  |  |  |", text)
        self.assertIn("| size of the installed files | 8.0 MB | 10 MB |  | met |", text)
        self.assertIn("| NVTX push + pop |  | 50 ns |  | not measured |", text)

    def test_bytes_by_kind_are_all_bytes_of_the_file(self):
        data = (run_report.support.SOURCE / "tests" / "data" / "normalise_v1.trace").read_bytes()
        found = run_targets.bytes_by_kind(data)
        self.assertEqual(sum(figures["bytes"] for figures in found.values()), len(data))
        self.assertEqual({kind: found[kind]["records"] for kind in ("Kernel", "Memcpy")}, {"Kernel": 240, "Memcpy": 160})


if __name__ == "__main__":
    unittest.main()
