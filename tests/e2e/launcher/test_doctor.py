"""doctor tells what works on the machine it runs on, whatever that is."""

import json
import pathlib
import re
import unittest

from launcher import LauncherTest


class Doctor(LauncherTest):
    def examine(self):
        done = self.run_in_folder(self.cli, "doctor", "--format", "json")
        report = json.loads(done.stdout)
        self.assertEqual(report["schema"], "gprof.doctor/1")
        checks = {check["id"]: check for check in report["checks"]}
        is_bad = any(check["state"] == "failed" for check in checks.values())
        self.assertEqual((report["works"], done.returncode), (not is_bad, 1 if is_bad else 0))
        self.assertEqual(done.stderr, b"")
        for check in checks.values():
            self.assertIn(check["state"], ("ok", "warning", "failed", "n/a"))
            self.assertTrue(check["title"] and check["detail"])
        return checks

    def test_tracer_and_run_folder_are_there(self):
        checks = self.examine()
        self.assertEqual(checks["tracer"]["state"], "ok")
        self.assertIn(str(self.base), checks["run_folder"]["detail"])
        self.assertNotEqual(checks["run_folder"]["state"], "failed")
        self.assertEqual([path for folder in self.base.iterdir() for path in folder.iterdir()], [])

    def test_text_has_a_line_for_each(self):
        done = self.run_in_folder(self.cli, "doctor")
        marks = {}
        for check in self.examine().values():
            self.assertIn(f"{marks.get(check['state'], check['state']):10}{check['title']}", done.stdout.decode())

    def test_page_has_a_row_for_each(self):
        page = pathlib.Path(__file__).resolve().parents[3] / "docs" / "commands" / "doctor.md"
        rows = set(re.findall(r"^\| `(\w+)` \|", page.read_text(encoding="utf-8"), re.M))
        self.assertEqual(rows - {"id"}, set(self.examine()))

    def test_missing_memory(self):
        self.env["GPROF_RUN_BASE"] = "/proc/nothing"
        self.assertEqual(self.examine()["run_folder"]["state"], "failed")

    def test_broken_tracer(self):
        before = self.stub.read_bytes()
        self.addCleanup(self.stub.write_bytes, before)
        self.stub.write_bytes(b"no library")
        self.assertEqual(self.examine()["tracer"]["state"], "failed")

    def test_left_over_of_another_profiler(self):
        self.env["CUDA_INJECTION64_PATH"] = "/opt/other/lib.so"
        check = self.examine()["injection"]
        self.assertEqual(check["state"], "warning")
        self.assertIn("/opt/other/lib.so", check["detail"])

    def test_driver_that_crashes(self):
        # No library at all: loading it fails, in a process of its own.
        (self.folder / "libcuda.so.1").write_bytes(b"no library")
        self.env["LD_LIBRARY_PATH"] = str(self.folder)
        self.assertEqual(self.examine()["driver"]["state"], "failed")


if __name__ == "__main__":
    unittest.main()
