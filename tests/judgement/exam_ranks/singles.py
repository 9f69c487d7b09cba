"""Programs of one process that a profiler joined when they were warm."""

from model_parallel import DECODE, MLP
from simulate import MS, US
from training import BACKWARD, FORWARD, LOOP, OPTIMIZER, layers

SMALL = [("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)", 2.1),
         ("ampere_sgemm_32x32_sliced1x4_tn", 4.8), ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps> >", 3.4),
         ("void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>", 1.9)]


def steps_of(r):
    for step in range(r.job["steps"]):
        yield step, r.job.get("step_name", "ProfilerStep#{}").format(r.job["first_step"] + step)


def full_queue(r):
    """The host is a second ahead: calls block because the queue is full, and the GPU never waits."""
    r.is_recorded = False
    for _ in range(4):
        layers(r, FORWARD + BACKWARD, 20)
        yield from r.room()
    r.is_recorded, r.recorded_from = True, r.t
    for _, name in steps_of(r):
        with r.span(name):
            r.copy("HtoD", 8 << 20, 160 * US)
            layers(r, FORWARD, 12)
            yield from r.room()
            layers(r, BACKWARD, 12)
            yield from r.room()
            r.kernel(OPTIMIZER[0], OPTIMIZER[1] * US)
    yield from r.drain()


def small_kernels(r):
    """Eager code with kernels that are shorter than launching them takes."""
    for _, name in steps_of(r):
        with r.span(name), r.at(LOOP, ("model.py", 60, 92, "forward")):
            for _ in range(90):
                for kernel, us in SMALL:
                    r.host(9 * US, 0.2)
                    r.kernel(kernel, us * US, grid=(2112, 1, 1))
            yield from r.item()


def items(r):
    """A metric of each layer is read by .item(): the GPU runs dry again and again."""
    for _, name in steps_of(r):
        with r.span(name):
            for layer in range(14):
                layers(r, FORWARD, 1)
                with r.span("log_activation_norm"), r.at(LOOP, ("hooks.py", 12, 19, "log_norm")):
                    yield from r.item()
                    r.host(160 * US)
            layers(r, BACKWARD, 4)
            yield from r.item()


def loader(r):
    """Input that is not ready in time."""
    for _, name in steps_of(r):
        with r.span(name):
            with r.span("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"), r.at(LOOP, ("torch/utils/data/dataloader.py", 1275, 1284, "_try_get_data")):
                r.os("pthread_cond_timedwait", r.jitter(r.job["wait_ns"], 0.2), object_kind=3, object=77)
            r.copy("HtoD", 38 << 20, 800 * US)
            layers(r, FORWARD, 6)
            layers(r, BACKWARD, 6)
            yield from r.item()


def pageable(r):
    """Batches in pageable memory."""
    for _, name in steps_of(r):
        with r.span(name):
            op = r.copy("HtoD", 77 << 20, 7.1 * MS, pageable=True)
            yield from r.wait([op], "cudaStreamSynchronize")
            layers(r, FORWARD, 4)
            layers(r, BACKWARD, 4)
            yield from r.item()


def engine(r):
    """Decoding as CUDA graphs, between which the host schedules for longer than the graph runs."""
    for _, name in steps_of(r):
        with r.span(name):
            with r.span("schedule"), r.at(("vllm/v1/engine/core.py", 250, 279, "step"), ("vllm/v1/core/sched/scheduler.py", 150, 263, "schedule")):
                r.host(r.job["scheduler_ns"])
            r.copy("HtoD", 4096, 2200)
            r.graph((DECODE + MLP) * 16)
            with r.span("sample"):
                yield from r.item()


def compiles(r):
    """Recorded from its very beginning: the first step loads and compiles, the others do not."""
    for step, name in steps_of(r):
        with r.span(name):
            if step == 0:
                with r.span("torch._dynamo.compile"), r.at(LOOP, ("torch/_inductor/compile_fx.py", 700, 741, "compile_fx_inner")):
                    for _ in range(24):
                        r.host(55 * MS)
                        r.call("cuModuleLoadData", r.jitter(3 * MS), driver=True)
            layers(r, FORWARD, 6)
            layers(r, BACKWARD, 6)
            yield from r.item()


def slow_optimizer(r):
    """The optimizer goes parameter by parameter: hundreds of short kernels after a backward pass that fills the GPU."""
    for _, name in steps_of(r):
        with r.span(name):
            layers(r, FORWARD, 2)
            layers(r, BACKWARD, 2)
            with r.span("Optimizer.step#AdamW.step"), r.at(LOOP, ("torch/optim/adamw.py", 340, 371, "_single_tensor_adamw")):
                for _ in range(420):
                    r.host(14 * US, 0.2)
                    r.kernel(SMALL[0][0], 1.9 * US, grid=(64, 1, 1))
            yield from r.item()


def accumulates(r):
    """A warm job that is as it should be: the queue is full, nothing waits, the time is in matrix products."""
    for _, name in steps_of(r):
        with r.span(name):
            for _ in range(4):
                r.copy("HtoD", 2 << 20, 42 * US, stream=24)
                layers(r, FORWARD, 6, thread_ns=4 * US)
                layers(r, BACKWARD, 6, thread_ns=4 * US)
                yield from r.room()
            r.kernel(OPTIMIZER[0], OPTIMIZER[1] * US)
    yield from r.drain()


def accumulate_grad(r):
    """No step is named: only what autograd and a hook for each gradient call themselves."""
    for step in range(r.job["steps"]):
        r.copy("HtoD", 8 << 20, 160 * US)
        layers(r, FORWARD, 8)
        with r.on_thread(2):
            for _ in range(8):
                with r.span("autograd::engine::evaluate_function: MmBackward0", domain="op"):
                    layers(r, BACKWARD, 1)
                with r.span("torch::autograd::AccumulateGrad", domain="op"):
                    r.kernel(SMALL[0][0], 11 * US)
        r.kernel(OPTIMIZER[0], OPTIMIZER[1] * US)
        yield from r.room()
    yield from r.drain()
