"""Models that are spread over ranks: tensor and pipeline parallel, experts, and inference in groups."""

from simulate import COMPUTE, NCCL, US, fault_of
from training import BACKWARD, FORWARD, OPTIMIZER, begin, checkpoint, clocks, layers, load, stall, work_of

PIPELINE = 28  # the first of its streams: one for each direction, as batched sends and receives do not wait for each other


def grid_of(job):
    """Megatron's order: tensor ranks are neighbours, then data, then pipeline."""
    tensor, pipeline = job.get("tensor", 1), job.get("pipeline", 1)
    return tensor, pipeline, job["ranks"] // tensor // pipeline


def groups_of(world, number):
    """(tensor group, data group, stage, previous rank, next rank) of a rank."""
    tensor, pipeline, data = grid_of(world.job)
    t, d, p = number % tensor, number // tensor % data, number // tensor // data
    rank = lambda t, d, p: p * tensor * data + d * tensor + t
    tensor_group = world.comm(100 + p * data + d, [rank(i, d, p) for i in range(tensor)], "tensor")
    data_group = world.comm(300 + p * tensor + t, [rank(t, i, p) for i in range(data)], "data")
    previous, following = (rank(t, d, p - 1) if p else None), (rank(t, d, p + 1) if p + 1 < pipeline else None)
    return tensor_group, data_group, p, previous, following


class Megatron:
    def __init__(self, r):
        self.r, self.job = r, r.job
        self.tensor, self.data, self.stage, self.previous, self.next = groups_of(r.world, r.number)
        self.pipe = r.world.comm(600, range(r.job["ranks"]), "pipeline")
        self.layers = self.job.get("layers", 2)
        fault = fault_of(r, "kernels")
        self.layers += fault["layers"] if fault else 0
        self.data_wire = self.job.get("stage_wire_ns", {}).get(self.stage, self.job.get("wire_ns", 500 * US))
        self.wire = self.job.get("tensor_wire_ns", 70 * US)

    def reduce(self):
        if len(self.tensor.members) > 1:
            op = self.r.collective(self.tensor, "AllReduce", 16 << 20, self.wire, after=self.r.ops[-1:])
            self.r.kernel("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16> >(int)", 8 * US, after=[op])

    def move(self, function, peer, what):
        """To, or from, a neighbour in the pipeline."""
        if peer is None:
            return
        r = self.r
        key = (what, min(peer, r.number), max(peer, r.number))
        after = r.ops[-1:] if function == "Send" else ()
        op = r.collective(self.pipe, function, 8 << 20, self.job.get("pipe_wire_ns", 60 * US), stream=PIPELINE + 4 * (what[0] == "b") + (function == "Send"),
                          after=after, peer=peer, key=key)
        if function == "Recv":
            r.kernel("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<c10::BFloat16> >(int)", 5 * US, after=[op])

    def forward(self, name, scale):
        r = self.r
        self.move("Recv", self.previous, ("f", name))
        with r.span("forward"), r.at(("train.py", 30, 71, "main"), ("megatron/core/transformer/transformer_block.py", 480, 512, "forward")):
            for _ in range(self.layers):
                layers(r, FORWARD[:4], 1, scale)
                self.reduce()
                layers(r, FORWARD[4:], 1, scale)
                self.reduce()
            if self.next is None and self.previous is not None and self.job.get("head", 0):
                layers(r, [("nvjet_hsh_256x128_64x4_2x1_v_bz_coopA_TNN", 400), FORWARD[4]], self.job["head"], scale)
        self.move("Send", self.next, ("f", name))

    def backward(self, name, scale):
        r = self.r
        self.move("Recv", self.next, ("b", name))
        with r.span("backward"), r.on_thread(2):
            for _ in range(self.layers):
                layers(r, BACKWARD, 1, scale, thread_ns=7 * US)
                self.reduce()
        self.move("Send", self.previous, ("b", name))

    def one_f_one_b(self, step, scale):
        batches, stages = self.job.get("micro_batches", 1), self.job.get("pipeline", 1)
        warm = min(batches, stages - 1 - self.stage)
        for i in range(warm):
            self.forward((step, i), scale)
        for i in range(batches):
            if i + warm < batches:
                self.forward((step, i + warm), scale)
            self.backward((step, i), scale)
            yield from self.r.room()

    def run(self):
        r, job = self.r, self.job
        begin(r)
        for step in range(job["steps"]):
            with r.span(job.get("step_name", "ProfilerStep#{}").format(job["first_step"] + step)):
                if self.previous is None or self.next is None:  # of the last stage the labels
                    load(r, step)
                else:
                    stall(r, step)
                yield from self.one_f_one_b(step, work_of(r, step))
                if len(self.data.members) > 1:
                    with r.span("finalize_model_grads"):
                        last = r.collective(self.data, "ReduceScatter", 128 << 20, self.data_wire, after=r.ops[-1:])
                        r.kernel(OPTIMIZER[0], OPTIMIZER[1] * US, after=[last])
                        gathered = r.collective(self.data, "AllGather", 128 << 20, self.data_wire, after=r.ops[-1:])
                        r.kernel(FORWARD[4][0], 9 * US, after=[gathered])
                yield from r.item()
                yield from checkpoint(r, step)
        yield from r.drain()
        clocks(r)


def megatron(r):
    yield from Megatron(r).run()


EXPERT = "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<cute::tuple<int, int, int> > > >"


