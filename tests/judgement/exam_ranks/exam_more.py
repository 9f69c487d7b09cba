"""The second part of the examination: harder and messier jobs. Labelled after the first part had been scored, and before this one was."""

from exam import ALL, COPY, LATE, MORE, NOBODY, SLOW, UP, cause, job, single
from simulate import MS, US


def merged(name, program, words, why, also=(), **more):
    """All captures of a job given to `report` at once, which has to say who the others wait for before it says anything else."""
    ALL.append({"name": name, "program": program, "tool": "report", "first": ["nccl.straggler", "traces.straggler", "balance.uneven"], "also": list(also), "wrong": [*UP, "launch_bound"],
                "words": words, "why": why, "faults": [dict(zip(("kind", "ranks"), fault[:2]), **fault[2]) for fault in more.pop("faults")], **more})


job("anybody_16", "ddp", NOBODY, "In each step another rank is late, by chance: there is a lot of waiting, and no rank to blame.", ranks=16, steps=14,
    faults=[("anybody", range(16), {"ns": 5 * MS})])
job("less_work_8", "ddp", NOBODY, "One rank gets half the tokens and waits for all others: it is not late, nor are they.", ranks=8, faults=[("tokens", [5], {"scale": 0.5})])
job("throttles_midway_8", "ddp", [cause([3], SLOW, "MHz")], "One GPU gets hot in the middle of the capture.", ranks=8, steps=12, metrics=True,
    faults=[("slow_gpu", [3], {"factor": 1.5, "mhz": 1290, "from": 6})])
job("saves_once_8", "ddp", [cause([0], LATE, r"save_checkpoint|checkpoint\.py|write")], "torch.profiler: rank 0 saves once in five steps.", ranks=8, steps=5, first_step=97, format="kineto",
    faults=[("checkpoint", [0], {"every": 3, "ns": 90 * MS})], also=[COPY])
job("input_of_all_8", "ddp", NOBODY, "All ranks wait for their loaders: slow, and nobody is late.", ranks=8, faults=[("input", range(8), {"by": "loader", "ns": 6 * MS})],
    accept=["os.*", "idle.*"])
job("profiler_starts_later_8", "ddp", NOBODY, "torch.profiler of one rank began a step later than those of the others; nobody is late.", ranks=8, steps=6, first_step=7, recorded_steps=4,
    late_start={5: 1, 0: 0}, format="kineto", accept=["fleet.not_compared"])
job("slow_processor_8", "decode", [cause([6], LATE)], "The processor of one rank is slow at everything, and kernels are shorter than launching them.", ranks=8, steps=14, warm=True,
    command="VLLM::Worker_TP", faults=[("slow_host", [6], {"factor": 2.0})])
job("long_names_8", "fsdp", [cause([7], SLOW)], "torch.profiler: names with many numbers, of which one is the rank.", ranks=8, steps=3, first_step=7, format="kineto", numbered=False,
    file_name="mega-gpt-tp8-pp1-dp1_node0_rank{}_1718390.pt.trace.json.gz", faults=[("slow_gpu", [7], {"factor": 1.5})])
job("messy_read_16", "ddp", [cause([9], LATE, "/nfs")], "Ranges of autograd, a thread that pins memory; one rank reads slowly, hosts are 50 ms apart.", ranks=16, messy=True,
    faults=[("input", [9], {"path": "/nfs/shard-9.tar", "ns": 6 * MS})], skew_ms={"1": 50}, also=["fleet.skewed_clock"])
job("messy_even_8", "ddp", NOBODY, "The same mess, and nobody is late.", ranks=8, messy=True)
job("halo_throttled_8", "halo", [cause([6], SLOW, "MHz")], "A solver of MPI: one GPU is hot.", ranks=8, steps=12, command="./solver", rank_source="Slurm", metrics=True,
    faults=[("slow_gpu", [6], {"factor": 1.5, "mhz": 1290})])
