#!/usr/bin/env python3
"""The second examination: programs written before anybody looked at how the first one was judged. Labels in examination2.json.

    examination2.py            lists them
    examination2.py NAME       prints the capture as text: `examination2.py NAME | assemble_trace > run.trace`

Half of them is blind: only its totals are looked at. `is_blind` says which, by the name alone.
"""

import hashlib
import random
import sys

from examination import (ADAM, TRANSFORMER, Loader, all_reduce, data_parallel, item, native, network, python, run_kernels, start,
                         train_step, upload)
from simulated import DEVICE, KIB, MIB, MS, NULL_STREAM, PAGEABLE, PINNED, US, Gpu, Process, line, text_of

CAPTURES = {}
SECOND = 1_000_000_000
FILE, LOCK, CONDITION, GIL, TIMER, SOCKETS = 10, 1, 3, 6, 14, 16  # object_kind of os_call
XLA = ("loop_multiply_fusion", "input_reduce_fusion", "gemm_fusion_dot_general", "cutlass_90_tensorop_bf16_s64x128x16gemm",
       "loop_convert_fusion", "triton_softmax", "input_transpose_fusion")


def capture(function):
    CAPTURES[function.__name__] = function
    return function


def is_blind(name):
    """Neither chosen nor to be chosen: half of all possible names."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0


# ---- what the captures have in common ----


def tracks(begin_ns, end_ns, *counters, period_ns=100 * MS):
    """Counter tracks of a collector: (name, unit, kind, uuid, value at a time), kind 1 a value, 2 a sum, 3 a mean."""
    lines = [line("chunk", pid=99, collector=1)]
    for number, (name, unit, kind, uuid, _) in enumerate(counters, 1):
        lines.append(line("metric_source", time_ns=begin_ns, id=number, name=name, unit=unit, metric_kind=kind, scope=4,
                          origin="pm" if kind == 3 else "nvml", period_ns=period_ns, device_uuid=uuid))
    for at in range(begin_ns, end_ns, period_ns):
        for number, (*_, kind, _, value) in enumerate(counters, 1):
            of_time = {"duration_ns": period_ns} if kind == 3 else {}
            lines.append(line("metric_block", start_ns=at, source=number, value=round(value(at)), **of_time))
    return "\n".join(lines) + "\n"


def rank_processes(name, model, count, command="python3 train.py", source="torchrun"):
    """Processes of a job, each with a GPU of its own and a stream for collectives, that begin together."""
    gpus = [Gpu(model) for _ in range(count)]
    ranks = [Process(pid=70 + rank, name="python3" if "python3" in command else command.split()[0].strip("./"), gpus=gpus, rank=rank,
                     world=count, seed=f"{name}{rank}", command=command, rank_source=source, first_launch_ns=500 * US)
             for rank in range(count)]
    for rank, program in enumerate(ranks):
        start(program)
        program.name_domain(1, "NCCL")
        program.call("cudaStreamCreateWithFlags", 20 * US)
        program.lines.append(f"stream created_ns={program.now} context={rank + 1} stream=20 priority=-5 is_non_blocking=1 handle=0x5020")
    together = max(program.now for program in ranks)
    for program in ranks:
        program.now = together
    return gpus, ranks, [20] * count


def collective(ranks, gpus, ns, kernel="ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", call="ncclAllGather"):
    """In the stream of collectives: all begin when they arrive and end together. Later work of the GPU does not wait for it yet."""
    arrivals = [max(program.now + 12 * US, gpus[rank].stream_free.get(20, 0), gpus[rank].stream_waits.get(20, 0))
                for rank, program in enumerate(ranks)]
    end = max(arrivals) + ranks[0].noise.gpu(ns)
    for rank, program in enumerate(ranks):
        with program.range(call, domain=1):
            program.launch(kernel, ns // 2, stream=20, device=rank, grid=24, block=544, fills=False, end_ns=end,
                           function="cudaLaunchKernelExC")
    return end


def wait_for_collective(program, rank, end_ns):
    program.record_event(0x110, 20, device=rank)
    program.stream_waits_event(0x110, end_ns, NULL_STREAM, device=rank)


def collective_waits_for_work(program, rank):
    happens = program.record_event(0x111, device=rank)
    program.stream_waits_event(0x111, happens, 20, device=rank)


def peer_copy(program, source, destination, size_bytes, rate_per_us=240_000):
    """tensor.to() from one GPU to another: in the stream of the source, and the other one waits for it."""
    happens = program.record_event(0x120 + destination, device=destination)
    program.stream_waits_event(0x120 + destination, happens, NULL_STREAM, device=source)
    gpu, other = program.gpus[source], program.gpus[destination]
    begin = max(program.start_of(gpu, NULL_STREAM, program.now), happens)
    end = begin + program.noise.gpu(3 * US + size_bytes * 1000 // rate_per_us)
    gpu.stream_free[NULL_STREAM] = end
    correlation = program.call("cudaMemcpyPeerAsync", program.noise.call(7 * US))
    program.lines.append(line("peer_copy", start_ns=begin, duration_ns=end - begin, device=source, context=source + 1,
                              stream=NULL_STREAM, correlation=correlation, size_bytes=size_bytes, source_memory=DEVICE,
                              destination_memory=DEVICE, is_async=1, source_device=source, destination_device=destination))
    program.record_event(0x124 + source, device=source)
    program.stream_waits_event(0x124 + source, end, NULL_STREAM, device=destination)
    other.stream_waits[NULL_STREAM] = max(other.stream_waits.get(NULL_STREAM, 0), end)


# ---- good programs ----


@capture
def vision_transformer_prefetched():
    """A ViT on a B200: batches come in a stream of their own while the last one is computed."""
    program = python("vision_transformer_prefetched", "B200", "train_vit.py --compile")
    start(program, context_ns=310 * MS, imports_ns=900 * MS)
    upload(program, 50, 330 * MIB)
    net, autograd, copies = network("vit", 176, 46 * MS, TRANSFORMER), program.make_thread("pt_autograd_0"), program.make_stream()
    loader = Loader(program, 19 * MS, ahead=6)
    for step in range(60):
        loader.take()
        program.copy("h2d", 154 * MIB, stream=copies)
        program.make_later(copies, NULL_STREAM, 0x140 + step % 2)
        train_step(program, net, autograd)
        if step % 25 == 24:
            item(program)
    program.wait()
    return text_of(program)


@capture
def jax_fused_training():
    """jit of the whole step: some dozens of fusions, and the loss of the last step is fetched while this one runs."""
    program = python("jax_fused_training", "H200", "train_jax.py")
    start(program, imports_ns=1200 * MS)
    program.work(2100 * MS)  # XLA compiles
    net = network("jax", 66, 38 * MS, XLA)
    earlier = None
    for step in range(70):
        program.work(700 * US)
        program.copy("h2d", 12 * MIB)
        run_kernels(program, net, 2 * US, function="cuLaunchKernel")
        program.copy("d2h", 4)
        done = program.record_event(0x150 + step % 2)
        if earlier:
            program.wait_event(0x150 + (step + 1) % 2, earlier)
        earlier = done
    program.wait()
    return text_of(program)


@capture
def prefill_of_long_prompts():
    """Prompts of 32k tokens: attention and GEMMs of half a millisecond."""
    program = python("prefill_of_long_prompts", "B200", "bench_prefill.py --tokens 32768")
    start(program, context_ns=300 * MS)
    upload(program, 80, 900 * MIB)
    layer = [("flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 8>>", 720 * US, 8192, 384),
             ("nvjet_hsh_256x128_64x4_2x1_v_bz_TNT", 410 * US, 4096, 384), ("nvjet_hsh_256x128_64x4_2x1_v_bz_TNT", 530 * US, 4096, 384),
             ("void rms_norm_kernel<bf16>", 38 * US, 32768, 256), ("void silu_and_mul<bf16>", 61 * US, 32768, 256)]
    for _ in range(14):
        program.work(1500 * US)
        program.copy("h2d", 128 * KIB, PAGEABLE)
        for _ in range(40):
            run_kernels(program, layer, 5 * US)
        item(program)
    return text_of(program)


@capture
def nbody_all_pairs():
    """All pairs of bodies; positions are fetched now and then in another stream."""
    program = native("nbody_all_pairs", "H100", "nbody", command="./nbody -n 262144 -steps 420")
    start(program, imports_ns=6 * MS)
    stream, snapshots = program.make_stream(), program.make_stream()
    program.copy("h2d", 8 * MIB, stream=stream)
    for step in range(420):
        program.launch("integrateBodies<float, true>", 4700 * US, stream=stream, grid=1024)
        program.launch("updatePositions", 28 * US, stream=stream, grid=1024)
        if step % 60 == 59:
            program.make_later(stream, snapshots, 0x160)
            program.copy("d2h", 4 * MIB, stream=snapshots)
    program.wait()
    return text_of(program)


@capture
def fluid_steps_by_graph_update():
    """A graph is updated with new parameters and launched before the last one has ended."""
    program = native("fluid_steps_by_graph_update", "4090", "lbm", command="./lbm cavity.toml")
    start(program, imports_ns=25 * MS)
    stream = program.make_stream()
    program.call("cudaGraphInstantiate", program.noise.host(1500 * US))
    nodes = network("lbm", 14, 5500 * US, ("collide", "stream_populations", "boundary_bounce_back", "macroscopic"))
    earlier = None
    for step in range(240):
        program.call("cudaGraphExecUpdate", program.noise.call(45 * US))
        program.launch_nodes(nodes, stream=stream)
        done = program.record_event(0x170 + step % 2, stream)
        if earlier:
            program.wait_event(0x170 + (step + 1) % 2, earlier)
        earlier = done
    program.wait()
    return text_of(program)


@capture
def accumulated_gradients():
    """Four small batches for each step of the optimiser; nothing waits."""
    program = python("accumulated_gradients", "A10", "finetune.py --accumulate 4")
    start(program)
    upload(program, 90, 260 * MIB)
    net, autograd = network("accumulate", 92, 21 * MS, TRANSFORMER), program.make_thread("pt_autograd_0")
    for step in range(26):
        with program.range("optimizer_step", payload=step):
            for _ in range(4):
                with program.range("micro_batch"):
                    program.copy("h2d", 64 * KIB)
                    train_step(program, net, autograd)
            program.launch(ADAM, 2100 * US, grid=4000, block=512)
    program.wait()
    return text_of(program)


@capture
def sampler_reads_each_token():
    """A large model on a small GPU: reading each token costs a fiftieth of the time it takes."""
    program = python("sampler_reads_each_token", "A10", "chat.py --model 8b-int4")
    start(program)
    upload(program, 120, 500 * MIB)
    net = network("chat", 64, 13 * MS, TRANSFORMER, grids=(400, 2600), spread=0.5)
    for _ in range(180):
        program.launch_nodes(net)
        program.launch("sample_top_p", 30 * US, grid=32, block=1024)
        item(program)
        program.work(170 * US)
    return text_of(program)


@capture
def speech_engine_three_contexts():
    """Three threads with an engine and a stream each: whoever waits, another one's kernels run."""
    program = native("speech_engine_three_contexts", "A10", "asr_server", command="./asr_server --contexts 3")
    start(program, imports_ns=800 * MS)
    upload(program, 30, 200 * MIB)
    net = network("asr", 58, 6 * MS, TRANSFORMER, grids=(300, 2000), spread=0.4)
    workers = [(program.make_thread(f"worker{i}"), program.make_stream()) for i in range(3)]
    for worker, _ in workers:
        worker.now = program.now
    for _ in range(240):
        worker, stream = min(workers, key=lambda pair: pair[0].now)
        with program.on(worker):
            program.work(350 * US)
            program.copy("h2d", 900 * KIB, stream=stream)
            run_kernels(program, net, 1 * US, stream=stream)
            program.copy("d2h", 30 * KIB, stream=stream)
            program.wait("cudaStreamSynchronize", stream)
    return text_of(program)


