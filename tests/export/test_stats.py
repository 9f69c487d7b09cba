"""`stats` prints what Nsight Systems prints of the same trace, and reads its reports where nsys can convert them."""

import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import exporting
import recorded  # of tests/gpu, found by exporting

TABLES = ("nvtx_sum", "cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum")
NSYS = """#!/bin/sh
# export --type sqlite --force-overwrite true -o OUT IN: the report is the export already, behind a line.
[ "$1" = export ] && [ "$3" = sqlite ] && [ "$6" = -o ] || exit 2
tail -n +2 "$8" > "$7"
"""


def stats(*words, env=None):
    return subprocess.run([str(word) for word in (recorded.COMMAND, "stats", *words)], capture_output=True, text=True,
                          check=False, timeout=120, env={**os.environ, **(env or {})})


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


class StatsTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="gprof-stats-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def exported(self, trace):
        path = self.folder / f"{trace.stem}.sqlite"
        if not path.exists():
            exporting.ask("export", trace, "-o", path)
        return path

    def printed(self, trace, table):
        done = stats(trace, "--report", table, "--format", "csv")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return rows(done.stdout)

    def theirs(self, database):
        """{table: rows} of the stand-in for nsys, without those that it has nothing to say about."""
        double = exporting.HERE / "nsys_double.py"
        subprocess.run([sys.executable, double, "stats", "--report", ",".join(TABLES), "--format", "csv", "--output",
                        self.folder / "theirs", database], check=True, timeout=120, stdout=subprocess.DEVNULL)
        found = {}
        for file in self.folder.glob("theirs_*.csv"):
            found[file.stem.removeprefix("theirs_")] = rows(file.read_text(encoding="utf-8"))
            file.unlink()
        return {table: of_table for table, of_table in found.items() if of_table}


class Stats(StatsTest):
    @staticmethod
    def alike(found, columns):
        """What both have: numbers as numbers, in an order of its own."""
        def value(text):
            try:
                return round(float(text), 3)
            except ValueError:
                return text
        return sorted([{name: value(row[name]) for name in columns} for row in found], key=str)

    def test_figures_are_those_of_nsys(self):
        compared = set()
        samples = sorted((exporting.SAMPLES / "nsys").glob("*.sqlite"))
        for trace in exporting.TRACES + samples:
            database = trace if trace in samples else self.exported(trace)
            ours = json.loads(stats(trace, "--report", ",".join(TABLES), "--format", "json").stdout)
            for table, wanted in self.theirs(database).items():
                with self.subTest(trace=trace.stem, table=table):
                    # Nsight Systems and we demangle in different ways, and it keeps the versions of functions.
                    columns = [name for name in wanted[0] if name != "Name" or trace not in samples]
                    self.assertEqual(self.alike(ours[table], columns), self.alike(wanted, columns))
                    compared.add(table)
        self.assertEqual(compared, set(TABLES))

    def test_columns_have_the_names_of_nsys(self):
        trace = next(trace for trace in exporting.TRACES if trace.stem == "starved_loader")
        times = "Total Time (ns),{},Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),{}"
        for table, counted, names in (("cuda_gpu_kern_sum", "Instances", "Name"), ("cuda_api_sum", "Num Calls", "Name"),
                                      ("cuda_gpu_mem_time_sum", "Count", "Operation"), ("nvtx_sum", "Instances", "Style,Range"),
                                      ("nvtx_pushpop_sum", "Instances", "Range"), ("osrt_sum", "Num Calls", "Name")):
            head = stats(trace, "-r", table, "-f", "csv").stdout.splitlines()[0]
            self.assertEqual(head, "Time (%)," + times.format(counted, names))
        self.assertEqual(stats(trace, "-r", "cuda_gpu_mem_size_sum", "-f", "tsv").stdout.splitlines()[0],
                         "Total (MB)\tCount\tAvg (MB)\tMed (MB)\tMin (MB)\tMax (MB)\tStdDev (MB)\tOperation")

    def test_shares_add_up_and_json_says_the_same(self):
        for trace in exporting.TRACES[:3]:
            for table in TABLES[:4]:
                found = self.printed(trace, table)
                if found:
                    self.assertAlmostEqual(sum(float(row["Time (%)"]) for row in found), 100, delta=0.06 * len(found))
                read = json.loads(stats(trace, "-r", table, "-f", "json").stdout)
                self.assertEqual([{name: str(value) for name, value in row.items()} for row in read], found)

    def test_files(self):
        trace = self.folder / "run.trace"
        shutil.copy(next(trace for trace in exporting.TRACES if trace.stem == "starved_loader"), trace)
        self.assertEqual(stats(trace, "-r", "nvtx_sum,cuda_api_sum", "-f", "csv", "-o", ".").returncode, 0)
        self.assertEqual(stats(trace, "-r", "nvtx_sum", "-o", self.folder / "a").returncode, 0)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()),
                         ["a_nvtx_sum.txt", "run.trace", "run_cuda_api_sum.csv", "run_nvtx_sum.csv"])
        everything = json.loads(stats(trace, "-f", "json").stdout)
        self.assertEqual(set(everything), set(TABLES))


