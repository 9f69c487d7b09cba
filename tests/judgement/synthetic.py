#!/usr/bin/env python3
"""Captures with one mechanism each, made by a simulated program (simulated.py). The names are those of corpus.json.

    synthetic.py            lists them
    synthetic.py NAME       prints the capture as text: `synthetic.py NAME | assemble_trace > run.trace`
"""

import sys

from simulated import KIB, MIB, MS, NULL_STREAM, PAGEABLE, PINNED, US, Gpu, Process, text_of

CAPTURES = {}


def capture(function):
    CAPTURES[function.__name__] = function
    return function


def training_step(program, kernels=12, kernel_ns=400 * US, host_ns=5 * US):
    for i in range(kernels):
        program.work(host_ns)
        program.launch(("gemm_fwd", "norm", "gemm_bwd", "adam")[i % 4], kernel_ns)


# ---- the GPU works all the time ----


@capture
def kernel_bound():
    program = Process(name="train")
    for _ in range(40):
        program.push("step")
        training_step(program)
        program.pop()
    program.wait()
    return text_of(program)


@capture
def small_copies_wait_for_kernels():
    """1,000 blocking copies of 4 B, each behind a kernel of 5.28 ms."""
    program = Process(name="solver")
    for _ in range(1000):
        program.launch("relax", 5280 * US)
        program.copy("d2h", 4, PAGEABLE, function="cudaMemcpy")
        program.work(110 * US)
    return text_of(program)


@capture
def last_copy_waits():
    """800 B at the end are copied to pageable memory behind 125 ms of queued kernels."""
    program = Process(name="infer")
    program.copy("h2d", 2 * MIB, PAGEABLE)
    for i in range(500):
        program.launch(("softmax", "gemm")[i % 2], 250 * US)
    program.copy("d2h", 800, PAGEABLE)
    return text_of(program)


@capture
def spin_kernel_beside_work():
    """A kernel of one thread waits for a flag all the time, beside kernels that fill the GPU."""
    program = Process(name="persistent")
    flag = program.make_stream()
    for _ in range(10):
        program.launch("wait_for_flag", 19 * MS, stream=flag, grid=1, block=1, fills=False)
        for _ in range(20):
            program.launch("gemm", 970 * US)
        program.wait()
    return text_of(program)


@capture
def pool_of_33_streams():
    """A framework makes a pool of streams and runs everything in one."""
    program = Process(name="python3")
    streams = [program.make_stream() for _ in range(33)]
    for _ in range(30):
        training_step(program)
        program.copy("h2d", 64 * KIB, stream=streams[0])
        for _ in range(4):
            program.launch("gemm", 400 * US, stream=streams[0])
    program.wait()
    return text_of(program)


@capture
def blocks_of_16_threads():
    """1,048,576 blocks of 16 threads: half of each warp has no work, but blocks there are enough."""
    program = Process(name="gaussian")
    program.copy("h2d", 64 * MIB, PAGEABLE, function="cudaMemcpy")
    for _ in range(400):
        program.launch("Fan1", 5 * US, grid=8, block=512)
        program.launch("Fan2", 680 * US, grid=1048576, block=16)
    program.copy("d2h", 64 * MIB, PAGEABLE, function="cudaMemcpy")
    return text_of(program)


@capture
def ten_blocks_on_some_multiprocessors():
    """1,200 blocks, of which 8 fit on each of 132 multiprocessors: some have 10 of them and some 9."""
    program = Process(name="render")
    for _ in range(600):
        program.launch("render", 530 * US, grid=1200, block=256)
    program.wait()
    return text_of(program)


@capture
def steady_after_long_startup():
    """A fill comes early, then data is read for 1.5 s; the 60 steps after that leave no gap."""
    program = Process(name="train")
    program.fill(64 * MIB)
    program.work(1500 * MS)
    for _ in range(60):
        program.push("step")
        training_step(program)
        program.pop()
    program.wait()
    return text_of(program)


@capture
def polling_while_busy():
    """A watchdog thread's queries cost nothing while kernels fill the GPU."""
    program = Process(name="python3")
    for _ in range(10):
        for _ in range(20):
            program.launch("conv", 300 * US)
        program.poll()
    return text_of(program)