@capture
def stencil_with_counters():
    """A seven-point stencil; performance monitors were sampled, and memory is at nine tenths of its bandwidth."""
    program = native("stencil_with_counters", "H100", "stencil", command="./stencil 1024")
    start(program, imports_ns=10 * MS)
    begin = program.now
    program.copy("h2d", 2048 * MIB, PINNED)
    for step in range(360):
        program.launch("stencil7(double const*, double*, int)", 5900 * US, grid=1048576, block=1024)
        program.launch("apply_boundary", 70 * US, grid=6144)
        if step % 60 == 59:
            program.launch("residual", 3100 * US, grid=8192)
            item(program)
    program.wait()
    uuid, wobble = "GPU-1", random.Random("dram")
    return text_of(program) + tracks(begin, program.now, ("SMs Active", "%", 3, uuid, lambda at: 99),
                                     ("SM Issue", "%", 3, uuid, lambda at: wobble.gauss(21, 1)),
                                     ("Tensor Active", "%", 3, uuid, lambda at: 0),
                                     ("DRAM Read Bandwidth", "%", 3, uuid, lambda at: wobble.gauss(47, 1)),
                                     ("DRAM Write Bandwidth", "%", 3, uuid, lambda at: wobble.gauss(43, 1)), period_ns=2 * MS)


@capture
def registers_limit_occupancy():
    """A kernel with 255 registers a thread: a quarter of the warps fit, and it is nearly all of the time."""
    program = native("registers_limit_occupancy", "A100", "chemistry", command="./chemistry --mechanism gri30")
    start(program, imports_ns=90 * MS)
    program.copy("h2d", 220 * MIB, PAGEABLE, function="cudaMemcpy")
    for step in range(330):
        program.launch("react_ode_rhs", 3400 * US, grid=8192, block=128, registers=255)
        program.launch("update_state", 160 * US, grid=8192, block=256, registers=40)
        if step % 30 == 29:
            program.copy("d2h", 8, PAGEABLE, function="cudaMemcpy")
    program.wait()
    return text_of(program)


@capture
def spins_on_event_query():
    """The host asks for an event all the time and launches at once when it has happened."""
    program = native("spins_on_event_query", "H100", "shower", command="./shower --events 1e7")
    start(program, imports_ns=70 * MS)
    stream = program.make_stream()
    program.copy("h2d", 40 * MIB, stream=stream)
    for _ in range(170):
        for name, ns in (("generate", 900), ("propagate", 4200), ("score", 700)):
            program.launch(name, ns * US, stream=stream, grid=8192)
        program.record_event(0x180, stream)
        program.poll(stream, pause_ns=45 * US)
    return text_of(program)


# ---- the GPU itself ----