class Reports(StatsTest):
    def setUp(self):
        super().setUp()
        self.trace = next(trace for trace in exporting.TRACES if trace.stem == "starved_loader")
        tools = self.folder / "bin"
        tools.mkdir()
        (tools / "nsys").write_text(NSYS, encoding="utf-8")
        (tools / "nsys").chmod(0o755)
        self.env = {"PATH": f"{tools}:{os.environ['PATH']}", "TMPDIR": str(self.folder)}

    def report(self):
        path = self.folder / "app.nsys-rep"
        path.write_bytes(b"not for us\n" + self.exported(self.trace).read_bytes())
        return path

    def test_is_converted_by_nsys_and_that_is_said_once(self):
        path = self.report()
        done = stats(path, "-r", "cuda_gpu_kern_sum", "-f", "csv", env=self.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(rows(done.stdout), self.printed(self.trace, "cuda_gpu_kern_sum"))
        self.assertEqual(done.stderr.count("nsys export"), 2)  # one line, with the line to type
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertEqual([entry for entry in self.folder.iterdir() if entry.name.startswith("gprof-nsys-")], [])

    def test_export_beside_it_is_used_while_it_is_fresh(self):
        path, beside = self.report(), self.folder / "app.sqlite"
        shutil.copy(self.exported(self.trace), beside)
        os.utime(path, (1, 1))
        done = stats(path, "-r", "cuda_gpu_kern_sum", env={"PATH": "/nowhere"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("app.sqlite", done.stderr)
        os.utime(beside, (0, 0))
        self.assertEqual(stats(path, env={"PATH": "/nowhere"}).returncode, 3)

    def test_without_nsys_the_line_is_named(self):
        path = self.report()
        done = stats(path, env={"PATH": "/nowhere"})
        self.assertEqual(done.returncode, 3)
        self.assertIn("nsys is not in PATH", done.stderr)
        self.assertIn(f"nsys export --type sqlite -o '{path.with_suffix('.sqlite')}' '{path}'", done.stderr)

    def test_failure_of_nsys_is_one_of_ours(self):
        path = self.report()
        (self.folder / "bin" / "nsys").write_text("#!/bin/sh\nexit 7\n", encoding="utf-8")
        done = stats(path, env=self.env)
        self.assertEqual(done.returncode, 3)
        self.assertIn("nsys export ended with exit code 7", done.stderr)

    def test_report_of_nsight_compute(self):
        path = self.folder / "app.ncu-rep"
        path.write_bytes(b"NVR\0\x01\x02")
        done = stats(path)
        self.assertEqual(done.returncode, 3)
        self.assertIn("a report of Nsight Compute", done.stderr)
        self.assertIn("ncu --csv --page raw --print-units base --import", done.stderr)


if __name__ == "__main__":
    unittest.main()
