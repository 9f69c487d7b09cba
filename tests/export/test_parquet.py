"""Parquet files hold what csv has: read again with DuckDB, Polars and pyarrow, and queried as docs/works-with.md says."""

import json
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


class Parquet(exporting.ExportTest):
    def read(self, folder, package):
        python, why = packages.python_with(f"parquet-{package}", [package])
        if python is None:
            self.skipTest(f"{package} cannot be installed: {why}")
        done = subprocess.run([python, "-c", READER.format(load=READERS[package]), folder], capture_output=True, text=True,
                              timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {name: (columns, rows) for name, columns, rows in map(json.loads, done.stdout.splitlines())}

    def check(self, trace, package):
        csv = self.export(trace, "csv", name=f"csv-{trace.stem}-{package}")
        parquet = self.export(trace, "parquet", name=f"parquet-{trace.stem}-{package}")
        found = self.read(parquet, package)
        self.assertEqual(sorted(found), sorted(path.stem for path in csv.iterdir()))
        for path in csv.iterdir():
            rows = exporting.csv_rows(path)
            columns, values = found[path.stem]
            self.assertEqual(len(values), len(rows), path.stem)
            for row, of_row in zip(rows, values):
                self.assertEqual(columns, list(row), path.stem)
                for column, value in zip(columns, of_row):
                    self.assertTrue(is_same(row[column], value), (path.stem, column, row[column], value))

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
        python, why = packages.python_with("parquet-pyarrow", ["pyarrow"])
        if python is None:
            self.skipTest(f"pyarrow cannot be installed: {why}")
        code = ("import pyarrow.parquet as p, sys; f = p.ParquetFile(sys.argv[1]); t = f.read(); "
                "print(f.num_row_groups, t.num_rows, len(set(t['start_ns'].to_pylist())), sorted(set(t['function'].to_pylist())))")
        done = subprocess.run([python, "-c", code, folder / "api.parquet"], capture_output=True, text=True, timeout=240)
        self.assertEqual(done.stdout.split(), ["3", str(rows), str(rows), "['f0',", "'f1',", "'f2']"], done.stderr)

    def test_recipes_of_the_docs(self):
        page = (exporting.ROOT / "docs" / "works-with.md").read_text(encoding="utf-8")
        recipes = re.findall(r"```python\n(# (?:DuckDB|Polars)\n.*?)```", page, re.S)
        self.assertEqual(len(recipes), 2)
        self.export(exporting.DATA / "known_facts.trace", "parquet", name="tables")
        for recipe in recipes:
            package = recipe.split()[1].lower()
            python, why = packages.python_with(f"parquet-{package}", [package])
            if python is None:
                self.skipTest(f"{package} cannot be installed: {why}")
            done = subprocess.run([python, "-c", recipe], capture_output=True, text=True, cwd=self.folder, timeout=240)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("SaxpyKernel", done.stdout)

    def test_folder_and_words(self):
        for words in (["-o", self.folder / "a.parquet"], ["-o", "-"], ["-o", self.folder / "a", "--kind", "api"]):
            done = subprocess.run([exporting.recorded.COMMAND, "export", exporting.DATA / "known_facts.trace", "--format", "parquet",
                                   *words], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2, done.stderr)


if __name__ == "__main__":
    exporting.main()
