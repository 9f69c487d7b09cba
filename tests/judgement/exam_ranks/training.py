"""Training in PyTorch and JAX: data parallel, sharded, and what delays a rank of them."""

import contextlib
import random

import simulate
from simulate import COMPUTE, COPIES, MS, NCCL, US, fault_of

FORWARD = [
    ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, c10::BFloat16 const*)", 14),
    ("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", 118),
    ("void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t> >(Flash_fwd_params)", 96),
    ("nvjet_hsh_192x192_64x3_1x2_h_bz_coopB_NNT", 61),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)", 11),
    ("nvjet_hsh_256x128_64x4_2x1_v_bz_coopA_NNT", 155),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)>(int)", 22),
    ("nvjet_hsh_128x256_64x4_2x1_v_bz_coopB_TNT", 149),
]
BACKWARD = [
    ("nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTN", 301),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&)>(int)", 31),
    ("nvjet_hsh_192x192_64x3_2x1_v_bz_coopB_NTN", 297),
    ("void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8> >(Flash_bwd_params)", 242),
    ("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT", 214),
    ("void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>(int)", 29),
]
OPTIMIZER = ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<4>, "
             "at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4> >", 240)
COLLATE = (("train.py", 30, 88, "main"), ("data.py", 25, 40, "collate"))
LOOP = ("train.py", 30, 71, "main")


def layers(r, kernels, count, scale=1.0, grid=1056, thread_ns=9 * US):
    """Launches the kernels of `count` layers; of larger work the grids are larger, too."""
    for _ in range(count):
        for name, us in kernels:
            r.host(thread_ns, 0.2)
            r.kernel(name, us * US * scale, grid=(max(1, int(grid * scale)), 1, 1))


def stall(r, step):
    """What keeps the host of a rank for longer than that of the others, whatever the framework."""
    fault = fault_of(r, "gc")
    if fault and r.chance.random() < fault["share"]:
        with r.at(("/usr/lib/libpython3.11.so.1.0", 0, 0, "gc_collect_main")):
            r.host(fault["ns"], 0.2)
    fault = fault_of(r, "collate")
    if fault:
        with r.at(*COLLATE):
            r.host(fault["ns"])
    fault = fault_of(r, "anybody")
    if fault and random.Random(f"{r.job['name']}/{step}").randrange(r.job["ranks"]) == r.number:
        with r.at(LOOP):
            r.host(fault["ns"])
    fault = fault_of(r, "preempted")
    if fault:
        for _ in range(fault["times"]):
            r.note("switch", start=r.t, ns=fault["ns"], tid=r.tid)
            r.t += fault["ns"] + r.jitter(60 * US)
    fault = fault_of(r, "malloc")
    if fault:
        for function, ns in (("cudaFree", 900 * US), ("cudaFree", 700 * US), ("cudaMalloc", 450 * US)) * fault["times"]:
            r.call(function, r.jitter(ns))
    fault = fault_of(r, "log")
    if fault and step % fault["every"] == 0:
        with r.at(LOOP, ("wandb/sdk/wandb_run.py", 400, 449, "log")):
            r.os("sendto", r.jitter(fault["ns"]), object_kind=12, object=31, path="tcp:203.0.113.9:443", size_bytes=4096, result=4096)


def load(r, step):
    """A batch from the loader, which has read ahead where nothing is wrong."""
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__" if r.job["format"] == "kineto" else "load"
    with r.span(name), r.at(LOOP):
        r.host(r.job.get("load_ns", 350 * US))
        fault = fault_of(r, "input")
        if fault:
            if fault.get("by", "read") == "read":
                r.read(fault["path"], fault["ns"], size=fault.get("size", 64 << 20))
            else:
                with r.at(("torch/utils/data/dataloader.py", 1275, 1284, "_try_get_data")):
                    r.os("pthread_cond_timedwait", r.jitter(fault["ns"], 0.15), object_kind=3, object=77)
        stall(r, step)
    size = r.job.get("batch_bytes", 6 << 20)
    slow = (fault_of(r, "copies") or {}).get("factor", 1)
    r.copy("HtoD", size, size / 50 * slow, stream=COMPUTE, pageable=slow > 1 and fault_of(r, "copies").get("pageable", False))


