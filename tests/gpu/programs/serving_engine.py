#!/usr/bin/env python3
"""A small LLM server that knows the truth: what `--serving` and its analyses are tested with.

Its model is a GPT with random weights: prompts are computed in chunks, and what decodes does so by CUDA graphs of a few
batch sizes. The scheduler has a queue, and takes requests out of the batch when the KV cache is full. `--cpu` sleeps in
place of kernels and needs no torch. It tells gprof-cli of its requests and steps, and writes what it knows to --log:

  requests  by name: prompt, arrived_ns, tokens_ns (when each was handed out), preempted_ns, finished_ns
  steps     begin_ns, end_ns, waiting, cache_used, cache_blocks, members: [name, tokens, cached, tokens_out, is_prefill]
  plants    each interference: plant, begin_ns, end_ns, delayed: [name, index of the token] for those that it delayed

All times are of CLOCK_MONOTONIC. --plant makes the named interferences, each three times in the course of the run. The one
that hogs the GPU is another process, which is started before.
"""
import argparse
import importlib
import json
import random
import subprocess
import sys
import time

BLOCK = 16  # tokens in a block of the cache
CHUNK = 128  # tokens that are computed in a step at most, unless a long prompt is planted
BATCH = 16  # requests at once
HOG_STEPS = 20
PLANTS = ("long-prefill", "slow-tokeniser", "stalled-scheduler", "preemption", "gpu-hog", "slow-detokeniser")


