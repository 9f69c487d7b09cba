"""The jobs of the fourteenth examination, each with its label. Written before gprof-cli saw any of them; README.md has the rules.

A job is a program of the model, its parameters and its delays. A label names causes, the worst first:
    cause(ranks, ids, words)   what the finding has to be about, its id, and what it has to say (regular expressions, all of them)
NOBODY means that no rank may be blamed. `also` has what is true beside it and is passed over.
"""

from simulate import MS, US

LATE, SLOW, MORE, COPY = "fleet.late_host", "fleet.slow_gpu", "fleet.more_work", "fleet.slow_copies"
NOBODY = []
ALL = []


def cause(ranks, ids, *words, about=None):
    """`about` is a regular expression instead of ranks, where a capture does not know their numbers."""
    return {"ranks": list(ranks), "ids": [ids] if isinstance(ids, str) else list(ids), "words": list(words), "about": about}


def job(name, program, causes, why, also=(), faults=(), accept=(), any_first=False, **more):
    """`accept`: ids that are a right answer, too, whatever they are about."""
    ALL.append({"name": name, "program": program, "tool": "ranks", "causes": causes, "why": why, "also": list(also), "accept": list(accept), "any_first": any_first,
                "faults": [dict(zip(("kind", "ranks"), fault[:2]), **fault[2]) for fault in faults], **more})


def single(name, program, first, why, also=(), wrong=(), words=(), **more):
    """One process, judged by `report` as the other captures of this folder are: mechanisms of labels.json, or ids."""
    ALL.append({"name": name, "program": program, "tool": "report", "ranks": 1, "first": first, "also": list(also), "wrong": list(wrong), "words": list(words), "why": why,
                "faults": [], **more})


# Data parallel training, recorded by gprof-cli.
job("ddp_nfs_16", "ddp", [cause(range(8, 16), LATE, "/nfs")], "All ranks of one host read their shards from a slow file server.", ranks=16, steps=8,
    faults=[("input", range(8, 16), {"path": "/nfs/imagenet/shard-0412.tar", "ns": 9 * MS})], skew_ms={"1": 50}, also=["fleet.skewed_clock"])
job("ddp_collate_8", "ddp", [cause([5], LATE, r"collate|data\.py:40")], "One rank collates its batch for 4 ms.", ranks=8, faults=[("collate", [5], {"ns": 4 * MS})])
job("ddp_gc_8", "ddp", [cause([3], LATE, "gc_collect_main")], "Python's garbage collector stops one rank in some steps.", ranks=8, steps=12,
    faults=[("gc", [3], {"share": 0.4, "ns": 25 * MS})])
job("ddp_throttled_16", "ddp", [cause([11], SLOW, "MHz")], "One GPU is hot: 1410 MHz instead of 1980.", ranks=16, metrics=True,
    faults=[("slow_gpu", [11], {"factor": 1.36, "mhz": 1410})], skew_ms={"0": -20, "1": 25}, also=["fleet.skewed_clock"])
job("ddp_slow_gpu_4", "ddp", [cause([2], SLOW)], "One GPU is slower, and nobody recorded its clocks.", ranks=4, faults=[("slow_gpu", [2], {"factor": 1.25})])
job("ddp_tokens_8", "ddp", [cause([6], MORE)], "One rank gets longer sequences: the same kernels with larger grids.", ranks=8, faults=[("tokens", [6], {"scale": 1.5})])
job("ddp_two_causes_16", "ddp", [cause([13], SLOW), cause([2], LATE, r"collate|data\.py:40")], "One slow GPU, and one rank that collates for long.", any_first=True, ranks=16,
    faults=[("collate", [2], {"ns": 5 * MS}), ("slow_gpu", [13], {"factor": 1.9})])
job("ddp_five_late_32", "ddp", [cause([3, 9, 17, 22, 30], LATE, r"collate|data\.py:40")], "Five ranks of four hosts collate for 5 ms.", ranks=32, steps=6, layers=3,
    faults=[("collate", [3, 9, 17, 22, 30], {"ns": 5 * MS})])
