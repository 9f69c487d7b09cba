"""Ranks as the devices of one process, as the profiler of JAX writes them: a lane for each stream of each GPU."""

import gzip
import json

from simulate import DAY_NS


def write(folder, ranks, assemble=None):
    events, host = [], 701
    name = lambda pid, tid, what, text: events.append({"ph": "M", "pid": pid, "tid": tid, "name": what, "args": {"name": text}})
    name(host, 0, "process_name", "/host:CPU")
    for rank in ranks:
        device, shift = rank.number + 1, rank.number * 1_000_000
        name(device, 0, "process_name", f"/device:GPU:{rank.number}")
        for stream in sorted({op.stream for op in rank.ops}):
            name(device, stream, "thread_name", f"Stream #{stream}({'MemcpyH2D' if stream == 24 else 'Compute,NCCL' if stream == 20 else 'Compute'})")
        name(host, 50 + rank.number, "thread_name", "python" if rank.number == 0 else f"XlaLauncher-{rank.number}")
        us = lambda t: round((t - DAY_NS) / 1000, 3)
        for kind, f in rank.facts:
            if kind == "range" and rank.number == 0:
                events.append({"ph": "X", "pid": host, "tid": 50, "ts": us(f["start"]), "dur": us(f["end"]) - us(f["start"]), "name": f["name"]})
            elif kind == "call":
                function = {"cudaLaunchKernel": "cuLaunchKernel", "cudaMemcpyAsync": "cuMemcpyHtoDAsync_v2", "cudaStreamSynchronize": "cuStreamSynchronize",
                            "cudaDeviceSynchronize": "cuCtxSynchronize"}.get(f["function"], f["function"])
                events.append({"ph": "X", "pid": host, "tid": 50 + rank.number, "ts": us(f["start"]), "dur": f["ns"] / 1000, "name": function,
                               "args": {"correlation_id": str(shift + f["correlation"]), "device_id": str(rank.number)}})
            elif kind == "op" and f["op"].end is not None:
                op = f["op"]
                args = {"context_id": f"$${device}", "correlation_id": str(shift + op.what["correlation"])}
                if op.kind == "memcpy":
                    args["memcpy_details"] = f"kind_src:pinned kind_dst:device size:{op.what['size']} dest:0 async:1"
                else:
                    args["kernel_details"] = "regs:96 static_shared:0 dynamic_shared:49152 grid:{},{},{} block:{},{},{} occ_pct:25".format(*op.what["grid"], *op.what["block"])
                label = op.name if op.kind == "kernel" else {"HtoD": "MemcpyH2D", "DtoH": "MemcpyD2H"}.get(op.name, "MemcpyD2D")
                events.append({"ph": "X", "pid": device, "tid": op.stream, "ts": us(op.start), "dur": round((op.end - op.start) / 1000, 3), "name": label, "args": args})
    path = folder / "vm.trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": events}).encode(), 1, mtime=0))
    return [path]