def import_serving():
    for name in ("gprof_serving", "gprof_cli.serving", "gprof_cli"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if hasattr(module, "engine_step"):
            return module
    sys.exit("serving_engine: neither gprof_serving nor gprof_cli can be imported")


serving = import_serving()


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Cpu:
    """Sleeps for about as long as a GPU would compute."""

    LONGEST = 1024  # tokens of a request
    BLOCKS = LONGEST // BLOCK + 96  # of the cache

    def __init__(self, has_hog):
        self.slowness = 1

    def prefill(self, slot, start, tokens):
        time.sleep(5e-6 * tokens * self.slowness)

    def decode(self, slots, positions):
        time.sleep((3e-4 + 1e-5 * len(slots)) * self.slowness)

    def wait(self):
        pass

    def begin_hog(self):
        self.slowness = 8

    def end_hog(self):
        self.slowness = 1

    def close(self):
        pass


class Gpu:
    """The model. Requests have a slot of the cache each; the last slot takes what pads a batch."""

    LONGEST = 8192  # a prompt of this length takes several times as long as a step
    BLOCKS = LONGEST // BLOCK + 240
    LAYERS, HEADS, WIDTH, WORDS = 4, 8, 512, 4096
    SIZES = (1, 2, 4, 8, 16)

    def __init__(self, has_hog):
        import torch
        self.torch = torch
        torch.manual_seed(1)
        with torch.device("cuda"):
            self._words = self._random(self.WORDS, self.WIDTH)
            self._places = self._random(self.LONGEST, self.WIDTH)
            sizes = [(self.WIDTH, n * self.WIDTH) for n in (3, 1, 4)] + [(4 * self.WIDTH, self.WIDTH)]
            self._layers = [[self._random(*size) for size in sizes] for _ in range(self.LAYERS)]
            shape = self.LAYERS, 2, BATCH + 1, self.LONGEST, self.HEADS, self.WIDTH // self.HEADS
            self._cache = torch.zeros(shape, dtype=torch.float16)
            self._last = torch.zeros(BATCH + 1, dtype=torch.long)  # token of each slot
            self._range = torch.arange(self.LONGEST)
        self._graphs = {}
        with torch.no_grad():
            for size in self.SIZES:
                self._capture(size)
        self._warm_up()
        self._hog = Hog() if has_hog else None

    def _random(self, *shape):
        return self.torch.randn(*shape, dtype=self.torch.float16) * 0.02

    def _capture(self, size):
        torch = self.torch
        slots = torch.full((size,), BATCH, device="cuda")
        positions = torch.zeros(size, dtype=torch.long, device="cuda")
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            self._decode(slots, positions)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._decode(slots, positions)
        self._graphs[size] = graph, slots, positions

    def _warm_up(self):
        """The driver loads kernels when they are first launched, which would hold up requests."""
        for tokens in (*range(1, CHUNK + 1), self.LONGEST - 64):
            self.prefill(BATCH, 0, tokens)
        self.torch.cuda.synchronize()

    def _layer(self, x, layer, write, read, mask):
        """x: (rows, tokens, width). write() puts keys and values into the cache, read() gets all that are there."""
        torch, (inner, outer, up, down) = self.torch, self._layers[layer]
        rows, tokens, _ = x.shape
        query, key, value = (torch.layer_norm(x, (self.WIDTH,)) @ inner).view(rows, tokens, 3, self.HEADS, -1).unbind(2)
        write(layer, key, value)
        keys, values = (part.transpose(1, 2) for part in read(layer))
        # Written out: a library may compile a kernel for each length of a prompt.
        scores = query.transpose(1, 2) @ keys.transpose(-1, -2) * (self.WIDTH // self.HEADS) ** -0.5
        found = scores.masked_fill(~mask, -torch.inf).softmax(-1) @ values
        x = x + found.transpose(1, 2).reshape(x.shape) @ outer
        return x + torch.nn.functional.gelu(torch.layer_norm(x, (self.WIDTH,)) @ up) @ down

    def _sample(self, x, slots):
        self._last[slots] = (x @ self._words.T).argmax(-1)

    def _decode(self, slots, positions):
        def write(layer, key, value):
            self._cache[layer, 0, slots, positions], self._cache[layer, 1, slots, positions] = key[:, 0], value[:, 0]

        def read(layer):
            return self._cache[layer, 0, slots], self._cache[layer, 1, slots]
        x = (self._words[self._last[slots]] + self._places[positions])[:, None]
        mask = (self._range <= positions[:, None])[:, None, None]
        for layer in range(self.LAYERS):
            x = self._layer(x, layer, write, read, mask)
        self._sample(x[:, 0], slots)

    def prefill(self, slot, start, tokens):
        end, torch = start + tokens, self.torch

        def write(layer, key, value):
            self._cache[layer, 0, slot, start:end], self._cache[layer, 1, slot, start:end] = key[0], value[0]

        def read(layer):
            return self._cache[layer, :, slot, :end].unsqueeze(1)
        with torch.no_grad():
            words = torch.randint(self.WORDS, (tokens,)).pin_memory().to("cuda", non_blocking=True)
            x = (self._words[words] + self._places[start:end])[None]
            mask = self._range[:end] <= self._range[start:end, None]
            for layer in range(self.LAYERS):
                x = self._layer(x, layer, write, read, mask)
            self._sample(x[0, -1:], torch.tensor([slot], device="cuda"))

    def decode(self, slots, positions):
        graph, to_slots, to_positions = self._graphs[next(size for size in self.SIZES if size >= len(slots))]
        padding = len(to_slots) - len(slots)
        to_slots.copy_(self.torch.tensor(slots + [BATCH] * padding))
        to_positions.copy_(self.torch.tensor(positions + [0] * padding))
        graph.replay()

    def wait(self):
        self._last.tolist()  # as a server does, which needs the tokens

    def begin_hog(self):
        self._hog.begin()

    def end_hog(self):
        """It ends by itself."""

    def close(self):
        if self._hog:
            self._hog.close()


class Hog:
    """Work of somebody else on the same GPU, which takes longer than the steps beside it: a process that gets a line when it is to begin."""

    def __init__(self):
        self._process = subprocess.Popen([sys.executable, "-B", __file__, "--hog"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._process.stdout.readline()  # it is ready

    def begin(self):
        self._process.stdin.write("begin\n")
        self._process.stdin.flush()

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def hog():
    import torch
    big = torch.rand(4096, 4096, dtype=torch.float16, device="cuda")
    torch.mm(big, big)
    torch.cuda.synchronize()
    print("ready", flush=True)
    for _ in sys.stdin:
        for _ in range(200):
            torch.mm(big, big)
        torch.cuda.synchronize()


class Request:
    def __init__(self, name, prompt, wanted, arrives_ns):
        self.name, self.prompt, self.wanted, self.arrives_ns = name, prompt, wanted, arrives_ns
        self.tokens_ns, self.preempted_ns, self.finished_ns = [], [], 0
        self.computed, self.slot, self.is_planted = 0, None, False

    def known(self):
        return self.prompt + len(self.tokens_ns)

    def blocks(self, more=0):
        return -(-(self.computed + more) // BLOCK)

    def told(self):
        return {"prompt": self.prompt, "arrived_ns": self.arrives_ns, "tokens_ns": self.tokens_ns,
                "preempted_ns": self.preempted_ns, "finished_ns": self.finished_ns}


class Plants:
    """Says when an interference is due, and keeps what it did."""

    def __init__(self, names, requests):
        self._due = {name: [requests // 4, requests // 2, 3 * requests // 4] for name in names}
        self.log, self.finished, self._hog_steps = [], 0, 0

    def is_due(self, name, victims):
        """Not before it has somebody to delay."""
        due = self._due.get(name)
        return bool(due) and self.finished >= due[0] and len(victims) > 1 and due.pop(0) >= 0

    def note(self, name, begin_ns, delayed):
        self.log.append({"plant": name, "begin_ns": begin_ns, "end_ns": now(), "delayed": self._next_tokens(delayed)})

    @staticmethod
    def _next_tokens(requests):
        return [[request.name, len(request.tokens_ns)] for request in requests]

    def hog(self, model, batch):
        """For HOG_STEPS steps."""
        if not self._hog_steps and self.is_due("gpu-hog", batch):
            self._hog_steps = HOG_STEPS
            self.note("gpu-hog", now(), [])
            model.begin_hog()
        elif self._hog_steps == 1:
            self._hog_steps = 0
            model.end_hog()
        if self._hog_steps:
            self._hog_steps -= 1
            self.log[-1]["delayed"] += self._next_tokens(batch)
            self.log[-1]["end_ns"] = now()

    def stall(self, name, seconds, delayed):
        begin_ns = now()
        time.sleep(seconds)
        self.note(name, begin_ns, delayed)


class Engine:
    def __init__(self, model, requests, blocks, plants):
        self._model, self._coming, self._blocks, self._plants = model, requests, blocks, plants
        self._waiting, self._running, self._slots = [], [], list(range(BATCH))
        self._requests, self.steps = list(requests), []

    def run(self):
        while self._coming or self._waiting or self._running:
            self._admit()
            members = self._schedule()
            if members:
                self._step(members)
            else:
                time.sleep(1e-4)

    def _admit(self):
        while self._coming and self._coming[0].arrives_ns <= now():
            request = self._coming.pop(0)
            if self._plants.is_due("slow-tokeniser", self._running):
                self._plants.stall("slow-tokeniser", 0.03, self._running)
            if self._plants.is_due("long-prefill", self._running):
                request.prompt, request.is_planted = self._model.LONGEST - 64, True
            serving.request(request.name, "arrived", request.prompt, (now() - request.arrives_ns) / 1e9)
            self._waiting.insert(0, request) if request.is_planted else self._waiting.append(request)

    def _used(self):
        return sum(request.blocks() for request in self._running)

    def _schedule(self):
        """[(request, how many tokens)]: what decodes first, then prompts."""
        if self._plants.is_due("stalled-scheduler", self._running):
            self._plants.stall("stalled-scheduler", 0.03, self._running)
        self._squeeze()
        members, free = [], self._blocks - self._used()
        for request in list(self._running):
            free -= self._grow(request, members, CHUNK if request.computed < request.prompt else 1, free)
        while self._waiting and self._slots and sum(tokens for _, tokens in members) < CHUNK:
            request = self._waiting[0]
            if request.known() // BLOCK + 1 > free:
                break
            self._waiting.pop(0)
            request.slot = self._slots.pop()
            self._running.append(request)
            free -= self._grow(request, members, CHUNK - sum(tokens for _, tokens in members), free)
        return [member for member in members if member[0] in self._running]

    def _grow(self, request, members, budget, free):
        """The blocks that it takes; where there are none, the newest requests make room."""
        if request not in self._running:
            return 0
        tokens = min(request.known() - request.computed, self._model.LONGEST if request.is_planted else budget)
        more = request.blocks(tokens) - request.blocks()
        while more > free and self._running[-1] is not request:
            free += self._preempt(self._running[-1])
        if more > free:
            return 0
        members.append((request, tokens))
        return more

    def _preempt(self, request):
        serving.request(request.name, "preempted")
        request.preempted_ns.append(now())
        freed = request.blocks()
        self._leave(request)
        request.computed = 0
        self._waiting.insert(0, request)
        return freed

    def _leave(self, request):
        self._running.remove(request)
        self._slots.append(request.slot)

    def _squeeze(self):
        """Planted: somebody takes most of the cache at once, so that the newest requests have to go."""
        if self._plants.is_due("preemption", self._running[2:]):
            begin_ns, victims = now(), self._running[2:]
            for request in reversed(victims):
                self._preempt(request)
            self._plants.note("preemption", begin_ns, victims)

    def _step(self, members):
        is_long = any(request.is_planted and request.computed == 0 for request, _ in members)
        begin_ns, about = now(), (len(self._waiting), self._used(), self._blocks)
        with serving.engine_step(*about) as step:
            self._plants.hog(self._model, [request for request, _ in members])
            rows = self._compute(members)
            for row in rows:
                step.add(*row)
        self.steps.append({"begin_ns": begin_ns, "end_ns": now(), "members": rows,
                           **dict(zip(("waiting", "cache_used", "cache_blocks"), about))})
        got = [request for (request, _), row in zip(members, rows) if row[3]]
        if is_long:
            self._plants.note("long-prefill", begin_ns, [request for request in got if request.tokens_ns])
        if self._plants.is_due("slow-detokeniser", got):
            self._plants.stall("slow-detokeniser", 0.03, got)
        for request in got:
            self._hand_out(request)

    def _compute(self, members):
        """Rows as engine_step.add() takes them."""
        rows, decoding = [], []
        for request, tokens in members:
            is_prefill = request.computed < request.prompt or tokens > 1
            if is_prefill:
                self._model.prefill(request.slot, request.computed, tokens)
            else:
                decoding.append(request)
            has_token = request.computed + tokens == request.known()
            rows.append((request.name, tokens, request.computed, int(has_token), is_prefill))
        if decoding:
            self._model.decode([request.slot for request in decoding], [request.computed for request in decoding])
        self._model.wait()
        for request, tokens in members:
            request.computed += tokens
        return rows

    def _hand_out(self, request):
        serving.request(request.name, "tokens", 1)
        request.tokens_ns.append(now())
        if len(request.tokens_ns) == request.wanted:
            serving.request(request.name, "finished")
            request.finished_ns = now()
            self._leave(request)
            self._plants.finished += 1

    def log(self):
        return {"requests": {request.name: request.told() for request in self._requests}, "steps": self.steps,
                "plants": self._plants.log}


def make_requests(count, rate, seed):
    chance, at = random.Random(seed), now() + 20_000_000
    requests = []
    for number in range(count):
        at += int(chance.expovariate(rate) * 1e9)
        requests.append(Request(f"request-{number}", chance.randint(8, 200), chance.randint(4, 24), at))
    return requests


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--rate", type=float, default=300, help="requests that arrive in a second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--blocks", type=int, help="of the cache")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--plant", action="append", choices=PLANTS, default=[])
    parser.add_argument("--log", default="serving_truth.json")
    parser.add_argument("--hog", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.hog:
        return hog()
    kind = Cpu if options.cpu else Gpu
    blocks = options.blocks or kind.BLOCKS
    if blocks * BLOCK < kind.LONGEST + 2 * BLOCK:
        parser.error(f"--blocks: a request may need {kind.LONGEST // BLOCK + 2}")
    model = kind("gpu-hog" in options.plant)
    engine = Engine(model, make_requests(options.requests, options.rate, options.seed), blocks, Plants(options.plant, options.requests))
    engine.run()
    model.close()
    log = engine.log()
    with open(options.log, "w", encoding="utf-8") as file:
        json.dump(log, file)
    tokens = sum(len(request["tokens_ns"]) for request in log["requests"].values())
    print(f"{options.requests} requests, {tokens} tokens, {len(engine.steps)} steps, {len(log['plants'])} plants")


if __name__ == "__main__":
    main()
