"""Ranks without a GPU are compared by steps, MPI and what their hosts did; what cannot be compared is said."""

import unittest

import cpu_ranks
import fleet

RANKS, STEPS, SLOW = 16, 12, 11


class CpuRanks(fleet.FleetTest):
    """Made anew by each test: the ranks of the other tests are not needed."""

    @classmethod
    def setUpClass(cls):
        cls._base = fleet.tempfile.TemporaryDirectory(prefix="gprof-cpu-ranks-")
        cls.base = fleet.pathlib.Path(cls._base.name)

    def judge(self, **how):
        cpu_ranks.write(self.folder / "traces", fleet.ASSEMBLE, RANKS, STEPS, SLOW, **how)
        return self.analyze(self.folder / "traces", "--rows", 0)

    def check(self, verdict):
        found = {finding["id"]: finding for finding in verdict["findings"]}
        self.assertEqual(list(found), ["fleet.late_host"])
        late = found["fleet.late_host"]
        self.assertEqual(late["about"], f"rank {SLOW}")
        self.assertAlmostEqual(late["gain_ns"], STEPS * 3 * cpu_ranks.MS, delta=0.02 * STEPS * 3 * cpu_ranks.MS)
        self.assertEqual((verdict["steps"]["path"], len(verdict["steps"]["median_own_ns"])), ("step", STEPS))
        return late["message"]

    def test_by_steps_alone(self):
        message = self.check(self.judge())
        self.assertIn("step/load", message)
        self.assertNotIn("GPU", message)

    def test_by_steps_that_end_together(self):
        verdict = self.judge(has_mpi=True)
        self.assertIn("step/load", self.check(verdict))
        self.assertTrue(verdict["critical_path"]["ranks_wait_for_one_another"])
        self.assertEqual(set(verdict["critical_path"]["slowest"]), {SLOW})

    def test_the_file_that_it_reads(self):
        message = self.check(self.judge(has_mpi=True, reads=True))
        self.assertIn("read of /data/shard.bin", message)
        self.assertIn("step/load", message)

    def test_nothing_to_compare(self):
        for rank in range(2):
            text = f'chunk pid={rank + 9}\nprocess start_ns=5 pid={rank + 9} name="app" host="n" rank={rank} world_size=2\nend time_ns=20000 reason=1\n'
            made = fleet.subprocess.run([fleet.ASSEMBLE], input=text.encode(), capture_output=True, check=True).stdout
            (self.folder / f"{rank}.trace").write_bytes(made)
        verdict = self.analyze(self.folder / "0.trace", self.folder / "1.trace")
        self.assertEqual([finding["id"] for finding in verdict["findings"]], ["fleet.not_compared"])
        self.assertNotIn("No rank stands out", self.cli("ranks", self.folder / "0.trace", self.folder / "1.trace").stdout)


if __name__ == "__main__":
    unittest.main()