@capture
def unet_at_the_power_limit():
    """Kernels fill a GPU whose clocks are held down by its power limit."""
    program = python("unet_at_the_power_limit", "4090", "train_unet.py")
    start(program)
    begin = program.now
    upload(program, 60, 130 * MIB)
    net, autograd = network("unet", 140, 55 * MS), program.make_thread("pt_autograd_0")
    for _ in range(60):
        program.copy("h2d", 25 * MIB)
        train_step(program, net, autograd)
    program.wait()
    wobble = random.Random("power")
    return text_of(program) + tracks(begin, program.now, ("SM clock", "MHz", 1, "GPU-1", lambda at: wobble.gauss(1680, 40)),
                                     ("power", "W", 1, "GPU-1", lambda at: wobble.gauss(320, 3)),
                                     ("held down by power", "ns", 2, "GPU-1", lambda at: (at - begin) * 0.93),
                                     ("held down by heat", "ns", 2, "GPU-1", lambda at: 0),
                                     ("utilization", "%", 1, "GPU-1", lambda at: 99))


@capture
def card_without_a_fan():
    """After a third of the run the GPU is hot: its clocks fall to six tenths, and every kernel takes longer."""
    program = python("card_without_a_fan", "T4", "train_segmenter.py")
    start(program)
    begin = program.now
    upload(program, 40, 80 * MIB)
    nets = [network("segmenter", 84, ns * MS) for ns in (31, 50)]
    autograd = program.make_thread("pt_autograd_0")
    hot = None
    for step in range(66):
        with program.range(f"step {step}"):
            program.copy("h2d", 19 * MIB)
            if step == 24:
                hot = program.gpus[0].all_done()
            train_step(program, nets[step >= 24], autograd)
            if step % 8 == 7:
                item(program)
    program.wait()
    wobble = random.Random("heat")
    return text_of(program) + tracks(begin, program.now,
                                     ("SM clock", "MHz", 1, "GPU-1", lambda at: wobble.gauss(1585 if at < hot else 960, 12)),
                                     ("temperature", "C", 1, "GPU-1", lambda at: min(60 + 30 * (at - begin) / (hot - begin), 93)),
                                     ("held down by power", "ns", 2, "GPU-1", lambda at: 0),
                                     ("held down by heat", "ns", 2, "GPU-1", lambda at: max(0, at - hot)),
                                     ("utilization", "%", 1, "GPU-1", lambda at: 98))


@capture
def gpu_shared_with_another_job():
    """Another process is on the same GPU: the same kernels take once to two and a half times as long."""
    program = python("gpu_shared_with_another_job", "A100", "train_lm.py")
    start(program)
    begin = program.now
    upload(program, 70, 300 * MIB)
    net, slices = network("lm", 96, 26 * MS, TRANSFORMER), random.Random("slices")
    for step in range(44):
        program.copy("h2d", 256 * KIB)
        shared = [(name, round(ns * slices.choice((1, 1, 1.3, 1.9, 2.5))), grid, block) for name, ns, grid, block in net]
        train_step(program, shared)
        if step % 10 == 9:
            item(program)
    program.wait()
    return text_of(program) + tracks(begin, program.now, ("utilization", "%", 1, "GPU-1", lambda at: 100),
                                     ("processes of the run", "", 1, "GPU-1", lambda at: 1),
                                     ("other processes", "", 1, "GPU-1", lambda at: 1),
                                     ("memory of other processes", "bytes", 1, "GPU-1", lambda at: 21_000_000_000),
                                     ("SM clock", "MHz", 1, "GPU-1", lambda at: 1410))


# ---- launches that leave the GPU half empty ----


@capture
def patches_of_an_adaptive_grid():
    """140 patches a step, three kernels of 12 blocks for each of them, one after the other."""
    program = native("patches_of_an_adaptive_grid", "A100", "amr", command="./amr inputs.3d")
    start(program, imports_ns=60 * MS)
    program.copy("h2d", 90 * MIB, PAGEABLE, function="cudaMemcpy")
    for step in range(56):
        for _ in range(140):
            for name, ns in (("fill_ghosts", 9), ("flux_xyz", 15), ("update_cells", 11)):
                program.work(1500)
                program.launch(name, ns * US, grid=12, block=128)
        if step % 8 == 7:
            program.launch("estimate_dt", 25 * US, grid=108)
            program.copy("d2h", 8, PAGEABLE, function="cudaMemcpy")
    program.wait()
    return text_of(program)


@capture
def sums_in_one_block():
    """A reduction that somebody wrote for one block takes seven tenths of each iteration."""
    program = native("sums_in_one_block", "H100", "kmeans", command="./kmeans points.bin -k 64")
    start(program, imports_ns=140 * MS)
    program.copy("h2d", 512 * MIB, PAGEABLE, function="cudaMemcpy")
    for iteration in range(620):
        program.launch("assign_clusters", 310 * US, grid=8192)
        program.launch("sum_points(float const*, float*, int)", 980 * US, grid=1, block=1024)
        program.launch("new_centres", 12 * US, grid=64)
        if iteration % 20 == 19:
            program.copy("d2h", 4, PAGEABLE, function="cudaMemcpy")
    program.wait()
    return text_of(program)


# ---- launching ----


@capture
def adam_one_tensor_at_a_time():
    """An optimiser of one's own: four kernels for each of 380 tensors, each launched from Python."""
    program = python("adam_one_tensor_at_a_time", "A10", "train.py --optim mine")
    start(program)
    upload(program, 60, 90 * MIB)
    net, autograd = network("mine", 88, 9 * MS, TRANSFORMER), program.make_thread("pt_autograd_0")
    names = [f"void at::native::vectorized_elementwise_kernel<4, at::native::{one}>" for one in ("mul", "addcmul", "sqrt_add", "addcdiv")]
    for _ in range(15):
        program.copy("h2d", 1 * MIB)
        run_kernels(program, net[:30])
        with program.handed_to(autograd):
            run_kernels(program, net[30:])
        for _ in range(380):
            for name in names:
                program.work(7 * US)
                program.launch(name, 2600, grid=48, block=128)
    program.wait()
    return text_of(program)


@capture
def jax_without_jit():
    """Operations of JAX one by one: seven kernels of 6 us in a step, and Python needs 50 us for each."""
    program = python("jax_without_jit", "A10", "ode.py", first_launch_ns=9 * MS)
    start(program, imports_ns=1100 * MS)
    names = ("loop_add_fusion", "loop_multiply_fusion", "gemv2T_kernel_val", "loop_tanh_fusion", "loop_subtract_fusion",
             "input_reduce_fusion", "loop_select_fusion")
    for step in range(1300):
        for name in names:
            program.work(47 * US)
            program.launch(name, 6 * US, grid=64, block=256, function="cuLaunchKernel")
        if step % 100 == 99:
            program.copy("d2h", 4)
            program.wait("cudaStreamSynchronize", NULL_STREAM)
    return text_of(program)


@capture
def one_kernel_per_graph():
    """Somebody was told to use graphs: each holds one kernel of 4 us."""
    program = native("one_kernel_per_graph", "H100", "lattice", command="./lattice 9000")
    start(program, imports_ns=12 * MS)
    stream = program.make_stream()
    program.call("cudaGraphInstantiate", program.noise.host(300 * US))
    for _ in range(9000):
        program.work(2 * US)
        program.launch_nodes([("sweep_plaquettes", 4 * US, 128, 256)], stream=stream)
    program.wait()
    return text_of(program)


