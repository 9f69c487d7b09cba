"""Loads a folder of traces with HolisticTraceAnalysis, runs its analyses and prints as JSON what it found."""

import json
import os
import sys

# It rounds times to microseconds otherwise.
os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"

from hta.trace_analysis import TraceAnalysis  # noqa: E402

GPU_WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def main():
    analysis = TraceAnalysis(trace_dir=sys.argv[1])
    rank, events = next(iter(analysis.t.traces.items()))
    names = analysis.t.symbol_table.sym_table
    category = events["cat"].map(lambda number: names[number])
    kernels = events[category == "kernel"]
    runs = {"temporal breakdown": lambda: analysis.get_temporal_breakdown(visualize=False),
            "kernel breakdown": lambda: analysis.get_gpu_kernel_breakdown(visualize=False),
            "launch statistics": lambda: analysis.get_cuda_kernel_launch_stats(visualize=False),
            "queue length": analysis.get_queue_length_summary,
            "idle time": lambda: analysis.get_idle_time_breakdown(ranks=[rank], visualize=False),
            "memory bandwidth": analysis.get_memory_bw_summary}
    done = []
    for name, run in runs.items():
        if run() is not None:
            done.append(name)
    print()
    print(json.dumps({
        "ranks": [int(one) for one in analysis.t.traces],
        "kernels": len(kernels),
        "copies": int((category == "gpu_memcpy").sum()),
        "calls": int(category.isin(["cuda_runtime", "cuda_driver"]).sum()),
        "operators": sorted(names[number] for number in events[category == "cpu_op"]["name"]),
        "kernel_ns": int(sum(round(us * 1000) for us in kernels["dur"])),
        "linked_kernels": int((kernels["index_correlation"] > 0).sum()),
        "analyses": done,
    }))


if __name__ == "__main__":
    main()