def experts(r):
    """Mixture of experts: tokens travel to the ranks of their experts and back, in all-to-alls."""
    job = r.job
    comm = r.world.comm(7, range(job["ranks"]), "ep")
    begin(r)
    fault = fault_of(r, "hot_expert")
    load_of = fault["scale"] if fault else 1.0
    for step in range(job["steps"]):
        with r.span(job.get("step_name", "train_batch")):
            load(r, step)
            for direction in ("forward", "backward"):
                with r.span(direction), r.on_thread(0 if direction == "forward" else 2):
                    for _ in range(job.get("layers", 3)):
                        layers(r, FORWARD[:5] if direction == "forward" else BACKWARD[:4], 1)
                        sent = r.collective(comm, "AlltoAll", 32 << 20, job.get("wire_ns", 120 * US), after=r.ops[-1:])
                        tokens = load_of * r.chance.uniform(0.9, 1.1)
                        for i in range(2):
                            r.kernel(EXPERT, 330 * US * tokens, grid=(int(528 * tokens), 1, 1), block=(384, 1, 1), after=[sent] if i == 0 else ())
                        back = r.collective(comm, "AlltoAll", 32 << 20, job.get("wire_ns", 120 * US), after=r.ops[-1:])
                        r.kernel(FORWARD[4][0], 12 * US, after=[back])
                    yield from r.room()
            r.t += 15 * US
            r.kernel(OPTIMIZER[0], OPTIMIZER[1] * US)
            yield from r.item()
    yield from r.drain()
    clocks(r)


DECODE = [("triton_red_fused_add_mean_mul_pow_rsqrt_0", 3), ("nvjet_hsh_64x8_64x16_4x1_v_bz_TNT", 14),
          ("void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4> >(Flash_fwd_params)", 19),
          ("nvjet_hsh_64x8_64x16_2x1_v_bz_splitK_TNT", 9)]
MLP = [("triton_red_fused_add_mean_mul_pow_rsqrt_0", 3), ("nvjet_hsh_128x8_64x12_4x1_v_bz_TNT", 24), ("triton_poi_fused_mul_silu_1", 4),
       ("nvjet_hsh_64x8_64x16_4x2_h_bz_TNT", 17)]
VLLM = (("vllm/v1/worker/gpu_worker.py", 330, 352, "execute_model"), ("vllm/v1/worker/gpu_model_runner.py", 1100, 1187, "_prepare_inputs"))


def decode(r):
    """A tensor-parallel engine decodes: the worker of rank 0 gets what is scheduled, all reduce twice in a layer."""
    job = r.job
    comm = r.world.comm(8, range(job["ranks"]), "tp")
    begin(r)
    for step in range(job["steps"]):
        with r.span(f"execute_context_0(0)_generation_{job.get('sequences', 32)}({job.get('sequences', 32)})"):
            with r.span("prepare_inputs"), r.at(*VLLM):
                r.host(job.get("host_ns", 600 * US))
                stall(r, step)
            copied = r.copy("HtoD", 4096, 2200, stream=COMPUTE)
            for _ in range(job.get("layers", 8)):
                for kernels in (DECODE, MLP):
                    if job.get("graphs"):
                        r.graph([(name, us * r.slow) for name, us in kernels])
                    else:
                        for name, us in kernels:
                            r.host(4 * US, 0.2)
                            r.kernel(name, us * US, grid=(132, 1, 1), after=[copied])
                    op = r.collective(comm, "AllReduce", 256 << 10, job.get("wire_ns", 13 * US), stream=COMPUTE)
                    copied = op
            with r.span("sample_tokens"):
                r.collective(comm, "AllGather", 1 << 20, 18 * US, stream=COMPUTE)
                r.kernel("void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float>(float*, float const*, int)", 16 * US)
                yield from r.item()
            if r.number == 0 and job.get("scheduler_ns"):
                with r.span("scheduler"), r.at(("vllm/v1/core/sched/scheduler.py", 150, 263, "schedule")):
                    r.host(job["scheduler_ns"])
        if job.get("scheduler_ns"):  # the output of the scheduler is broadcast through shared memory
            end = yield from r.meet(("scheduled", step), range(job["ranks"]), 20 * US)
            if r.number and end - r.t > 30 * US:
                with r.at(("vllm/distributed/device_communicators/shm_broadcast.py", 400, 437, "acquire_read")):
                    r.host(end - r.t, 0)  # it polls, and yields in between
            r.t = max(r.t, end)
    yield from r.drain()
    clocks(r)


def prefill(r):
    """Inference of long prompts in groups that each have a copy of the model, as with --data-parallel-size."""
    job = r.job
    tensor = job.get("tensor", 2)
    comm = r.world.comm(20 + r.number // tensor, range(r.number // tensor * tensor, r.number // tensor * tensor + tensor), "tp")
    everybody = r.world.comm(19, range(job["ranks"]), "dp")
    begin(r)
    for step in range(job["steps"]):
        with r.span("execute_model"):
            with r.span("prepare_inputs"), r.at(*VLLM):
                r.host(500 * US)
                stall(r, step)
            scale = work_of(r, step)
            for _ in range(job.get("layers", 4)):
                for half in (FORWARD[:4], FORWARD[4:]):
                    layers(r, half, 1, scale, thread_ns=5 * US)
                    r.collective(comm, "AllReduce", 32 << 20, 90 * US * scale, stream=COMPUTE)
            r.collective(everybody, "AllReduce", 64, 15 * US, stream=NCCL, after=r.ops[-1:])
            yield from r.wait(r.ops[-1:])
    yield from r.drain()
    clocks(r)