@capture
def profiler_steps_of_a_gru():
    """As torch.profiler exports it: no streams' making, ranges of operators, and a recurrent network word by word."""
    program = python("profiler_steps_of_a_gru", "4090", "train_gru.py", streams_are_known=False)
    start(program)
    upload(program, 12, 20 * MIB)
    cell = network("gru", 5, 19 * US, TRANSFORMER, grids=(16, 90), block=128, spread=0.3)
    for step in range(22):
        with program.range(f"ProfilerStep#{step + 5}"):
            program.copy("h2d", 400 * KIB, PAGEABLE)
            for _ in range(80):
                with program.range("aten::gru_cell"):
                    run_kernels(program, cell, 7 * US)
            with program.range("Optimizer.step#Adam.step"):
                program.work(200 * US)
                program.launch(ADAM, 40 * US, grid=400, block=512)
    program.wait()
    return text_of(program)


@capture
def decode_on_two_gpus_eager():
    """Tensor parallel over two GPUs without graphs: kernels of 5 us, and an all-reduce after every fourth."""
    gpus, ranks, comms = rank_processes("decode2", "H100", 2, "python3 -m serve --tp 2 --enforce-eager")
    layer = network("decode2", 8, 44 * US, TRANSFORMER, grids=(60, 264), block=128, spread=0.3)
    for _ in range(28):
        for rank, program in enumerate(ranks):
            program.work(300 * US)
            program.copy("h2d", 4 * KIB, device=rank)
        for _ in range(32):
            for half in (layer[:4], layer[4:]):
                for rank, program in enumerate(ranks):
                    run_kernels(program, half, 5 * US, device=rank)
                    collective_waits_for_work(program, rank)
                end = collective(ranks, gpus, 9 * US, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                                 "ncclAllReduce")
                for rank, program in enumerate(ranks):
                    wait_for_collective(program, rank, end)
        for rank, program in enumerate(ranks):
            item(program, device=rank)
    return text_of(*ranks)


# ---- waiting for the GPU ----


@capture
def gradient_norms_read_one_by_one():
    """clip_grad_norm written by hand: .item() for each of 148 parameters."""
    program = python("gradient_norms_read_one_by_one", "H100", "train.py --clip 1.0")
    start(program)
    upload(program, 60, 140 * MIB)
    net, autograd = network("clip", 96, 9 * MS, TRANSFORMER), program.make_thread("pt_autograd_0")
    for _ in range(34):
        program.copy("h2d", 2 * MIB)
        train_step(program, net, autograd)
        for _ in range(148):
            program.work(14 * US)
            program.launch("void at::native::reduce_kernel<512, 1, at::native::NormTwoOps>", 6 * US, grid=40, block=512)
            item(program)
    return text_of(program)


@capture
def nan_check_after_each_layer():
    """if torch.isnan(x).any() after each of 48 layers."""
    program = python("nan_check_after_each_layer", "A100", "debug_train.py")
    start(program)
    upload(program, 50, 200 * MIB)
    layer = network("layer", 4, 390 * US, TRANSFORMER)
    for step in range(30):
        with program.range("step", payload=step):
            program.copy("h2d", 1 * MIB)
            for _ in range(48):
                run_kernels(program, layer)
                program.work(20 * US)
                program.launch("void at::native::reduce_kernel<512, 1, at::native::func_wrapper_t<bool, any>>", 12 * US, grid=108)
                item(program)
                program.work(70 * US)
    return text_of(program)


@capture
def while_loop_with_its_condition_on_the_host():
    """lax.while_loop: the condition is copied to the host after three kernels of 4 us."""
    program = python("while_loop_with_its_condition_on_the_host", "H100", "root_finding.py")
    start(program, imports_ns=1100 * MS)
    for _ in range(5200):
        for name in ("loop_body_fusion", "input_reduce_fusion", "condition_fusion"):
            program.work(1 * US)
            program.launch(name, 4 * US, grid=32, block=256, function="cuLaunchKernel")
        program.copy("d2h", 1)
        program.wait("cudaStreamSynchronize", NULL_STREAM)
        program.work(3 * US)
    return text_of(program)


@capture
def conjugate_gradients_with_host_scalars():
    """cublasDdot with the result on the host, twice in each iteration."""
    program = native("conjugate_gradients_with_host_scalars", "A100", "cg", command="./cg poisson.mtx")
    start(program, imports_ns=400 * MS)
    for _ in range(4):
        program.copy("h2d", 30 * MIB, PAGEABLE, function="cudaMemcpy")
    for _ in range(2100):
        program.launch("csrMv_kernel", 56 * US, grid=4200)
        for updates in (1, 2):
            program.launch("dot_kernel<double, 128>", 8 * US, grid=216, block=128)
            program.launch("reduce_1Block_kernel<double, 128>", 4 * US, grid=1, block=128)
            program.copy("d2h", 8, PAGEABLE)
            program.wait("cudaStreamSynchronize", NULL_STREAM)
            program.work(4 * US)
            for _ in range(updates):
                program.launch("axpy_kernel_val<double>", 9 * US, grid=2100)
    program.wait()
    return text_of(program)


@capture
def draft_tokens_read_one_by_one():
    """Speculative decoding: each of five draft tokens is read before the graph for the next one is launched."""
    program = python("draft_tokens_read_one_by_one", "H100", "-m serve --speculative 5")
    start(program)
    upload(program, 80, 600 * MIB)
    for _ in range(2):
        program.call("cudaGraphInstantiateWithFlags", program.noise.host(8 * MS))
    for _ in range(170):
        for _ in range(5):
            program.copy("h2d", 64)
            program.launch_graph(430 * US, graph=1)
            item(program)
            program.work(380 * US)
        program.launch_graph(3100 * US, graph=2)
        program.launch("rejection_sampling", 25 * US, grid=32)
        item(program)
        program.work(700 * US)
    return text_of(program)


@capture
def asks_every_ten_milliseconds():
    """while (cudaEventQuery(...) == cudaErrorNotReady) usleep(10000): a job takes 4 ms."""
    program = native("asks_every_ten_milliseconds", "A10", "transcoder", command="./transcoder --in clips/")
    start(program, imports_ns=30 * MS)
    stream = program.make_stream()
    for _ in range(130):
        program.work(200 * US)
        program.copy("h2d", 6 * MIB, stream=stream)
        for name, ns in (("yuv_to_rgb", 600), ("scale", 1200), ("encode_blocks", 1700)):
            program.launch(name, ns * US, stream=stream, grid=4096)
        program.copy("d2h", 2 * MIB, stream=stream)
        program.record_event(0x190, stream)
        while program.now < program.gpus[0].stream_free[stream]:
            program.call("cudaEventQuery", 1 * US, result=600)
            program.os_call("usleep", 10 * MS + program.noise.host(70 * US), TIMER)
        program.call("cudaEventQuery", 1 * US)
    return text_of(program)


# ---- copies ----


@capture
def tables_with_a_batch_each():
    """A recommender: the indices of each of 26 tables are a tensor of their own, copied by itself."""
    program = python("tables_with_a_batch_each", "A100", "dlrm.py --tables 26")
    start(program)
    upload(program, 40, 900 * MIB)
    mlp = network("mlp", 18, 620 * US, TRANSFORMER)
    for _ in range(210):
        for _ in range(26):
            program.work(7 * US)
            program.copy("h2d", 32 * KIB, PAGEABLE)
            program.wait("cudaStreamSynchronize", NULL_STREAM)
        for table in range(26):
            program.work(4 * US)
            program.launch("void at::native::EmbeddingBag_updateOutputKernel_sum_mean<float, long>", 9 * US, grid=512)
        run_kernels(program, mlp)
    program.wait()
    return text_of(program)


