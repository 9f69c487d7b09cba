#!/usr/bin/env python3
"""The examination: programs as strangers write them, noisy, with a start and with side issues. Labels in examination.json.

    examination.py            lists them
    examination.py NAME       prints the capture as text: `examination.py NAME | assemble_trace > run.trace`

Nobody who changes a finding looks at how one of these is judged (README.md).
"""

import random
import sys

from simulated import KIB, MIB, MS, NULL_STREAM, PAGEABLE, PINNED, US, Gpu, Process, text_of

CAPTURES = {}

CONVOLUTIONS = ("sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32", "sm80_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32",
                "sm80_xmma_wgrad_implicit_gemm_bf16bf16_bf16f32", "cudnn::bn_fw_tr_1C11_singleread", "cudnn::bn_bw_1C11_singleread",
                "void at::native::vectorized_elementwise_kernel<4, at::native::relu_kernel>",
                "void at::native::max_pool_forward_nhwc<float>", "void at::native::reduce_kernel<512, 1, at::native::MeanOps>")
TRANSFORMER = ("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", "cutlass_80_tensorop_bf16_s16816gemm_256x128_nt",
               "flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>", "void at::native::vectorized_layer_norm_kernel<float>",
               "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>",
               "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>",
               "void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda>",
               "void at::native::softmax_warp_forward<float, 8>", "void at::native::index_select_kernel<long>")
ADAM = "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def capture(function):
    CAPTURES[function.__name__] = function
    return function


# ---- what such programs have in common ----


def python(name, model, script="train.py", **others):
    return Process(name="python3", model=model, seed=name, command=f"python3 {script}", **{"first_launch_ns": 900 * US, **others})


def native(name, model, program, **others):
    return Process(name=program, model=model, seed=name, **{"first_launch_ns": 60 * US, **others})


def network(seed, kernels, total_ns, names=CONVOLUTIONS, grids=(1200, 9000), block=256, spread=0.7):
    """(name, ns, grid, block) of each kernel of one pass: few long ones, many short ones."""
    choose = random.Random(seed)
    weights = [choose.lognormvariate(0, spread) for _ in range(kernels)]
    return [(choose.choice(names), max(round(total_ns * weight / sum(weights)), 1800), choose.randint(*grids), block)
            for weight in weights]


def start(program, context_ns=190 * MS, device=0, imports_ns=400 * MS):
    """Imports, the context, and cuBLAS' work space."""
    program.work(imports_ns)
    program.call("cudaGetDeviceCount", program.noise.host(700 * US))
    program.call("cuDevicePrimaryCtxRetain", program.noise.host(context_ns), domain=2)
    program.call("cudaSetDevice", 3 * US)
    program.call("cudaDeviceGetAttribute", 1 * US)
    program.allocate(32 * MIB, 240 * US)


def upload(program, tensors, total_bytes, device=0, between_ns=18 * US):
    """The parameters of a model go to the GPU one by one, from pageable memory."""
    choose = random.Random(total_bytes)
    weights = [choose.lognormvariate(0, 1.6) for _ in range(tensors)]
    for weight in weights:
        program.work(between_ns)
        program.copy("h2d", max(int(total_bytes * weight / sum(weights)), 256), PAGEABLE, device=device)
        program.wait("cudaStreamSynchronize", NULL_STREAM, device=device)


def run_kernels(program, kernels, host_ns=4 * US, **where):
    for name, ns, grid, block in kernels:
        program.work(host_ns)
        program.launch(name, ns, grid=grid, block=block, **where)


