"""A trace that went through the JSON of torch.profiler and was read again has the same figures."""

import json

import exporting

# Among them: two processes on two GPUs, graphs node by node, copies between GPUs, captures, ranges of every kind.
CHOSEN = ("captures", "known_facts_graph_nodes", "nccl_after", "normalise_v3_bug", "peer_copy", "python_v3_bug")
ANALYSES = "api,devices,kernels,memcpy,nccl,nvtx,occupancy,steps,streams,sync"
# What the form holds. Start-up, clocks and the tracer's own time are not in it, nor is why a time was not recorded.
KEPT = ("api.calls", "api.errors", "api.total_ns", "gpu.busy_ns", "gpu.copy_only_ns", "gpu.kernel_ns", "gpu.operations",
        "kernels.", "memcpy.", "memset.", "nccl.total_ns", "nccl.exposed_ns", "nvtx.gpu_busy_ns", "nvtx.kernels", "nvtx.marks",
        "occupancy.", "step.", "streams.copy_compute_ns", "streams.kernel_overlap_ns", "streams.used", "sync.count",
        "sync.host_blocked_ns")


def figures(trace):
    document = json.loads(exporting.ask("report", trace, "--only", ANALYSES, "--format", "json", "--rows", "0"))
    return {f"{row['id']} {row.get('scope', '')}": row["value"] for row in document["metrics"] if row["id"].startswith(KEPT)}


class RoundTrip(exporting.ExportTest):
    def test_figures_come_back(self):
        for name in CHOSEN:
            with self.subTest(trace=name):
                trace = exporting.DATA / f"{name}.trace"
                before = figures(trace)
                after = figures(self.export(trace, "chrome", name=f"{name}.json.gz"))
                # What the reader cannot know, such as whether calls failed where none did, has no figure.
                self.assertGreater(len(after), len(before) * 0.9)
                self.assertEqual({figure: before.get(figure) for figure in after}, after)

    def test_a_capture_of_another_tool_can_be_exported(self):
        exported = self.export(exporting.DATA / "normalise_v3_bug.trace", "chrome", name="once.json")
        again = self.export(exported, "chrome", name="twice.json")
        self.assertEqual(figures(again), figures(exported))


if __name__ == "__main__":
    exporting.main()
