"""A loader that starves the GPU by reading, by a lock or by decoding: the first finding says which, and where."""
import recorded
import support


class Starved(support.GpuTest):
    def check(self, why, finding, words):
        self.profile(support.PROGRAMS / "gpu_starved", why, self.folder / "data.bin")
        # Where other programs take the processors, that comes first, and is true.
        findings = recorded.Report.of(self.trace).document["findings"]
        first = next(f for f in findings if f["id"] != "host.preempted")
        self.assertEqual(first["id"], finding, first["message"])
        self.assertIn(words, recorded.words_of(first))

    def test_small_reads(self):
        self.check("io", "os.small_pieces", "ReadSamples")

    def test_lock_of_another_thread(self):
        self.check("lock", "os.lock", "Held by prefetcher")

    def test_decoding(self):
        self.check("decode", "idle.host", "DecodeImage")


if __name__ == "__main__":
    support.main()
