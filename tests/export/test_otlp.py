"""OpenTelemetry profiles: what OTLP's own messages read is what pprof has, and the idle time is that of the report.

The numbers of fields are those of profiles.proto, v1development, opentelemetry-proto 1.45.
"""

import gzip
import json
import subprocess

import exporting
import packages
from perfetto_wire import fields
from test_cpu_samples import CASE, stacks_of_pprof, varints

PYTHON, WHY_NOT = packages.python_with("opentelemetry")

# Unknown fields are what another version would have written: there must be none.
READER = """
import json, sys
from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import ExportProfilesServiceRequest
from opentelemetry.proto.profiles.v1development.profiles_pb2 import ProfilesData
from google.protobuf.unknown_fields import UnknownFieldSet

def unknown(message):
    own = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type is not None:
            own += sum(map(unknown, value if hasattr(value, "__len__") else [value]))
    return own

bytes_ = open(sys.argv[1], "rb").read()
data, request = ProfilesData.FromString(bytes_), ExportProfilesServiceRequest.FromString(bytes_)
d, found = data.dictionary, {}
for profile in data.resource_profiles[0].scope_profiles[0].profiles:
    kind = d.string_table[profile.sample_type.type_strindex]
    for sample in profile.samples:
        names = [d.string_table[d.function_table[line.function_index].name_strindex]
                 for location in d.stack_table[sample.stack_index].location_indices for line in d.location_table[location].lines]
        key = ";".join([kind, *reversed(names)])
        found[key] = found.get(key, 0) + sum(sample.values)
print(json.dumps({"unknown": unknown(data) + unknown(request), "profiles": len(request.resource_profiles[0].scope_profiles[0].profiles), "found": found}))
"""


def numbers(message, wanted):
    return [number for field, packed in fields(message) if field == wanted for number in varints(packed)]


def stacks_of_otlp(data):
    """{(type, thread, names from the outside in): value}, and the unit of each type."""
    parts = list(fields(data))
    (dictionary,) = [value for field, value in parts if field == 2]
    table = {number: [value for field, value in fields(dictionary) if field == number] for number in range(1, 8)}
    texts = [text.decode() for text in table[5]]
    functions = [dict(fields(value)) for value in table[3]]
    lines = [[dict(fields(v)) for n, v in fields(value) if n == 3] for value in table[2]]
    attributes = [{n: v for n, v in fields(value)} for value in table[6]]
    # The first of each table is none.
    assert all(table[number][0] == b"" for number in range(1, 8)), {number: table[number][0] for number in table}
    (resource,) = [value for field, value in parts if field == 1]
    (scope,) = [value for field, value in fields(resource) if field == 2]
    found, units = {}, {}
    for profile in [value for field, value in fields(scope) if field == 2]:
        kind = dict(fields(dict(fields(profile))[1]))
        name = texts[kind[1]]
        units[name] = texts[kind[2]]
        for sample in [value for field, value in fields(profile) if field == 2]:
            of_thread = [attributes[i] for i in numbers(sample, 2)]
            thread = next((dict(fields(a[2]))[1].decode() for a in of_thread if texts[a[1]] == "thread.name"), None)
            stack = table[7][dict(fields(sample))[1]]
            names = [texts[functions[line[1]][1]] for location in numbers(stack, 1) for line in lines[location]]
            key = (name, thread, tuple(reversed(names)))
            found[key] = found.get(key, 0) + sum(numbers(sample, 4))
    return found, units


class Otlp(exporting.ExportTest):
    TYPES = ("samples", "cpu", "gpu", "gpu_idle")

    def cpu_trace(self):
        text = CASE.read_text(encoding="utf-8")
        return exporting.assemble(text[text.index("--- trace run.trace\n") + 20:text.index("--- run\n")], self.folder / "samples.trace")

    def of_pprof(self, trace):
        found, _ = stacks_of_pprof(gzip.decompress(self.export(trace, "pprof").read_bytes()))
        return {(kind, thread, names): value for (thread, names), values in found.items() for kind, value in zip(self.TYPES, values) if value != 0}

    def test_it_says_what_pprof_says(self):
        for trace in (self.cpu_trace(), *exporting.TRACES):
            with self.subTest(trace=trace.name):
                found, units = stacks_of_otlp(self.export(trace, "otlp").read_bytes())
                if not found:  # pprof refuses what is empty
                    self.assertRaisesRegex(RuntimeError, "to export", self.of_pprof, trace)
                    continue
                self.assertEqual(found, self.of_pprof(trace))
                self.assertEqual(units, {"samples": "count", **dict.fromkeys(("cpu", "gpu", "gpu_idle"), "nanoseconds")})

    def test_idle_time_is_that_of_the_report(self):
        looked = 0
        for trace in exporting.TRACES:
            with self.subTest(trace=trace.name):
                found, _ = stacks_of_otlp(self.export(trace, "otlp").read_bytes())
                sums = {}
                for (kind, _, names), value in found.items():
                    if kind == "gpu_idle":
                        sums[names[-1]] = sums.get(names[-1], 0) + value
                report = json.loads(exporting.ask("report", trace, "--format", "json"))
                idle = [m["value"] for m in report["metrics"] if m["id"] == "gpu.idle_ns" and not m["scope"]]
                if idle:
                    looked += 1
                    self.assertEqual(sum(sums.values()), idle[0])
        self.assertGreater(looked, 5)

    @exporting.unittest.skipUnless(PYTHON, f"opentelemetry-proto cannot be had: {WHY_NOT}")
    def test_published_messages_read_it(self):
        for trace in (self.cpu_trace(), exporting.DATA / "starved_loader.trace"):
            path = self.export(trace, "otlp")
            done = subprocess.run([PYTHON, "-c", READER, path], capture_output=True, text=True, timeout=240)
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            read = json.loads(done.stdout)
            self.assertEqual((read["unknown"], read["profiles"]), (0, 4))
            ours = {}
            for (kind, _, names), value in stacks_of_otlp(path.read_bytes())[0].items():
                key = ";".join([kind, *names])
                ours[key] = ours.get(key, 0) + value
            self.assertEqual(read["found"], ours)


if __name__ == "__main__":
    exporting.main()
