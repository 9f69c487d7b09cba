"""Calls of MPI: what four processes did with Open MPI and with MPICH is in the trace, and nothing of it is different."""
import collections
import json
import os
import pathlib
import shutil
import subprocess
import unittest

import harness

SOURCES = pathlib.Path(__file__).resolve().parent / "programs"
RANKS = 4
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
WORLD, ANY = 1, -2
INT, DOUBLE = 4, 8


class Mpi:
    """Mixed into a test case for each library."""
    suffix = ""

    def setUp(self):
        super().setUp()
        self.ticks = {}  # of processors, by process, when it was first asked for

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if shutil.which("mpicc" + cls.suffix) is None:
            raise unittest.SkipTest(f"mpicc{cls.suffix} is not installed")
        done = subprocess.run(["mpirun" + cls.suffix, "-n", str(RANKS), "true"], env={**os.environ, **AS_ROOT}, check=False,
                              capture_output=True, timeout=harness.DEADLINE_S, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise unittest.SkipTest(f"mpirun{cls.suffix} starts nothing here: {done.stderr.decode()[-300:]}")

    def build(self, name, compiler, *sources):
        program = self.folder / name
        subprocess.run([compiler + self.suffix, "-O1", "-o", program, *(SOURCES / s for s in sources), "-ldl"], check=True,
                       capture_output=True, timeout=harness.DEADLINE_S)
        return program

    def command_of(self, program, *arguments):
        return ["-n", str(RANKS), str(program), *arguments]

    def record(self, program, *arguments, options=()):
        run = self.profile(shutil.which("mpirun" + self.suffix), *self.command_of(program, *arguments), options=options,
                           env=AS_ROOT)
        self.assertEqual(run.code, 0, run.err)
        return run

    def calls_by_rank(self, trace):
        ranks = {p["pid"]: p["rank"] for p in trace.of("process") if p.get("rank", -1) >= 0}
        self.assertEqual(sorted(ranks.values()), list(range(RANKS)))
        calls = collections.defaultdict(list)
        for call in trace.of("mpi_call"):
            calls[ranks[call["chunk_pid"]]].append(call)
        return calls

    def test_what_each_call_was_about(self):
        program = self.build("mpi_facts", "mpicc", "mpi_facts.c")
        plain = subprocess.run([shutil.which("mpirun" + self.suffix), *self.command_of(program)], capture_output=True,
                               env={**self.environment("13.0", None), **AS_ROOT}, timeout=harness.DEADLINE_S, check=True)
        run = self.record(program)
        told = lambda text: sorted(line for line in text.splitlines() if '"sum"' in line or '"put"' in line)
        self.assertEqual(told(run.out), told(plain.stdout.decode()))
        self.assertEqual(len(told(run.out)), 2 * RANKS)
        self.assertEqual(run.trace.problems, [])
        calls = self.calls_by_rank(run.trace)
        for rank in range(RANKS):
            self.check_calls(rank, calls[rank])
        polls = json.loads(next(line for line in run.out.splitlines() if '"polls"' in line))["count"]
        recorded = [c["duration_ns"] for c in calls[0] if c["function"] == "MPI_Test"]
        self.assertLessEqual(len(recorded), polls)
        self.assertGreaterEqual(min(recorded, default=1000), 1000)

    def check_calls(self, rank, calls):
        right, left = (rank + 1) % RANKS, (rank + RANKS - 1) % RANKS
        found = [(c["function"], c.get("peer", -1), c.get("tag", -1), c["sent_bytes"], c["received_bytes"], c["communicator"],
                  c["communicator_size"]) for c in calls if c["function"] != "MPI_Test"]
        each = (rank + 1) * INT
        expected = [
            ("MPI_Barrier", -1, -1, 0, 0, WORLD, RANKS),
            ("MPI_Sendrecv", right, 7, 100 * INT, 100 * INT, WORLD, RANKS),
            ("MPI_Irecv", left, 8, 0, 50 * INT, WORLD, RANKS),
            ("MPI_Isend", right, 8, 50 * INT, 0, WORLD, RANKS),
            ("MPI_Waitall", -1, -1, 0, 0, 0, 0),
            *([("MPI_Send", 1, 9, 3 * 12, 0, WORLD, RANKS)] if rank == 0 else []),
            *([("MPI_Recv", ANY, -1, 0, 5 * 12, WORLD, RANKS)] if rank == 1 else []),
            ("MPI_Send", -1, 10, 0, 0, WORLD, RANKS),
            ("MPI_Allreduce", -1, -1, 1000 * DOUBLE, 1000 * DOUBLE, WORLD, RANKS),
            ("MPI_Allreduce", -1, -1, 500 * DOUBLE, 500 * DOUBLE, WORLD, RANKS),
            ("MPI_Bcast", 1, -1, *((1 << 20, 0) if rank == 1 else (0, 1 << 20)), WORLD, RANKS),
            ("MPI_Gather", 0, -1, *((0, RANKS * INT) if rank == 0 else (INT, 0)), WORLD, RANKS),
            ("MPI_Scatterv", 0, -1, *((10 * INT, 0) if rank == 0 else (0, each)), WORLD, RANKS),
            ("MPI_Allgatherv", -1, -1, each, 10 * INT, WORLD, RANKS),
            ("MPI_Alltoallv", -1, -1, 8 * INT, 8 * INT, WORLD, RANKS),
            ("MPI_Reduce", 3, -1, *((0, 80) if rank == 3 else (80, 0)), WORLD, RANKS),
            ("MPI_Comm_split", -1, -1, 0, 0, WORLD, RANKS),
            ("MPI_Allreduce", -1, -1, 16, 16, 2, 2),
            ("MPI_Comm_free", -1, -1, 0, 0, 0, 0),
            ("MPI_Win_create", -1, -1, 0, 0, 0, 0),
            ("MPI_Win_fence", -1, -1, 0, 0, 0, 0),
            ("MPI_Put", right, -1, 4 * INT, 0, 0, 0),
            ("MPI_Win_fence", -1, -1, 0, 0, 0, 0),
            ("MPI_Win_free", -1, -1, 0, 0, 0, 0),
            *([("MPI_Irecv", 1, 99, 0, 1, WORLD, RANKS)] if rank == 0 else []),
            *([("MPI_Send", 0, 99, 1, 0, WORLD, RANKS)] if rank == 1 else []),
            ("MPI_Finalize", -1, -1, 0, 0, 0, 0),
        ]
        self.assertEqual(found, expected)
        self.assertEqual({(c["error"], c["is_unfinished"]) for c in calls}, {(0, 0)})

    def test_who_waits_for_whom(self):
        run = self.record(self.build("mpi_facts", "mpicc", "mpi_facts.c"), "late")
        together = ("MPI_Barrier", "MPI_Allreduce")
        by_rank = {rank: [c for c in calls if c["function"] in together]
                   for rank, calls in self.calls_by_rank(run.trace).items()}
        self.assertEqual({len(calls) for calls in by_rank.values()}, {11})
        waited, last = collections.Counter(), collections.Counter()
        for n in range(11):
            starts = {rank: calls[n]["start_ns"] for rank, calls in by_rank.items()}
            latest = max(starts.values())
            last[min(rank for rank in starts if starts[rank] == latest)] += 1
            for rank, calls in by_rank.items():
                waited[rank] += min(latest - starts[rank], calls[n]["duration_ns"])
        table = next(table for table in self.report(run.trace_path)["tables"] if table["id"] == "mpi_ranks")
        self.assertEqual({row["rank"]: (row["waited_ns"], row["last"]) for row in table["rows"]},
                         {f"rank {rank}": (waited[rank], last[rank]) for rank in range(RANKS)})

    def test_a_process_that_is_killed_in_a_call(self):
        program = self.build("mpi_facts", "mpicc", "mpi_facts.c")
        path, command = self.profile_command(shutil.which("mpirun" + self.suffix), self.command_of(program, "hang"), ())
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                                   env=self.environment("13.0", AS_ROOT), stdin=subprocess.DEVNULL)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        pids = {}
        for _ in range(RANKS):
            fact = json.loads(process.stdout.readline())
            self.assertEqual(fact["fact"], "ready")
            pids[fact["rank"]] = fact["pid"]
        harness.wait_for(lambda: self.waits(pids[0]), "the call")
        done = subprocess.run(["pkill", "-KILL", "-f", f"^{program} hang"], check=False)
        self.assertEqual(done.returncode, 0)
        process.wait(timeout=harness.DEADLINE_S)
        unfinished = [c for c in harness.Trace(path).of("mpi_call") if c["is_unfinished"]]
        self.assertEqual([c["function"] for c in unfinished], ["MPI_Recv"])

    def waits(self, pid):
        """Whether the first thread of a process that has only a call left sleeps in it, or has asked in vain for some ticks."""
        fields = pathlib.Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        return fields[0] == "S" or ticks >= self.ticks.setdefault(pid, ticks) + 5

    def test_it_can_be_left_out(self):
        run = self.record(self.build("mpi_facts", "mpicc", "mpi_facts.c"), options=("--only-trace", "-t", "cuda,nvtx"))
        self.assertEqual(run.trace.of("mpi_call"), [])

    def test_another_tool_keeps_its_calls(self):
        program = self.build("mpi_facts", "mpicc", "mpi_facts.c")
        tool = self.folder / "libtool.so"
        source = self.folder / "tool.c"
        source.write_text('#include <mpi.h>\n#include <stdio.h>\nint MPI_Barrier(MPI_Comm c) { puts("{\\"fact\\":\\"tool\\"}");'
                          " return PMPI_Barrier(c); }\n")
        subprocess.run(["mpicc" + self.suffix, "-shared", "-fPIC", "-o", tool, source], check=True, capture_output=True)
        wrapper = self.folder / "wrapped"
        wrapper.write_text(f'#!/bin/sh\nLD_PRELOAD="{tool}" exec "{program}" "$@"\n')
        wrapper.chmod(0o755)
        run = self.record(wrapper)
        self.assertEqual(run.out.count('"tool"'), RANKS)
        self.assertEqual(run.trace.of("mpi_call"), [])
        notices = {n["message"] for n in run.trace.of("notice")}
        self.assertEqual({n for n in notices if "another tool intercepts them" in n},
                         {"MPI calls are not recorded: another tool intercepts them"})

    def test_fortran(self):
        if shutil.which("gfortran") is None:
            self.skipTest("there is no gfortran")
        helper = self.folder / "start_cuda.o"
        subprocess.run(["cc", "-c", "-o", helper, SOURCES / "start_cuda.c"], check=True)
        program = self.folder / "fortran_facts"
        subprocess.run(["mpif90" + self.suffix, "-o", program, SOURCES / "mpi_facts.f90", helper, "-ldl"], check=True,
                       capture_output=True)
        run = self.record(program)
        for rank, calls in self.calls_by_rank(run.trace).items():
            found = [(c["function"], c["sent_bytes"], c["received_bytes"]) for c in calls]
            expected = [("MPI_Allreduce", INT, INT), ("MPI_Bcast", *((8 * INT, 0) if rank == 1 else (0, 8 * INT))),
                        ("MPI_Finalize", 0, 0)]
            self.assertEqual(found, expected)


class OpenMpi(Mpi, harness.Case):
    suffix = ".openmpi"


class Mpich(Mpi, harness.Case):
    suffix = ".mpich"


if __name__ == "__main__":
    harness.main()
