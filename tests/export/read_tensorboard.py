"""Reads a trace with TensorBoard's plug-in for torch.profiler, without the server, and prints as JSON what its views have."""

import json
import sys
import tempfile

from torch_tb_profiler.profiler.data import RunProfileData


def main():
    with tempfile.TemporaryDirectory() as cache:
        profile = RunProfileData.parse("worker", "1", sys.argv[1], cache)
    operators = {f"{op.name} {op.input_shape}": [op.calls, round(op.host_duration * 1000)]
                 for op in profile.op_list_groupby_name_input}
    memory = profile.memory_snapshot
    print(json.dumps({"operators": operators, "allocations": len(memory.memory_records) if memory else 0}))


if __name__ == "__main__":
    main()
