"""Captures of kinds of programs that strangers write: small ones, as tutorials, benchmarks and exercises have them, from start to end.

Simulated as those of synthetic.py are; each has what such a program does before and after its main thing. The names are those of
corpus.json.
"""

from simulated import MIB, MS, NULL_STREAM, PAGEABLE, US, Process, text_of

CAPTURES = {}


def capture(function):
    CAPTURES[function.__name__] = function
    return function


def program_of(name, context_ns=130 * MS):
    program = Process(name=name)
    program.call("cuDevicePrimaryCtxRetain", context_ns, domain=2)
    program.call("cuLibraryLoadData", 300 * US, domain=2)
    return program


def copy(program, direction, size_bytes):
    program.copy(direction, size_bytes, PAGEABLE, function="cudaMemcpy")


# ---- copied once ----


@capture
def many_kernels_between_two_copies():
    """A benchmark: 1,000 launches of one kernel, and copies before and after them that take nearly as long in all."""
    program = program_of("rotary")
    copy(program, "h2d", 120 * MIB)
    for i in range(1000):
        program.launch("rotate", 43 * US, call_ns=160 * US if i == 0 else 5 * US)
    program.wait()
    copy(program, "d2h", 600 * MIB)
    program.work(400 * MS)
    return text_of(program)


@capture
def results_of_each_part():
    """A benchmark of three kernels in turn: the results of each are copied back after its 1,000 launches."""
    program = program_of("langevin")
    copy(program, "h2d", 64 * MIB)
    for kernel in ("euler", "heun", "milstein"):
        for i in range(1000):
            program.launch(kernel, 24 * US, call_ns=160 * US if i == 0 else 5 * US)
        program.wait()
        copy(program, "d2h", 288 * MIB)
    program.work(300 * MS)
    return text_of(program)


@capture
def one_kernel_between_two_copies():
    program = program_of("fractal")
    copy(program, "h2d", 1 * MIB)
    program.launch("fractal", 60 * MS)
    program.wait()
    copy(program, "d2h", 400 * MIB)
    program.work(100 * MS)
    return text_of(program)


@capture
def copies_both_ways_for_a_hundred_kernels():
    """The copies take four times as long as the kernels."""
    program = program_of("pool")
    for _ in range(2):
        copy(program, "h2d", 200 * MIB)
        program.work(150 * US)
    for i in range(100):
        program.launch("pool", 100 * US, call_ns=160 * US if i == 0 else 5 * US)
    program.wait()
    copy(program, "d2h", 100 * MIB)
    program.work(300 * MS)
    return text_of(program)


@capture
def upload_for_ten_kernels():
    program = program_of("sum")
    copy(program, "h2d", 1024 * MIB)
    for i in range(10):
        program.launch("sum", 900 * US, call_ns=60 * US if i == 0 else 5 * US)
        program.wait()
    copy(program, "d2h", 4)
    return text_of(program)


@capture
def result_copied_back_for_the_next_step():
    """A stencil reads one array and writes another, which is copied over the first one instead of changing places with it."""
    program = program_of("heat")
    copy(program, "h2d", 64 * MIB)
    for i in range(1000):
        program.launch("stencil", 80 * US, call_ns=160 * US if i == 0 else 5 * US)
        program.copy("d2d", 128 * MIB)
    program.wait()
    copy(program, "d2h", 64 * MIB)
    program.work(100 * MS)
    return text_of(program)


# ---- the host between launches ----


@capture
def host_reference_before_the_second_part():
    """The host computes for a second what the GPU should, and launches nothing before it has done so; loading code is short."""
    program = program_of("priority")
    program.fill(64 * MIB)
    for _ in range(2):
        copy(program, "h2d", 64 * MIB)
    program.work(1150 * MS)
    program.wait()
    program.call("cuLibraryLoadData", 143 * US, domain=2)
    for part in range(4):
        for kernel in ("forward", "backward", "update", "prefetch"):
            program.launch(kernel, 170 * US, call_ns=400 * US if (part, kernel) == (0, "forward") else 6 * US)
        program.wait()
        copy(program, "d2h", 32 * MIB)
        program.work(4 * MS)
    return text_of(program)


@capture
def host_reference_before_the_kernel():
    program = program_of("qkv")
    for _ in range(2):
        copy(program, "h2d", 30 * MIB)
    program.work(1300 * MS)
    program.call("cuLibraryLoadData", 143 * US, domain=2)
    for i in range(100):
        program.launch("matmul", 500 * US, call_ns=400 * US if i == 0 else 6 * US)
    program.wait()
    copy(program, "d2h", 32 * MIB)
    program.work(4 * MS)
    return text_of(program)


@capture
def checked_on_the_host_after_each_size():
    program = program_of("bench")
    for _ in range(8):
        program.work(60 * MS)
        copy(program, "h2d", 32 * MIB)
        for _ in range(100):
            program.launch("gelu", 40 * US)
        program.wait()
        copy(program, "d2h", 32 * MIB)
        program.work(90 * MS)
    return text_of(program)