job("ddp_checkpoint_8", "ddp", [cause([0], LATE, r"/ckpt|save_checkpoint|checkpoint\.py")], "Rank 0 writes a checkpoint in every fourth step; the others wait.", ranks=8, steps=12,
    faults=[("checkpoint", [0], {"every": 4, "ns": 80 * MS})], also=[COPY])
job("ddp_even_16", "ddp", NOBODY, "Nobody is late; kernels and host vary by a few per cent.", ranks=16, steps=8)
job("ddp_runs_ahead_8", "ddp", [cause([4], SLOW)], "No loss is read, so hosts run far ahead of their GPUs; one of these is slow.", ranks=8, steps=10, item_every=0,
    faults=[("slow_gpu", [4], {"factor": 1.3})])
job("ddp_exposed_8", "ddp", [cause([], "fleet.network")], "Reductions take 2.6 ms each, three times what could hide them; all arrive together.", ranks=8, wire_ns=2600 * US,
    accept=["nccl.exposed"])
job("ddp_items_8", "ddp", NOBODY, "All ranks read a norm of each layer with .item(): slow, and nobody is late.", ranks=8, items=True, accept=["sync.*", "idle.*"])
job("ddp_wandb_8", "ddp", [cause([0], LATE, r"sendto|wandb")], "Rank 0 logs over the network in each step.", ranks=8, faults=[("log", [0], {"every": 1, "ns": 3500 * US})])
job("ddp_preempted_8", "ddp", [cause([7], LATE, r"preempt|other threads|waiting for a CPU|processor")], "Another program takes the processor away from the launching thread of one rank.", ranks=8,
    faults=[("preempted", [7], {"times": 4, "ns": 1200 * US})])
job("ddp_cuda_malloc_8", "ddp", [cause([1], LATE, r"cudaFree|cudaMalloc|memory")], "The allocator of one rank is nearly full: it frees and allocates in each step.", ranks=8,
    faults=[("malloc", [1], {"times": 2})])
job("ddp_missing_16", "ddp", [cause([6], LATE, r"_try_get_data|dataloader\.py|DataLoader|pthread_cond_timedwait")], "One rank waits for its loader; the traces of two others are missing.", ranks=16,
    faults=[("input", [6], {"by": "loader", "ns": 6 * MS})], missing=[4, 9], also=["fleet.missing"])
job("ddp_damaged_8", "ddp", [cause([5], LATE, r"collate|data\.py:40")], "One rank collates for long; the trace of another one breaks off.", ranks=8, steps=12,
    faults=[("collate", [5], {"ns": 4 * MS})], cut={2: 0.6}, also=["fleet.damaged"])
job("ddp_two_ranks", "ddp", [cause([0], LATE, "/data/train")], "The smallest job: rank 0 reads its input for 7 ms.", ranks=2, faults=[("input", [0], {"path": "/data/train.bin", "ns": 7 * MS})])
job("ddp_bad_riser_64", "ddp", [cause([37], COPY)], "One GPU hangs on a slow PCIe link: its batches take twelve times as long.", ranks=64, steps=4, layers=2, batch_bytes=38 << 20,
    faults=[("copies", [37], {"factor": 12})], skew_ms={"2": 50, "5": -50}, also=["fleet.skewed_clock"])
job("ddp_no_comms_8", "ddp", [cause([5], LATE, r"collate|data\.py:40")], "An NCCL that tells nothing about its communicators; one rank collates for long.", ranks=8, comms=False,
    faults=[("collate", [5], {"ns": 4 * MS})])
job("ddp_warm_8", "ddp", [cause([2], LATE, r"collate|data\.py:40")], "Recorded from step 7 on for three steps.", ranks=8, steps=3, first_step=7, warm=True,
    faults=[("collate", [2], {"ns": 6 * MS})])