@capture
def two_gpus_one_stream_each():
    """Both GPUs are busy all the time: streams of different GPUs are no lost overlap."""
    program = Process(name="hpl", devices=2)
    for _ in range(100):
        for device in range(2):
            program.launch("dgemm", 900 * US, stream=NULL_STREAM, device=device)
    for device in range(2):
        program.wait(device=device)
    return text_of(program)


@capture
def decode_by_graph():
    """Each token is one graph of 1.8 ms, launched ahead."""
    program = Process(name="serve")
    program.call("cudaGraphInstantiateWithFlags", 6 * MS)
    for _ in range(200):
        program.launch_graph(1800 * US)
        program.work(20 * US)
    program.wait("cudaStreamSynchronize", NULL_STREAM)
    return text_of(program)


@capture
def overlap_done_well():
    """Two streams with pinned copies: the GPU computes while the next part arrives."""
    program = Process(name="pipeline")
    streams = [program.make_stream(), program.make_stream()]
    for i in range(60):
        program.copy("h2d", 16 * MIB, stream=streams[i % 2])
        program.launch("filter", 900 * US, stream=streams[i % 2])
        program.copy("d2h", 8 * MIB, stream=streams[i % 2])
    program.wait()
    return text_of(program)


# ---- copies ----


@capture
def pageable_input_each_step():
    program = Process(name="train")
    for _ in range(40):
        program.push("step")
        program.copy("h2d", 64 * MIB, PAGEABLE)
        training_step(program, kernels=8, kernel_ns=250 * US)
        program.pop()
    program.wait()
    return text_of(program)


@capture
def pinned_input_not_overlapped():
    program = Process(name="filter")
    for _ in range(40):
        program.copy("h2d", 64 * MIB)
        program.launch("blur", 600 * US)
        program.launch("sharpen", 600 * US)
    program.wait()
    return text_of(program)


@capture
def small_copies():
    program = Process(name="particles")
    for _ in range(1500):
        program.copy("h2d", 256)
    program.launch("move", 50 * US)
    program.wait()
    return text_of(program)


def there_and_back(memory):
    program = Process(name="jacobi")
    for _ in range(20):
        program.push("iteration")
        program.copy("h2d", 256 * MIB, memory, function="cudaMemcpy")
        program.launch("sweep", 900 * US)
        program.copy("d2h", 256 * MIB, memory, function="cudaMemcpy")
        program.pop()
    return text_of(program)


@capture
def there_and_back_pageable():
    """The same 256 MiB go to the GPU and come back in every iteration."""
    return there_and_back(PAGEABLE)


@capture
def there_and_back_pinned():
    return there_and_back(PINNED)


def six_streams(streams_are_known):
    program = Process(name="parts", streams_are_known=streams_are_known)
    streams = [program.make_stream() for _ in range(6)]
    for _ in range(8):
        for stream in streams:
            program.copy("h2d", 8 * MIB, PAGEABLE, stream=stream)
            program.launch("transform", 400 * US, stream=stream)
            program.copy("d2h", 8 * MIB, PAGEABLE, stream=stream)
    program.wait()
    return text_of(program)


@capture
def six_streams_pageable():
    """Pageable copies keep the host until they are done, so that the six streams run one after the other."""
    return six_streams(True)


@capture
def six_streams_pageable_no_stream_records():
    """The same as another tool exports it: nothing tells that the streams were made."""
    return six_streams(False)


@capture
def copies_after_peer_access():
    """cudaDeviceEnablePeerAccess takes 6 ms once; the copies to and from the host take the rest."""
    program = Process(name="halo", devices=2)
    program.copy("h2d", 16 * MIB)
    program.call("cudaDeviceEnablePeerAccess", 6 * MS)
    for _ in range(12):
        program.copy("h2d", 64 * MIB)
        program.copy("d2h", 64 * MIB)
        program.launch("stencil", 90 * US)
    program.wait()
    return text_of(program)


@capture
def managed_memory():
    """35 ms of kernels in 1,040 ms: the rest is managed memory that moves to the GPU and back."""
    program = Process(name="managed")
    for _ in range(35):
        start = program.now
        for _ in range(20):
            program.migrate(1, 600 * US, 2 * MIB)
            program.now += 620 * US
        program.now = start
        program.call("cudaMemPrefetchAsync", 20 * 620 * US)
        program.launch("update", 1 * MS)
        program.wait()
        for _ in range(20):
            program.migrate(2, 600 * US, 2 * MIB)
            program.now += 820 * US
    return text_of(program)


