"""Jobs of session.py: their limits, their order, and what of them comes back; needs no GPU."""

import argparse
import contextlib
import io
import json
import pathlib
import sys
import tarfile
import tempfile
import time
import unittest

import session
from session_jobs import Job, Lane

# It starts a process in a session of its own, says who that is, and goes on.
ENDLESS = "import os, subprocess, time; print(subprocess.Popen(['sleep', '1000'], start_new_session=True).pid, flush=True); time.sleep(1000)"


def job(name, program, limit_s=60):
    return Job(name, [sys.executable, "-c", program, "{out}"], limit_s)


class Sessions(unittest.TestCase):
    def setUp(self):
        self.out = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.began = time.monotonic()

    def run_lanes(self, *lanes, total_s=100):
        wanted = argparse.Namespace(out=self.out, build=self.out, plan="first", total_s=total_s)
        with contextlib.redirect_stdout(io.StringIO()):
            session.Session(wanted).run(lanes)
        return json.loads((self.out / "session.json").read_text(encoding="utf-8"))["jobs"]

    def files_of(self, name):
        with tarfile.open(self.out / "results.1.tar") as archive, tarfile.open(fileobj=archive.extractfile(f"{name}.tgz")) as files:
            return {member.name: files.extractfile(member).read() for member in files}

    def test_a_job_that_goes_on_is_ended_with_all_that_it_started(self):
        jobs = self.run_lanes(Lane("one", range(1), "", [job("endless", ENDLESS, limit_s=2)]))
        self.assertEqual(jobs["endless"]["how"], "ended at its limit")
        child = int(self.files_of("endless")["endless/log"])
        with contextlib.suppress(FileNotFoundError):  # what nobody has waited for yet has no command line any more
            self.assertEqual(pathlib.Path(f"/proc/{child}/cmdline").read_bytes(), b"")

    def test_nothing_goes_on_when_the_time_is_over(self):
        total_s = session.END_S + session.LEAST_S + 2
        jobs = self.run_lanes(Lane("one", range(1), "", [job("endless", ENDLESS), job("next", "")]), total_s=total_s)
        self.assertEqual(jobs["endless"]["how"], "ended at its limit")
        self.assertIn("not begun", jobs["next"]["how"])
        self.assertIn("endless/log", self.files_of("endless"))

    def test_a_lane_waits_for_another_and_a_job_that_fails_stops_nobody(self):
        fails = job("fails", "import time; time.sleep(1); raise SystemExit(3)")
        jobs = self.run_lanes(Lane("late", range(1), "", [job("late", "print('here')")], after=("early",)), Lane("early", range(1), "", [fails, job("goes_on", "")]))
        self.assertEqual((jobs["fails"]["code"], jobs["goes_on"]["code"], jobs["late"]["code"]), (3, 0, 0))
        self.assertGreaterEqual(jobs["late"]["began_s"], jobs["goes_on"]["began_s"])
        self.assertEqual(self.files_of("late")["late/log"], b"here\n")

    def test_a_file_that_is_too_large_is_named(self):
        write = "import sys, pathlib; out = pathlib.Path(sys.argv[1]); (out / 'small').write_bytes(b'1'); (out / 'large').write_bytes(bytes(%d))" % (session.FILE_BYTES + 1)
        jobs = self.run_lanes(Lane("one", range(1), "", [job("writes", write)]))
        self.assertEqual(jobs["writes"]["left_out"], [f"large ({session.FILE_BYTES + 1} bytes)"])
        self.assertEqual(sorted(self.files_of("writes")), ["writes/log", "writes/small"])

    def test_the_plans_use_what_the_machine_has_and_share_no_processor_while_they_measure(self):
        for name, plan in session.session_jobs.PLANS.items():
            lanes = plan()
            self.assertTrue(all(max(lane.cpus) < 32 and min(lane.cpus) >= 0 for lane in lanes), name)
            timed = [lane for lane in lanes if lane.gpus == "0"]
            for lane in timed:
                others = [other for other in lanes if other is not lane and other.name not in lane.after and lane.name not in other.after]
                self.assertFalse([other.name for other in others if set(other.cpus) & set(lane.cpus)], lane.name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