# The same, recorded by torch.profiler and Nsight Systems.
job("kineto_loader_8", "ddp", [cause([3], LATE, "DataLoader|dataloader")], "torch.profiler, steps 7 to 9, with stacks: one rank waits for its loader.", ranks=8, steps=3, first_step=7, format="kineto",
    faults=[("input", [3], {"by": "loader", "ns": 8 * MS})])
job("kineto_slow_gpu_16", "ddp", [cause([9], SLOW)], "torch.profiler without stacks: one GPU is slow, hosts are 50 ms apart.", ranks=16, steps=4, first_step=11, format="kineto", with_stack=False,
    faults=[("slow_gpu", [9], {"factor": 1.4})], skew_ms={"1": -50}, also=["fleet.skewed_clock"])
job("kineto_unnumbered_8", "ddp", [cause([4], LATE, r"collate|data\.py")], "Nothing but the names of the files tells the ranks.", ranks=8, steps=3, first_step=7, format="kineto", numbered=False,
    file_name="profile_rank_{}.json", faults=[("collate", [4], {"ns": 6 * MS})])
job("kineto_rocm_8", "ddp", [cause([6], MORE)], "MI300X: one rank gets longer sequences.", ranks=8, steps=4, first_step=7, format="kineto", gpu="AMD Instinct MI300X",
    faults=[("tokens", [6], {"scale": 1.5})])
job("kineto_even_4", "fsdp", NOBODY, "torch.profiler: sharded training, nobody is late; a fifth is exposed communication.", accept=["fleet.network", "nccl.exposed"], ranks=4, steps=4, first_step=7, format="kineto")
job("kineto_runs_ahead_8", "fsdp", [cause([1], SLOW)], "torch.profiler, no loss is read: hosts run ahead, one GPU is slow.", ranks=8, steps=5, first_step=7, item_every=0, format="kineto",
    faults=[("slow_gpu", [1], {"factor": 1.35})])
job("nsys_loader_4", "ddp", [cause([1], LATE, "load|pthread_cond_timedwait")], "Nsight Systems, a file for each rank: one waits for its loader.", ranks=4, steps=6, format="nsys", step_name="step",
    faults=[("input", [1], {"by": "loader", "ns": 6 * MS})])
job("nsys_node_8", "ddp", [cause([5], SLOW, about=r"rank 5\b|(GPU|gpu|device) ?5\b|\b3135\b")], "Nsight Systems, one file of a node with its eight processes: one GPU is slow.", ranks=8, steps=5,
    format="nsys", one_file=True, step_name="step", faults=[("slow_gpu", [5], {"factor": 1.4})])
job("nsys_even_8", "fsdp", NOBODY, "Nsight Systems without NCCL's messages: nobody is late; a fifth is exposed communication.", accept=["fleet.network", "nccl.exposed"], ranks=8, steps=5, format="nsys", comms=False, step_name="train_step")

# Sharded training and JAX.
job("fsdp_collate_8", "fsdp", [cause([6], LATE, r"collate|data\.py:40")], "One rank collates for long; every layer gathers and scatters.", ranks=8, faults=[("collate", [6], {"ns": 5 * MS})])
job("fsdp_tokens_32", "fsdp", [cause([19], MORE)], "One rank of 32 gets longer sequences.", ranks=32, steps=4, layers=3, faults=[("tokens", [19], {"scale": 1.4})],
    skew_ms={"3": 50, "1": -30}, also=["fleet.skewed_clock"])
job("jax_input_16", "jax", [cause([10], LATE, r"/gcs|get_batch|input_pipeline|shard_batch")], "pjit on two hosts: one rank reads its shard for 5 ms.", ranks=16,
    faults=[("input", [10], {"path": "/gcs/c4/shard-77.arrayrecord", "ns": 5 * MS})], command="python train_lib.py")
job("jax_even_8", "jax", NOBODY, "pjit: nobody is late.", ranks=8, command="python train_lib.py")

# Groups within groups.
job("tp4_dp2_host_8", "megatron", [cause([6], LATE, r"collate|data\.py:40")], "Tensor parallel by four, data parallel by two: one rank's host is late.", ranks=8, tensor=4,
    faults=[("collate", [6], {"ns": 4 * MS})])
