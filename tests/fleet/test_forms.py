"""What ranks are called, and how much `ranks` says by default."""

import unittest

import cpu_ranks
import fleet


class Forms(fleet.FleetTest):
    """Made anew by each test: the ranks of the other tests are not needed."""

    @classmethod
    def setUpClass(cls):
        cls._base = fleet.tempfile.TemporaryDirectory(prefix="gprof-forms-")
        cls.base = fleet.pathlib.Path(cls._base.name)

    def make(self, ranks=12, rename=None, **how):
        folder = self.folder / "run"
        cpu_ranks.write(folder, fleet.ASSEMBLE, ranks, 6, slow=10, **how)
        for path in sorted(folder.iterdir()) if rename else []:
            path.rename(folder / rename(int(path.stem.rsplit("_", 1)[1])))
        return folder

    def numbers(self, verdict):
        """{number: file}"""
        return {row["rank"]: row["trace"] for row in next(table["rows"] for table in verdict["tables"] if table["id"] == "ranks")}

    def test_numbers_of_files(self):
        folder = self.make(knows_rank=False, rename=lambda number: f"mega_tp8_2026_rank-{number}.json.trace")
        verdict = self.analyze(folder, "--rows", 0)
        self.assertEqual(self.numbers(verdict), {str(i): f"mega_tp8_2026_rank-{i}.json.trace" for i in range(12)})
        self.assertEqual([finding["about"] for finding in verdict["findings"]], ["rank 10"])
        self.assertIn("numbered by file names", " ".join(self.cli("ranks", folder).stdout.split()))

    def test_the_order_of_files(self):
        names = ["a9", "a10", "b2", "c"] + [f"d{i}x{100 - i}" for i in range(8)]
        folder = self.make(knows_rank=False, rename=lambda number: names[number] + ".trace")
        self.assertEqual(self.numbers(self.analyze(folder, "--rows", 0)), {str(i): names[i] + ".trace" for i in range(12)})

    def test_who_has_a_number_keeps_it(self):
        folder = self.make(rename=lambda number: f"x{11 - number}.trace")
        self.assertEqual(self.numbers(self.analyze(folder, "--rows", 0))["3"], "x8.trace")

    def test_the_short_form(self):
        folder = self.make(has_mpi=True, reads=True)
        text = self.cli("ranks", folder, env={**fleet.os.environ, "COLUMNS": "80"}).stdout
        self.assertLess(len(text.splitlines()), 40)
        for part in ("Ranks ", "Time ", "rank 10", "read of /data/shard.bin", "more  ", "--full"):
            self.assertIn(part, text)
        self.assertNotIn("Step times of all ranks", text)
        self.assertIn("Step times of all ranks", self.cli("ranks", folder, "--full").stdout)

    def test_hosts_that_are_not_known_are_not_counted(self):
        self.assertRegex(self.cli("ranks", self.make()).stdout, r"Ranks +12 of 12 on 1 host\b")
        self.assertRegex(self.cli("ranks", self.make(host="")).stdout, r"Ranks +12 of 12\n")

    def test_a_twin_is_named(self):
        folder = self.make()
        fleet.shutil.copy(folder / "rank_3.trace", folder / "again.trace")
        fleet.shutil.copy(folder / "rank_4.trace", folder / "more.trace")
        found = [finding["message"] for finding in self.analyze(folder)["findings"] if finding["id"] == "fleet.duplicate"]
        self.assertEqual(len(found), 1)
        self.assertRegex(found[0], r"^2 traces were excluded.*: (again|rank_3)\.trace \(rank 3, as (again|rank_3)\.trace\)")

    def test_one_trace(self):
        done = self.cli("ranks", self.make(ranks=12) / "rank_0.trace", env={**fleet.os.environ})
        self.assertNotIn("No rank stands out", done.stdout)  # eleven ranks are missing
        folder = self.make(ranks=1, knows_rank=False)
        done = self.cli("ranks", folder / "rank_0.trace")
        self.assertIn("nobody to be compared with", done.stderr)
        self.assertIn("Program    ./solve", done.stdout)
        self.assertEqual(done.stdout, self.cli("report", folder / "rank_0.trace").stdout)

    def test_report_leads_here(self):
        text = " ".join(self.cli("report", *sorted(self.make().iterdir())).stdout.split())
        self.assertIn("gprof-cli ranks", text)
        self.assertIn("rank_9.trace", text)


if __name__ == "__main__":
    unittest.main()
