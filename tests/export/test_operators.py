"""PyTorch's operators in `export --format chrome`: events of torch.profiler, from which the same operator table is read again."""

import csv
import io
import json

import exporting

CASES = ("operators", "operators_by_callbacks", "operator_types", "modules")  # of the report
CAPTURES = sorted((exporting.DATA / "torch").glob("*.json.gz"))
CUT = r"""
chunk pid=7
process start_ns=1000 pid=7 name="app"
thread tid=7 name="main"
nvtx_domain domain=9 name="PyTorch"
nvtx time_ns=2000 event=2 tid=7 domain=9 message="aten::mm, sizes = [[64, 3"
nvtx time_ns=3000 event=3 tid=7 domain=9
nvtx time_ns=4000 event=2 tid=7 domain=9 message="aten::cat, sizes = [[[2, 3], [4, 3], \xe2\x80\xa6]], types = [TensorList, \xe2\x80\xa6]"
nvtx time_ns=5000 event=3 tid=7 domain=9
nvtx time_ns=6000 event=2 tid=7 domain=9 message="aten::odd, sizes = [[,]], types = [a\x22b]"
nvtx time_ns=7000 event=3 tid=7 domain=9
end time_ns=9000 reason=1 chunks_written=1
"""


# The form does not say how fast the GPU is.
LEFT_OUT = ("peak_percent",)

BLOCKS = """
chunk pid=7
process start_ns=1000 pid=7 name="app"
device device=0 name="GPU" uuid="GPU-1" sm_count=1
context context=1 null_stream=7
thread tid=7 name="main"
nvtx_domain domain=9 name="PyTorch"
metric_source time_ns=1000 id=1 name="PyTorch memory allocated" unit="bytes" origin="PyTorch" metric_kind=1 scope=4
metric_source time_ns=1000 id=2 name="PyTorch memory reserved" unit="bytes" origin="PyTorch" metric_kind=1 scope=4
nvtx time_ns=2000 event=2 tid=7 domain=9 message="aten::empty, sizes = [[64]], types = [float]"
metric_block start_ns=2100 source=1 value=512
metric_block start_ns=2100 source=2 value=2048
tensor_block time_ns=2100 tid=7 device=0 address=4096 size_bytes=512
tensor_block time_ns=2200 tid=7 device=-1 address=64 size_bytes=100
api start_ns=2300 duration_ns=100 tid=7 correlation=1 function="cudaLaunchKernel" domain=1
kernel start_ns=2500 duration_ns=100 context=1 stream=7 correlation=1 name="fill"
nvtx time_ns=3000 event=3 tid=7 domain=9
metric_block start_ns=4000 source=1 value=0
metric_block start_ns=4000 source=2 value=2048
tensor_block time_ns=4000 tid=7 device=0 address=4096 size_bytes=-512
end time_ns=9000 reason=1 chunks_written=1
"""


def table(trace):
    text = exporting.ask("report", trace, "--only", "ops", "--rows", "0", "--format", "csv", "--table", "ops.ops_by_shape")
    return sorted(tuple(item for item in row.items() if item[0] not in LEFT_OUT) for row in csv.DictReader(io.StringIO(text)))


def operators(path):
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    return [event for event in events if event["cat"] == "cpu_op"]


class Operators(exporting.ExportTest):
    def test_the_same_table_comes_back(self):
        traces = [exporting.case_trace(f"report/{name}.test", self.folder / f"{name}.trace") for name in CASES] + CAPTURES
        for trace in traces:
            with self.subTest(trace=trace.name):
                before = table(trace)
                self.assertGreater(len(before), 1)
                again = self.export(trace, "chrome", name=f"{trace.name}.again.json")
                self.assertEqual(before, table(again))

    def test_inputs_are_arguments(self):
        trace = exporting.case_trace("report/operators_by_callbacks.test", self.folder / "run.trace")
        events = json.loads(self.export(trace, "chrome", name="run.json").read_text(encoding="utf-8"))["traceEvents"]
        first, second = [event for event in events if event["cat"] == "cpu_op"]
        self.assertEqual(first["name"], "aten::mm")
        wanted = {"Sequence number": 4, "Input Dims": [[64, 256], [256, 512]], "Input type": ["float", "float"], "Ev Idx": 0}
        self.assertEqual(first["args"], first["args"] | wanted)
        self.assertEqual((second["name"], second["args"]["Sequence number"], second["args"]["Ev Idx"]), ("MmBackward0", 4, 1))
        self.assertNotIn("Input Dims", second["args"])
        # What was launched in it has its number, as the call that launched it.
        ids = [first["args"]["External id"], second["args"]["External id"]]
        launched = [event["args"]["External id"] for event in events if event["cat"] in ("kernel", "cuda_runtime")]
        self.assertEqual(sorted(number for number in launched if number in ids), sorted(ids * 2))
        self.assertEqual([event["name"] for event in events if event["cat"] == "gpu_user_annotation"], ["step"])

    def test_allocations(self):
        trace = exporting.assemble(BLOCKS, self.folder / "blocks.trace")
        path = self.export(trace, "chrome", name="blocks.json")
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
        told = [(event["ts"], event["tid"], event["args"]) for event in events if event["name"] == "[memory]"]
        on_gpu = {"Total Reserved": 2048, "Addr": 4096, "Device Id": 0, "Device Type": 1}
        self.assertEqual(told, [(2.1, 7, on_gpu | {"Total Allocated": 512, "Bytes": 512}),
                                (2.2, 7, {"Bytes": 100, "Addr": 64, "Device Id": -1, "Device Type": 0}),
                                (4.0, 7, on_gpu | {"Total Allocated": 0, "Bytes": -512})])
        self.assertEqual(self.blocks(trace, "before.csv"), self.blocks(path, "after.csv"))
        self.assertEqual(table(trace), table(path))

    def blocks(self, trace, name):
        rows = exporting.csv_rows(self.export(trace, "csv", "--kind", "tensor_block", name=name))
        return [(row["size_bytes"], row["address"], row["tid"], row["device"], row["is_host"]) for row in rows]

    def test_names_that_were_cut(self):
        trace = exporting.assemble(CUT, self.folder / "cut.trace")
        path = self.export(trace, "chrome", name="cut.json")
        cut, whole, odd = operators(path)
        self.assertEqual(cut["name"], "aten::mm, sizes = [[64, 3")
        self.assertEqual((whole["name"], whole["args"]["Input Dims"], whole["args"]["Input type"]),
                         ("aten::cat", [[[2, 3], [4, 3], "…"]], ["TensorList", "…"]))
        self.assertEqual(odd["name"], 'aten::odd, sizes = [[,]], types = [a"b]')
        self.assertEqual(exporting.ask("dump", trace).count("message="), 3)
        ranges = exporting.csv_rows(self.export(path, "csv", "--kind", "nvtx_range", name="again.csv"))
        self.assertEqual([row["name"] for row in ranges],
                         [row["name"] for row in exporting.csv_rows(self.export(trace, "csv", "--kind", "nvtx_range", name="ranges.csv"))])


if __name__ == "__main__":
    exporting.main()