job("tp8_dp8_throttled_64", "megatron", [cause([21], SLOW, "MHz")], "Eight nodes of tensor groups: one GPU of 64 is hot.", ranks=64, tensor=8, steps=4, layers=1, metrics=True,
    faults=[("slow_gpu", [21], {"factor": 1.5, "mhz": 1290})], skew_ms={"1": 50, "4": -50, "6": 17}, also=["fleet.skewed_clock"])
job("tp2_pp4_head_8", "megatron", [cause([6, 7], MORE)], "Four stages: the last one has the head of the model, and is what all wait for.", ranks=8, tensor=2, pipeline=4, micro_batches=6, steps=4,
    head=5, accept=["fleet.turns"])
job("tp2_pp4_even_16", "megatron", NOBODY, "A pipeline has bubbles, and nobody is late.", ranks=16, tensor=2, pipeline=4, micro_batches=8, steps=4, accept=["fleet.turns"])
job("tp4_dp4_replica_16", "megatron", [cause([8, 9, 10, 11], MORE)], "One replica, a tensor group of four ranks, gets longer sequences.", ranks=16, tensor=4, steps=6,
    faults=[("tokens", [8, 9, 10, 11], {"scale": 1.45})])
job("tp2_pp2_dp2_two_8", "megatron", [cause([1], LATE, "gc_collect_main"), cause([6], SLOW)], "The collector stops one rank, and the GPU of another one is slow.", any_first=True, ranks=8, tensor=2,
    pipeline=2, micro_batches=4, steps=8, faults=[("gc", [1], {"share": 0.5, "ns": 18 * MS}), ("slow_gpu", [6], {"factor": 1.5})], accept=[])
job("slow_rail_32", "megatron", [cause([], "fleet.network", r"node0[23]|ranks? (16|17|2\d|3[01])|stage|data")],
    "Reductions between two of four nodes take five times as long as those between the others, with as many ranks.", ranks=32, tensor=8, pipeline=2, micro_batches=2, steps=5, layers=1,
    stage_wire_ns={0: 500 * US, 1: 2500 * US})
job("tp4_dp2_kineto_8", "megatron", [cause([3], SLOW)], "torch.profiler: one GPU of a tensor group is slow.", ranks=8, tensor=4, steps=3, first_step=7, format="kineto",
    faults=[("slow_gpu", [3], {"factor": 1.5})])

# Experts and inference.
job("moe_hot_8", "experts", [cause([3], MORE)], "The experts of one rank get twice the tokens.", ranks=8, steps=6, faults=[("hot_expert", [3], {"scale": 1.9})])
job("moe_even_16", "experts", NOBODY, "Tokens vary from layer to layer, and nobody has more in the long run.", ranks=16, steps=5)
job("moe_kineto_8", "experts", [cause([5], MORE)], "torch.profiler: the experts of one rank get twice the tokens.", ranks=8, steps=4, step_name="ProfilerStep#{}", first_step=7, format="kineto",
    faults=[("hot_expert", [5], {"scale": 2.0})])
job("vllm_preempted_4", "decode", [cause([2], LATE, r"preempt|other threads|waiting for a CPU|processor")], "A worker of a tensor-parallel engine loses its processor to others.", ranks=4, steps=16, warm=True,
    command="VLLM::Worker_TP", faults=[("preempted", [2], {"times": 2, "ns": 700 * US})])
job("vllm_scheduler_8", "decode", [cause([0], LATE, "schedul")], "All workers wait for the scheduler, which runs on rank 0.", ranks=8, steps=14, warm=True, command="VLLM::Worker_TP", scheduler_ns=1800 * US)
job("vllm_even_kineto_4", "decode", NOBODY, "A tensor-parallel engine decodes, nobody is late.", ranks=4, steps=10, format="kineto", accept=["fleet.network", "nccl.exposed", "idle.*", "launch.*"])
job("prefill_dp4_8", "prefill", [cause([4, 5], MORE)], "One of four engines gets longer prompts.", ranks=8, steps=8, faults=[("tokens", [4, 5], {"scale": 1.8})])

