"""CPU samples: folded stacks, speedscope's JSON and pprof's messages say the same, and what the trace says."""

import gzip
import json
import re

import exporting
from perfetto_wire import fields

CASE = exporting.DATA.parent / "cases" / "report" / "host_samples.test"


def stacks_of_pprof(data):
    """{(thread, names from the outside in): (samples, ns)}, read by the field numbers of profile.proto."""
    texts, functions, locations, samples = [], {}, {}, []
    for number, value in fields(data):
        if number == 6:
            texts.append(value.decode())
        elif number == 5:
            function = dict(fields(value))
            functions[function[1]] = function
        elif number == 4:
            lines = [dict(fields(v)) for n, v in fields(value) if n == 4]
            locations[dict(fields(value))[1]] = [line[1] for line in lines]
        elif number == 2:
            samples.append(value)
    found = {}
    for sample in samples:
        parts = list(fields(sample))
        ids = [v for n, packed in parts if n == 1 for v in varints(packed)]
        values = [v for n, packed in parts if n == 2 for v in varints(packed)]
        labels = [dict(fields(v)) for n, v in parts if n == 3]
        thread = next((texts[label[2]] for label in labels if texts[label[1]] == "thread"), None)
        names = [texts[functions[f][2]] for i in ids for f in locations[i]]
        found[(thread, tuple(reversed(names)))] = tuple(values)
    return found, texts


def varints(packed):
    value = shift = 0
    for byte in packed:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0


class CpuSamples(exporting.ExportTest):
    def setUp(self):
        super().setUp()
        text = CASE.read_text(encoding="utf-8")
        source = text[text.index("--- trace run.trace\n") + 20:text.index("--- run\n")]
        self.trace = exporting.assemble(source, self.folder / "samples.trace")
        rows = exporting.csv_rows(self.export(self.trace, "csv", "--kind", "cpu_sample", name="samples.csv"))
        self.samples = [row for row in rows if row["sample_kind"] != "Python, waiting"]
        self.assertLess(len(self.samples), len(rows))

    @staticmethod
    def functions(row):
        """Stacks of these formats are of functions, those of tables have the lines of Python, too."""
        return tuple(re.sub(r" \([^()]*\.py:\d+\)$", "", name) for name in row["stack"].split(";"))

    def expected(self):
        """By the tables of the trace, whose stacks have full names: {names: ns}."""
        sums = {}
        for row in self.samples:
            names = self.functions(row)
            sums[names] = sums.get(names, 0) + int(row["weight_ns"])
        return sums

    def test_folded(self):
        lines = self.export(self.trace, "folded", "--weight", "cpu", "--full-names").read_text().splitlines()
        found = {tuple(line.rsplit(" ", 1)[0].split(";")): int(line.rsplit(" ", 1)[1]) for line in lines}
        self.assertEqual(found, {("main (70)",) + names: ns for names, ns in self.expected().items()})

    def test_speedscope(self):
        document = json.loads(self.export(self.trace, "speedscope").read_text())
        self.assertEqual(document["$schema"], "https://www.speedscope.app/file-format-schema.json")
        names = [frame["name"] for frame in document["shared"]["frames"]]
        (profile,) = document["profiles"]
        self.assertEqual((profile["type"], profile["name"], profile["unit"]), ("sampled", "main (70)", "nanoseconds"))
        self.assertEqual(profile["endValue"], sum(profile["weights"]))
        stacks = [tuple(names[i] for i in stack) for stack in profile["samples"]]
        self.assertEqual(stacks, [self.functions(row) for row in self.samples])
        self.assertEqual(profile["weights"], [int(row["weight_ns"]) for row in self.samples])
        decode = next(frame for frame in document["shared"]["frames"] if frame["name"].startswith("decode"))
        self.assertEqual((decode["file"], decode["line"]), ("decode.cpp", 33))

    def test_pprof(self):
        file = self.export(self.trace, "pprof")
        found, texts = stacks_of_pprof(gzip.decompress(file.read_bytes()))
        self.assertEqual(texts[0], "")
        self.assertEqual({names: ns for (_, names), (count, ns, _, _) in found.items() if count > 0}, self.expected())
        self.assertLessEqual({thread for thread, _ in found}, {"main (70)", None})
        self.assertEqual(sum(values[0] for values in found.values()), len(self.samples))
        self.assertIn("c0ffee", texts)

    def test_folded_is_of_samples_where_there_is_no_gpu_work(self):
        text = CASE.read_text(encoding="utf-8")
        lines = text[text.index("--- trace run.trace\n") + 20:text.index("--- run\n")].splitlines(keepends=True)
        trace = exporting.assemble("".join(line for line in lines if not line.startswith("kernel ")), self.folder / "host.trace")
        found = self.export(trace, "folded", name="any.folded").read_text()
        self.assertEqual(found, self.export(trace, "folded", "--weight", "cpu", name="cpu.folded").read_text())
        self.assertNotEqual(found, "")
        self.assertNotEqual(self.export(self.trace, "folded", name="gpu.folded").read_text(), found)

    def test_pprof_has_the_gpu_time_of_each_operation(self):
        trace = exporting.DATA / "starved_loader.trace"
        found, _ = stacks_of_pprof(gzip.decompress(self.export(trace, "pprof").read_bytes()))
        self.assertEqual({values[:2] for values in found.values()}, {(0, 0)})
        wanted = {}
        for kind in ("kernel", "memcpy", "memset"):
            for row in exporting.csv_rows(self.export(trace, "csv", "--kind", kind, name=kind + ".csv")):
                wanted[kind] = wanted.get(kind, 0) + int(row["duration_ns"])
        by_kind = {"kernel": 0, "memcpy": 0, "memset": 0}
        for (_, names), (_, _, gpu_ns, idle_ns) in found.items():
            if names[-1].startswith("idle: "):
                self.assertEqual(gpu_ns, 0)
                continue
            self.assertEqual(idle_ns, 0)
            by_kind["memset" if names[-1] == "memset" else "memcpy" if names[-1].startswith("copy ") else "kernel"] += gpu_ns
        self.assertEqual(by_kind, wanted)

    def test_a_trace_without_samples_is_refused_as_a_profile(self):
        trace = exporting.DATA / "starved_loader.trace"
        self.assertEqual(self.export(trace, "folded", "--weight", "cpu").read_text(), "")
        with self.assertRaisesRegex(RuntimeError, "there are no CPU samples to export"):
            self.export(trace, "speedscope")


if __name__ == "__main__":
    exporting.main()
