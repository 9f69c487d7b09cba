"""Copies between two GPUs: counts, bytes and devices as the program knows them."""

import facts
import recorded
import support


class Peer(support.GpuTest):
    gpus = 2

    def test_copies_equal_the_facts(self):
        path = self.folder / "facts.json"
        self.example("peer_copy", "--facts", path)
        known, records = facts.Facts(support.read_json(path)), recorded.Records.of(self.trace)
        self.assertEqual(facts.peer_differences(known, records), [])
        self.assertEqual(facts.report_differences(known, recorded.Report.of(self.trace)), [])


if __name__ == "__main__":
    support.main(gpus=2)