# MPI and gloo.
job("halo_cells_8", "halo", [cause([4], MORE)], "A solver on GPUs: one rank has half as many cells again.", ranks=8, steps=12, command="./solver", rank_source="Slurm",
    faults=[("tokens", [4], {"scale": 1.5})])
job("halo_copies_4", "halo", [cause([2], COPY)], "A solver on GPUs: the borders of one rank take ten times as long to copy.", ranks=4, steps=12, command="./solver", rank_source="Open MPI",
    faults=[("copies", [2], {"factor": 10})])
job("halo_even_16", "halo", NOBODY, "A solver on GPUs, nobody is late.", ranks=16, steps=10, command="./solver", rank_source="Slurm")
job("cpu_forcing_16", "cpu", [cause([11], LATE, r"/archive/forcing|read_forcing")], "Ranks without a GPU: one reads its forcing from the wrong file system.", ranks=16, has_gpu=False, steps=10,
    command="./solver", rank_source="Slurm", faults=[("input", [11], {"path": "/archive/forcing.nc", "ns": 5 * MS})])
job("cpu_cells_32", "cpu", [cause([5], LATE, r"assemble|solve|cg_iterate")], "Ranks without a GPU: one has more cells.", ranks=32, has_gpu=False, steps=8, command="./solver", rank_source="Slurm",
    faults=[("tokens", [5], {"scale": 1.45})], accept=[])
job("cpu_restart_8", "cpu", [cause([0], LATE, r"restart")], "Ranks without a GPU: rank 0 writes a restart file in every third step.", ranks=8, has_gpu=False, steps=12, command="./solver",
    rank_source="Open MPI", faults=[("checkpoint", [0], {"every": 3, "ns": 40 * MS})])
job("cpu_even_64", "cpu", NOBODY, "Ranks without a GPU, nobody is late.", ranks=64, has_gpu=False, steps=6, command="./solver", rank_source="Slurm", skew_ms={"3": 50}, also=["fleet.skewed_clock"])
job("bcast_8", "broadcast", [cause([0], LATE, r"/data/all|read_batch")], "Rank 0 reads what all need, and broadcasts it.", ranks=8, steps=8, command="./train", rank_source="Slurm",
    path="/data/all.h5", read_ns=12 * MS)
job("tiles_6", "pipeline_of_hosts", [cause([3], LATE, r"filter")], "Each rank passes tiles on to the next; one takes twice as long as the others.", ranks=6, has_gpu=False, steps=20, command="./tiles",
    rank_source="Open MPI", faults=[("tokens", [3], {"scale": 2.0})], accept=[])
job("gloo_read_8", "gloo", [cause([2], LATE, r"/data/cifar|DataLoader")], "Training on CPUs with gloo: one rank reads slowly.", ranks=8, has_gpu=False, steps=6,
    faults=[("input", [2], {"path": "/data/cifar.bin", "ns": 14 * MS})])
job("gloo_kineto_4", "gloo", [cause([1], LATE, r"DataLoader|/data|read")], "torch.profiler of training on CPUs with gloo: one rank reads slowly.", ranks=4, has_gpu=False, steps=4, first_step=7, format="kineto",
    faults=[("input", [1], {"path": "/data/cifar.bin", "ns": 14 * MS})])
job("farm_5", "task_farm", [cause([0], LATE, "prepare_task")], "Rank 0 prepares tasks one after the other; four GPUs wait for it.", ranks=5, steps=10, command="python farm.py", rank_source="Open MPI",
    prepare_ns=2 * MS)

# One process, warm.
UP = ["start_up"]
single("warm_full_queue", "full_queue", ["kernel_bound"], "The queue is full for seconds: calls wait for room, the GPU for nothing.", wrong=[*UP, "launch_bound", "idle.*", "sync.*"], steps=3, first_step=7,
       warm=True)