@capture
def pool_told_by_the_main_thread():
    """As XLA does: a thread of a pool launches what the main thread has prepared, and waits in futex while that one prepares more."""
    program = program_of("python3")
    worker = program.make_thread("pool")
    for _ in range(60):
        program.work(20 * MS)
        with program.told_to(worker):
            for i in range(4):
                program.launch(f"fusion_{i}", 20 * US)
    return text_of(program)


@capture
def streams_made_in_each_iteration():
    """Four streams are made for four short kernels, and destroyed after them."""
    program = program_of("tasks")
    for _ in range(200):
        streams = [program.make_stream(handle_ns=60 * US) for _ in range(4)]
        for stream in streams:
            program.launch("task", 30 * US, stream=stream, grid=40)
        program.wait()
        for _ in streams:
            program.call("cudaStreamDestroy", 25 * US)
    return text_of(program)


@capture
def frames_written_between_steps():
    """Each of 60 frames goes into a file of its own."""
    program = program_of("simulation")
    for frame in range(60):
        for _ in range(10):
            program.launch("step", 150 * US)
        copy(program, "d2h", 8 * MIB)
        for _ in range(20):
            program.os_call("write", 600 * US, 10, path=f"frames/{frame}.ppm")
            program.work(20 * US)
    return text_of(program)


# ---- waits and short kernels ----


@capture
def solver_reads_its_residual():
    """After each three kernels of twelve microseconds eight bytes come back, which say whether to go on."""
    program = program_of("solver")
    copy(program, "h2d", 64 * MIB)
    for _ in range(500):
        for kernel in ("spmv", "dot", "axpy"):
            program.launch(kernel, 12 * US)
        copy(program, "d2h", 8)
        program.work(6 * US)
    copy(program, "d2h", 8 * MIB)
    program.work(50 * MS)
    return text_of(program)


@capture
def short_ones_timed_by_events():
    program = program_of("bench")
    for _ in range(3000):
        program.record_event(1)
        program.launch("copy_if", 5 * US)
        program.wait_event(2, program.record_event(2))
        program.work(3 * US)
    return text_of(program)


@capture
def sorts_that_allocate():
    """What libraries of algorithms do for each call: allocate, launch some short kernels, wait, free."""
    program = program_of("sort")
    for _ in range(300):
        block = program.allocate(4 * MIB, ns=60 * US)
        for i in range(6):
            program.launch(f"radix_{i % 3}", 5 * US)
        program.wait("cudaStreamSynchronize", NULL_STREAM)
        program.free(block, ns=70 * US)
    return text_of(program)


@capture
def numbers_read_one_by_one():
    """A thousand numbers are read from the GPU in each of 13 calls, by a copy of four bytes each that the host waits for."""
    program = program_of("python3")
    for _ in range(13):
        program.launch("nonzero", 5 * US)
        for _ in range(1000):
            copy(program, "d2h", 4)
            program.work(2 * US)
        program.work(300 * US)
    return text_of(program)


# ---- start-up ----


@capture
def nothing_but_start():
    program = program_of("texture")
    copy(program, "h2d", 1 * MIB)
    program.launch("transform", 4 * US, call_ns=140 * US)
    program.wait()
    program.work(17 * US)
    program.launch("transform", 4 * US)
    program.wait()
    copy(program, "d2h", 1 * MIB)
    return text_of(program)


@capture
def generators_made_and_little_drawn():
    """A script makes generators and loads libraries for 60 ms; then ten streams draw for three."""
    program = program_of("python3", context_ns=20 * MS)
    program.launch("seed", 5 * US)
    for i in range(4):
        program.work(8 * MS)
        program.call("cuLibraryLoadData", 6 * MS, domain=2)
        program.launch(f"draw_{i}", 5 * US, call_ns=200 * US)
    streams = [program.make_stream() for _ in range(10)]
    for stream in streams * 2:
        program.allocate(8 * MIB, ns=68 * US)
        program.work(60 * US)
        for i in range(2):
            program.launch(f"draw_{i}", 20 * US, stream=stream, grid=64, block=64)
    program.wait()
    return text_of(program)


@capture
def compiled_then_run_a_few_times():
    program = program_of("python3")
    program.launch("iota", 3 * US)
    for i in range(5):
        program.work(180 * MS)
        program.call("cuModuleLoadData", 4 * MS, domain=2)
        program.launch(f"fusion_{i}", 40 * US, call_ns=60 * US)
    for _ in range(6):
        for i in range(5):
            program.launch(f"fusion_{i}", 40 * US)
            program.work(30 * US)
    program.wait()
    copy(program, "d2h", 4)
    return text_of(program)


@capture
def compiled_for_ten_seconds():
    """A compiler takes a hundred times as long as the hundred steps that follow, whose kernels fill the GPU."""
    program = program_of("python3")
    program.launch("fill", 5 * US, call_ns=200 * US)
    for i in range(12):
        program.work(900 * MS)
        program.call("cuModuleLoadData", 2 * MS, domain=2)
        program.launch(f"triton_{i}", 90 * US, call_ns=50 * US)
    for _ in range(100):
        for i in range(12):
            program.launch(f"triton_{i}", 90 * US)
        copy(program, "d2h", 4)
    return text_of(program)