@capture
def blocks_swapped_one_by_one():
    """A server moves the blocks of its cache to the host, 24 kB at a time, between steps that are one graph."""
    program = python("blocks_swapped_one_by_one", "A100", "-m serve --swap-space 16")
    start(program)
    upload(program, 80, 500 * MIB)
    program.call("cudaGraphInstantiateWithFlags", program.noise.host(8 * MS))
    for _ in range(48):
        program.work(250 * US)
        for _ in range(520):
            program.work(2 * US)
            program.copy("d2h", 24 * KIB)
        program.launch_graph(4100 * US, graph=1)
        program.copy("d2h", 1 * KIB)
        program.wait("cudaStreamSynchronize", NULL_STREAM)
    return text_of(program)


@capture
def weights_come_layer_by_layer():
    """Sequential offload: the weights of each layer come from pageable memory, in each of the steps, and are thrown away."""
    program = python("weights_come_layer_by_layer", "4090", "generate_image.py --sequential-offload")
    start(program)
    layer = network("diffusion", 9, 1100 * US, TRANSFORMER)
    for _ in range(20):
        for _ in range(28):
            program.work(60 * US)
            program.copy("h2d", 84 * MIB, PAGEABLE)
            program.wait("cudaStreamSynchronize", NULL_STREAM)
            run_kernels(program, layer)
    program.copy("d2h", 3 * MIB, PAGEABLE)
    program.wait("cudaStreamSynchronize", NULL_STREAM)
    return text_of(program)


@capture
def external_sort_in_chunks():
    """Chunks of 64 MB come from a std::vector, are sorted, and go back."""
    program = native("external_sort_in_chunks", "A100", "bigsort", command="./bigsort keys.bin")
    start(program, imports_ns=600 * MS)
    for _ in range(2):
        program.allocate(64 * MIB)
    for _ in range(120):
        program.copy("h2d", 64 * MIB, PAGEABLE, function="cudaMemcpy")
        for _ in range(4):
            program.launch("cub::DeviceRadixSortOnesweepKernel", 410 * US, grid=2800, block=384)
        program.launch("cub::DeviceRadixSortHistogramKernel", 130 * US, grid=864, block=128)
        program.copy("d2h", 64 * MIB, PAGEABLE, function="cudaMemcpy")
        program.work(120 * US)
    return text_of(program)


@capture
def frames_through_four_pageable_streams():
    """Four streams and cudaMemcpyAsync, as the tutorial says, but frames are in memory from malloc."""
    program = native("frames_through_four_pageable_streams", "4090", "denoise", command="./denoise --streams 4")
    start(program, imports_ns=15 * MS)
    streams = [program.make_stream() for _ in range(4)]
    for frame in range(380):
        stream = streams[frame % 4]
        program.copy("h2d", 8_294_400, PAGEABLE, stream=stream)
        program.launch("nlm_weights", 260 * US, stream=stream, grid=8160)
        program.launch("nlm_filter", 310 * US, stream=stream, grid=8160)
        program.copy("d2h", 8_294_400, PAGEABLE, stream=stream)
    program.wait()
    return text_of(program)


@capture
def estimates_summed_by_numpy():
    """Numba: 80 MB of results come to the host in each iteration, for np.mean."""
    program = python("estimates_summed_by_numpy", "A10", "pricing.py", first_launch_ns=250 * US)
    start(program, imports_ns=500 * MS)
    for _ in range(180):
        program.work(60 * US)
        program.launch("price_paths$241", 2600 * US, grid=39063, function="cuLaunchKernel")
        program.launch("discount$242", 380 * US, grid=39063, function="cuLaunchKernel")
        program.copy("d2h", 80_000_000, PAGEABLE, function="cuMemcpyDtoH_v2")
        program.work(19 * MS)
    return text_of(program)


# ---- memory ----


@capture
def managed_larger_than_the_gpu():
    """20 GB of managed memory on a GPU of 16: kernels wait for pages that come, and for those that make room."""
    program = native("managed_larger_than_the_gpu", "T4", "pagerank", command="./pagerank web.bin")
    start(program, imports_ns=200 * MS)
    program.call("cudaMallocManaged", program.noise.host(700 * US))
    for _ in range(170):
        for name, ns in (("gather_ranks", 14000), ("scatter_ranks", 11000)):
            end = program.launch(name, ns * US, grid=16384)
            begin = end - ns * US
            for i in range(18):
                at = begin + (i * 52 + 10) * ns * US // 1000
                program.migrate(4, 35 * US, 260, at)
                program.migrate(2, 170 * US, 2 * MIB, at + 36 * US)
                program.migrate(1, 165 * US, 2 * MIB, at + 210 * US)
        program.launch("normalise", 350 * US, grid=8192)
        program.wait()
    return text_of(program)


@capture
def touched_first_by_the_gpu_once():
    """Managed memory that the first kernels bring over; then seven hundred sweeps find it in place."""
    program = native("touched_first_by_the_gpu_once", "4090", "wave", command="./wave 1024 700")
    start(program, imports_ns=30 * MS)
    program.call("cudaMallocManaged", program.noise.host(600 * US))
    for _ in range(6):
        end = program.launch("wave_step", 60 * MS, grid=65536)
        for i in range(150):
            at = end - 60 * MS + i * 390 * US
            program.migrate(4, 40 * US, 300, at)
            program.migrate(1, 180 * US, 2 * MIB, at + 50 * US)
    for step in range(700):
        program.launch("wave_step", 1450 * US, grid=65536)
        if step % 100 == 99:
            program.wait()
    program.wait()
    return text_of(program)


@capture
def pinned_buffers_made_each_step():
    """cudaHostAlloc and cudaFreeHost around the copy of every step."""
    program = native("pinned_buffers_made_each_step", "A10", "radar", command="./radar --pulses 400")
    start(program, imports_ns=20 * MS)
    stream = program.make_stream()
    for _ in range(300):
        program.call("cudaHostAlloc", program.noise.host(2700 * US))
        program.work(250 * US)
        program.copy("h2d", 8 * MIB, stream=stream)
        for name, ns in (("range_compress", 760), ("corner_turn", 300), ("doppler_fft", 840)):
            program.launch(name, ns * US, stream=stream, grid=4096)
        program.wait("cudaStreamSynchronize", stream)
        program.call("cudaFreeHost", program.noise.host(1500 * US))
    return text_of(program)