# ---- launching ----


@capture
def host_bound_small_kernels():
    """A chain of 40 kernels of 3 us, each launched in 6 us."""
    program = Process(name="decode")
    for _ in range(60):
        program.push("token")
        for i in range(40):
            program.work(2 * US)
            program.launch(("norm", "gemv", "rope", "silu")[i % 4], 3 * US, grid=132)
        program.pop()
    program.wait()
    return text_of(program)


@capture
def many_streams_of_tiny_launches():
    """64 streams get launches of one block of 64 threads in turn: the host cannot launch as fast as the GPU runs."""
    program = Process(name="tasks")
    streams = [program.make_stream() for _ in range(64)]
    for _ in range(40):
        for stream in streams:
            program.launch("task", 12 * US, stream=stream, grid=1, block=64)
    program.wait()
    return text_of(program)


@capture
def launch_blocking():
    """CUDA_LAUNCH_BLOCKING=1: every launching call lasts until its kernel has ended."""
    program = Process(name="train")
    for _ in range(40):
        program.push("step")
        for i in range(12):
            program.work(12 * US)
            program.launch(("gemm_fwd", "norm", "gemm_bwd", "adam")[i % 4], 45 * US, until_done=True)
        program.pop()
    return text_of(program)


@capture
def first_launches_load_code():
    """Lazy loading: 20 kernels take 5 ms in their first launch, and none of the 600 launches after that leaves a gap."""
    program = Process(name="app")
    for i in range(20):
        program.launch(f"kernel_{i}", 100 * US, call_ns=5 * MS)
    for i in range(600):
        program.launch(f"kernel_{i % 20}", 100 * US)
    program.wait()
    return text_of(program)


@capture
def tiny_launches_after_a_long_start():
    """Loading kernels takes three seconds; then each of 4,000 tiny kernels waits for a host that needs 20 us to launch it."""
    program = Process(name="train")
    for i in range(20):
        program.launch(f"kernel_{i}", 3 * US, call_ns=150 * MS)
    for i in range(4000):
        program.work(15 * US)
        program.launch(f"kernel_{i % 20}", 3 * US)
    program.wait()
    return text_of(program)


@capture
def new_kernels_in_every_step():
    """Each step launches a kernel of its own for the first time, which loads its code for 4 ms; the others are loaded."""
    program = Process(name="shapes")
    for i in range(40):
        program.push("step")
        program.launch(f"fused_{i}", 500 * US, call_ns=4 * MS)
        training_step(program, kernels=8, kernel_ns=300 * US)
        program.wait("cudaStreamSynchronize", NULL_STREAM)
        program.pop()
    return text_of(program)


@capture
def code_loaded_for_each_part():
    """Products in five types: for each the host fills its matrices, and the library loads its code, before 40 kernels run."""
    program = Process(name="gemms")
    for part in range(5):
        program.work(90 * MS)
        program.call("cuLibraryLoadData", 45 * MS, domain=2)
        program.work(2 * MS)
        for _ in range(40):
            program.launch(f"gemm_{part}", 3 * MS)
            program.wait()
    return text_of(program)


@capture
def results_checked_between_kernels():
    """Six kernels in turn, each launched 100 times; before the next one the host computes what the last one should have."""
    program = Process(name="quantise")
    program.call("cuLibraryLoadData", 300 * US, domain=2)
    for part in range(6):
        for i in range(100):
            program.launch(f"quantise_{part}", 80 * US, call_ns=60 * US if i == 0 else 5 * US)
        program.wait()
        program.copy("d2h", 1 * MIB, function="cudaMemcpy")
        program.work(200 * MS)
    return text_of(program)


@capture
def input_drawn_after_a_first_kernel():
    """A kernel that warms the GPU up, two seconds of drawing numbers, and sums of them that take next to no time."""
    program = Process(name="sums")
    program.launch("warm_up", 2 * US, call_ns=60 * US)
    program.work(2000 * MS)
    program.copy("h2d", 64 * MIB, PAGEABLE, function="cudaMemcpy")
    for kernel in ("sum", "sum_by_warps"):
        program.call("cuLibraryLoadData", 300 * US, domain=2)
        for i in range(50):
            program.launch(kernel, 100 * US, call_ns=60 * US if i == 0 else 5 * US)
        program.wait()
        program.copy("d2h", 4, PAGEABLE, function="cudaMemcpy")
    return text_of(program)


