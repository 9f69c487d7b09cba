#!/usr/bin/env python3
"""Makes a report page of any size without a trace of that size: what the page's tests and measurements read.

The events are a training loop that never was: threads with nested NVTX ranges and CUDA calls, GPUs with streams, gaps and
counters, names of the nastiest kind. A period of steps is made once and repeated as bytes, which the coding of the columns
(differences) allows, so that 5 million events take seconds.

  fake_page.py --events 1000000 --bundle build/web/main.js -o page.html
"""

import argparse
import base64
import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import zlib

import page_reader

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEB = ROOT / "src" / "web"
BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", ROOT / "build" / "release"))

KINDS = ("kernel copy_h2d copy_d2h copy_d2d copy_peer copy_other memset graph api_launch api_copy api_memset api_sync "
         "api_memory api_load api_query api_stream api_event api_graph api_other nvtx_range nvtx_start_end nvtx_mark gap "
         "pageable_h2d pageable_d2h overhead").split()
KIND = {name: number for number, name in enumerate(KINDS)}

HOSTILE = [
    "</script><script>window.hacked=1</script>", "\"><img src=x onerror=\"window.hacked=1\">", "<!--<script>", "]]>",
    "\u202egnirts desrever\u202c", "kernel\u0000with\u0007controls\n\t", "__proto__", "constructor", "toString",
    "void very_long_" + "x" * 10000 + "<int>(float*)", "\ufffd\ufffdinvalid", "\U0001f525 fire", "{{script}}", "a" * 300,
    "%s%n&amp;&lt;", "javascript:window.hacked=1", "=HYPERLINK(\"http://x\")", "\u2028\u2029",
]
KERNELS = [
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>>(int, "
    "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
    "ampere_sgemm_128x64_tn", "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x5_tn_align4>(Params)",
    "gprof::kernels::SaxpyKernel(float, float const*, float*, int)", "softmax_warp_forward", "layer_norm_kernel",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "adam_step",
]


def varint(out, value):
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def zigzag(value):
    return value * 2 if value >= 0 else -value * 2 - 1


class Blob:
    def __init__(self):
        self.bytes = bytearray()

    def add(self, name, coding, data):
        ref = {"name": name, "coding": coding, "offset": len(self.bytes), "bytes": len(data)}
        self.bytes += data
        return ref


class Lane:
    """Events of one period: dicts with start, end, name, kind and whatever columns else."""

    def __init__(self, depth=0):
        self.depth = depth
        self.events = []
        self.first = 0

    def add(self, start, end, name, kind, **more):
        last = self.events[-1]["end"] if self.events else 0
        start = max(start, last)
        self.events.append({"start": start, "end": max(end, start), "name": name, "kind": KIND[kind], **more})
        return len(self.events) - 1

    def encode(self, blob, period_ns, repeat):
        columns = [blob.add("gap", "varint", self.gaps(period_ns, repeat))]
        columns.append(blob.add("duration", "varint", self.plain(lambda e: e["end"] - e["start"]) * repeat))
        columns.append(blob.add("name", "varint", self.plain(lambda e: e["name"]) * repeat))
        columns.append(blob.add("kind", "byte", bytes(e["kind"] for e in self.events) * repeat))
        keys = {key for e in self.events for key in e} - {"start", "end", "name", "kind"}
        for key in sorted(keys):
            values = [e.get(key, 0) for e in self.events]
            if key in ("call", "range", "next", "blame", "correlation"):
                columns.append(blob.add(key, "delta", self.references(values, repeat)))
            elif key == "memory":
                columns.append(blob.add(key, "byte", bytes(values) * repeat))
            else:
                columns.append(blob.add(key, "varint", self.plain(lambda e, key=key: e.get(key, 0)) * repeat))
        return {"count": len(self.events) * repeat, "first": self.first, "depth": self.depth, "columns": columns}

    def plain(self, value):
        out = bytearray()
        for event in self.events:
            varint(out, value(event))
        return bytes(out)

    def gaps(self, period_ns, repeat):
        first, rest, again = bytearray(), bytearray(), bytearray()
        varint(first, self.events[0]["start"])
        for before, event in zip(self.events, self.events[1:]):
            varint(rest, event["start"] - before["end"])
        varint(again, self.events[0]["start"] + period_ns - self.events[-1]["end"])
        return bytes(first + rest + (again + rest) * (repeat - 1))

    def references(self, values, repeat):
        """Each value is (lane, index) or a plain number that goes up by the number of events a period."""
        def number(value):
            return 1 + value[0].first + value[1] if isinstance(value, tuple) else value

        per_period = len(values[0][0].events) if isinstance(values[0], tuple) else len(values)
        numbers = [number(v) for v in values]
        first, rest, again = bytearray(), bytearray(), bytearray()
        varint(first, zigzag(numbers[0]))
        for before, value in zip(numbers, numbers[1:]):
            varint(rest, zigzag(value - before))
        varint(again, zigzag(numbers[0] + per_period - numbers[-1]))
        return bytes(first + rest + (again + rest) * (repeat - 1))


def track(kind, label, parent, lanes=(), counter=None, detail=""):
    return {"kind": kind, "label": label, "detail": detail, "parent": parent, "lanes": list(lanes), "counter": counter}


class Names:
    def __init__(self):
        self.list = []
        self.numbers = {}

    def __call__(self, text):
        if text not in self.numbers:
            self.numbers[text] = len(self.list)
            self.list.append(text)
        return self.numbers[text]


class Loop:
    """One period of the loop: `steps` steps on one thread and one GPU."""

    def __init__(self, rng, names, args):
        self.nvtx = [Lane(0), Lane(1), Lane(2)]
        self.api = Lane(0)
        self.gaps = Lane(0)
        self.streams = [Lane(0) for _ in range(args.streams)]
        self.rng, self.names, self.launches, self.pageable, self.merged = rng, names, args.launches, args.pageable, args.merged
        self.time = 0

    def call(self, name, kind, length, **more):
        start = self.time
        self.time += length
        index = self.api.add(start, self.time, self.names(name), kind,
                             range=(self.nvtx[1], len(self.nvtx[1].events)), **more)
        self.time += self.rng.randrange(300, 2500)
        return index

    def operation(self, stream, call, name, kind, length, **more):
        lane = self.streams[stream]
        start = max(self.time + self.rng.randrange(1000, 4000), lane.events[-1]["end"] + 700 if lane.events else 0)
        if self.merged:  # every other operation stands for many short ones, of which half of the time was busy
            count = 1 + 49 * (len(lane.events) % 2)
            more |= {"count": count, "busy": length // 2 if count > 1 else length}
        return lane.add(start, start + length, self.names(name), kind, call=(self.api, call), **more)

    def step(self, hostile):
        begin = self.time
        self.phase("load", 0xff8800, lambda: self.load(hostile))
        self.phase("compute", 0x2266ff, lambda: self.compute(hostile))
        self.phase("wait", 0, self.wait)
        self.nvtx[0].add(begin, self.time, self.names("step"), "nvtx_range", color=1 + 0x339933,
                         payload=1 + self.names("step = 1, domain = fake"))
        self.time += self.rng.randrange(1000, 9000)

    def phase(self, name, color, work):
        begin = self.time
        self.time += 200
        work()
        self.time += 200
        self.nvtx[1].add(begin, self.time, self.names(name), "nvtx_range", color=1 + color if color else 0)

    def load(self, hostile):
        begin = self.time
        self.time += self.rng.randrange(20000, 200000)
        self.nvtx[2].add(begin, self.time, self.names(hostile or "decode"), "nvtx_range")
        kind = "pageable_h2d" if self.rng.random() < self.pageable else "copy_h2d"
        size = self.rng.randrange(1 << 16, 1 << 24)
        call = self.call("cudaMemcpyAsync", "api_copy", 8000 + (size // 14 if kind.startswith("pageable") else 0))
        self.operation(0, call, "copy host to device", kind, size // 14 + 900, bytes=size,
                       memory=(1 if kind.startswith("pageable") else 2) * 16 + 3)

    def compute(self, hostile):
        for i in range(self.launches):
            name = hostile if hostile and i == 0 else self.rng.choice(KERNELS)
            call = self.call("cudaLaunchKernel", "api_launch", self.rng.randrange(1800, 5000))
            self.operation(self.rng.randrange(len(self.streams)), call, name, "kernel",
                           int(self.rng.lognormvariate(9, 1.2)), shape=1 + self.rng.randrange(2))

    def wait(self):
        call = self.call("cudaMemcpyAsync", "api_copy", 5000)
        self.operation(0, call, "copy device to host", "copy_d2h", 4000, bytes=4096, memory=3 * 16 + 2)
        until = max(lane.events[-1]["end"] for lane in self.streams if lane.events)
        self.call("cudaStreamSynchronize", "api_sync", max(1000, until - self.time))

    def find_gaps(self):
        spans = sorted((e["start"], e["end"], lane, i) for lane in self.streams[:1] for i, e in enumerate(lane.events))
        causes = "host sync launch queue copy dependency memory load api os profiler unknown".split()
        busy = sorted((e["start"], e["end"]) for lane in self.streams for e in lane.events)
        merged = []
        for start, end in busy:
            if merged and start <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end])
        following = 0
        for (_, gap_start), (gap_end, _) in zip(merged, merged[1:]):
            while following + 1 < len(spans) and spans[following][0] < gap_end:
                following += 1
            length = gap_end - gap_start
            cause = "host" if length > 30000 else causes[min(len(causes) - 1, int(self.rng.expovariate(0.6)))]
            self.gaps.add(gap_start, gap_end, self.names(cause), "gap", next=(spans[following][2], spans[following][3]),
                          blame=(self.api, 0))


def counter_of(blob, rng, period_ns, repeat, points, unit, maximum):
    times, values, time, value = bytearray(), bytearray(), 0, 0
    total = period_ns * repeat
    for i in range(points):
        varint(times, 0 if i == 0 else total // points)
        time += total // points
        step = max(0, min(maximum, value + rng.randrange(-(maximum // 8 + 1), maximum // 7 + 2))) - value
        varint(values, zigzag(step))
        value += step
    return {"unit": unit, "maximum": maximum, "count": points, "resolution_ns": 0,
            "columns": [blob.add("time", "varint", bytes(times)), blob.add("value", "delta", bytes(values))]}


def make_timeline(args, seed):
    rng = random.Random(seed)
    names = Names()
    loops = [Loop(rng, names, args) for _ in range(args.gpus)]
    steps = max(1, min(args.period, args.events // max(1, args.gpus * (2 * args.launches + 20))))
    for loop in loops:
        loop.time = 50000 + rng.randrange(100000)
        for step in range(steps):
            loop.step(HOSTILE[step // 2 % len(HOSTILE)] if args.hostile and step % 2 else None)
        loop.find_gaps()
    lanes = [lane for loop in loops for lane in [*loop.nvtx, loop.api, loop.gaps, *loop.streams] if lane.events]
    per_period = sum(len(lane.events) for lane in lanes)
    repeat = max(1, args.events // per_period)
    period_ns = max(lane.events[-1]["end"] for lane in lanes) + 20000
    first = 0
    for lane in lanes:
        lane.first = first
        first += len(lane.events) * repeat
    blob = Blob()
    tracks = []
    for number, loop in enumerate(loops):
        process = len(tracks)
        tracks.append(track("process", f"process {500 + number} train", -1, detail="python train.py --rank " + str(number)))
        tracks.append(track("thread", f"thread {519 + number} python", process))
        tracks.append(track("nvtx", "NVTX", process + 1, [x.encode(blob, period_ns, repeat) for x in loop.nvtx if x.events]))
        tracks.append(track("api", "CUDA API", process + 1, [loop.api.encode(blob, period_ns, repeat)]))
    for number, loop in enumerate(loops):
        device = len(tracks)
        tracks.append(track("device", f"gpu{number} NVIDIA H200", -1, detail="132 SMs"))
        if loop.gaps.events:
            tracks.append(track("gaps", "idle by cause", device, [loop.gaps.encode(blob, period_ns, repeat)]))
        for stream, lane in enumerate(loop.streams):
            if lane.events:
                tracks.append(track("stream", f"stream {7 + stream}", device, [lane.encode(blob, period_ns, repeat)]))
        tracks.append(track("counter", "kernels at once", device,
                            counter=counter_of(blob, rng, period_ns, repeat, min(args.events, 50000), "count", 8)))
        tracks.append(track("counter", "memory", device,
                            counter=counter_of(blob, rng, period_ns, repeat, min(args.events, 2000), "bytes", 80 << 30)))
    shapes = [{"grid": [128, 1, 1], "block": [256, 1, 1], "registers": 40, "static_shared_bytes": 0,
               "dynamic_shared_bytes": 49152},
              {"grid": [1, 1, 1], "block": [32, 1, 1], "registers": 16, "static_shared_bytes": 1024,
               "dynamic_shared_bytes": 0}]
    timeline = {"label": f"fake {seed}.trace", "start_ns": "1790000000000000000", "duration_ns": period_ns * repeat,
                "merged_below_ns": 2000 if args.merged else 0, "event_count": first,
                "trace_event_count": first * (20 if args.merged else 1), "names": names.list,
                "steady": None, "shapes": shapes, "tracks": tracks, "blob_bytes": len(blob.bytes)}
    return timeline, bytes(blob.bytes)


def packed(data):
    return page_reader.text_of(zlib.compress(data, 6))


def page_document(args, timelines):
    report = json.loads(subprocess.run([BUILD / "bin" / "gprof-cli", "report", ROOT / "tests/data/starved_loader.trace", "--format", "json", "--tables"],
                                       check=True, capture_output=True).stdout)
    places = [{"finding": i, "query": "kind:pageable"} for i in range(min(1, len(report.get("findings", []))))]
    return {"version": 3, "kind": "diff" if args.diff else "report", "title": "fake <b>program</b>",
            "verdict": f"{timelines[0]['event_count']:,} events that never were", "report": None if args.diff else report,
            "diff": {} if args.diff else None, "places": places, "timelines": timelines}


def bundle(entry, made=None):
    if made:
        return pathlib.Path(made).read_text()
    return subprocess.run(["esbuild", str(entry), "--bundle", "--minify", "--format=iife", "--target=es2021",
                           "--log-level=warning"], check=True, capture_output=True, text=True).stdout


def sha(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def write_page(args, out):
    made = [make_timeline(args, 1)] + ([make_timeline(args, 2)] if args.diff else [])
    script = bundle(args.entry, args.bundle).strip()
    boot = bundle(WEB / "boot.ts").replace("</script", "<\\/script").strip()
    style = "".join(p.read_text() for p in [WEB / "style.css", *sorted(WEB.glob("*/*.css"))]).strip()
    parts = {
        "csp": f"default-src 'none'; script-src {sha(boot)} {sha(script)}; style-src {sha(style)}; img-src data:; base-uri 'none'; "
               "form-action 'none'",
        "title": "fake", "style": packed(style.encode()), "boot": boot, "program": packed(script.encode()),
        "page": packed(json.dumps(page_document(args, [timeline for timeline, _ in made]), separators=(",", ":")).encode()),
        "events": "\n".join(
            f'<script type="application/octet-stream" id="events-{i}">{packed(blob)}</script>' for i, (_, blob) in enumerate(made)),
    }
    text = (WEB / "page.html").read_text()
    pieces = text.split("{{")
    out.write(pieces[0])
    for piece in pieces[1:]:
        key, rest = piece.split("}}", 1)
        out.write(parts[key] + rest)


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=20000)
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--streams", type=int, default=3)
    parser.add_argument("--launches", type=int, default=40, help="kernels a step")
    parser.add_argument("--period", type=int, default=40, help="steps made before they repeat")
    parser.add_argument("--pageable", type=float, default=0.1, help="share of the copies")
    parser.add_argument("--hostile", action="store_true", help="names that try to break the page")
    parser.add_argument("--merged", action="store_true", help="events that stand for many short ones")
    parser.add_argument("--diff", action="store_true", help="two timelines")
    parser.add_argument("--bundle", help="the script, bundled already")
    parser.add_argument("--entry", default=WEB / "main.ts")
    parser.add_argument("-o", "--output", required=True)
    return parser.parse_args(words)


def write(words):
    """What the command does, for tests."""
    args = parse(words)
    with open(args.output, "w", encoding="utf-8", errors="replace") as out:
        write_page(args, out)


def main():
    write(None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