def train_step(program, net, autograd=None, host_ns=4 * US, **where):
    """Forward on the main thread, backward on autograd's, then the optimiser."""
    forward, backward = net[:len(net) // 3], net[len(net) // 3:]
    program.work(120 * US)
    run_kernels(program, forward, host_ns, **where)
    if autograd:
        with program.handed_to(autograd):
            run_kernels(program, backward, host_ns, **where)
    else:
        run_kernels(program, backward, host_ns, **where)
    for _ in range(3):
        program.work(15 * US)
        program.launch(ADAM, 90 * US, grid=1800, block=512, **where)


def item(program, device=0):
    """loss.item()"""
    program.copy("d2h", 4, PAGEABLE, device=device)
    program.wait("cudaStreamSynchronize", NULL_STREAM, device=device)


class Loader:
    """Batches that worker processes make while the main thread does something else; up to `ahead` are ready."""

    def __init__(self, program, batch_ns, ahead=4, is_traced=False):
        self.program, self.batch_ns, self.ahead, self.is_traced = program, batch_ns, ahead, is_traced
        self.ready = [program.now] * ahead

    def take(self):
        program = self.program
        arrives = self.ready.pop(0)
        last = self.ready[-1] if self.ready else arrives
        if arrives > program.now:
            if self.is_traced:
                program.os_call("pthread_cond_timedwait", arrives - program.now, 3)
            else:
                program.now = arrives
        self.ready.append(max(last, program.now - self.ahead * self.batch_ns) + program.noise.host(self.batch_ns))
        program.work(90 * US)


# ---- kernels take the time ----


@capture
def resnet_training():
    """ResNet on an H100 with workers and pinned memory; the loss is read every 20 steps."""
    program = python("resnet_training", "H100", "train_resnet.py --amp")
    start(program)
    upload(program, 60, 100 * MIB)
    net, autograd = network("resnet", 128, 28 * MS), program.make_thread("pt_autograd_0")
    program.work(60 * MS)  # cudnn.benchmark
    loader = Loader(program, 12 * MS)
    for step in range(90):
        loader.take()
        program.copy("h2d", 38 * MIB)
        train_step(program, net, autograd)
        if step % 20 == 19:
            item(program)
    program.wait()
    return text_of(program)


@capture
def gan_losses_read_each_step():
    """Two losses are read in each step of 44 ms: the queue drains twice, for half a millisecond each."""
    program = python("gan_losses_read_each_step", "4090", "gan.py --batch 64")
    start(program)
    upload(program, 48, 220 * MIB)
    nets, autograd = [network(f"gan{i}", 62, 21 * MS) for i in range(2)], program.make_thread("pt_autograd_0")
    for _ in range(46):
        program.copy("h2d", 12 * MIB)
        for net in nets:
            train_step(program, net, autograd)
            item(program)
            program.work(250 * US)
    return text_of(program)


@capture
def cfd_waits_after_long_kernels():
    """A solver whose author synchronises after every kernel; a kernel takes some milliseconds."""
    program = native("cfd_waits_after_long_kernels", "A100", "cfd", command="./cfd --grid 512 --iterations 240")
    start(program, imports_ns=8 * MS)
    for _ in range(5):
        program.allocate(128 * MIB, 400 * US)
        program.copy("h2d", 128 * MIB, PAGEABLE, function="cudaMemcpy")
    for step in range(240):
        for name, ns in (("advect", 3100), ("divergence", 1900), ("pressure_jacobi", 4200), ("project", 2300)):
            program.launch(name, ns * US, grid=262144, block=512)
            program.wait()
            program.work(4 * US)
        program.launch("residual_norm", 160 * US, grid=1024)
        program.copy("d2h", 8, PAGEABLE, function="cudaMemcpy")
        if step % 60 == 59:
            program.copy("d2h", 64 * MIB, PINNED, function="cudaMemcpy")
            program.work(14 * MS)
    return text_of(program)


@capture
def molecular_dynamics():
    """Short kernels, but the host is far ahead of the GPU and waits for nothing."""
    program = native("molecular_dynamics", "4090", "mdrun", command="./mdrun -s water.tpr -nsteps 1400")
    start(program, imports_ns=120 * MS)
    copies, energies = program.make_stream(), program.make_stream()
    program.copy("h2d", 18 * MIB, stream=copies)
    program.work(4 * MS)
    for step in range(1400):
        for name, ns, grid in (("nbnxn_kernel_ElecEw_VdwLJ_F", 62, 2304), ("pme_spread_and_solve", 34, 1536),
                               ("bonded_forces", 19, 1100), ("pme_gather", 21, 1400), ("lincs", 24, 1200), ("update_leap_frog", 17, 1300)):
            program.work(2 * US)
            program.launch(name, ns * US, grid=grid, block=128, fills=True)
        if step % 100 == 99:
            program.launch("reduce_energies", 6 * US, grid=64)
            program.copy("d2h", 512, stream=energies)
            program.wait("cudaStreamSynchronize", energies)
    program.wait()
    return text_of(program)


@capture
def particles_with_a_pool():
    """Temporary buffers come from cudaMallocAsync in every step: that costs the GPU nothing."""
    program = native("particles_with_a_pool", "H100", "sph")
    start(program, imports_ns=20 * MS)
    stream = program.make_stream()
    program.copy("h2d", 900 * MIB, stream=stream)
    program.wait("cudaStreamSynchronize", stream)
    for step in range(380):
        blocks = [program.allocate_in_stream(size * MIB, stream) for size in (96, 24, 192)]
        for name, ns in (("hash_cells", 210), ("radix_sort_pairs", 640), ("find_cell_start", 130), ("density", 820), ("forces", 1450),
                         ("integrate", 180)):
            program.launch(name, ns * US, stream=stream, grid=16384)
        for block in blocks:
            program.free_in_stream(block, stream)
        if step % 25 == 24:
            program.copy("d2h", 64, stream=stream)
            program.wait("cudaStreamSynchronize", stream)
            program.work(70 * US)
    return text_of(program)


@capture
def llm_server_with_graphs():
    """Decoding by whole graphs on a B200, scheduled one step ahead, with a prefill now and then."""
    program = python("llm_server_with_graphs", "B200", "-m serve --model 70b")
    start(program, context_ns=320 * MS, imports_ns=900 * MS)
    for _ in range(6):
        program.call("cudaGraphInstantiateWithFlags", program.noise.host(9 * MS))
    copies = program.make_stream()
    prefill = network("prefill", 40, 24 * MS, TRANSFORMER)
    earlier = None
    for step in range(210):
        program.work(600 * US)  # the scheduler
        program.copy("h2d", 8 * KIB)
        if step % 30 == 12:
            run_kernels(program, prefill)
        program.launch_graph(9200 * US, graph=1 + step // 60, call_ns=60 * US)
        program.launch("topk_topp_sampling", 85 * US, grid=512, block=512)
        program.launch("gather_tokens", 6 * US, grid=8)
        happens = program.record_event(0x800 + step % 2)
        program.stream_waits_event(0x800 + step % 2, happens, copies)
        program.copy("d2h", 2 * KIB, stream=copies)
        done = program.record_event(0x900 + step % 2, copies)
        if earlier:
            program.wait_event(0x900 + (step + 1) % 2, earlier)
        earlier = done
    program.wait()
    return text_of(program)


@capture
def bert_by_graph():
    """The kernels of a request are one graph, and the next request is launched before this one is read."""
    program = python("bert_by_graph", "A10", "serve.py --cuda-graphs --batch 16")
    start(program)
    upload(program, 40, 110 * MIB)
    net = network("bert", 72, 4200 * US, TRANSFORMER, grids=(160, 900), spread=0.4)
    run_kernels(program, net)
    program.wait()
    program.call("cudaGraphInstantiateWithFlags", program.noise.host(6 * MS))
    earlier = None
    for request in range(170):
        program.copy("h2d", 16 * KIB)
        program.launch_nodes(net)
        program.copy("d2h", 24 * KIB)
        done = program.record_event(0x700 + request % 2)
        program.work(350 * US)  # tokens of the next one
        if earlier:
            program.wait_event(0x700 + (request + 1) % 2, earlier)
        earlier = done
    program.wait()
    return text_of(program)


# ---- launches that leave the GPU half empty ----


@capture
def scan_of_eight_blocks():
    """Eight blocks scan for 1.7 ms of each 2.2 ms; the GPU has 132 multiprocessors."""
    program = native("scan_of_eight_blocks", "H100", "selective_scan", command="./selective_scan --batch 8")
    start(program, imports_ns=15 * MS)
    program.copy("h2d", 256 * MIB, PAGEABLE, function="cudaMemcpy")
    for _ in range(330):
        program.launch("discretise", 160 * US, grid=8192)
        program.launch("scan_forward", 1700 * US, grid=8, block=256)
        program.launch("gate_output", 170 * US, grid=8192)
        program.launch("norm", 90 * US, grid=4096)
    program.copy("d2h", 64 * MIB, PAGEABLE, function="cudaMemcpy")
    return text_of(program)


@capture
def saxpy_with_one_thread():
    """The first program of a tutorial: saxpy<<<1, 1>>>."""
    program = native("saxpy_with_one_thread", "T4", "saxpy")
    start(program, imports_ns=3 * MS)
    for _ in range(2):
        program.allocate(4 * MIB)
        program.copy("h2d", 4 * MIB, PAGEABLE, function="cudaMemcpy")
    for _ in range(560):
        program.launch("saxpy(int, float, float*, float*)", 2900 * US, grid=1, block=1)
        program.wait()
    program.copy("d2h", 4 * MIB, PAGEABLE, function="cudaMemcpy")
    return text_of(program)


@capture
def second_wave_of_few_blocks():
    """560 blocks where 528 fit: the last 32 take as long as all the others."""
    program = native("second_wave_of_few_blocks", "H100", "cholesky", command="./cholesky 35840")
    start(program, imports_ns=40 * MS)
    program.copy("h2d", 600 * MIB, PINNED, function="cudaMemcpy")
    for _ in range(420):
        program.launch("potrf_panel", 36 * US, grid=132, block=512)
        program.launch("trsm_tile", 430 * US, grid=560, block=256, registers=64)
        program.launch("syrk_update", 190 * US, grid=8448, block=256)
    program.wait()
    return text_of(program)


@capture
def lattice_of_warps():
    """Blocks of one warp: an SM holds 32 of them, half of its threads."""
    program = native("lattice_of_warps", "A100", "lattice_boltzmann")
    start(program, imports_ns=12 * MS)
    program.copy("h2d", 1200 * MIB, PAGEABLE, function="cudaMemcpy")
    for step in range(440):
        program.launch("collide_and_stream", 4300 * US, grid=524288, block=32, registers=40)
        program.launch("bounce_back", 380 * US, grid=65536, block=32)
        if step % 100 == 99:
            program.copy("d2h", 16 * MIB, PAGEABLE, function="cudaMemcpy")
    return text_of(program)


# ---- copies ----


@capture
def video_upscaler():
    """Three streams, pinned frames, both directions at once: the way back is at the speed of the link all the time."""
    program = native("video_upscaler", "T4", "upscale", command="./upscale in.mp4 out.mp4 --scale 2")
    start(program, imports_ns=60 * MS)
    streams = [program.make_stream() for _ in range(3)]
    done = [None] * 3
    for frame in range(800):
        slot = frame % 3
        if done[slot]:
            program.wait_event(0x600 + slot, done[slot])
        program.work(150 * US)
        program.copy("h2d", 8_294_400, stream=streams[slot])
        program.launch("lanczos", 420 * US, stream=streams[slot], grid=8160)
        program.launch("sharpen", 640 * US, stream=streams[slot], grid=32400)
        program.copy("d2h", 33_177_600, stream=streams[slot])
        done[slot] = program.record_event(0x600 + slot, streams[slot])
    program.wait()
    return text_of(program)


@capture
def tabular_batches_from_numpy():
    """torch.from_numpy(batch).cuda() in each step: 48 MB of pageable memory before 3 ms of kernels."""
    program = python("tabular_batches_from_numpy", "A10", "train_tabular.py")
    start(program)
    upload(program, 14, 6 * MIB)
    net, autograd = network("tabular", 22, 3 * MS, TRANSFORMER), program.make_thread("pt_autograd_0")
    for step in range(260):
        program.push("train_step")
        program.work(250 * US)
        program.copy("h2d", 48 * MIB, PAGEABLE)
        program.copy("h2d", 16 * KIB, PAGEABLE)
        train_step(program, net, autograd)
        if step % 10 == 9:
            item(program)
        program.pop()
    program.wait()
    return text_of(program)


@capture
def segmentation_masks_to_cpu():
    """The scores of all classes come back to pageable memory for each image."""
    program = python("segmentation_masks_to_cpu", "A10", "predict.py --images val/")
    start(program)
    upload(program, 70, 160 * MIB)
    net = network("segmentation", 64, 6500 * US)
    for _ in range(120):
        program.work(400 * US)
        program.copy("h2d", 6 * MIB)
        run_kernels(program, net)
        program.copy("d2h", 96 * MIB, PAGEABLE)
        program.wait("cudaStreamSynchronize", NULL_STREAM)
        program.work(900 * US)
    return text_of(program)


@capture
def signal_chunks_in_one_stream():
    """Chunks come from pinned memory, are filtered and go back, all in the default stream."""
    program = native("signal_chunks_in_one_stream", "A100", "channelise", command="./channelise --chunk 32M")
    start(program, imports_ns=20 * MS)
    program.call("cudaHostAlloc", program.noise.host(24 * MS))
    for _ in range(300):
        program.work(30 * US)
        program.copy("h2d", 32 * MIB)
        program.launch("fir_filter", 640 * US, grid=16384)
        program.launch("fft_radix16", 780 * US, grid=8192, block=512)
        program.copy("d2h", 16 * MIB)
        program.wait("cudaStreamSynchronize", NULL_STREAM)
    return text_of(program)


@capture
def rows_uploaded_one_by_one():
    """A sparse matrix goes to the GPU row by row; solving takes a fifth of that."""
    program = native("rows_uploaded_one_by_one", "A100", "spmv", command="./spmv thermal2.mtx")
    start(program, imports_ns=200 * MS)
    for _ in range(3):
        program.allocate(120 * MIB)
    sizes = random.Random("rows")
    for _ in range(8800):
        program.copy("h2d", sizes.randrange(400, 9000, 4), PAGEABLE, function="cudaMemcpy")
    for _ in range(280):
        program.launch("csr_spmv", 58 * US, grid=4800)
        program.launch("axpy_dot", 14 * US, grid=2400)
    program.copy("d2h", 9 * MIB, PAGEABLE, function="cudaMemcpy")
    return text_of(program)


@capture
def constants_before_each_kernel():
    """Four cudaMemcpyToSymbol of 64 bytes before each kernel of 35 us."""
    program = native("constants_before_each_kernel", "T4", "nbody", command="./nbody 16384 1500")
    start(program, imports_ns=4 * MS)
    program.copy("h2d", 1 * MIB, PAGEABLE, function="cudaMemcpy")
    for step in range(1500):
        for _ in range(4):
            program.copy("h2d", 64, PAGEABLE, function="cudaMemcpyToSymbol")
        program.launch("body_forces", 35 * US, grid=64, block=256)
        if step % 50 == 49:
            program.copy("d2h", 1 * MIB, PAGEABLE, function="cudaMemcpy")
    return text_of(program)


@capture
def cache_grown_by_copying():
    """Each token copies the keys and values of every layer into a buffer that is one token longer."""
    program = python("cache_grown_by_copying", "H100", "generate.py --max-new-tokens 72")
    start(program)
    upload(program, 60, 260 * MIB)
    layer = network("decoder", 4, 44 * US, TRANSFORMER, grids=(260, 1200), spread=0.3)
    for token in range(72):
        for _ in range(32):
            run_kernels(program, layer[:2], 2 * US)
            for _ in range(2):
                program.copy("d2d", 60 * MIB + token * 16 * KIB)
            run_kernels(program, layer[2:], 2 * US)
        program.launch("argmax", 9 * US, grid=64)
        if token % 8 == 7:
            item(program)
    program.wait()
    return text_of(program)


@capture
def buffers_cleared_each_iteration():
    """Two buffers of 200 MB are cleared in each iteration for a scatter that touches a part of them."""
    program = native("buffers_cleared_each_iteration", "A10", "histogram3d")
    start(program, imports_ns=10 * MS)
    program.copy("h2d", 300 * MIB, PAGEABLE, function="cudaMemcpy")
    for _ in range(420):
        for _ in range(2):
            program.fill(200 * MIB)
        program.launch("scatter_add", 520 * US, grid=4096)
        program.launch("normalise_bins", 310 * US, grid=8192)
    program.copy("d2h", 200 * MIB, PAGEABLE, function="cudaMemcpy")
    return text_of(program)


@capture
def cupy_images_to_scipy_and_back():
    """cp.asnumpy, a filter of SciPy on the same 64 MB, cp.asarray: in each iteration."""
    program = python("cupy_images_to_scipy_and_back", "A10", "restore.py", first_launch_ns=4 * MS)
    start(program, imports_ns=600 * MS)
    program.copy("h2d", 64 * MIB, PAGEABLE)
    for _ in range(110):
        for name, ns in (("cupy_multiply__float32", 290), ("cupy_add__float32", 280), ("cupy_sqrt__float32", 250),
                         ("cupy_fft_r2c", 760), ("cupy_fft_c2r", 740)):
            program.work(12 * US)
            program.launch(name, ns * US, function="cuLaunchKernel", grid=16384, block=512)
        program.copy("d2h", 64 * MIB, PAGEABLE)
        program.wait("cudaStreamSynchronize", NULL_STREAM)
        program.work(1300 * US)
        program.copy("h2d", 64 * MIB, PAGEABLE)
    return text_of(program)


# ---- launching ----


def bert_requests(program, requests, net):
    for request in range(requests):
        with program.range("request", payload=request):
            program.work(280 * US)
            for _ in range(2):
                program.copy("h2d", 2 * KIB, PAGEABLE)
            run_kernels(program, net, 5 * US)
            program.copy("d2h", 3 * KIB, PAGEABLE)
            program.wait("cudaStreamSynchronize", NULL_STREAM)


@capture
def bert_request_by_request():
    """A batch of one, eager: 210 kernels of 4 us, each launched in 9 us."""
    program = python("bert_request_by_request", "H100", "serve.py --model bert-base")
    start(program)
    upload(program, 60, 80 * MIB)
    bert_requests(program, 110, network("bert_eager", 210, 900 * US, TRANSFORMER, grids=(6, 96), block=128, spread=0.35))
    return text_of(program)


@capture
def cupy_small_arrays():
    """Expressions on arrays of 10,000 numbers in a loop of Python; the error is printed now and then."""
    program = python("cupy_small_arrays", "T4", "simulate.py", first_launch_ns=2 * MS)
    start(program, context_ns=260 * MS)
    program.copy("h2d", 40_000, PAGEABLE)
    names = [f"cupy_{name}__float64_float64" for name in ("add", "subtract", "multiply", "true_divide", "exp", "power")]
    for step in range(2200):
        for name in names:
            program.work(11 * US)
            program.launch(name, 3300, grid=79, block=128, function="cuLaunchKernel")
        if step % 100 == 99:
            item(program)
    return text_of(program)


@capture
def speech_decoder_token_by_token():
    """An encoder, and then 190 tokens of 96 short kernels each, with a look at every token on the host."""
    program = python("speech_decoder_token_by_token", "B200", "transcribe.py talk.wav")
    start(program, context_ns=300 * MS)
    upload(program, 80, 140 * MIB)
    program.copy("h2d", 2 * MIB, PAGEABLE)
    run_kernels(program, network("encoder", 60, 7 * MS, TRANSFORMER))
    decoder = network("decoder_step", 96, 400 * US, TRANSFORMER, grids=(4, 120), block=128, spread=0.3)
    for token in range(190):
        with program.range(f"token {token}"):
            run_kernels(program, decoder, 6 * US)
            item(program)
            program.work(260 * US)
    return text_of(program)


@capture
def launch_blocking_left_on():
    """CUDA_LAUNCH_BLOCKING=1 stayed in the job script."""
    program = python("launch_blocking_left_on", "A100", "finetune.py --lr 3e-5")
    start(program)
    upload(program, 50, 60 * MIB)
    net = network("finetune", 112, 8 * MS, TRANSFORMER)
    for step in range(46):
        program.push(f"step {step}")
        program.copy("h2d", 2 * MIB, PAGEABLE)
        for name, ns, grid, block in net:
            program.work(6 * US)
            program.launch(name, ns, grid=grid, block=block, until_done=True)
        program.pop()
    return text_of(program)


@capture
def graph_for_each_request():
    """Each request is captured, instantiated, launched once and thrown away."""
    program = python("graph_for_each_request", "H100", "serve.py --graph")
    start(program)
    upload(program, 40, 90 * MIB)
    net = network("recommender", 60, 760 * US, TRANSFORMER, grids=(140, 900), spread=0.4)
    run_kernels(program, net)
    program.wait()
    for request in range(120):
        program.work(130 * US)
        program.copy("h2d", 48 * KIB)
        program.call("cudaStreamBeginCapture", program.noise.call(12 * US))
        for _ in net:
            program.work(2 * US)
            program.call("cudaLaunchKernel", program.noise.call(1200))
        program.call("cudaStreamEndCapture", program.noise.call(60 * US))
        program.call("cudaGraphInstantiate", program.noise.host(1900 * US))
        program.launch_nodes(net, graph=request + 1)
        program.wait("cudaStreamSynchronize", NULL_STREAM)
        program.call("cudaGraphExecDestroy", program.noise.call(90 * US))
        program.call("cudaGraphDestroy", program.noise.call(40 * US))
    return text_of(program)


# ---- waiting ----


@capture
def heat_tutorial():
    """Two kernels of some microseconds a step, and cudaDeviceSynchronize after each."""
    program = native("heat_tutorial", "T4", "heat", command="./heat 1024 1024 4000")
    start(program, imports_ns=2 * MS)
    for _ in range(2):
        program.allocate(4 * MIB)
    program.copy("h2d", 4 * MIB, PAGEABLE, function="cudaMemcpy")
    for step in range(4000):
        for name, ns in (("heat_step", 13 * US), ("apply_boundary", 3 * US)):
            program.launch(name, ns, grid=4096 if ns > 5 * US else 16)
            program.call("cudaGetLastError", 300)
            program.wait()
        if step % 1000 == 999:
            program.copy("d2h", 4 * MIB, PAGEABLE, function="cudaMemcpy")
    return text_of(program)


@capture
def agent_reads_each_action():
    """An environment on the CPU takes 2 ms a step; the policy is 14 short kernels whose action is read."""
    program = python("agent_reads_each_action", "A10", "ppo.py --env hopper")
    start(program)
    upload(program, 12, 1 * MIB)
    policy = network("policy", 14, 70 * US, TRANSFORMER, grids=(1, 32), block=128, spread=0.3)
    update = network("ppo_update", 90, 2 * MS, TRANSFORMER, grids=(32, 400))
    for step in range(640):
        program.work(2100 * US)
        program.copy("h2d", 1 * KIB, PAGEABLE)
        run_kernels(program, policy, 7 * US)
        program.copy("d2h", 24, PAGEABLE)
        program.wait("cudaStreamSynchronize", NULL_STREAM)
        if step % 64 == 63:
            train_step(program, update)
    return text_of(program)


@capture
def jobs_asked_for_each_millisecond():
    """A worker asks cudaEventQuery, sleeps for a millisecond and asks again; a job takes half of that."""
    program = native("jobs_asked_for_each_millisecond", "A10", "worker", command="./worker --queue jobs")
    start(program, imports_ns=30 * MS)
    stream = program.make_stream()
    program.call("cudaHostAlloc", program.noise.host(2 * MS))
    for _ in range(480):
        program.work(60 * US)
        program.copy("h2d", 2 * MIB, stream=stream)
        for name, ns in (("decode_blocks", 180), ("idct", 120), ("to_rgb", 90)):
            program.launch(name, ns * US, stream=stream, grid=2048)
        program.copy("d2h", 1 * MIB, stream=stream)
        program.record_event(0x500, stream)
        program.poll(stream, pause_ns=1060 * US)
    return text_of(program)


@capture
def fft_plans_allocate():
    """Two cudaMalloc and two cudaFree around three kernels of each transform."""
    program = native("fft_plans_allocate", "A100", "spectrum", command="./spectrum obs_1.h5")
    start(program, imports_ns=50 * MS)
    program.copy("h2d", 160 * MIB, PAGEABLE, function="cudaMemcpy")
    for _ in range(450):
        blocks = [program.allocate(size * MIB, 190 * US) for size in (128, 64)]
        for name, ns in (("window", 90), ("fft_radix16", 170), ("power_spectrum", 110)):
            program.launch(name, ns * US, grid=8192)
        for block in blocks:
            program.free(block, 210 * US)
        program.work(15 * US)
    program.copy("d2h", 50 * MIB, PAGEABLE, function="cudaMemcpy")
    return text_of(program)


# ---- managed memory ----


@capture
def managed_graph_search():
    """A breadth-first search on managed memory: kernels stop for pages, and the host reads the frontier after each level."""
    program = native("managed_graph_search", "4090", "bfs", command="./bfs twitter.bin")
    start(program, imports_ns=300 * MS)
    program.call("cudaMallocManaged", program.noise.host(600 * US))
    for level in range(130):
        for name, ns, is_faulting in (("expand", 5200, True), ("filter_visited", 3900, True), ("prefix_sum", 60, False),
                                      ("compact", 90, False)):
            end = program.launch(name, ns * US, grid=8192)
            begin, pieces = end - ns * US, 24 if is_faulting else 0
            for i in range(pieces):
                at = begin + (i * 38 + 4) * ns * US // 1000
                program.migrate(4, 30 * US, 110, at)
                program.migrate(1, 75 * US, 512 * KIB, at + 30 * US)
        program.wait()
        for i in range(10):
            program.migrate(3, 20 * US, 1)
            program.migrate(2, 25 * US, 64 * KIB, program.now + 20 * US)
            program.work(110 * US)
    return text_of(program)


@capture
def managed_stencil_prefetched():
    """Managed memory that is prefetched once before 900 sweeps and back after them."""
    program = native("managed_stencil_prefetched", "A100", "stencil3d")
    start(program, imports_ns=40 * MS)
    for _ in range(2):
        program.call("cudaMallocManaged", program.noise.host(500 * US))
    for _ in range(2):
        begin = program.now
        for i in range(180):
            program.migrate(1, 86 * US, 2 * MIB, begin + i * 88 * US)
        program.call("cudaMemPrefetchAsync", 180 * 88 * US)
    for step in range(900):
        program.launch("sweep", 1400 * US, grid=32768, block=512)
        if step % 100 == 99:
            program.launch("norm", 210 * US, grid=2048)
            program.wait()
    program.wait()
    begin = program.now
    for i in range(180):
        program.migrate(2, 90 * US, 2 * MIB, begin + i * 92 * US)
    program.call("cudaMemPrefetchAsync", 180 * 92 * US)
    return text_of(program)


# ---- streams ----


@capture
def reduction_between_streams():
    """Two blocking streams, and a reduction of a library in the default stream after each kernel of theirs."""
    program = native("reduction_between_streams", "4090", "monte_carlo", command="./monte_carlo --assets 2")
    start(program, imports_ns=10 * MS)
    streams = [program.make_stream(is_non_blocking=False) for _ in range(2)]
    program.copy("h2d", 8 * MIB, PAGEABLE, function="cudaMemcpy")
    for _ in range(520):
        for stream, name in zip(streams, ("simulate_paths", "simulate_hedges")):
            program.launch(name, 150 * US, stream=stream, grid=128, block=512, fills=False)
            program.launch("cub::DeviceReduceKernel", 34 * US, grid=512)
    program.wait()
    return text_of(program)


@capture
def tiles_in_four_streams():
    """A renderer with four streams: tiles go in and out behind kernels that fill the GPU."""
    program = native("tiles_in_four_streams", "A100", "render", command="./render scene.usd")
    start(program, imports_ns=500 * MS)
    streams = [program.make_stream() for _ in range(4)]
    done = [None] * 4
    for tile in range(360):
        slot = tile % 4
        if done[slot]:
            program.wait_event(0x400 + slot, done[slot])
        program.copy("h2d", 12 * MIB, stream=streams[slot])
        for name, ns in (("generate_rays", 240), ("trace", 1650), ("shade", 420)):
            program.launch(name, ns * US, stream=streams[slot], grid=16384)
        program.copy("d2h", 24 * MIB, stream=streams[slot])
        done[slot] = program.record_event(0x400 + slot, streams[slot])
    program.wait()
    return text_of(program)


@capture
def stages_pass_a_token():
    """Two streams that could work on different blocks wait for each other's event after every kernel of 48 us."""
    program = native("stages_pass_a_token", "H100", "pipeline")
    start(program, imports_ns=15 * MS)
    streams = [program.make_stream(), program.make_stream()]
    program.copy("h2d", 64 * MIB, stream=streams[0])
    program.wait("cudaStreamSynchronize", streams[0])
    for i in range(1500):
        here, there = streams[i % 2], streams[1 - i % 2]
        program.launch(("encode", "entropy_code")[i % 2], 48 * US, stream=here, grid=60, block=1024, fills=False)
        happens = program.record_event(0x300 + i % 2, here)
        program.stream_waits_event(0x300 + i % 2, happens + program.noise.call(7 * US), there)
    program.wait()
    return text_of(program)


# ---- the host keeps the GPU waiting ----


@capture
def imagenet_with_two_workers():
    """Two workers make a batch in 92 ms, the GPU needs 31 ms."""
    program = python("imagenet_with_two_workers", "A100", "train_imagenet.py --workers 2")
    start(program)
    upload(program, 60, 100 * MIB)
    net, autograd, pinning = network("imagenet", 126, 31 * MS), program.make_thread("pt_autograd_0"), program.make_thread("pt_data_pin")
    loader = Loader(program, 92 * MS, ahead=4)
    for step in range(44):
        with program.range("data"):
            loader.take()
        if step < 6:
            with program.on(pinning):
                pinning.now = program.now - 9 * MS
                program.call("cudaHostAlloc", program.noise.host(7 * MS))
        with program.range("train_step"):
            program.copy("h2d", 77 * MIB)
            train_step(program, net, autograd)
        if step % 10 == 9:
            item(program)
    program.wait()
    return text_of(program)


@capture
def loader_a_little_too_slow():
    """A batch comes every 46 ms where the GPU needs 40; the system's calls were recorded, too."""
    program = python("loader_a_little_too_slow", "4090", "train_detection.py --workers 4")
    start(program)
    upload(program, 60, 170 * MIB)
    net, autograd = network("detection", 108, 39500 * US), program.make_thread("pt_autograd_0")
    loader = Loader(program, 46 * MS, ahead=2, is_traced=True)
    for _ in range(60):
        loader.take()
        program.copy("h2d", 24 * MIB)
        train_step(program, net, autograd)
        item(program)
    program.wait()
    return text_of(program)


@capture
def boxes_sorted_on_the_host():
    """Boxes are sorted out by NumPy for 13 ms after 9 ms of kernels."""
    program = python("boxes_sorted_on_the_host", "A10", "detect.py --source cam0")
    start(program)
    upload(program, 80, 90 * MIB)
    net = network("yolo", 150, 8600 * US)
    for _ in range(90):
        with program.range("preprocess"):
            program.work(1600 * US)
            program.copy("h2d", 5 * MIB, PAGEABLE)
        with program.range("forward"):
            run_kernels(program, net)
        with program.range("postprocess"):
            program.copy("d2h", 2400 * KIB, PAGEABLE)
            program.wait("cudaStreamSynchronize", NULL_STREAM)
            program.work(13 * MS)
    return text_of(program)


@capture
def metrics_after_each_epoch():
    """After 30 good steps the CPU works out metrics for half a second."""
    program = python("metrics_after_each_epoch", "4090", "train.py --epochs 4")
    start(program)
    upload(program, 40, 60 * MIB)
    net, autograd = network("epochs", 64, 14500 * US), program.make_thread("pt_autograd_0")
    for epoch in range(4):
        with program.range(f"epoch {epoch}"):
            for step in range(30):
                with program.range("train_step"):
                    program.copy("h2d", 6 * MIB)
                    train_step(program, net, autograd)
            with program.range("validate"):
                program.copy("d2h", 20 * MIB, PAGEABLE)
                program.wait("cudaStreamSynchronize", NULL_STREAM)
                program.work(480 * MS)
    return text_of(program)


@capture
def checkpoints_every_twelve_steps():
    """Every twelfth step writes all tensors to a file while the GPU waits."""
    program = python("checkpoints_every_twelve_steps", "H100", "pretrain.py --save-every 12")
    start(program)
    upload(program, 120, 1300 * MIB)
    net, autograd = network("pretrain", 140, 54 * MS, TRANSFORMER), program.make_thread("pt_autograd_0")
    sizes = random.Random("checkpoint")
    for step in range(48):
        with program.range(f"step {step}"):
            program.copy("h2d", 512 * KIB)
            train_step(program, net, autograd)
            if step % 12 == 11:
                with program.range("save_checkpoint"):
                    for _ in range(110):
                        program.copy("d2h", sizes.randrange(64, 24_000) * KIB, PAGEABLE)
                        program.wait("cudaStreamSynchronize", NULL_STREAM)
                        program.work(300 * US)
                    program.work(520 * MS)
    program.wait()
    return text_of(program)


@capture
def adam_on_the_host():
    """Gradients go to pinned memory, Adam runs on the CPU for 130 ms, the parameters come back."""
    program = python("adam_on_the_host", "H100", "finetune.py --offload-optimizer")
    start(program)
    upload(program, 90, 1400 * MIB)
    net, autograd, copies = network("offload", 96, 62 * MS, TRANSFORMER), program.make_thread("pt_autograd_0"), program.make_stream()
    for step in range(22):
        with program.range("step", payload=step):
            train_step(program, net, autograd)
            program.make_later(NULL_STREAM, copies, 0x200)
            for _ in range(28):
                program.copy("d2h", 25 * MIB, stream=copies)
            program.wait("cudaStreamSynchronize", copies)
            with program.range("cpu_adam"):
                program.work(130 * MS)
            for _ in range(28):
                program.copy("h2d", 25 * MIB, stream=copies)
            program.make_later(copies, NULL_STREAM, 0x201)
    program.wait()
    return text_of(program)


@capture
def server_without_requests():
    """A request comes every 22 ms and takes 7: the rest of the time the server waits for a socket."""
    program = native("server_without_requests", "A10", "inference_server", command="./inference_server --port 8001")
    start(program, imports_ns=700 * MS)
    upload(program, 50, 300 * MIB)
    stream = program.make_stream()
    net, arrivals = network("server", 82, 6600 * US, TRANSFORMER, spread=0.5), random.Random("arrivals")
    for _ in range(72):
        program.os_call("epoll_wait", round(arrivals.expovariate(1 / 15.0) * MS) + 50 * US, 16)
        program.work(180 * US)
        program.copy("h2d", 600 * KIB, stream=stream)
        run_kernels(program, net, 1 * US, stream=stream)
        program.copy("d2h", 40 * KIB, stream=stream)
        program.wait("cudaStreamSynchronize", stream)
        program.work(120 * US)
    return text_of(program)


# ---- the beginning ----


@capture
def eight_iterations():
    """Two slow iterations, in which code is loaded and algorithms are tried, and six good ones: then the run is over."""
    program = python("eight_iterations", "H100", "bench.py --iters 8", first_launch_ns=17 * MS)
    start(program, context_ns=400 * MS)
    upload(program, 60, 100 * MIB)
    names = [f"{name}_{variant}" for name in CONVOLUTIONS for variant in range(6)]
    net, autograd = network("bench", 136, 30 * MS, names), program.make_thread("pt_autograd_0")
    for step in range(8):
        with program.range("iter"):
            program.copy("h2d", 38 * MIB)
            if step < 2:
                program.work((900 if step == 0 else 340) * MS)
            train_step(program, net, autograd)
            item(program)
    return text_of(program)


@capture
def kernels_compiled_for_each_shape():
    """A kernel of Numba is compiled for each new shape, and most batches have one."""
    program = python("kernels_compiled_for_each_shape", "4090", "score.py", first_launch_ns=200 * US)
    start(program)
    program.copy("h2d", 40 * MIB, PAGEABLE)
    for batch in range(44):
        program.copy("h2d", 3 * MIB, PAGEABLE)
        if batch % 7 != 6:
            begin, ns = program.now, program.noise.host(115 * MS)
            correlation = program.call("cuModuleLoadDataEx", ns, domain=2)
            program.lines.append(f"jit start_ns={begin + 1 * MS} duration_ns={ns - 2 * MS} tid={program.tid} "
                                 f"correlation={correlation} entry_kind=1 operation=3 cache_bytes=48000")
        for _ in range(14):
            program.work(30 * US)
            program.launch(f"align_{batch}", 580 * US, grid=4096, function="cuLaunchKernel")
        program.wait("cudaStreamSynchronize", NULL_STREAM)
    return text_of(program)


@capture
def losses_kept_with_their_graph():
    """losses.append(loss) keeps what each step allocated; the GPU has no gap, and memory will be full."""
    program = python("losses_kept_with_their_graph", "A10", "train_gcn.py")
    start(program)
    upload(program, 20, 30 * MIB)
    net, autograd = network("gcn", 60, 18 * MS, TRANSFORMER), program.make_thread("pt_autograd_0")
    for _ in range(70):
        with program.range("step"):
            for size in (44, 20):
                program.allocate(size * MIB, 180 * US)
            train_step(program, net, autograd)
    program.wait()
    return text_of(program)


# ---- several GPUs ----


def data_parallel(name, steps, compute_ns, host_ns, buckets, bucket_ns, waits_for_all, model="H100"):
    """Ranks that reduce gradients in buckets, in a stream of NCCL, beside the backward pass or after all of it."""
    gpus = [Gpu(model) for _ in compute_ns]
    ranks = [Process(pid=70 + rank, name="python3", gpus=gpus, rank=rank, world=len(gpus), seed=f"{name}{rank}",
                     command="python3 train.py --ddp", first_launch_ns=700 * US) for rank in range(len(gpus))]
    autograds, comms, loaders = [], [], []
    for rank, program in enumerate(ranks):
        start(program)
        program.name_domain(1, "NCCL")
        program.call("cudaStreamCreateWithFlags", 20 * US)
        comms.append(20)
        program.lines.append(f"stream created_ns={program.now} context={rank + 1} stream=20 priority=-5 is_non_blocking=1 handle=0x5020")
        autograds.append(program.make_thread("pt_autograd_0"))
    together = max(program.now for program in ranks)  # after ncclCommInitRank
    for rank, program in enumerate(ranks):
        program.now = together
        upload(program, 16, 60 * MIB, device=rank)
        loaders.append(Loader(program, host_ns[rank]))
    parts = buckets + 1
    for step in range(steps):
        nets = [network(name, 8 * parts, compute_ns[rank], TRANSFORMER) for rank in range(len(ranks))]
        for rank, program in enumerate(ranks):
            loaders[rank].take()
            program.copy("h2d", 2 * MIB, device=rank)
            run_kernels(program, nets[rank][:8], device=rank)
        if waits_for_all:
            for rank, program in enumerate(ranks):
                with program.handed_to(autograds[rank]):
                    run_kernels(program, nets[rank][8:], device=rank)
        for bucket in range(buckets):
            for rank, program in enumerate(ranks):
                if not waits_for_all:
                    with program.handed_to(autograds[rank]):
                        run_kernels(program, nets[rank][8 * (bucket + 1):8 * (bucket + 2)], device=rank)
            all_reduce(ranks, gpus, comms, bucket_ns)
        for rank, program in enumerate(ranks):
            done = program.record_event(0x101, comms[rank], device=rank)
            program.stream_waits_event(0x101, done, NULL_STREAM, device=rank)
            program.launch(ADAM, 300 * US, grid=1800, block=512, device=rank)
            if step % 5 == 4:
                item(program, device=rank)
    for rank, program in enumerate(ranks):
        program.wait(device=rank)
    return text_of(*ranks)


def all_reduce(ranks, gpus, comms, ns):
    arrivals = []
    for rank, program in enumerate(ranks):
        happens = program.record_event(0x100, device=rank)
        program.stream_waits_event(0x100, happens, comms[rank], device=rank)
        arrivals.append(max(program.now + 12 * US, happens + 2 * US, gpus[rank].stream_free.get(comms[rank], 0) + 1 * US))
    end = max(arrivals) + ranks[0].noise.gpu(ns)
    for rank, program in enumerate(ranks):
        with program.range("ncclAllReduce", domain=1):
            program.launch(ALL_REDUCE, ns // 2, stream=comms[rank], device=rank, grid=24, block=544, fills=False, end_ns=end,
                           function="cudaLaunchKernelExC")


@capture
def gradients_reduced_after_backward():
    """Three all-reduces of 3 ms run one by one after the backward pass of 14 ms; all ranks arrive together."""
    return data_parallel("after", 40, [14 * MS] * 4, [6 * MS] * 4, 3, 3 * MS, True)


@capture
def gradients_reduced_beside_backward():
    """Buckets are reduced while the backward pass goes on; the last one takes half a millisecond more."""
    return data_parallel("beside", 40, [22 * MS] * 4, [6 * MS] * 4, 5, 700 * US, False)


@capture
def one_rank_has_longer_sequences():
    """Rank 2 of 4 computes for 20 ms a step, the others for 12."""
    return data_parallel("sequences", 40, [12 * MS, 12 * MS, 20 * MS, 12 * MS], [5 * MS] * 4, 2, 600 * US, True)


@capture
def one_rank_reads_slowly():
    """Rank 3 of 4 gets a batch every 27 ms, the others every 5; all compute for 12 ms."""
    return data_parallel("reads", 40, [12 * MS] * 4, [5 * MS, 5 * MS, 5 * MS, 27 * MS], 2, 600 * US, True)


@capture
def paths_split_unevenly():
    """One process gives GPU 0 seven tenths of the work of each round and waits for both."""
    program = native("paths_split_unevenly", "A100", "risk", devices=2, command="./risk --gpus 2")
    start(program, imports_ns=30 * MS)
    for device in range(2):
        program.copy("h2d", 40 * MIB, PAGEABLE, device=device, function="cudaMemcpy")
    for _ in range(64):
        for kernel in range(14):
            program.launch("price_paths", 900 * US, device=0, grid=8192)
            if kernel < 6:
                program.launch("price_paths", 900 * US, device=1, grid=8192)
        for device in range(2):
            program.wait(device=device)
            program.copy("d2h", 4 * KIB, PINNED, device=device, function="cudaMemcpy")
        program.work(60 * US)
    return text_of(program)


@capture
def halo_through_the_host():
    """Four ranks of MPI: the edges come to the host, MPI swaps them, they go back, and only then the next sweep begins."""
    gpus = [Gpu("H100") for _ in range(4)]
    ranks = [Process(pid=90 + rank, name="jacobi", gpus=gpus, rank=rank, world=4, seed=f"halo{rank}", command="./jacobi 8192 600",
                     rank_source="Open MPI", first_launch_ns=60 * US) for rank in range(4)]
    for rank, program in enumerate(ranks):
        start(program, imports_ns=150 * MS)
    begin = max(program.now for program in ranks)  # MPI_Barrier
    for rank, program in enumerate(ranks):
        program.now = begin
        program.copy("h2d", 96 * MIB, PAGEABLE, device=rank, function="cudaMemcpy")
    for _ in range(600):
        for rank, program in enumerate(ranks):
            program.launch("jacobi_sweep", 260 * US, device=rank, grid=65536)
            program.launch("pack_edges", 7 * US, device=rank, grid=64)
            for _ in range(2):
                program.copy("d2h", 64 * KIB, device=rank)
            program.wait("cudaStreamSynchronize", NULL_STREAM, device=rank)
        met = max(program.now for program in ranks)
        for rank, program in enumerate(ranks):
            program.push("MPI_Sendrecv")
            program.now = met
            program.work(85 * US)
            program.pop()
            for _ in range(2):
                program.copy("h2d", 64 * KIB, device=rank)
            program.launch("unpack_edges", 6 * US, device=rank, grid=64)
    return text_of(*ranks)


# ---- captures that tell less, or of more than one program ----


@capture
def preprocessing_and_then_training():
    """`./tile && python3 train.py`: a tenth of a second of pageable copies, and then training that Python launches too slowly."""
    tile = native("tile", "A10", "tile", pid=7)
    start(tile, imports_ns=5 * MS)
    for _ in range(13):
        tile.copy("h2d", 32 * MIB, PAGEABLE, function="cudaMemcpy")
        tile.launch("cut_tiles", 700 * US, grid=8192)
        tile.copy("d2h", 24 * MIB, PAGEABLE, function="cudaMemcpy")
    train = python("train", "A10", "train.py", pid=8, start_ns=tile.now + 30 * MS)
    start(train)
    upload(train, 40, 12 * MIB)
    net, autograd = network("small", 150, 800 * US, TRANSFORMER, grids=(8, 180), block=128, spread=0.4), train.make_thread("pt_autograd_0")
    for step in range(170):
        train.copy("h2d", 128 * KIB)
        train_step(train, net, autograd, 7 * US)
        if step % 10 == 9:
            item(train)
    return text_of(tile, train)


def two_streams_from_the_middle(program, steps):
    copies = program.make_stream()
    net = network("middle", 100, 21 * MS)
    for step in range(steps):
        if step == steps // 3:
            program.record_from_here(trigger=None)
        program.copy("h2d", 60 * MIB, stream=copies)
        program.make_later(copies, NULL_STREAM, 0x180 + step % 2)
        train_step(program, net)
        if step % 15 == 14:
            item(program)
    program.wait()


@capture
def recorded_from_the_middle():
    """As Nsight Systems with a delay exports it: no streams' making, no calls before, and kernels that were queued before."""
    program = python("recorded_from_the_middle", "A100", streams_are_known=False)
    start(program)
    upload(program, 40, 100 * MIB)
    two_streams_from_the_middle(program, 75)
    return text_of(program)


@capture
def gpu_and_ranges_without_calls():
    """A file with GPU work and NVTX ranges and no CUDA call: between the steps the GPU waits for `load_batch`."""
    program = python("gpu_and_ranges_without_calls", "T4", "train_audio.py", streams_are_known=False)
    start(program)
    upload(program, 30, 40 * MIB)
    net = network("audio", 70, 17 * MS)
    for _ in range(70):
        with program.range("load_batch"):
            program.work(31 * MS)
        with program.range("train_step"):
            program.copy("h2d", 4 * MIB)
            train_step(program, net)
            program.wait("cudaStreamSynchronize", NULL_STREAM)
    program.without_calls()
    return text_of(program)


def main():
    if len(sys.argv) != 2:
        print("\n".join(CAPTURES))
        return 0
    if sys.argv[1] not in CAPTURES:
        print(f"no capture '{sys.argv[1]}'; examination.py lists them", file=sys.stderr)
        return 2
    sys.stdout.write(CAPTURES[sys.argv[1]]())
    return 0


if __name__ == "__main__":
    sys.exit(main())
