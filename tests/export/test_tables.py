"""CSV and JSON lines: every record, exact numbers, names as they were, columns as documented."""

import re
import unittest

import exporting

DUMPED = {"kernel": "kernel", "memset": "memset", "graph_launch": "graph_launch", "api": "api", "sync": "sync",
          "event_record": "event_record", "graph_node": None, "memory": "memory", "memory_pool": "memory_pool",
          "managed_memory": "managed_memory", "overhead": "overhead", "jit": "jit", "process": "process", "thread": "thread"}
BIG = (1 << 63) + 12345  # beyond what floating point and signed integers hold


class Tables(exporting.ExportTest):
    def kinds(self):
        folder = self.export(self.empty(), "csv", name="kinds")
        return sorted(path.stem for path in folder.iterdir())

    def test_counts_are_those_of_the_records(self):
        for trace in exporting.TRACES:
            with self.subTest(trace=trace.stem):
                folder = self.export(trace, "csv")
                records = exporting.recorded.Records.of(trace)
                for kind, dumped in DUMPED.items():
                    if dumped in ("process", "thread"):  # a process may say more than once who it is
                        self.assertLessEqual(len(exporting.csv_rows(folder / f"{kind}.csv")), len(records[dumped]) + 3)
                    elif dumped:
                        self.assertEqual(len(exporting.csv_rows(folder / f"{kind}.csv")), len(records[dumped]), kind)
                copies = exporting.csv_rows(folder / "memcpy.csv")
                self.assertEqual(len(copies), len(records["memcpy"]) + len(records["peer_copy"]))

    def test_both_formats_say_the_same(self):
        for trace in exporting.TRACES:
            with self.subTest(trace=trace.stem):
                first, second = self.export(trace, "csv", name="c"), self.export(trace, "jsonl", name="j")
                for path in sorted(first.iterdir()):
                    rows, objects = exporting.csv_rows(path), exporting.json_rows(second / f"{path.stem}.jsonl")
                    plain = {True: "1", False: "0", None: ""}
                    texts = [{key: plain[value] if value is None or isinstance(value, bool) else str(value)
                              for key, value in line.items()} for line in objects]
                    self.assertEqual(rows, texts, path.stem)
                for folder in (first, second):
                    for path in folder.iterdir():
                        path.unlink()
                    folder.rmdir()

    def test_times_and_names_of_kernels(self):
        trace = exporting.DATA / "known_facts.trace"
        rows = exporting.csv_rows(self.export(trace, "csv", "--kind", "kernel"))
        records = exporting.recorded.Records.of(trace)["kernel"]
        self.assertEqual(sorted((int(r["start_ns"]), int(r["duration_ns"]), r["mangled_name"]) for r in rows),
                         sorted((r["start_ns"], r["duration_ns"], r["name"]) for r in records))
        report = {row["name"]: row["total_ns"] for table in exporting.report(trace)["tables"] if table["id"] == "kernels"
                  for row in table["rows"]}
        sums = {}
        for row in rows:
            sums[row["name"]] = sums.get(row["name"], 0) + int(row["duration_ns"])
        self.assertEqual(sums, report)

    def test_hostile_names(self):
        trace = self.hostile()
        names = [*exporting.HOSTILE.values(), exporting.BROKEN]
        for form, read in (("csv", exporting.csv_rows), ("jsonl", exporting.json_rows)):
            rows = read(self.export(trace, form, "--raw-csv", "--kind", "kernel", name=f"kernel.{form}"))
            self.assertEqual([row["mangled_name"] for row in rows], names)
            rows = read(self.export(trace, form, "--raw-csv", "--kind", "nvtx_range", name=f"nvtx_range.{form}"))
            self.assertEqual([row["name"] for row in rows], names)
        rows = exporting.csv_rows(self.export(trace, "csv", "--kind", "kernel", name="for_spreadsheets.csv"))
        self.assertEqual([row["mangled_name"] for row in rows], ["'" + name if name[0] in "=\t" else name for name in names])

    def test_large_numbers_are_exact(self):
        trace = exporting.assemble(
            'chunk pid=7\nprocess start_ns=1000 pid=7 name="app"\ncontext context=1 null_stream=7\n'
            f'memory time_ns=2000 operation=1 memory=3 address={BIG} size_bytes={BIG - 1} context=1\n'
            "end time_ns=3000 reason=1 chunks_written=1\n", self.folder / "big.trace")
        for form, read in (("csv", exporting.csv_rows), ("jsonl", exporting.json_rows)):
            row, = read(self.export(trace, form, "--kind", "memory"))
            self.assertEqual((int(row["address"]), int(row["size_bytes"])), (BIG, BIG - 1))

    def test_an_empty_trace_has_all_tables(self):
        folder = self.export(self.empty(), "csv")
        for path in folder.iterdir():
            self.assertEqual(len(path.read_text(encoding="utf-8").splitlines()), 1 + (path.stem == "process"), path.stem)
        self.assertEqual(len(self.kinds()), len(list(folder.iterdir())))

    def test_one_kind_alone_is_the_file_of_that_kind(self):
        trace = exporting.DATA / "starved_loader.trace"
        for form in ("csv", "jsonl"):
            folder = self.export(trace, form, name=form)
            for kind in ("api", "stream"):
                one = self.export(trace, form, "--kind", kind, name=f"one.{kind}.{form}")
                self.assertEqual(one.read_bytes(), (folder / f"{kind}.{form}").read_bytes())

    def test_an_unknown_kind_is_told(self):
        with self.assertRaisesRegex(RuntimeError, "unknown record kind 'kernl'(?s:.*)did you mean 'kernel'"):
            self.export(exporting.TRACES[0], "csv", "--kind", "kernl")

    def test_the_page_lists_every_kind_and_column(self):
        page = (exporting.ROOT / "docs" / "export.md").read_text(encoding="utf-8")
        documented = {kind: re.findall(r"`(\w+)`", columns)
                      for kind, columns in re.findall(r"^\| `(\w+)` \|[^|\n]*\| (`[^|\n]*) \|$", page, re.MULTILINE)}
        folder = self.export(self.empty(), "csv")
        there = {path.stem: path.read_text(encoding="utf-8").splitlines()[0].split(",") for path in folder.iterdir()}
        self.assertEqual(documented, there)


if __name__ == "__main__":
    exporting.main()
