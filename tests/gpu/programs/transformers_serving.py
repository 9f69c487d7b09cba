#!/usr/bin/env python3
"""Continuous batching of Transformers with a tiny model of random weights: what GPROF_SERVING=1 is tested with.

It tells gprof-cli nothing: the hooks do. --log gets what it knows itself, as JSON: requests by name, with prompt,
asked_ns (when add_request() was called), tokens_ns (when Transformers says it had each token), got_ns (when each came
to the client), and whether the request was cancelled. All times are of CLOCK_MONOTONIC.
"""
import argparse
import json
import random
import time

import torch
import transformers


def make_model(device):
    torch.manual_seed(1)
    config = transformers.LlamaConfig(vocab_size=4096, hidden_size=256, intermediate_size=512, num_hidden_layers=4,
                                      num_attention_heads=8, num_key_value_heads=4, max_position_embeddings=2048)
    return transformers.LlamaForCausalLM(config).to(device, torch.bfloat16).eval()


def make_manager(model, options):
    limits = {"num_blocks": options.blocks, "max_batch_tokens": options.batch_tokens}
    generation = transformers.GenerationConfig(do_sample=False, eos_token_id=-1, max_new_tokens=64)
    config = getattr(transformers, "ContinuousBatchingConfig", None)
    if config is not None:  # from 5.4 on
        return model.init_continuous_batching(generation, config(**limits))
    for name, value in limits.items():
        setattr(generation, name, value)
    return model.init_continuous_batching(generation)


def ask(manager, number, chance, log):
    name, prompt = f"request-{number}", chance.randint(8, 400)
    tokens = [chance.randrange(4096) for _ in range(prompt)]
    log[name] = {"prompt": prompt, "asked_ns": time.monotonic_ns(), "tokens_ns": [], "got_ns": [], "is_cancelled": False}
    manager.add_request(tokens, request_id=name, max_new_tokens=chance.randint(4, 48), streaming=True,
                        record_timestamps=True)
    return name


def take(manager, log, timeout):
    """Whether something came, and whether a request ended with it."""
    result = manager.get_result(timeout=timeout)
    if result is None:
        return False, False
    if result.error:
        raise RuntimeError(result.error)
    request = log[result.request_id]
    request["got_ns"] += [time.monotonic_ns()] * (len(result.generated_tokens) - len(request["got_ns"]))
    times = [int(at * 1e9) for at in result.timestamps or ()]  # of a request that was preempted: those since then
    request["tokens_ns"][len(result.generated_tokens) - len(times):] = times
    return True, result.is_finished() and not request["is_cancelled"]


def serve(manager, options, log):
    """One in ten is cancelled once it was asked for: of those nothing is expected."""
    chance = random.Random(options.seed)
    left, next_at, deadline = options.requests, time.monotonic(), time.monotonic() + options.timeout
    for number in range(options.requests):
        while time.monotonic() < next_at:
            left -= take(manager, log, 0.001)[1]
        name = ask(manager, number, chance, log)
        next_at += chance.expovariate(options.rate)
        if number % 10 == 9:
            log[name]["is_cancelled"] = True
            manager.cancel_request(name)
            left -= 1
    while left and time.monotonic() < deadline:
        left -= take(manager, log, 0.1)[1]
    return left


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=50)
    parser.add_argument("--rate", type=float, default=100, help="requests that arrive in a second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--blocks", type=int, default=128, help="of the cache")
    parser.add_argument("--batch-tokens", type=int, default=256, help="of a step: longer prompts are computed in parts")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--timeout", type=float, default=120, help="seconds")
    parser.add_argument("--log", default="transformers_truth.json")
    options = parser.parse_args()
    log, manager = {}, make_manager(make_model(options.device), options)
    manager.start()
    try:
        left = serve(manager, options, log)
    finally:
        manager.stop(block=True, timeout=120)
    with open(options.log, "w", encoding="utf-8") as file:
        json.dump({"version": transformers.__version__, "requests": log}, file)
    tokens = sum(len(request["got_ns"]) for request in log.values())
    print(f"{options.requests} requests, {tokens} tokens, {left} that did not end")
    return 1 if left else 0


if __name__ == "__main__":
    raise SystemExit(main())