@capture
def plans_made_once():
    program = program_of("fft")
    copy(program, "h2d", 16 * MIB)
    program.work(25 * MS)
    program.call("cuLibraryLoadData", 60 * MS, domain=2)
    program.work(12 * MS)
    for _ in range(2):
        for kernel in ("vector_fft", "regular_fft"):
            program.launch(kernel, 60 * US, call_ns=200 * US)
    program.wait()
    copy(program, "d2h", 16 * MIB)
    return text_of(program)


# ---- kernels, and what they leave unused ----


@capture
def one_to_thirty_streams():
    """Kernels of eight blocks run in one stream, then in two, … and at last in thirty, which still do not fill the GPU for long."""
    program = program_of("kernels")
    streams = [program.make_stream() for _ in range(30)]
    for used in range(1, 31):
        for _ in range(11):
            for stream in streams[:used]:
                program.launch("add", 2700 * US, stream=stream, grid=8, block=128)
            program.wait()
    return text_of(program)


@capture
def simulation_in_one_kernel():
    program = program_of("pi")
    program.launch("init_states", 800 * US)
    program.launch("count", 320 * MS)
    copy(program, "d2h", 8)
    return text_of(program)


@capture
def memsets_all_the_time():
    program = program_of("histogram")
    for _ in range(300):
        program.fill(1024 * MIB)
        program.launch("count", 30 * US)
    program.wait()
    return text_of(program)


@capture
def graphs_that_may_copy():
    """Graphs recorded as a whole, one after the other: nobody knows what takes the time in them."""
    program = program_of("graphs")
    program.call("cudaGraphInstantiate", 300 * US)
    for _ in range(300):
        program.launch_graph(1300 * US)
    program.wait()
    return text_of(program)


# ---- what comes seldom ----


@capture
def model_saved_twice():
    """Short kernels in 40 steps; after each twentieth one the model is written, which takes longer than all launches."""
    program = program_of("train")
    for step in range(40):
        for i in range(150):
            program.work(9 * US)
            program.launch(("gemm", "norm", "adam")[i % 3], 4 * US, call_ns=160 * US if step == 0 and i < 3 else 6 * US)
        if step % 20 == 9:
            program.work(50 * MS)
    program.wait()
    return text_of(program)


@capture
def model_saved_and_loaded_thrice():
    """The weights go to the host and back again after each third of the steps, while the host writes and reads a file: the GPU has them
    all the time."""
    program = program_of("train")
    for third in range(3):
        for i in range(3200):
            program.launch(("gemm", "norm", "adam")[i % 3], 20 * US, call_ns=160 * US if third == 0 and i < 3 else 6 * US)
        program.wait()
        for _ in range(60):
            copy(program, "d2h", 4 * MIB)
            program.work(10 * US)
        program.work(100 * MS)
        for _ in range(60):
            copy(program, "h2d", 4 * MIB)
            program.work(10 * US)
    return text_of(program)


@capture
def graphs_after_kernels_that_were_tried():
    """A compiler tries a few kernels, and runs graphs that were recorded as a whole: those few kernels do not take the time."""
    program = program_of("jit")
    program.work(900 * MS)
    for i in range(60):
        program.launch("redzone" if i % 2 else "tried", 20 * US, call_ns=160 * US if i < 2 else 6 * US)
    for _ in range(200):
        program.launch_graph(900 * US)
    program.wait()
    return text_of(program)


@capture
def checked_for_seconds_afterwards():
    """One product between copies, which the host then computes itself for three seconds."""
    program = program_of("matmul")
    program.work(40 * MS)
    for _ in range(2):
        copy(program, "h2d", 64 * MIB)
    program.launch("product", 2 * MS, call_ns=160 * US)
    program.wait()
    copy(program, "d2h", 64 * MIB)
    program.work(3000 * MS)
    return text_of(program)


@capture
def number_read_after_each_short_kernel():
    """A few long kernels, and after them 50 short ones, whose results are read one by one: the host, which takes longer than each of them, could launch all of them
    while the long ones run."""
    program = program_of("norms")
    for step in range(60):
        for i in range(4):
            program.launch("gemm", 700 * US, call_ns=160 * US if step == 0 and i == 0 else 6 * US)
        for i in range(50):
            program.work(16 * US)
            program.launch("norm", 6 * US, call_ns=160 * US if step == 0 and i == 0 else 6 * US)
            program.wait("cudaStreamSynchronize", NULL_STREAM)
    return text_of(program)


@capture
def two_ranks_of_start_up():
    """Two processes, each with a GPU of its own, that add two vectors."""
    texts = []
    for rank in range(2):
        program = Process(name="vector_add", pid=7 + rank, rank=rank, world=2)
        program.work(110 * MS)
        program.call("cuDevicePrimaryCtxRetain", 130 * MS, domain=2)
        copy(program, "h2d", 4 * MIB)
        program.launch("add", 20 * US, call_ns=160 * US)
        copy(program, "d2h", 4 * MIB)
        texts.append(text_of(program).replace('uuid="GPU-1"', f'uuid="GPU-{rank + 1}"'))
    return "".join(texts)
