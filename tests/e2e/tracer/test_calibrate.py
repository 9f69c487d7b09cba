"""doctor --calibrate on the doubles: what it measures is kept, travels in the traces of later runs, and their reports say so."""
import json
import subprocess

import harness

OPERATIONS = {"launch", "copy", "fill", "wait", "allocation", "graph_launch", "graph_node", "call", "range"}


class Calibrate(harness.Case):
    def setUp(self):
        super().setUp()
        self.state = {"XDG_STATE_HOME": str(self.folder / "state"), "GPROF_CALIBRATION": None}

    def run_cli(self, *words, version="13.0", **env):
        return subprocess.run([str(harness.GPROF), *words], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=harness.DEADLINE_S, env=self.environment(version, {**self.state, **env}))

    def test_calibrated(self):
        done = self.run_cli("doctor", "--calibrate", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse((self.folder / "violations").exists())
        result = json.loads(done.stdout)
        self.assertEqual(result["schema"], "gprof.calibration/1")
        self.assertEqual({cost["operation"] for cost in result["costs"]}, OPERATIONS)
        self.assertEqual([cost["threads"] for cost in result["costs"] if cost["operation"] == "launch"], [1, 4])
        trace, command = self.profile_command("driver_facts", [], ["--only-trace", "-t", "cuda,nvtx"])
        subprocess.run(command, check=True, capture_output=True, timeout=harness.DEADLINE_S, cwd=self.folder,
                       env=self.environment("13.0", self.state))
        self.assertEqual(len(harness.Trace(trace).of("calibration")), len(result["costs"]))
        self.assertEqual({r["measured_unix_s"] for r in harness.Trace(trace).of("calibration")}, {result["measured_unix_s"]})
        report = self.run_cli("report", str(trace))
        self.assertIn("(calibrated on the machine of the run)", " ".join(report.stdout.split()))

    def test_without_a_driver(self):
        done = self.run_cli("doctor", "--calibrate", version=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("libcuda.so.1", done.stderr)
        self.assertFalse((self.folder / "state").exists())


if __name__ == "__main__":
    harness.main()
