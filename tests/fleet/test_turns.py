"""Ranks that take turns within a step: the share of each is found, and stragglers and imbalance are not taken for that."""

import unittest

import fleet
from turns import TRANSFER_NS, send, together, work, write

MS = 1_000_000
STEPS = 8
ALL = (0, 1, 2, 3)
# The host's part of a step, and where MPI only begins to wait after a call has begun.
SMALL_NS = STEPS * 10_000


class TurnsTest(fleet.FleetTest):
    """Made anew by each test: the ranks of the other tests are not needed."""

    @classmethod
    def setUpClass(cls):
        cls._base = fleet.tempfile.TemporaryDirectory(prefix="gprof-turns-")
        cls.base = fleet.pathlib.Path(cls._base.name)

    def judge(self, steps, ranks, **how):
        """(verdict, what it says of turns)"""
        self.facts = write(self.folder / "traces", fleet.ASSEMBLE, steps, ranks, **how)
        verdict = self.analyze(self.folder / "traces", "--rows", 0)
        return verdict, verdict["critical_path"]["turns"]

    def ids(self, verdict):
        return sorted(finding["id"] for finding in verdict["findings"])

    def check_turns(self, turns, expected, messages, small_ns=SMALL_NS):
        """{ranks: (work on the path in each step, wait of each rank meanwhile)}"""
        self.assertTrue(turns["are_taken"])
        self.assertEqual(turns["steps"], STEPS)
        self.assertEqual([turn["ranks"] for turn in turns["turns"]], [list(ranks) for ranks in expected])
        for turn, (work_ns, wait_ns) in zip(turns["turns"], expected.values()):
            self.assertAlmostEqual(turn["path_ns"], STEPS * work_ns, delta=small_ns, msg=turn)
            self.assertAlmostEqual(turn["waiting_ns"], STEPS * wait_ns, delta=small_ns, msg=turn)
        self.assertAlmostEqual(turns["communication_ns"], STEPS * messages * TRANSFER_NS, delta=small_ns * messages)
        parts = turns["parts"]
        self.assertEqual(sum(parts["idle_ns"].values()) + sum(ns for key, ns in parts.items() if key != "idle_ns"), turns["path_ns"])
        self.assertEqual(sum(turn["path_ns"] for turn in turns["turns"]) + turns["communication_ns"], turns["path_ns"])


class Pipelines(TurnsTest):
    """Each stage waits for the one before it, and on the way back for the one after it."""

    FORTH = [work(0, MS), send(0, 1), work(1, 2 * MS), send(1, 2), work(2, 3 * MS), send(2, 3), work(3, 4 * MS)]
    BACK = [send(3, 2), work(2, MS), send(2, 1), work(1, MS), send(1, 0), work(0, MS), together(*ALL)]
    EXPECTED = {(0,): (2 * MS, 11 * MS), (1,): (3 * MS, 10 * MS), (2,): (4 * MS, 9 * MS), (3,): (4 * MS, 9 * MS)}
    MESSAGES = 7

    def check(self, **how):
        verdict, turns = self.judge([self.FORTH + self.BACK] * STEPS, 4, **how)
        # A sender that goes on waits for what comes back while its message is under way.
        self.check_turns(turns, self.EXPECTED, self.MESSAGES, STEPS * 3 * TRANSFER_NS if how.get("eager") else SMALL_NS)
        # Where the last one to come goes on at once, the step ends with one of those that wait for it.
        self.assertEqual(turns["hand_overs"], (7 if how.get("eager") else 6) * STEPS)
        # At any time, one of them works.
        self.assertAlmostEqual(turns["taken_ns"], STEPS * 9 * MS, delta=3 * SMALL_NS)
        return verdict

    def test_by_what_nccl_told(self):
        verdict = self.check()
        self.assertEqual(self.ids(verdict), ["fleet.turns"])
        message = verdict["findings"][0]["message"]
        self.assertIn("rank 0 15.2%, rank 1 22.8%, rank 2 30.4%, rank 3 30.4%, communication 1.1%", message)
        self.assertIn("each waits: rank 0 for 11.00 ms, rank 1 for 10.00 ms", message)

    def test_by_names_of_kernels(self):
        self.assertEqual(self.ids(self.check(by="names")), ["fleet.turns"])

    def test_by_calls_of_mpi(self):
        self.assertEqual(self.ids(self.check(by="mpi")), ["fleet.turns"])

    def test_by_calls_of_mpi_that_wait_only_where_they_must(self):
        self.assertEqual(self.ids(self.check(by="mpi", eager=True)), ["fleet.turns"])

    def test_on_two_hosts_whose_clocks_differ(self):
        self.assertEqual(self.ids(self.check(hosts=2, skew_ns=30 * MS)), ["fleet.skewed_clock", "fleet.turns"])

    def test_the_text(self):
        self.check()
        text = " ".join(self.cli("ranks", self.folder / "traces", "--full").stdout.split())
        self.assertIn("ranks take turns: rank 0 15.2%, rank 1 22.8%, rank 2 30.4%, rank 3 30.4%", text)
        self.assertIn("Ranks that take turns within a step", text)
        self.assertNotIn("Ranks on the critical path", text)

    def test_a_partial_says_the_same(self):
        verdict = self.check()
        self.cli("partial", self.folder / "traces", "--no-results", "-o", "all.gpart")
        self.assertEqual(self.analyze("all.gpart", "--rows", 0), verdict)