@capture
def dataframe_without_a_pool():
    """cuDF without a pool: every operation allocates its result and its workspace, and frees them."""
    program = python("dataframe_without_a_pool", "A100", "etl.py", first_launch_ns=2 * MS)
    start(program, imports_ns=1500 * MS)
    program.copy("h2d", 700 * MIB, PAGEABLE)
    operations = (("hash_join", 210), ("gather", 90), ("sort_by_key", 340), ("groupby_aggregate", 180), ("apply_boolean_mask", 70))
    for _ in range(130):
        for name, ns in operations:
            program.work(25 * US)
            blocks = [program.allocate(size * MIB, 170 * US) for size in (64, 24, 8)]
            program.launch(f"cudf::{name}_count", ns * US // 3, grid=2048)
            program.launch(f"cudf::{name}", ns * US, grid=4096)
            for block in blocks[1:]:
                program.free(block, 150 * US)
            program.free(blocks[0], 180 * US)
    return text_of(program)


# ---- the host and its operating system ----


@capture
def jpegs_decoded_in_the_main_thread():
    """DataLoader(num_workers=0): 32 files are read and decoded between two steps."""
    program = python("jpegs_decoded_in_the_main_thread", "T4", "train_flowers.py")
    start(program)
    upload(program, 60, 45 * MIB)
    net, autograd = network("flowers", 70, 42 * MS), program.make_thread("pt_autograd_0")
    for step in range(24):
        for image in range(32):
            program.os_call("read", program.noise.host(450 * US), FILE, f"/data/flowers/{step * 32 + image:05}.jpg")
            program.work(2300 * US)
        program.copy("h2d", 19 * MIB, PAGEABLE)
        program.wait("cudaStreamSynchronize", NULL_STREAM)
        train_step(program, net, autograd)
        item(program)
    return text_of(program)


@capture
def samples_from_a_network_drive():
    """24 files of 4 MB for each step, from a drive that another machine has."""
    program = python("samples_from_a_network_drive", "A10", "train_volumes.py --data /nfs/share")
    start(program)
    upload(program, 40, 60 * MIB)
    net, autograd = network("volumes", 62, 46 * MS), program.make_thread("pt_autograd_0")
    for step in range(22):
        with program.range("load"):
            for sample in range(24):
                program.os_call("read", program.noise.host(7 * MS), FILE, f"/nfs/share/volumes/{step}_{sample}.npy")
            program.work(9 * MS)
        with program.range("train"):
            program.copy("h2d", 96 * MIB)
            train_step(program, net, autograd)
            item(program)
    return text_of(program)


@capture
def threads_share_the_interpreter():
    """Threads that prepare data in Python hold the interpreter's lock; the thread that launches gets it every 5 ms."""
    program = python("threads_share_the_interpreter", "A10", "train_threads.py")
    start(program)
    upload(program, 30, 40 * MIB)
    preparing = program.make_thread("prepare_0")
    net = network("threads", 96, 7 * MS, TRANSFORMER)
    for _ in range(34):
        program.copy("h2d", 2 * MIB)
        for number, kernel in enumerate(net):
            if number % 8 == 3:
                program.lines.append(line("os_call", start_ns=program.now, duration_ns=5 * MS, pid=program.pid, tid=program.tid,
                                          function="pthread_cond_timedwait", object_kind=GIL, path="GIL", other_tid=preparing.tid))
                program.now += 5 * MS
            run_kernels(program, [kernel], 6 * US)
    program.wait()
    return text_of(program)


@capture
def workers_share_one_lock():
    """Four threads of a server do everything about a request with one mutex locked, the host's part, too."""
    program = native("workers_share_one_lock", "4090", "ocr_server", command="./ocr_server --threads 4")
    start(program, imports_ns=300 * MS)
    upload(program, 30, 60 * MIB)
    workers = [(program.make_thread(f"worker{i}"), program.make_stream()) for i in range(4)]
    for worker, _ in workers:
        worker.now = program.now
    unlocked, holder = program.now, workers[-1][0]
    for request in range(320):
        worker, stream = workers[request % 4]
        with program.on(worker):
            if unlocked > program.now:
                program.lines.append(line("os_call", start_ns=program.now, duration_ns=unlocked - program.now, pid=program.pid,
                                          tid=program.tid, function="pthread_mutex_lock", object_kind=LOCK, object=3,
                                          other_tid=holder.tid))
                program.now = unlocked + 4 * US
            program.work(380 * US)
            program.copy("h2d", 1 * MIB, stream=stream)
            for name, ns in (("binarise", 30), ("find_lines", 90), ("recognise", 160), ("ctc_decode", 40)):
                program.launch(name, ns * US, stream=stream, grid=1024)
            program.copy("d2h", 16 * KIB, stream=stream)
            program.wait("cudaStreamSynchronize", stream)
            program.work(520 * US)
            unlocked, holder = program.now, worker
            program.work(90 * US)
    return text_of(program)


@capture
def loaders_crowd_out_the_main_thread():
    """Twice as many workers as processors: the thread that launches is preempted again and again."""
    program = python("loaders_crowd_out_the_main_thread", "A100", "train.py --workers 64")
    start(program)
    upload(program, 50, 90 * MIB)
    net, chance, switches = network("crowd", 120, 8 * MS), random.Random("crowd"), []
    for _ in range(46):
        program.copy("h2d", 19 * MIB)
        for kernel in net:
            if chance.random() < 0.035:
                ns = round(chance.uniform(2.5, 5.0) * MS)
                switches.append(line("switch", start_ns=program.now + 1 * US, duration_ns=ns, pid=program.pid, tid=program.tid,
                                     cpu=chance.randint(1, 16), is_preempted=1))
                program.now += ns + 2 * US
            run_kernels(program, [kernel], 6 * US)
        item(program)
    return text_of(program) + "\n".join([line("chunk", pid=99, collector=1), *switches]) + "\n"


@capture
def images_logged_each_step():
    """The feature maps of each step go to the host, are encoded as PNG and written."""
    program = python("images_logged_each_step", "4090", "train_gan.py --log-every 1")
    start(program)
    upload(program, 40, 80 * MIB)
    net, autograd = network("logged", 80, 30 * MS), program.make_thread("pt_autograd_0")
    for step in range(32):
        program.copy("h2d", 12 * MIB)
        train_step(program, net, autograd)
        program.copy("d2h", 48 * MIB, PAGEABLE)
        program.wait("cudaStreamSynchronize", NULL_STREAM)
        program.work(56 * MS)
        program.os_call("write", program.noise.host(8 * MS), FILE, f"/runs/42/events.{step}")
    return text_of(program)


@capture
def queue_fed_by_another_thread():
    """The main thread waits at a queue that one thread of the same process fills, every 23 ms."""
    program = python("queue_fed_by_another_thread", "A10", "infer_stream.py")
    start(program)
    upload(program, 40, 70 * MIB)
    producer, net = program.make_thread("producer"), network("queue", 74, 9 * MS)
    arrives = program.now
    for _ in range(90):
        arrives += program.noise.host(23 * MS)
        if arrives > program.now:
            program.lines.append(line("os_call", start_ns=program.now, duration_ns=arrives - program.now, pid=program.pid, tid=program.tid,
                                      function="pthread_cond_wait", object_kind=CONDITION, object=5, other_tid=producer.tid))
            program.now = arrives
        program.work(150 * US)
        program.copy("h2d", 6 * MIB)
        run_kernels(program, net)
        item(program)
    return text_of(program)


@capture
def frames_decoded_by_the_cpu():
    """OpenCV decodes a frame in 11 ms; detecting takes three on the GPU."""
    program = python("frames_decoded_by_the_cpu", "T4", "watch.py rtsp://cam3")
    start(program)
    upload(program, 40, 50 * MIB)
    net = network("watch", 66, 3200 * US)
    for frame in range(170):
        with program.range(f"frame_{frame}"):
            with program.range("decode"):
                program.work(11 * MS)
            program.copy("h2d", 6 * MIB, PAGEABLE)
            program.wait("cudaStreamSynchronize", NULL_STREAM)
            run_kernels(program, net, 6 * US)
            program.copy("d2h", 80 * KIB, PAGEABLE)
            program.wait("cudaStreamSynchronize", NULL_STREAM)
    return text_of(program)


@capture
def jax_traces_each_length():
    """Sequences are not padded: for each of 24 lengths everything is traced and compiled, for two seconds."""
    program = python("jax_traces_each_length", "H100", "eval_lengths.py")
    start(program, imports_ns=1100 * MS)
    for length in range(24):
        program.work(1900 * MS)
        program.call("cuModuleLoadDataEx", program.noise.host(28 * MS), domain=2)
        net = network(f"length{length}", 45, 8 * MS, [f"{name}_{length}" for name in XLA])
        for _ in range(11):
            program.work(300 * US)
            program.copy("h2d", 256 * KIB)
            run_kernels(program, net, 2 * US, function="cuLaunchKernel")
        program.wait("cudaStreamSynchronize", NULL_STREAM)
    return text_of(program)


@capture
def notebook_session():
    """Cells of a notebook: a burst of kernels, and then somebody reads and types."""
    program = python("notebook_session", "T4", "-m ipykernel_launcher")
    start(program, imports_ns=2000 * MS)
    upload(program, 20, 30 * MIB)
    thinks = random.Random("cells")
    for cell in range(13):
        net = network(f"cell{cell}", 70, 45 * MS)
        run_kernels(program, net, 9 * US)
        item(program)
        program.work(round(thinks.uniform(4, 26) * SECOND))
    run_kernels(program, network("last", 30, 12 * MS))
    program.wait()
    return text_of(program)


# ---- beginnings and ends ----


@capture
def three_requests_after_loading():
    """A script loads a model and answers three questions."""
    program = python("three_requests_after_loading", "A10", "ask.py --model 1b", first_launch_ns=4 * MS)
    start(program, imports_ns=2600 * MS)
    upload(program, 220, 2400 * MIB, between_ns=900 * US)
    names = [f"{name}_{variant}" for name in TRANSFORMER for variant in range(4)]
    net = network("ask", 150, 46 * MS, names)
    for _ in range(3):
        run_kernels(program, net, 5 * US)
        item(program)
        program.work(400 * US)
    return text_of(program)


@capture
def compiled_and_then_starved():
    """torch.compile takes eight seconds in the first two steps; then every step waits for its batch."""
    program = python("compiled_and_then_starved", "H100", "train_audio.py --compile", first_launch_ns=2 * MS)
    start(program)
    upload(program, 50, 120 * MIB)
    net, autograd = network("compiled", 74, 22 * MS, [f"triton_poi_fused_{i}" for i in range(30)]), program.make_thread("pt_autograd_0")
    loader = Loader(program, 71 * MS, ahead=2)
    for step in range(52):
        loader.take()
        program.copy("h2d", 9 * MIB)
        if step < 2:
            program.work((6200 if step == 0 else 1900) * MS)
        train_step(program, net, autograd)
    program.wait()
    return text_of(program)


@capture
def twelve_steps_that_wait():
    """A short run to profile it: code is loaded for most of a second, and then each layer is waited for."""
    program = python("twelve_steps_that_wait", "A100", "profile_me.py --steps 12", first_launch_ns=13 * MS)
    start(program)
    upload(program, 40, 90 * MIB)
    names = [f"{name}_{variant}" for name in TRANSFORMER for variant in range(6)]
    net = network("waits", 180, 9 * MS, names)
    for _ in range(12):
        program.copy("h2d", 1 * MIB)
        for layer in range(60):
            run_kernels(program, net[3 * layer:3 * layer + 3])
            item(program)
            program.work(110 * US)
    return text_of(program)


@capture
def results_written_at_the_end():
    """A solver that fills the GPU, and a second of writing the fields to files when it is done."""
    program = native("results_written_at_the_end", "A100", "mhd", command="./mhd run.par")
    start(program, imports_ns=40 * MS)
    program.copy("h2d", 800 * MIB, PINNED, function="cudaMemcpy")
    for _ in range(190):
        for name, ns in (("reconstruct", 2100), ("riemann_hlld", 3300), ("update", 1500), ("constrained_transport", 900)):
            program.launch(name, ns * US, grid=32768)
    program.wait()
    for field in range(24):
        program.copy("d2h", 160 * MIB, PAGEABLE, function="cudaMemcpy")
        program.work(6 * MS)
        program.os_call("write", program.noise.host(30 * MS), FILE, f"/scratch/out/field{field:02}.h5")
    program.copy("d2h", 8, PAGEABLE, function="cudaMemcpy")
    return text_of(program)


# ---- several streams, several GPUs ----


@capture
def sorts_in_the_default_stream():
    """Two threads have a stream each, and both call thrust::sort, which takes the default stream."""
    program = native("sorts_in_the_default_stream", "4090", "tracker", command="./tracker --targets 2")
    start(program, imports_ns=20 * MS)
    workers = [(program.make_thread(f"target{i}"), program.make_stream(is_non_blocking=False)) for i in range(2)]
    for worker, _ in workers:
        worker.now = program.now
    for _ in range(1100):
        for worker, stream in workers:
            with program.on(worker):
                program.launch("predict_and_weigh", 95 * US, stream=stream, grid=56, fills=False)
                program.launch("cub::DeviceRadixSortSingleTileKernel", 28 * US, grid=1, block=256, fills=False)
        for _, stream in workers:  # neither can begin before the sort that was launched last
            program.gpus[0].stream_free[stream] = max(program.gpus[0].stream_free.get(stream, 0),
                                                      program.gpus[0].stream_free.get(NULL_STREAM, 0))
    program.wait()
    return text_of(program)


@capture
def model_split_over_two_gpus():
    """The first half of the layers on one GPU, the second half on the other: one of them waits at any time."""
    program = python("model_split_over_two_gpus", "A100", "train_big.py", devices=2)
    start(program)
    for device in range(2):
        upload(program, 20, 200 * MIB, device=device)
    halves = [network(f"half{device}", 48, 13 * MS, TRANSFORMER) for device in range(2)]
    for step in range(36):
        program.copy("h2d", 1 * MIB)
        run_kernels(program, halves[0][:16], device=0)
        peer_copy(program, 0, 1, 48 * MIB)
        run_kernels(program, halves[1], device=1)
        peer_copy(program, 1, 0, 48 * MIB)
        run_kernels(program, halves[0][16:], device=0)
        if step % 12 == 11:
            item(program)
    for device in range(2):
        program.wait(device=device)
    return text_of(program)


@capture
def copied_to_every_gpu_each_step():
    """nn.DataParallel: all parameters go to the second GPU in each step, one by one, by Python."""
    program = python("copied_to_every_gpu_each_step", "A10", "train_dp.py", devices=2)
    start(program)
    upload(program, 30, 60 * MIB)
    net = network("dp", 60, 7 * MS, TRANSFORMER)
    for _ in range(42):
        for device in range(2):
            program.copy("h2d", 2 * MIB, PAGEABLE, device=device)
        for _ in range(160):
            program.work(70 * US)
            peer_copy(program, 0, 1, 400 * KIB, 22_000)
        for device in range(2):
            run_kernels(program, net, 5 * US, device=device)
        program.work(900 * US)
        peer_copy(program, 1, 0, 2 * MIB, 22_000)
        program.launch(ADAM, 500 * US, grid=1800, block=512)
        item(program)
    return text_of(program)


@capture
def one_gpu_of_four_is_hot():
    """Four ranks with the same work; the clocks of the last GPU fell, and the others wait for it in the all-reduce."""
    text = data_parallel("hot", 34, [14 * MS, 14 * MS, 14 * MS, 22 * MS], [5 * MS] * 4, 2, 600 * US, True)
    begin, end = 700 * MS, 700 * MS + 34 * 25 * MS
    wobble = random.Random("hot")
    return text + tracks(begin, end, *[("SM clock", "MHz", 1, f"GPU-{number}", lambda at, mhz=mhz: wobble.gauss(mhz, 9))
                                       for number, mhz in enumerate((1975, 1970, 1978, 1260), 1)],
                         *[("held down by heat", "ns", 2, f"GPU-{number}", lambda at, share=share: share * (at - begin))
                           for number, share in enumerate((0, 0, 0, 0.96), 1)])


def sharded_training(name, is_ahead, layers=12, steps=22, gather_ns=850 * US, compute_ns=1300 * US):
    """FSDP: the weights of a layer are gathered before it, either then or while the layer before is computed."""
    gpus, ranks, _ = rank_processes(name, "H100", 4, "python3 train_fsdp.py")
    layer = network(name, 8, compute_ns, TRANSFORMER)
    for _ in range(steps):
        end = collective(ranks, gpus, gather_ns) if is_ahead else None
        for number in range(layers):
            if not is_ahead:
                for rank, program in enumerate(ranks):
                    collective_waits_for_work(program, rank)
                end = collective(ranks, gpus, gather_ns)
            for rank, program in enumerate(ranks):
                wait_for_collective(program, rank, end)
                run_kernels(program, layer, device=rank)
            if is_ahead and number + 1 < layers:
                end = collective(ranks, gpus, gather_ns)
        for rank, program in enumerate(ranks):
            program.launch(ADAM, 700 * US, grid=1800, block=512, device=rank)
            item(program, device=rank)
    return text_of(*ranks)


@capture
def shards_gathered_before_each_layer():
    """Sharded weights without prefetching: an all-gather of 0.85 ms before the 1.3 ms of each layer."""
    return sharded_training("before", False)


@capture
def shards_gathered_ahead():
    """The same with prefetching: the weights of the next layer come beside the kernels of this one."""
    return sharded_training("ahead", True)


@capture
def experts_exchanged():
    """A mixture of experts: two all-to-alls of 1.1 ms for each layer of 1.5 ms, with nothing beside them."""
    gpus, ranks, _ = rank_processes("experts", "H200", 4, "python3 train_moe.py")
    layer = network("experts", 10, 1500 * US, TRANSFORMER)
    for _ in range(20):
        for _ in range(10):
            for part in (layer[:6], layer[6:]):
                for rank, program in enumerate(ranks):
                    run_kernels(program, part, device=rank)
                    collective_waits_for_work(program, rank)
                end = collective(ranks, gpus, 1100 * US, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "ncclAllToAll")
                for rank, program in enumerate(ranks):
                    wait_for_collective(program, rank, end)
        for rank, program in enumerate(ranks):
            program.copy("h2d", 1 * MIB, device=rank)
    for rank, program in enumerate(ranks):
        program.wait(device=rank)
    return text_of(*ranks)


@capture
def small_model_on_two_gpus():
    """DistributedDataParallel for a model whose kernels take 5 us: both ranks launch too slowly."""
    gpus, ranks, comms = rank_processes("small2", "A10", 2, "python3 train_tiny.py")
    net = network("small2", 100, 520 * US, TRANSFORMER, grids=(8, 100), block=128, spread=0.3)
    for step in range(100):
        for rank, program in enumerate(ranks):
            program.copy("h2d", 128 * KIB, device=rank)
            run_kernels(program, net, 8 * US, device=rank)
        all_reduce(ranks, gpus, comms, 45 * US)
        for rank, program in enumerate(ranks):
            wait_for_collective(program, rank, gpus[rank].stream_free[20])
            program.launch(ADAM, 20 * US, grid=100, block=512, device=rank)
            if step % 20 == 19:
                item(program, device=rank)
    for rank, program in enumerate(ranks):
        program.wait(device=rank)
    return text_of(*ranks)


@capture
def four_stage_pipeline():
    """Pipeline parallel with four micro-batches over four stages: each stage waits in its receive for three of seven."""
    gpus, ranks, _ = rank_processes("stages", "H100", 4, "python3 train_pp.py --micro-batches 4")
    name = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"

    def stage_runs(rank, earlier_end, kernels):
        program = ranks[rank]
        program.work(60 * US)
        if earlier_end is not None:
            begin = max(program.now, gpus[rank].stream_free.get(NULL_STREAM, 0))
            program.launch(name, 150 * US, device=rank, grid=8, block=544, fills=False,
                           end_ns=max(earlier_end, begin) + 220 * US, function="cudaLaunchKernelExC")
        run_kernels(program, kernels, 5 * US, device=rank)
        return gpus[rank].stream_free[NULL_STREAM]

    forward, backward = network("stage_forward", 12, 6 * MS, TRANSFORMER), network("stage_backward", 24, 12 * MS, TRANSFORMER)
    for _ in range(14):
        for kernels, order in ((forward, range(4)), (backward, range(3, -1, -1))):
            for _ in range(4):
                end = None
                for rank in order:
                    end = stage_runs(rank, end, kernels)
        for rank, program in enumerate(ranks):
            program.launch(ADAM, 600 * US, grid=1800, block=512, device=rank)
            program.wait("cudaStreamSynchronize", NULL_STREAM, device=rank)
    return text_of(*ranks)


@capture
def cells_unevenly_over_ranks():
    """MPI: the first rank has six tenths more cells, and the others wait for its edges in MPI_Waitall."""
    gpus = [Gpu("H100") for _ in range(4)]
    ranks = [Process(pid=90 + rank, name="ocean", gpus=gpus, rank=rank, world=4, seed=f"ocean{rank}", command="./ocean channel.nml",
                     rank_source="Open MPI", first_launch_ns=60 * US) for rank in range(4)]
    for program in ranks:
        start(program, imports_ns=150 * MS)
    together = max(program.now for program in ranks)
    for rank, program in enumerate(ranks):
        program.now = together
        program.copy("h2d", 300 * MIB, PAGEABLE, device=rank, function="cudaMemcpy")
    for _ in range(130):
        for rank, program in enumerate(ranks):
            share = 1.6 if rank == 0 else 1
            for name, ns in (("momentum", 1700), ("tracers", 1200), ("pressure", 900)):
                program.launch(name, round(ns * share) * US, device=rank, grid=16384)
            program.copy("d2h", 256 * KIB, device=rank)
            program.wait("cudaStreamSynchronize", NULL_STREAM, device=rank)
        met = max(program.now for program in ranks)
        for rank, program in enumerate(ranks):
            program.push("MPI_Waitall")
            program.now = met
            program.work(90 * US)
            program.pop()
            program.copy("h2d", 256 * KIB, device=rank)
    return text_of(*ranks)


def main():
    if len(sys.argv) != 2:
        print("\n".join(CAPTURES))
        return 0
    if sys.argv[1] not in CAPTURES:
        print(f"no capture '{sys.argv[1]}'; examination2.py lists them", file=sys.stderr)
        return 2
    sys.stdout.write(CAPTURES[sys.argv[1]]())
    return 0


if __name__ == "__main__":
    sys.exit(main())
