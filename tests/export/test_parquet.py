"""Parquet files hold what csv has: read again with DuckDB, Polars and pyarrow, and queried as docs/works-with.md says.

Spark is 400 MB and needs Java: it reads them where GPROF_TEST_SPARK names a Python that has pyspark.
"""

import collections
import json
import os
import re
import subprocess
import unittest

import exporting
import packages

READER = """
import json, sys
folder = sys.argv[1]
import pathlib
{load}
for path in sorted(pathlib.Path(folder).glob("*.parquet")):
    columns, rows = read(str(path))
    print(json.dumps([path.stem, columns, rows], default=str))
"""
PYARROW = """
import pyarrow.parquet
def read(path):
    table = pyarrow.parquet.read_table(path)
    return table.column_names, [list(row.values()) for row in table.to_pylist()]
"""
DUCKDB = """
import duckdb
def read(path):
    found = duckdb.sql(f"SELECT * FROM '{path}'")
    return found.columns, found.fetchall()
"""
POLARS = """
import polars
def read(path):
    frame = polars.read_parquet(path)
    return frame.columns, frame.rows()
"""
SPARK = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
def read(path):
    frame = spark.read.parquet(path)
    return frame.columns, [list(row) for row in frame.collect()]
"""
READERS = {"pyarrow": PYARROW, "duckdb": DUCKDB, "polars": POLARS}


def text_of(value):
    """As csv writes it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value)


def is_same(csv, value):
    if isinstance(value, float):
        return csv != "" and float(csv) == value
    return csv == text_of(value)


def recipe_of(tool):
    """The lines for it in the docs."""
    page = (exporting.ROOT / "docs" / "works-with.md").read_text(encoding="utf-8")
    return re.search(rf"```python\n(# {tool}\n.*?)```", page, re.S).group(1)


class Parquet(exporting.ExportTest):
    def python_with(self, package):
        if package == "spark":
            python, why = os.environ.get("GPROF_TEST_SPARK"), "GPROF_TEST_SPARK names no Python that has pyspark"
        else:
            python, why = packages.python_with(package)
        if python is None:
            self.skipTest(f"{package} is not here: {why}")
        return python

    def read(self, folder, package, load):
        done = subprocess.run([self.python_with(package), "-c", READER.format(load=load), folder], capture_output=True, text=True,
                              timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {name: (columns, rows) for name, columns, rows in map(json.loads, done.stdout.splitlines())}

    def check(self, trace, package):
        csv = self.export(trace, "csv", "--raw-csv", name=f"csv-{trace.stem}-{package}")
        parquet = self.export(trace, "parquet", name=f"parquet-{trace.stem}-{package}")
        found = self.read(parquet, package, READERS[package])
        self.assertEqual(sorted(found), sorted(path.stem for path in csv.iterdir()))
        self.compare(csv, found)

    def compare(self, csv, found):
        for stem, (columns, values) in found.items():
            rows = exporting.csv_rows(csv / f"{stem}.csv")
            self.assertEqual(len(values), len(rows), stem)
            for row, of_row in zip(rows, values):
                self.assertEqual(columns, list(row), stem)
                for column, value in zip(columns, of_row):
                    self.assertTrue(is_same(row[column], value), (stem, column, row[column], value))

    def test_every_value_with_each_reader(self):
        for package in READERS:
            with self.subTest(package=package):
                self.check(exporting.DATA / "known_facts.trace", package)

    def test_every_trace(self):
        for trace in exporting.TRACES:
            with self.subTest(trace=trace.stem):
                self.check(trace, "pyarrow")

    def test_hostile_names(self):
        self.check(exporting.hostile_trace(self.folder / "hostile.trace"), "pyarrow")

    def test_several_row_groups(self):
        rows = 300_000  # a group has 131,072
        lines = ['chunk pid=7', 'process start_ns=1000 pid=7 name="app" host="h"', 'device name="GPU" uuid="GPU-1" sm_count=1',
                 'context context=1 null_stream=7', 'thread tid=7 name="main"']
        lines += [f'api start_ns={10_000 + 100 * i} duration_ns=20 tid=7 correlation={i + 1} function="f{i % 3}" domain=1'
                  for i in range(rows)]
        trace = exporting.assemble("\n".join(lines + ["end time_ns=900000000 reason=1"]) + "\n", self.folder / "large.trace")
        folder = self.export(trace, "parquet", name="large")
        code = ("import pyarrow.parquet as p, sys; f = p.ParquetFile(sys.argv[1]); t = f.read(); "
                "print(f.num_row_groups, t.num_rows, len(set(t['start_ns'].to_pylist())), sorted(set(t['function'].to_pylist())))")
        done = subprocess.run([self.python_with("pyarrow"), "-c", code, folder / "api.parquet"], capture_output=True, text=True,
                              timeout=240)
        self.assertEqual(done.stdout.split(), ["3", str(rows), str(rows), "['f0',", "'f1',", "'f2']"], done.stderr)

    def run_recipe(self, tool):
        self.export(exporting.DATA / "known_facts.trace", "parquet", name="tables")
        done = subprocess.run([self.python_with(tool.lower()), "-c", recipe_of(tool)], capture_output=True, text=True, cwd=self.folder,
                              timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_recipe_for_duckdb(self):
        self.assertIn("SaxpyKernel", self.run_recipe("DuckDB"))

    def test_recipe_for_polars(self):
        self.assertIn("SaxpyKernel", self.run_recipe("Polars"))

    def test_recipe_for_spark(self):
        kernels = exporting.csv_rows(self.export(exporting.DATA / "known_facts.trace", "csv", "--kind", "kernel", name="kernel.csv"))
        printed = [line.split("|")[1:3] for line in self.run_recipe("Spark").splitlines() if line.startswith("|")]
        found = {name.strip(): count.strip() for name, count in printed[1:]}
        names = collections.Counter(kernel["short_name"] for kernel in kernels)
        self.assertEqual(found, {name: str(count) for name, count in names.items()})

    def test_every_value_with_spark(self):
        csv = self.export(exporting.DATA / "known_facts.trace", "csv", name="csv-spark")
        parquet = self.export(exporting.DATA / "known_facts.trace", "parquet", name="parquet-spark")
        for path in parquet.iterdir():  # a job of Spark takes a second
            if path.stem not in ("kernel", "memcpy", "nvtx_range", "stream"):
                path.unlink()
        found = self.read(parquet, "spark", SPARK)
        self.assertEqual(len(found), 4)
        self.compare(csv, found)

    def test_folder_and_words(self):
        for words in (["-o", self.folder / "a.parquet"], ["-o", "-"], ["-o", self.folder / "a", "--kind", "api"]):
            done = subprocess.run([exporting.recorded.COMMAND, "export", exporting.DATA / "known_facts.trace", "--format", "parquet",
                                   *words], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2, done.stderr)


if __name__ == "__main__":
    exporting.main()