@capture
def host_works_between_kernels_that_run_once():
    """Three kernels, each launched once; between them the host filters, counts and draws for 80 ms, and no code is loaded."""
    program = Process(name="filters")
    program.call("cuLibraryLoadData", 300 * US, domain=2)
    for part in range(3):
        program.copy("h2d", 40 * MIB, PAGEABLE, function="cudaMemcpy")
        program.launch(f"filter_{part}", 250 * US, call_ns=60 * US)
        program.copy("d2h", 4 * MIB, PAGEABLE, function="cudaMemcpy")
        program.work(80 * MS)
    program.copy("d2h", 4, PAGEABLE, function="cudaMemcpy")
    return text_of(program)


@capture
def modules_imported_between_kernels():
    """A script of three numbers: what checks them is imported between the kernels, which reads a hundred files."""
    program = Process(name="python3")
    program.call("cuLibraryLoadData", 300 * US, domain=2)
    for i in range(8):
        program.launch(("square", "sum")[i % 2], 2 * US)
    program.wait()
    for i in range(100):
        program.work(900 * US)
        program.os_call("read", 25 * US, 3, path=f"/usr/lib/python3/testing/part_{i}.pyc")
    for i in range(4):
        program.launch(("square", "sum")[i % 2], 2 * US)
        program.work(100 * US)
    program.wait()
    return text_of(program)


@capture
def start_up_and_little_else():
    """CUDA takes 130 ms to start, and then a few numbers are copied, added and copied back within a millisecond."""
    program = Process(name="add")
    program.call("cuDevicePrimaryCtxRetain", 130 * MS, domain=2)
    for _ in range(3):
        program.copy("h2d", 1 * KIB, PAGEABLE, function="cudaMemcpy")
        program.launch("add", 2 * US)
        program.copy("d2h", 1 * KIB, PAGEABLE, function="cudaMemcpy")
        program.work(60 * US)
    program.end()
    return text_of(program)


@capture
def input_copied_once_for_few_kernels():
    """A short program: 256 MiB of pageable memory are copied, and a hundred kernels take a third of the time of that."""
    program = Process(name="reduce")
    program.copy("h2d", 256 * MIB, PAGEABLE, function="cudaMemcpy")
    program.work(200 * US)
    for _ in range(100):
        program.launch("reduce", 60 * US)
        program.wait()
    return text_of(program)


@capture
def one_product():
    """Whatever this does, it does once: matrices are copied, the host flushes its caches, one kernel runs, its result comes back."""
    program = Process(name="gemm")
    program.work(100 * MS)
    for _ in range(3):
        program.copy("h2d", 1 * MIB, PAGEABLE, function="cudaMemcpy")
    program.work(10 * MS)
    program.call("cuLibraryLoadData", 80 * US, domain=2)
    program.launch("gemm", 170 * US, call_ns=110 * US)
    program.wait()
    program.copy("d2h", 1 * MIB, PAGEABLE, function="cudaMemcpy")
    return text_of(program)


@capture
def started_late():
    """Launches return at once, and the GPU, which another process has as well, starts each of them 300 us later."""
    program = Process(name="shared")
    for _ in range(150):
        correlation = program.call("cudaLaunchKernel", 4 * US)
        start = program.now + 300 * US
        end = start + 200 * US
        program.add_kernel("solve", start, end, correlation, 1056, 256, 32, NULL_STREAM)
        program.gpus[0].stream_free[NULL_STREAM] = end
        program.now = end + 2 * US
    return text_of(program)


@capture
def last_step_writes_a_checkpoint():
    """The GPU never waits for a step, and is done when the last one goes on for 2 s on the host."""
    program = Process(name="train")
    for i in range(40):
        program.push("step")
        training_step(program)
        if i == 39:
            program.wait()
            program.work(2000 * MS)
        program.pop()
    return text_of(program)