def checkpoint(r, step):
    fault = fault_of(r, "checkpoint")
    if not fault or (step + 1) % fault["every"]:
        return
    with r.span("save_checkpoint"), r.at(LOOP, ("checkpoint.py", 10, 33, "save")):
        op = r.copy("DtoH", 512 << 20, 22 * MS, pageable=True)
        yield from r.wait([op])
        for _ in range(4):
            r.read("/ckpt/step.pt", fault["ns"] / 4, 128 << 20, "write")
        r.os("fsync", r.jitter(2 * MS), object_kind=10, object=9, path="/ckpt/step.pt")


def work_of(r, step):
    fault = fault_of(r, "tokens")
    return fault["scale"] * r.chance.uniform(0.93, 1.07) if fault else 1.0


def begin(r):
    fault = fault_of(r, "slow_gpu")
    r.slow = fault["factor"] if fault and not fault.get("from") else 1.0
    r.host_slow = (fault_of(r, "slow_host") or {}).get("factor", 1.0)
    r.is_recorded = not r.job["late_start"]
    r.host(2 * MS)


def end_of_step(r, step):
    """Most loops read the loss now and then; those that never do run ahead of the GPU."""
    every = r.job.get("item_every", 1)
    if every and step % every == 0:
        with r.span("loss.item"):
            yield from r.item()


def clocks(r):
    """Samples of NVML over the run, where the job has them."""
    if r.job["metrics"]:
        fault = fault_of(r, "slow_gpu")
        usual, slow = 1980, fault.get("mhz", 1980) if fault else 1980
        slow_from = fault.get("from", 0) / r.job["steps"] if fault else 0
        r.metric("SM clock", "MHz", [(slow if i / 24 >= slow_from else usual) - int(r.chance.uniform(0, 15)) for i in range(24)])
    if r.job["messy"]:
        mess(r)


def mess(r):
    """What captures have besides: a thread that pins memory and waits most of the time, and what profilers do."""
    end, r.t = r.t, simulate.DAY_NS + MS
    with r.on_thread(9):
        while r.t < end - 8 * MS:
            r.os("pthread_cond_timedwait", r.jitter(5 * MS, 0.3), object_kind=3, object=901)
            with r.span("pin_memory"):
                r.call("cudaHostAlloc" if r.chance.random() < 0.1 else "cudaEventQuery", r.jitter(6 * US, 0.5))
                r.t += r.jitter(120 * US, 0.5)
    r.t = end


def ddp(r):
    """DistributedDataParallel: buckets of gradients are reduced beside the backward pass."""
    world = r.world
    comm = world.comm(1, range(r.job["ranks"]), "default_pg")
    begin(r)
    count, step_name = r.job.get("layers", 4), r.job.get("step_name", "ProfilerStep#{}")
    wire = r.job.get("wire_ns", 380 * US)
    for step in range(r.job["steps"]):
        r.begin_step(step)
        slowed = fault_of(r, "slow_gpu")
        r.slow = slowed["factor"] if slowed and step >= slowed.get("from", 0) else 1.0
        with r.span(step_name.format(r.job["first_step"] + step)):
            load(r, step)
            scale = work_of(r, step)
            with r.span("forward"), r.at(LOOP, ("model.py", 60, 92, "forward")):
                extra = (fault_of(r, "kernels") or {}).get("layers", 0)
                for _ in range(count + extra):
                    layers(r, FORWARD, 1, scale)
                    if r.job.get("items"):
                        with r.at(("hooks.py", 12, 19, "log_norm")):
                            yield from r.item()
            buckets = []
            with r.span("backward"), r.on_thread(2):
                for _ in range(count):
                    with r.span("autograd::engine::evaluate_function: AddmmBackward0") if r.job["messy"] else contextlib.nullcontext():
                        layers(r, BACKWARD, 1, scale, thread_ns=7 * US)
                    yield from r.room()
                    with r.span("nccl:all_reduce"):
                        buckets.append(r.collective(comm, "AllReduce", 50 << 20, wire, after=r.ops[-1:]))
            r.t += 20 * US
            with r.span("Optimizer.step#AdamW.step"):
                for i in range(3):
                    r.kernel(*OPTIMIZER[:1], OPTIMIZER[1] * US, after=buckets if i == 0 else ())
            yield from end_of_step(r, step)
            yield from checkpoint(r, step)
    yield from r.drain()
    clocks(r)


