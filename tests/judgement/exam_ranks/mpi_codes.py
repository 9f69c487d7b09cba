"""Codes of MPI, with a GPU and without, and training on CPUs with gloo."""

from simulate import COMPUTE, MS, US, fault_of
from training import begin, clocks, stall

STENCIL = [("void advect_kernel<double>(Field, Field const, Grid)", 420), ("void diffuse_kernel<double>(Field, Field const, Grid)", 380),
           ("void pressure_smooth<double>(Field, Field const, Grid)", 510)]


def everybody(r):
    return tuple(range(r.job["ranks"]))


def shift(r, what, to, source):
    """MPI_Sendrecv to one neighbour and from the other: it waits for the one that it receives from."""
    r.world.meeting((what, r.number), (r.number,), 90 * US).arrive(r.number, r.t)
    while (what, source) not in r.world.meetings:
        yield
    end = max(r.t + 95 * US, r.world.meetings[what, source].end)
    r.note("mpi", start=r.t, ns=end - r.t, tid=r.tid, function="MPI_Sendrecv", size=2 << 20, peer=to, ranks=r.job["ranks"])
    r.t = end


def halo(r):
    """A solver on GPUs: neighbours in a ring exchange borders, and all reduce a residual now and then."""
    ranks, job = r.job["ranks"], r.job
    left, right = (r.number - 1) % ranks, (r.number + 1) % ranks
    begin(r)
    cells = (fault_of(r, "tokens") or {}).get("scale", 1.0)
    for step in range(job["steps"]):
        with r.span(job.get("step_name", "timestep")):
            with r.span("boundary_conditions"):
                r.host(job.get("load_ns", 150 * US))
                stall(r, step)
            for name, us in STENCIL:
                r.kernel(name, us * US * cells, grid=(int(4096 * cells), 1, 1), block=(32, 8, 1), call_ns=4000)
            slow = (fault_of(r, "copies") or {}).get("factor", 1)
            with r.span("exchange"):
                packed = r.copy("DtoH", 2 << 20, 42 * US * slow)
                yield from r.wait([packed])
                yield from shift(r, ("up", step), right, left)
                yield from shift(r, ("down", step), left, right)
                r.copy("HtoD", 2 << 20, 40 * US * slow)
            if step % job.get("reduce_every", 1) == 0:
                r.kernel("void residual_norm<double>(Field const, double*)", 45 * US)
                yield from r.item()
                yield from r.mpi("MPI_Allreduce", ("norm", step), everybody(r))
    yield from r.drain()
    clocks(r)


def cpu(r):
    """A solver on CPUs: reads forcing, assembles, solves, reduces."""
    job = r.job
    r.host(MS)
    for step in range(job["steps"]):
        with r.span(job.get("step_name", "timestep")):
            with r.span("read_forcing"):
                fault = fault_of(r, "input")
                r.read("/scratch/forcing.nc" if not fault else fault["path"], fault["ns"] if fault else 300 * US)
            cells = (fault_of(r, "tokens") or {}).get("scale", 1.0)
            with r.span("assemble"), r.at(("solver.c", 80, 131, "assemble_matrix")):
                r.host(2.5 * MS * cells)
                stall(r, step)
            with r.span("solve"), r.at(("solver.c", 200, 244, "cg_iterate")):
                for i in range(job.get("iterations", 3)):
                    r.host(1.4 * MS * cells)
                    yield from r.mpi("MPI_Allreduce", ("cg", step, i), everybody(r), 22 * US, 8)
            fault = fault_of(r, "checkpoint")
            if fault and (step + 1) % fault["every"] == 0:
                with r.span("write_restart"), r.at(("output.c", 10, 52, "write_restart")):
                    r.read("/scratch/restart.h5", fault["ns"], 256 << 20, "write")
            yield from r.mpi("MPI_Barrier", ("end", step), everybody(r), 10 * US, 0)


def broadcast(r):
    """Rank 0 reads the input of all and broadcasts it."""
    job = r.job
    begin(r)
    for step in range(job["steps"]):
        with r.span("epoch_batch"):
            if r.number == 0:
                with r.span("read_batch"), r.at(("main.c", 60, 77, "read_batch")):
                    r.read(job["path"], job["read_ns"], 48 << 20)
            yield from r.mpi("MPI_Bcast", ("input", step), everybody(r), 400 * US, 48 << 20, 0)
            copied = r.copy("HtoD", 48 << 20, 950 * US)
            for name, us in STENCIL[:2] * 2:
                r.kernel(name, us * US, after=[copied])
            yield from r.item()
            yield from r.mpi("MPI_Allreduce", ("loss", step), everybody(r))
    yield from r.drain()


def pipeline_of_hosts(r):
    """Ranks without a GPU that pass work on: each waits for the one before it, and one takes longest."""
    job = r.job
    r.host(MS)
    for step in range(job["steps"]):
        with r.span("tile"):
            if r.number:
                yield from r.mpi("MPI_Recv", ("tile", step, r.number), (r.number - 1, r.number), 30 * US, 1 << 20, r.number - 1)
            with r.span("filter"), r.at(("filter.cpp", 30, 66, "apply_filter")):
                r.host(job.get("stage_ns", 3 * MS) * ((fault_of(r, "tokens") or {}).get("scale", 1.0)))
            if r.number + 1 < job["ranks"]:
                yield from r.mpi("MPI_Send", ("tile", step, r.number + 1), (r.number, r.number + 1), 30 * US, 1 << 20, r.number + 1)


def gloo(r):
    """Data parallel training on CPUs: a backend thread reduces, the loop waits for it."""
    job = r.job
    r.host(MS)
    members = everybody(r)
    for step in range(job["steps"]):
        with r.span(job.get("step_name", "ProfilerStep#{}").format(job["first_step"] + step)):
            with r.span("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"), r.at(("train.py", 30, 71, "main")):
                r.host(900 * US)
                fault = fault_of(r, "input")
                if fault:
                    r.read(fault["path"], fault["ns"], 16 << 20)
                stall(r, step)
            with r.span("forward"):
                for _ in range(4):
                    with r.span("aten::addmm", domain="op"):
                        r.host(1.5 * MS)
                    with r.span("aten::gelu", domain="op"):
                        r.host(250 * US)
            with r.span("backward"), r.on_thread(2):
                for _ in range(4):
                    with r.span("aten::mm", domain="op"):
                        r.host(2.8 * MS)
            with r.span("gloo:all_reduce"):
                end = yield from r.meet(("gradients", step), members, 800 * US)
                r.t = end
            with r.span("Optimizer.step#SGD.step"):
                r.host(600 * US)


def task_farm(r):
    """Rank 0 hands out tasks one at a time, and takes long to prepare each; the others wait for it."""
    job = r.job
    begin(r)
    workers = job["ranks"] - 1
    for step in range(job["steps"]):
        if r.number == 0:
            with r.span("round"):
                for worker in range(1, workers + 1):
                    with r.span("prepare_task"), r.at(("farm.py", 40, 63, "prepare_task")):
                        r.host(job["prepare_ns"])
                    yield from r.mpi("MPI_Send", ("task", step, worker), (0, worker), 20 * US, 1 << 16, worker)
            continue
        with r.span("round"):
            yield from r.mpi("MPI_Recv", ("task", step, r.number), (0, r.number), 20 * US, 1 << 16, 0)
            r.copy("HtoD", 1 << 16, 5 * US)
            for name, us in STENCIL:
                r.kernel(name, us * US, stream=COMPUTE)
            yield from r.item()
    yield from r.drain()