@capture
def modules_loaded_in_the_loop():
    """A program compiles a kernel for every shape when it first meets it."""
    program = Process(name="shapes")
    for i in range(12):
        start = program.now
        correlation = program.call("cuModuleLoadDataEx", 80 * MS, domain=2)
        program.lines.append(f"jit start_ns={start + 1 * MS} duration_ns={78 * MS} tid={program.tid} correlation={correlation} "
                             "entry_kind=1 operation=3 cache_bytes=65536")
        for _ in range(10):
            program.launch(f"fused_{i}", 800 * US, function="cuLaunchKernel")
        program.wait("cudaStreamSynchronize", NULL_STREAM)
    return text_of(program)


@capture
def graph_instantiated_each_time():
    program = Process(name="capture")
    for i in range(60):
        program.call("cudaGraphInstantiateWithFlags", 900 * US)
        program.launch_graph(300 * US, graph=i + 1)
        program.wait("cudaStreamSynchronize", NULL_STREAM)
        program.call("cudaGraphExecDestroy", 60 * US)
    return text_of(program)


@capture
def graph_nodes_not_recorded():
    """The graphs that do all the work left no record of what ran: between the few kernels the GPU is not known to be idle."""
    program = Process(name="serve")
    for _ in range(40):
        program.launch("embed", 30 * US)
        program.launch_graph(4 * MS, is_recorded=False)
        program.launch("sample", 20 * US)
        program.wait("cudaStreamSynchronize", NULL_STREAM)
        program.work(40 * US)
    return text_of(program)


# ---- waiting ----


@capture
def wait_after_each_kernel():
    program = Process(name="stencil")
    for i in range(400):
        program.launch(("left", "right")[i % 2], 20 * US)
        program.wait()
        program.work(8 * US)
    return text_of(program)


@capture
def result_read_each_step():
    """`loss.item()`: a copy of 4 B to pageable memory drains the queue in every step, and then the host prepares the next."""
    program = Process(name="train")
    for _ in range(80):
        program.push("step")
        program.work(700 * US)
        training_step(program, kernels=24, kernel_ns=40 * US, host_ns=8 * US)
        program.copy("d2h", 4, PAGEABLE)
        program.pop()
    return text_of(program)


@capture
def memory_allocated_in_the_loop():
    program = Process(name="fft")
    for _ in range(120):
        block = program.allocate(64 * MIB, 250 * US)
        program.launch("transform", 300 * US)
        program.free(block, 200 * US)
    return text_of(program)


@capture
def memory_grows():
    """Each step keeps 64 MiB more, without a pause of the GPU."""
    program = Process(name="cache")
    for _ in range(60):
        program.push("step")
        program.allocate(64 * MIB, 60 * US)
        training_step(program, kernels=6, kernel_ns=300 * US)
        program.pop()
    program.wait()
    return text_of(program)


@capture
def events_take_turns():
    """Two streams with kernels that fill half of the GPU wait for each other after every kernel."""
    program = Process(name="stages")
    streams = [program.make_stream(), program.make_stream()]
    for i in range(200):
        here, there = streams[i % 2], streams[1 - i % 2]
        program.launch("stage", 200 * US, stream=here, grid=66, block=1024, fills=False)
        program.make_later(here, there, event=500 + i % 2)
    program.wait()
    return text_of(program)


@capture
def default_stream_between():
    """A kernel in the legacy default stream after each pair keeps the pairs of two blocking streams apart."""
    program = Process(name="pairs")
    streams = [program.make_stream(is_non_blocking=False), program.make_stream(is_non_blocking=False)]
    for _ in range(60):
        for stream, name in zip(streams, ("left", "right")):
            program.launch(name, 100 * US, stream=stream, grid=66, block=1024, fills=False)
        program.launch("check", 60 * US)
    program.wait()
    return text_of(program)


# ---- the host ----