def fsdp(r):
    """Fully sharded: parameters of a layer are gathered ahead of it, gradients scattered behind it."""
    comm = r.world.comm(2, range(r.job["ranks"]), "fsdp")
    begin(r)
    count, wire = r.job.get("layers", 4), r.job.get("wire_ns", 260 * US)
    for step in range(r.job["steps"]):
        with r.span(r.job.get("step_name", "ProfilerStep#{}").format(r.job["first_step"] + step)):
            load(r, step)
            scale = work_of(r, step)
            with r.span("forward"):
                last = []
                for _ in range(count):
                    with r.span("FullyShardedDataParallel.forward"):
                        gathered = r.collective(comm, "AllGather", 96 << 20, wire, after=last)
                        last = r.ops[-2:-1] if len(r.ops) > 1 else []
                        r.kernel("void at::native::(anonymous namespace)::CatArrayBatchedCopy_aligned16_contig<at::native::OpaqueType<2u>, "
                                 "unsigned int, 1, 128, 1>", 18 * US, after=[gathered])
                        layers(r, FORWARD, 1, scale)
            with r.span("backward"), r.on_thread(2):
                for _ in range(count):
                    gathered = r.collective(comm, "AllGather", 96 << 20, wire)
                    r.kernel("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<c10::BFloat16> >(int)", 9 * US, after=[gathered])
                    layers(r, BACKWARD, 1, scale, thread_ns=7 * US)
                    yield from r.room()
                    r.collective(comm, "ReduceScatter", 96 << 20, wire, after=r.ops[-1:])
            r.t += 20 * US
            with r.span("Optimizer.step#AdamW.step"):
                r.kernel(OPTIMIZER[0], OPTIMIZER[1] * US, after=r.ops[-1:])
            yield from end_of_step(r, step)
            yield from checkpoint(r, step)
    yield from r.drain()
    clocks(r)


XLA = [("loop_convert_fusion_12", 35), ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT", 210), ("input_reduce_fusion_3", 44), ("gemm_fusion_dot_447_0", 160),
       ("loop_add_multiply_fusion_8", 28), ("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_NNT", 190), ("wrapped_transpose_2", 21)]


def jax(r):
    """pjit on several hosts: one launch of a compiled module does forward, backward and reductions."""
    comm = r.world.comm(3, range(r.job["ranks"]))
    begin(r)
    for step in range(r.job["steps"]):
        with r.span("train"):
            with r.span("shard_batch"), r.at(("train_lib.py", 200, 214, "train_loop"), ("input_pipeline.py", 40, 58, "get_batch")):
                r.host(r.job.get("load_ns", 700 * US))
                fault = fault_of(r, "input")
                if fault:
                    r.read(fault["path"], fault["ns"], 32 << 20)
                stall(r, step)
                r.copy("HtoD", 8 << 20, 170 * US, stream=COPIES)
            with r.span("PjitFunction(train_step)"), r.on_thread(5):
                copied = r.ops[-1:]
                for block in range(6):
                    for name, us in XLA:
                        r.host(3 * US, 0.2)
                        r.kernel(name, us * US * work_of(r, step), after=copied)
                        copied = ()
                    r.collective(comm, "AllReduce", 64 << 20, r.job.get("wire_ns", 300 * US), stream=NCCL, after=r.ops[-1:])
                r.kernel("loop_select_fusion_1", 90 * US, after=r.ops[-1:])
            r.t += 30 * US
            with r.span("device_get(metrics)"):
                yield from r.item()
    yield from r.drain()
    clocks(r)
