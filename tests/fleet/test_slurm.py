"""The lines of docs/cluster.md and docs/works-with.md for Slurm, run by a Slurm that is started for them: srun, sbatch, and ranks of MPI under srun."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import fleet
import slurm

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests"), str(SOURCE / "tests/export")]
import endings  # noqa: E402
import packages  # noqa: E402

MOCK = pathlib.Path(os.environ["GPROF_TEST_MOCK"])
PAGES = {name: (SOURCE / "docs" / name).read_text(encoding="utf-8") for name in ("cluster.md", "works-with.md")}
DEADLINE_S = 240
# A program that starts CUDA, as far as the doubles know it, and needs no MPI.
APP = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)"


def line_of(page, start):
    """The one line of a page that starts with this, without its comment."""
    found = [line.partition("  #")[0].rstrip() for line in PAGES[page].splitlines() if line.startswith(start)]
    assert len(found) == 1, (page, start, found)
    return found[0]


class Slurm(fleet.FleetTest):
    @classmethod
    def setUpClass(cls):
        why_not = slurm.why_not() or ("" if (MOCK / "13.0/libcuda.so.1").exists() else "the doubles of CUDA are not built")
        if why_not:
            raise unittest.SkipTest(why_not)
        super().setUpClass()
        place = tempfile.TemporaryDirectory(prefix="gprof-slurm-")
        cls.addClassCleanup(place.cleanup)
        cls.cluster = slurm.Cluster(place.name)
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def setUp(self):
        super().setUp()
        self.env = {**self.cluster.env, "PATH": f"{pathlib.Path(fleet.CLI).parent}:{self.cluster.env['PATH']}",
                    "LD_LIBRARY_PATH": str(MOCK / "13.0"), "GPROF_RUN_BASE": str(self.folder)}

    def shell(self, line, code=0):
        done = subprocess.run(["bash", "-c", line], env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=DEADLINE_S,
                              stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, f"{line}\n{done.stderr}")
        return done.stdout

    def ranks_in(self, folder):
        """[(file, rank, ranks, local rank, who said so)] of the traces in a folder."""
        found = []
        for path in sorted((self.folder / folder).iterdir()):
            process = next(line for line in self.cli("dump", path).stdout.splitlines() if line.startswith("process ") and " rank=" in line)
            number = {name: int(value) for name, value in re.findall(r" (rank|world_size|local_rank)=(\d+)", process)}
            source = re.search(r' rank_source="([^"]*)"', process).group(1)
            found.append((path.name, number["rank"], number["world_size"], number.get("local_rank", -1), source))
        return found

    def test_a_trace_of_each_task(self):
        line = line_of("cluster.md", "srun gprof-cli profile").replace("srun", "srun -N 2 --ntasks-per-node=2", 1)
        (self.folder / "train").write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{APP}"\n')
        (self.folder / "train").chmod(0o755)
        self.shell(f"{line_of('cluster.md', 'mkdir -p traces')} && {line}")
        self.assertEqual(self.ranks_in("traces"), [(f"rank{i}.trace", i, 4, i % 2, "Slurm") for i in range(4)])
        self.assertIn("ranks 0-3 of 4 (Slurm)", " ".join(self.shell("gprof-cli report traces/*.trace").split()))
        self.assertEqual(self.analyze("traces")["ranks"], 4)

    def test_the_line_of_works_with(self):
        line = line_of("works-with.md", "srun --ntasks-per-node=4").replace(" --gpus-per-task=1", "")  # there are none
        (self.folder / "app").write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{APP}"\n')
        (self.folder / "app").chmod(0o755)
        self.shell(line)
        self.assertIn("ranks 0-3 of 4 (Slurm)", " ".join(self.shell("gprof-cli report run-*.trace").split()))

    def test_srun_in_place_of_mpirun(self):
        line = line_of("cluster.md", "srun -N 16").replace("-N 16", "-N 2").replace("/shared/verdict", "verdict")
        self.assertIn("--ntasks-per-node=4", line)
        printed = self.shell(line.replace("traces/", f"{self.traces}/"))
        self.assertEqual(printed.count("Findings"), 1)
        self.assertEqual([path.name for path in (self.folder / "verdict").iterdir()], ["all.gpart"])
        self.assertEqual((self.folder / "verdict/all.gpart").read_bytes(), self.partial("whole.gpart", self.traces).read_bytes())

    def test_a_step_that_has_fewer_tasks_than_its_job(self):
        line = f"srun -n 2 gprof-cli ranks {self.traces} --engine mpi -o verdict"
        (self.folder / "job.sh").write_text(f"#!/bin/sh\n#SBATCH -n 4\n{line}\n")
        self.shell("sbatch --wait -o job.out job.sh")
        self.assertEqual((self.folder / "verdict/all.gpart").read_bytes(), self.partial("whole.gpart", self.traces).read_bytes())

    def test_a_job_array(self):
        script = re.search(r"```sh\n(#!/bin/sh\n#SBATCH --array.*?)```", PAGES["cluster.md"], re.S).group(1)
        (self.folder / "partial.sh").write_text(script.replace("traces/", f"{self.traces}/"))
        self.shell(f"{line_of('cluster.md', 'mkdir -p parts')} && {line_of('cluster.md', 'sbatch')} -o 'task%a.out'")
        self.assertEqual(len(list((self.folder / "parts").iterdir())), 16)
        self.cli("ranks", "parts", "-o", "all.gpart")
        self.assertEqual((self.folder / "all.gpart").read_bytes(), self.partial("whole.gpart", self.traces).read_bytes())

    def test_workers_by_dask_jobqueue(self):
        python, why = packages.python_with("dask")
        module = pathlib.Path(os.environ["GPROF_TEST_MODULE"])
        if python is None or not module.exists():
            self.skipTest(f"dask-jobqueue cannot be installed: {why}" if python is None else "the Python module is not built")
        recipe = re.search(r"```python\n(import glob.*?)```", PAGES["cluster.md"], re.S).group(1)
        recipe = recipe.replace("jobs=16", f"jobs={slurm.NODES}").replace("/shared/traces", str(self.traces))
        done = subprocess.run([python, "-c", recipe], env={**self.env, "PYTHONPATH": str(module)}, cwd=self.folder, capture_output=True,
                              text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [finding["message"] for finding in self.analyze(self.traces)["findings"]])

    def record_mpi(self, suffix, kind):
        if shutil.which(f"mpicc{suffix}") is None or kind not in self.shell("srun --mpi=list 2>&1").split():
            self.skipTest(f"mpicc{suffix}, or {kind} of Slurm, is not installed")
        source = SOURCE / "tests/e2e/tracer/programs/mpi_facts.c"
        self.shell(f"mpicc{suffix} -w -O1 -o facts '{source}' -ldl")
        # On one node: PMIx of two slurmd with one host name get into each other's way.
        self.shell(f"mkdir traces && srun --mpi={kind} -N 1 -n 4 gprof-cli profile -o 'traces/rank%q{{SLURM_PROCID}}.trace' ./facts known")
        for rank in range(4):
            calls = [line for line in self.cli("dump", f"traces/rank{rank}.trace").stdout.splitlines() if line.startswith("mpi_call ")]
            sent = next(line for line in calls if '"MPI_Sendrecv"' in line)
            self.assertIn(f"peer={(rank + 1) % 4}", f"{sent} peer=0")  # what is 0 is not written
        return self.ranks_in("traces")

    def test_ranks_of_open_mpi(self):
        found = self.record_mpi(".openmpi", "pmix")
        self.assertEqual([(name, rank, ranks) for name, rank, ranks, *_ in found], [(f"rank{i}.trace", i, 4) for i in range(4)])

    def test_ranks_of_mpich(self):
        found = self.record_mpi(".mpich", "pmi2")
        self.assertEqual([(name, rank, ranks) for name, rank, ranks, *_ in found], [(f"rank{i}.trace", i, 4) for i in range(4)])


if __name__ == "__main__":
    endings.main()
