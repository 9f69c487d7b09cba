"""Our trace, each export, its reader: every kernel, stream, copy, call and range comes back with its count, time and bytes."""

import functools
import json
import pathlib
import tempfile
import unittest

import exporting
import groups
import perfetto_wire

ANALYSES = "api,balance,devices,kernels,memcpy,nccl,nvtx,occupancy,steps,streams,sync"
# What the form holds. Start-up, clocks and the tracer's own time are not in it, nor is why a time was not recorded. Without the
# start of the process nothing tells a warm-up, which times of steps leave out.
KEPT = ("api.calls", "api.errors", "api.total_ns", "balance.peer_bytes", "gpu.busy_ns", "gpu.copy_only_ns", "gpu.kernel_ns",
        "gpu.operations", "kernels.", "memcpy.", "memset.", "nccl.total_ns", "nccl.exposed_ns", "nvtx.gpu_busy_ns", "nvtx.kernels",
        "nvtx.marks", "occupancy.", "step.count", "streams.copy_compute_ns", "streams.kernel_overlap_ns", "streams.used", "sync.count",
        "sync.host_blocked_ns")
# docs/export.md says so. A file of torch.profiler has a rank where there is one process.
NOT_IN = {"json": ("waits", "rows", "memory pools", "streams with names", "ranks"), "sqlite": ()}
FOLDER = tempfile.TemporaryDirectory(prefix="gprof-round-trip-")


@functools.cache
def exported(trace, form, suffix):
    path = pathlib.Path(FOLDER.name) / f"{trace.name}-{form}{suffix}"
    exporting.ask("export", trace, "--format", form, "-o", path)
    return path


@functools.cache
def tables(trace):
    return groups.Tables(exported(trace, "csv", ""))


def figures(trace):
    document = json.loads(exporting.ask("report", trace, "--only", ANALYSES, "--format", "json", "--rows", "0"))
    return {f"{row['id']} {row.get('scope', '')}": row["value"] for row in document["metrics"] if row["id"].startswith(KEPT)}


# An operation of NCCL is a slice of Chrome's like any other, and comes back as a range beside the operator that tells of it.
COLLECTIVES = {"AllReduce", "AllGather", "Broadcast", "ReduceScatter", "Reduce", "Send", "Recv", "AllToAll"}


def without_new_collectives(before, after):
    return {key: value for key, value in after.items() if key in before or COLLECTIVES.isdisjoint(key)}


class RoundTripCase(exporting.ExportTest):
    def assert_same_groups(self, before, after, left_out=()):
        for what in before:
            if what not in left_out:
                found = without_new_collectives(before[what], after[what])
                self.assertEqual(dict(sorted(before[what].items())), dict(sorted(found.items())), what)

    def assert_comes_back(self, trace):
        before = tables(trace).groups()
        for form, suffix in (("chrome", ".json"), ("sqlite", ".sqlite")):
            with self.subTest(trace=trace.name, form=form):
                after = tables(exported(trace, form, suffix)).groups()
                self.assert_same_groups(before, after, NOT_IN[suffix[1:]])


class RoundTrip(RoundTripCase):
    def test_groups_come_back(self):
        self.assertGreater(len(exporting.TRACES), 10)
        for trace in exporting.TRACES:
            self.assert_comes_back(trace)

    def test_perfetto_has_the_same_groups(self):
        for trace in exporting.TRACES:
            with self.subTest(trace=trace.name):
                found = perfetto_wire.Perfetto(exported(trace, "perfetto", ".pftrace"))
                self.assert_same_groups(tables(trace).groups_of_timeline(), groups.of_perfetto(found))
                self.assertEqual(len(found.marks), len(tables(trace).tables["nvtx_mark"]))

    def test_figures_come_back(self):
        for trace in exporting.TRACES:
            with self.subTest(trace=trace.name):
                before = figures(trace)
                after = figures(exported(trace, "chrome", ".json"))
                # What the reader cannot know, such as whether calls failed where none did, has no figure.
                self.assertGreaterEqual(len(after), len(before) * 0.8)
                self.assertEqual({figure: before.get(figure) for figure in after}, after)

    def test_a_capture_of_another_tool_can_be_exported(self):
        again = exported(exported(exporting.DATA / "normalise_v3_bug.trace", "chrome", ".json"), "chrome", ".json")
        self.assertEqual(figures(again), figures(exported(exporting.DATA / "normalise_v3_bug.trace", "chrome", ".json")))

    def test_work_of_several_processes_without_its_calls(self):
        lines = []
        for pid in (7, 8):
            lines += [f"chunk pid={pid}", f'process start_ns=1000 pid={pid} name="app" host="h"',
                      'device name="GPU" uuid="GPU-1" sm_count=1', "context context=1 null_stream=7"]
            lines += [f'kernel start_ns={pid * 10_000 + i * 100} duration_ns=50 context=1 stream=7 correlation={i + 1} name="k"'
                      for i in range(pid)]
            lines.append("end time_ns=900000 reason=1 chunks_written=1")
        trace = exporting.assemble("\n".join(lines) + "\n", self.folder / "several.trace")
        self.assertEqual({key[0]: count for key, (count, _, _) in tables(trace).groups()["streams"].items()}, {"7": 7, "8": 8})
        self.assert_comes_back(trace)


@unittest.skipUnless(exporting.SAMPLES.is_dir(), "the real captures (../shared/samples) are not here")
class RealCaptures(RoundTripCase):
    """Captures of other tools, read, exported and read again."""

    def test_groups_come_back(self):
        samples = sorted((exporting.SAMPLES / "kineto").glob("*.json.gz")) + sorted((exporting.SAMPLES / "nsys").glob("*.sqlite"))
        for sample in samples:
            self.assert_comes_back(sample)


if __name__ == "__main__":
    exporting.main()