@capture
def profiler_steps_slow_loader():
    """ProfilerStep#N: the loader works for 20 ms in each step, the GPU for 5 ms."""
    program = Process(name="python3")
    for i in range(30):
        program.push(f"ProfilerStep#{i + 10}")
        program.push("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
        program.work(20 * MS)
        program.pop()
        program.copy("h2d", 4 * MIB)
        training_step(program)
        program.pop()
        program.wait("cudaStreamSynchronize", NULL_STREAM)
    return text_of(program)


@capture
def iterations_with_numbers():
    """iteration_17 and op_id = 4711: the steps are one range, the operators are none."""
    program = Process(name="sim")
    for i in range(40):
        program.push(f"iteration_{i}")
        program.work(3 * MS)
        for k in range(6):
            program.push(f"aten::mul, op_id = {100 * i + k}")
            program.launch("mul", 250 * US)
            program.pop()
        program.wait("cudaStreamSynchronize", NULL_STREAM)
        program.pop()
    return text_of(program)


@capture
def checkpoint_every_tenth_step():
    """Nine steps of ten leave no gap; the tenth writes a file for 60 ms."""
    program = Process(name="train")
    for i in range(60):
        program.push("step")
        training_step(program)
        if i % 10 == 9:
            program.push("save")
            program.wait()
            program.work(60 * MS)
            program.pop()
        program.pop()
    program.wait()
    return text_of(program)


@capture
def two_programs_in_one_trace():
    """`bash -c 'a; b'`: a is done 500 ms before b starts, and b waits after every kernel."""
    first = Process(pid=7, name="a")
    for _ in range(60):
        training_step(first, kernels=4)
    first.wait()
    second = Process(pid=8, name="b", start_ns=first.now + 300 * MS)
    second.work(200 * MS)
    for _ in range(300):
        second.launch("stencil", 20 * US)
        second.wait()
        second.work(5 * US)
    return text_of(first, second)


@capture
def failing_calls():
    """Half-way an illegal address loses the context; everything after that fails."""
    program = Process(name="app")
    for _ in range(20):
        program.launch("scatter", 200 * US)
    program.call("cudaDeviceSynchronize", 4 * MS, result=700)
    for _ in range(20):
        program.call("cudaLaunchKernel", 2 * US, result=700)
        program.work(100 * US)
    return text_of(program)


# ---- several GPUs ----


def data_parallel(compute_ns, host_ns, collective_ns=400 * US, steps=30):
    """Ranks with one GPU each: every step ends in a collective that starts on each when it gets there and ends with the last."""
    gpus = [Gpu() for _ in compute_ns]
    ranks = [Process(pid=7 + rank, name="python3", gpus=gpus, rank=rank, world=len(gpus)) for rank in range(len(gpus))]
    for _ in range(steps):
        arrivals = []
        for rank, program in enumerate(ranks):
            program.push("step")
            program.work(host_ns[rank])
            for _ in range(4):
                program.launch("backward", compute_ns[rank] // 4, device=rank)
            arrivals.append(max(program.start_of(gpus[rank], NULL_STREAM, program.now), gpus[rank].kernels_free + 1 * US))
        end = max(arrivals) + collective_ns
        for rank, program in enumerate(ranks):
            program.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", collective_ns // 2, device=rank, grid=16, fills=False, end_ns=end,
                           function="cudaLaunchKernelExC")
            program.wait("cudaStreamSynchronize", NULL_STREAM, device=rank)
            program.pop()
    return text_of(*ranks)


@capture
def nccl_straggler_computes():
    """Rank 1 computes for 10 ms, rank 0 for 2 ms and then spins in the collective for 8 ms."""
    return data_parallel(compute_ns=[2 * MS, 10 * MS], host_ns=[100 * US, 100 * US])


@capture
def nccl_straggler_loads_data():
    """Rank 1 prepares its batch for 8 ms with an idle GPU, while rank 0 spins: the busier GPU is not the one with more to do."""
    return data_parallel(compute_ns=[2 * MS, 2 * MS], host_ns=[100 * US, 8 * MS])


@capture
def nccl_exposed():
    """No rank is late: the collective itself takes two thirds of the step, and nothing runs beside it."""
    return data_parallel(compute_ns=[2 * MS, 2 * MS], host_ns=[50 * US, 50 * US], collective_ns=4 * MS)


def main():
    if len(sys.argv) != 2:
        print("\n".join(CAPTURES))
        return 0
    if sys.argv[1] not in CAPTURES:
        print(f"no capture '{sys.argv[1]}'; synthetic.py lists them", file=sys.stderr)
        return 2
    sys.stdout.write(CAPTURES[sys.argv[1]]())
    return 0


if __name__ == "__main__":
    sys.exit(main())