single("warm_full_queue_kineto", "full_queue", ["kernel_bound"], "The same by torch.profiler.", wrong=[*UP, "launch_bound", "idle.*", "sync.*"], steps=3, first_step=7, format="kineto")
single("warm_small_kernels", "small_kernels", ["launch_bound"], "Eager code of kernels of 3 us.", also=["host_code", "few_threads", "sync"], wrong=[*UP, "kernel_bound"], steps=3, first_step=7,
       format="kineto")
single("warm_items", "items", ["sync"], "A norm of each layer is read by .item().", also=["host_code", "kernel_bound", "blocking_copy", "pageable"], wrong=UP, steps=4, first_step=20, warm=True)
single("warm_loader", "loader", ["os_wait", "host_code"], "Each step waits 9 ms for the loader.", also=["sync", "kernel_bound"], wrong=UP, words=["DataLoader|dataloader"], steps=3, first_step=7,
       format="kineto", wait_ns=9 * MS)
single("warm_pageable", "pageable", ["pageable"], "Batches of 77 MB are copied from pageable memory.", also=["blocking_copy", "overlap", "copy_bound", "sync"], wrong=UP, steps=4, first_step=7, format="nsys",
       step_name="step")
single("warm_engine", "engine", ["host_code"], "A scheduler in Python runs for longer than the graph that it launches.", also=["launch_bound", "sync", "few_threads"], wrong=UP, words=["schedul"], steps=20,
       step_name="execute_context_0(0)_generation_64(64)", warm=True, scheduler_ns=4 * MS, command="VLLM::EngineCore")
single("cold_compiles", "compiles", ["start_up"], "Recorded from its beginning: the first step compiles for 1.4 s. What warm captures are not.", also=["host_code"], wrong=["kernel_bound", "launch_bound"], steps=6,
       first_step=0)
single("warm_slow_optimizer", "slow_optimizer", ["launch_bound"], "An optimizer with a kernel for each parameter.", also=["host_code", "few_threads", "sync", "kernel_bound"], wrong=UP, steps=3, first_step=7,
       format="kineto")
single("warm_as_it_should_be", "accumulates", ["kernel_bound"], "Nothing waits; the time is in matrix products.", also=["nothing"], wrong=[*UP, "launch_bound", "idle.*", "sync.*", "pageable"], steps=3,
       first_step=30, format="nsys", step_name="step")

# Recorded on a machine with two processors (real/record.sh).


def real(name, causes, why, files=None, **more):
    job(f"real_{name}", None, causes, why, ranks=0, files=files or f"{name}_*.trace", **more)


real("sleep", [cause([2], LATE, r"load|nanosleep|sleep")], "Four ranks of Open MPI: rank 2 sleeps for 10 ms longer in `load`.")
real("busy", [cause([1], LATE, r"compute|relax")], "Two ranks: rank 1 computes three times as much.")
real("write", [cause([0], LATE, r"restart|fsync|write")], "Three ranks: rank 0 writes a restart file, piece by piece, in every third step.")
real("bcast", [cause([0], LATE, r"read_input|nanosleep|sleep")], "Four ranks: rank 0 takes 10 ms for the input that it broadcasts.")
real("ring", [cause([3], LATE, r"assemble|nanosleep|sleep")], "Four ranks that exchange with their neighbours only: rank 3 takes 7 ms longer.")
real("even", NOBODY, "Three ranks, nobody is late.")
real("mpich", [cause([2], LATE, r"load|nanosleep|sleep")], "Four ranks of MPICH: rank 2 sleeps for 10 ms longer in `load`.")
real("python", [cause([1], LATE, r"collate")], "Two ranks of Python: rank 1 collates six times as much.")
ALL.append({"name": "real_together", "program": None, "tool": "report", "ranks": 0, "files": "together.trace", "first": ["mpi.late_rank", "late_rank"], "also": [], "wrong": ["start_up"],
            "words": [r"rank 2\b"], "why": "The four ranks of `sleep` in one trace of mpirun: the report names rank 2.", "faults": []})
