#!/usr/bin/env python3
"""The third examination: programs of several GPUs, which one machine with one GPU cannot record. Labels in examination3.json.

    examination3.py            lists them
    examination3.py NAME       prints the capture as text: `examination3.py NAME | assemble_trace > run.trace`

The other programs of it are real ones: programs/exam3_variants.*. `is_blind` says to which half a name belongs.
"""

import sys

from examination import TRANSFORMER, Loader, data_parallel, item, network, python, run_kernels, start, train_step, upload
from examination2 import collective, collective_waits_for_work, is_blind, rank_processes, wait_for_collective
from simulated import MIB, MS, NULL_STREAM, US, text_of

CAPTURES = {}


def capture(function):
    CAPTURES[function.__name__] = function
    return function


@capture
def tensor_parallel_prefill():
    """Two GPUs share each layer: after every four kernels both need the sums of both, and do nothing until they have them."""
    gpus, ranks, _ = rank_processes("tensor_parallel", "H100", 2, "python3 serve.py --tp 2")
    layer = network("tensor_parallel", 8, 900 * US, TRANSFORMER)
    for _ in range(12):
        for _ in range(24):
            for part in (layer[:4], layer[4:]):
                for rank, program in enumerate(ranks):
                    run_kernels(program, part, device=rank)
                    collective_waits_for_work(program, rank)
                end = collective(ranks, gpus, 260 * US, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                                 "ncclAllReduce")
                for rank, program in enumerate(ranks):
                    wait_for_collective(program, rank, end)
        for rank, program in enumerate(ranks):
            item(program, device=rank)
    return text_of(*ranks)


@capture
def one_gpu_is_slower():
    """Four ranks with the same batches, but on one GPU everything takes a third longer."""
    return data_parallel("slower", 40, [18 * MS, 18 * MS, 24 * MS, 18 * MS], [5 * MS] * 4, 4, 600 * US, False)


@capture
def workers_start_in_each_epoch():
    """Epochs of 25 steps, each of which begins with starting the workers of the loader: 900 ms without a batch."""
    program = python("workers_start_in_each_epoch", "A100", "train.py --workers 8")
    start(program)
    upload(program, 60, 100 * MIB)
    net, autograd = network("epochs", 110, 17 * MS), program.make_thread("pt_autograd_0")
    for _ in range(4):
        program.work(40 * MS)
        program.os_call("poll", program.noise.host(860 * MS), 16)
        loader = Loader(program, 9 * MS, ahead=8, is_traced=True)
        for step in range(25):
            with program.range("train_step"):
                loader.take()
                program.copy("h2d", 38 * MIB)
                train_step(program, net, autograd)
                if step % 10 == 9:
                    item(program)
    program.wait()
    return text_of(program)


@capture
def four_gpus_one_after_the_other():
    """A loop sends a batch to each of four GPUs in turn, and waits for its result before the next GPU gets one."""
    program = python("four_gpus_in_turn", "A100", "predict_on_all_gpus.py", devices=4)
    for device in range(4):
        start(program, device=device, imports_ns=30 * MS)
    net = network("in_turn", 60, 9 * MS)
    for _ in range(30):
        for device in range(4):
            program.work(300 * US)
            program.copy("h2d", 20 * MIB, device=device)
            run_kernels(program, net, device=device)
            program.copy("d2h", 1 * MIB, device=device)
            program.wait("cudaStreamSynchronize", NULL_STREAM, device=device)
    return text_of(program)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(CAPTURES[sys.argv[1]](), end="")
    else:
        print("\n".join(f"{'blind' if is_blind(name) else 'open'}  {name}" for name in CAPTURES))
