"""A program that makes no progress: the recorder says what each stream and each thread waits for, and the program goes on."""
import json
import subprocess

import harness
import recorder_case


class Hang(recorder_case.RecorderCase):
    def hang(self, how, *options):
        """The report of the snapshot that the recorder takes of `stuck HOW` by itself."""
        command = [str(harness.GPROF), "record", "--flush-ms", "20", "--on-hang", "1s", *options, "--", *self.command("stuck", [how])]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                        cwd=self.folder, env=self.environment("13.0", None))
        self.addCleanup(self.process.stdout.close)
        self.addCleanup(self.process.stderr.close)
        self.addCleanup(self.process.kill)
        self.assertIn("no progress for", self.process.stderr.readline().decode())  # which comes behind the file
        self.trace = harness.Trace(self.folder / "snapshot.trace")
        self.assertEqual((self.trace.problems, self.trace.of("loss")), ([], []))
        document = self.report(self.folder / "snapshot.trace")
        self.assertTrue(document["trust"]["complete"], document["trust"])
        self.tables = {table["id"]: table["rows"] for table in document["tables"]}
        return {finding["id"]: finding for finding in document["findings"]}

    def test_a_kernel_that_does_not_end(self):
        for how in ("kernel", "polling"):
            with self.subTest(how):
                found = self.hang(how)
                first = found["hang.gpu_work"]
                self.assertRegex(first["message"], r"^endless\(\) in stream \d+ of gpu0 had not ended \d.* after its launch")
                self.assertIn("1 operation of the stream waits behind it", first["evidence"])
                self.assertRegex(found["hang.thread"]["message"], r"^stuck \(\d+\) was in cudaStreamSynchronize for \d")
                streams = {row["work"]: row for row in self.tables["hang_streams"]}
                self.assertEqual(streams["endless()"]["behind"], 1)
                self.assertEqual(streams["quick()"]["waits_for"], streams["endless()"]["stream"])
                # The program is not stopped for it, and ends as it would have.
                self.assertEqual((self.process.wait(harness.DEADLINE_S), self.left_overs()), (0, []))
                (self.folder / "snapshot.trace").unlink()

    def test_a_lock_that_is_held_by_a_thread_that_sleeps(self):
        found = self.hang("lock")
        self.assertRegex(found["hang.lock"]["message"], r"^stuck \(\d+\) waits for a lock that stuck \(\d+\) holds, which is in (sleep|clock_nanosleep)")
        self.assertIn("SleepWithLock", json.dumps(found["hang.lock"]))
        self.assertEqual((self.process.wait(harness.DEADLINE_S), self.left_overs()), (0, []))

    def test_locks_in_a_circle(self):
        found = self.hang("deadlock")
        self.assertRegex(found["hang.deadlock"]["message"], r"^stuck \(\d+\) and stuck \(\d+\) wait for each other's locks$")
        self.assertEqual(len(found["hang.deadlock"]["evidence"]), 2)
        self.assertNotIn("hang.lock", found)

    def test_a_snapshot_that_is_asked_for_looks_as_well(self):
        self.process = subprocess.Popen([str(harness.GPROF), "record", "--", *self.command("stuck", ["lock"])], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=self.folder, env=self.environment("13.0", None))
        self.addCleanup(self.process.stdout.close)
        self.addCleanup(self.process.stderr.close)
        self.addCleanup(self.process.kill)
        self.read_until("ready")

        def has_looked():
            self.cli("snapshot", "-f", "-o", "asked.trace")
            return any(f["id"] == "hang.lock" for f in self.report(self.folder / "asked.trace")["findings"])

        harness.wait_for(has_looked, "a snapshot of a program that is quiet")


if __name__ == "__main__":
    harness.main()