job("graphs_tp4", "decode", [cause([1], SLOW)], "Decoding in pieces of CUDA graphs: one GPU is slow.", ranks=4, steps=12, warm=True, graphs=True, layers=16, command="VLLM::Worker_TP", host_ns=300 * US,
    faults=[("slow_gpu", [1], {"factor": 1.8})])
job("gloo_even_4", "gloo", NOBODY, "torch.profiler of training on CPUs: nobody is late.", ranks=4, has_gpu=False, steps=4, first_step=7, format="kineto")
job("cpu_two_read_16", "cpu", [cause([4, 12], LATE, r"/archive/forcing|read_forcing")], "Ranks without a GPU: two read from the wrong file system.", ranks=16, has_gpu=False, steps=10,
    command="./solver", rank_source="Slurm", faults=[("input", [4, 12], {"path": "/archive/forcing.nc", "ns": 5 * MS})])
job("pageable_rank_4", "ddp", [cause([3], COPY)], "One rank forgot to pin its batches: the same bytes take eight times as long.", ranks=4, batch_bytes=24 << 20,
    faults=[("copies", [3], {"factor": 8, "pageable": True})], accept=[])
job("slow_stage_8", "megatron", [cause([2, 3], SLOW)], "Both GPUs of the second of four stages are slow.", ranks=8, tensor=2, pipeline=4, micro_batches=6, steps=4,
    faults=[("slow_gpu", [2, 3], {"factor": 1.5})])
job("moe_network_16", "experts", [cause([], "fleet.network")], "All-to-alls between two nodes take 1.2 ms, and nobody is late.", ranks=16, steps=4, wire_ns=1200 * US, accept=["nccl.exposed"])
job("kineto_read_2", "ddp", [cause([1], LATE, r"DataLoader|read")], "torch.profiler without stacks, two ranks: one reads slowly.", ranks=2, steps=4, first_step=7, format="kineto", with_stack=False,
    faults=[("input", [1], {"path": "/data/x", "ns": 7 * MS})])
job("nsys_tokens_16", "fsdp", [cause([12], MORE)], "Nsight Systems, two nodes: one rank gets longer sequences.", ranks=16, steps=5, format="nsys", step_name="train_step", faults=[("tokens", [12], {"scale": 1.5})],
    skew_ms={"1": 50}, also=["fleet.skewed_clock"])

merged("report_collate_8", "ddp", [r"rank 5\b", r"collate|data\.py:40"], "All traces of a job in one report: the others wait for rank 5, which collates.", ranks=8,
       faults=[("collate", [5], {"ns": 4500 * US})])
merged("report_two_late_8", "ddp", [r"rank 0\b", r"rank 6\b"], "Two ranks are late in turn, both in host code.", ranks=8, steps=12,
       faults=[("gc", [0], {"share": 0.5, "ns": 12 * MS}), ("collate", [6], {"ns": 4 * MS})])
merged("report_kineto_8", "ddp", [r"rank 3\b"], "All captures of torch.profiler in one report: one rank waits for its loader.", ranks=8, steps=3, first_step=7, format="kineto",
       faults=[("input", [3], {"by": "loader", "ns": 8 * MS})])
merged("report_nsys_node_4", "ddp", [r"(rank|GPU|gpu) ?2\b"], "One export of a node with four processes: one waits for its loader.", ranks=4, steps=6, format="nsys", one_file=True, step_name="step",
       faults=[("input", [2], {"by": "loader", "ns": 6 * MS})])
merged("report_jax_node_4", "jax", [r"(rank|GPU|gpu) ?2\b"], "One process of JAX with four GPUs, one of which is slow.", ranks=4, steps=6, format="xla",
       faults=[("tokens", [2], {"scale": 1.5})])
single("warm_no_steps", "accumulate_grad", ["kernel_bound"], "Ranges of autograd alone, none of which is a step; kernels fill the time.", wrong=[*UP, "launch_bound", "idle.*", "steps.*"], steps=5, first_step=0,
       format="kineto")