class OtherTurns(TurnsTest):
    def test_two_ranks_that_meet_in_collectives_only(self):
        verdict, turns = self.judge([[work(0, 2 * MS), together(0, 1), work(1, MS), together(0, 1)]] * STEPS, 2)
        self.check_turns(turns, {(0,): (2 * MS, MS), (1,): (MS, 2 * MS)}, 2)
        self.assertEqual(self.ids(verdict), ["fleet.turns"])

    def test_stages_of_two_ranks_each(self):
        stages = [work(0, 2 * MS), work(2, 2 * MS + 9000), send(0, 1), send(2, 3), work(1, MS), work(3, MS + 7000), together(*ALL)]
        verdict, turns = self.judge([stages] * STEPS, 4)
        self.check_turns(turns, {(0, 2): (2 * MS + 9000, MS + 7000), (1, 3): (MS + 7000, 2 * MS + 9000)}, 2)
        self.assertEqual(self.ids(verdict), ["fleet.turns"])

    def test_many_ranks_of_a_stage_are_not_all_named(self):
        stages = [work(rank, MS) for rank in range(0, 12, 2)] + [send(rank, rank + 1) for rank in range(0, 12, 2)]
        stages += [work(rank, MS) for rank in range(1, 12, 2)] + [together(*range(12))]
        verdict, turns = self.judge([stages] * STEPS, 12)
        self.assertEqual([turn["ranks"] for turn in turns["turns"]], [list(range(0, 12, 2)), list(range(1, 12, 2))])
        self.assertIn("ranks 0, 2, 4, ..., 10 (6 ranks) 4", verdict["findings"][0]["message"])

    def test_a_slow_gpu_within_a_stage_is_named(self):
        stages = [work(0, 2 * MS), work(2, 2 * MS + 9000), send(0, 1), send(2, 3), work(1, MS), work(3, 2 * MS), together(*ALL)]
        verdict, turns = self.judge([stages] * STEPS, 4)
        self.assertEqual([turn["ranks"] for turn in turns["turns"]], [[0, 2], [1, 3]])
        self.assertEqual(self.ids(verdict), ["fleet.slow_gpu", "fleet.turns"])
        self.assertEqual({finding["about"] for finding in verdict["findings"]}, {"", "rank 3"})

    def test_small_batches_hide_most_of_it(self):
        """Two stages and eight parts of a batch: the second one begins after the first part, and ends one part later."""
        step = [work(0, MS)]
        for _ in range(7):
            step += [send(0, 1), work(0, MS), work(1, MS)]
        verdict, turns = self.judge([step + [send(0, 1), work(1, MS), together(0, 1)]] * STEPS, 2)
        self.assertFalse(turns["are_taken"])
        self.assertEqual(self.ids(verdict), [])
        self.assertAlmostEqual(turns["taken_ns"], STEPS * MS, delta=STEPS * 8 * TRANSFER_NS)


class NoTurns(TurnsTest):
    def check_none(self, steps, ranks, findings, most_percent=0):
        verdict, turns = self.judge(steps, ranks)
        self.assertEqual(self.ids(verdict), findings)
        self.assertFalse(turns["are_taken"])
        self.assertLessEqual(100 * turns["taken_ns"], most_percent * turns["path_ns"])
        self.assertIn("Ranks on the critical path", self.cli("ranks", self.folder / "traces", "--full").stdout)

    def halves(self, times):
        """All work, meet, work again and meet."""
        return [step for i in range(2) for step in ([work(rank, of[i]) for rank, of in enumerate(times)] + [together(*range(len(times)))])]

    def test_ranks_that_are_alike(self):
        self.check_none([self.halves([(MS + 1000 * rank, MS - 1000 * rank) for rank in range(4)])] * STEPS, 4, [], 1)

    def test_a_straggler(self):
        self.check_none([self.halves([(MS, MS)] * 3 + [(2 * MS, 2 * MS)])] * STEPS, 4, ["fleet.slow_gpu"])

    def test_another_one_in_each_step(self):
        steps = [self.halves([(2 * MS, 2 * MS) if rank == step % 4 else (MS, MS) for rank in range(4)]) for step in range(STEPS)]
        self.check_none(steps, 4, [])

    def test_two_stragglers_of_which_now_one_and_now_the_other_is_last(self):
        slow = [(2 * MS, 2 * MS + 9000), (2 * MS + 9000, 2 * MS)]
        self.check_none([self.halves([(MS, MS)] * 6 + slow)] * STEPS, 8, ["fleet.slow_gpu"] * 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
