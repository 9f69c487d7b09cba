"""State and counters of GPUs, from processes beside the program, with doubles of NVML, the driver and libcupti."""

import json
import os
import pathlib
import re
import unittest
import urllib.request

from launcher import DEADLINE_S, LauncherTest

MOCK = pathlib.Path(os.environ["GPROF_TEST_MOCK"])
FIELD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')
RECORD = 'cat part >> "$GPROF_OUTPUT"; '  # the stub of a tracer records nothing
GPU = "gpus 1\nfield 186 250000\nclock 1 1980\nnvmlDeviceGetTotalEnergyConsumption 5000\nnvmlDeviceGetMemoryInfo 700\n"


class GpuTest(LauncherTest):
    def setUp(self):
        super().setUp()
        (self.folder / "part").write_bytes(self.trace_bytes())
        self.say(GPU)
        self.env["MOCK_NVML"] = str(self.folder / "gpus")
        self.env["LD_LIBRARY_PATH"] = f"{MOCK / 'nvml'}:{MOCK / '13.0'}"
        self.env["MOCK_DEVICES"] = "1"

    def say(self, lines):
        (self.folder / "gpus").write_text(lines, encoding="utf-8")

    def until(self, kind):
        """A line of a script that waits until the trace has a record of a kind."""
        return f"until '{self.cli}' dump run.trace 2> dump.err | grep -q '^{kind} '; do sleep 0.1; done; "

    def profile(self, *options, script=""):
        done = self.run_in_folder(self.cli, "profile", "--host-load", "off", "--flush-ms", "50", *options,
                                  "sh", "-c", RECORD + script, timeout=DEADLINE_S)
        return done.returncode, done.stderr.decode()

    def records(self, kind, name="run.trace"):
        done = self.run_in_folder(self.cli, "dump", name)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line for line in done.stdout.decode().splitlines() if line.startswith(kind + " ")]
        return [{key: value.strip('"') for key, value in FIELD.findall(line)} for line in lines]

    def names(self):
        return {source["name"] for source in self.records("metric_source")}


class Collecting(GpuTest):
    def test_the_state_of_gpus_is_there_by_default(self):
        code, err = self.profile(script=self.until("metric_block"))
        self.assertEqual((code, err.count("GPU")), (0, 0), err)
        self.assertLessEqual({"power", "SM clock", "energy", "memory used"}, self.names())
        power = next(s for s in self.records("metric_source") if s["name"] == "power")
        self.assertEqual((power["unit"], power["scale"], power["device_uuid"]), ("W", "-3", "GPU-1"))
        values = {b["value"] for b in self.records("metric_block") if b["source"] == power["id"]}
        self.assertEqual(values, {"250000"})

    def test_it_is_off_on_request_and_where_only_what_is_listed_is_wanted(self):
        for options in (["--nvml", "off"], ["--only-trace", "-t", "nvtx"]):
            code, err = self.profile(*options, "-f")
            self.assertEqual(code, 0, err)
            self.assertEqual(self.names(), set())

    def test_without_a_driver_nobody_hears_of_it(self):
        self.say("fail nvmlInit_v2 9\n")
        code, err = self.profile()
        self.assertEqual(code, 0)
        self.assertNotIn("NVML", err)

    def test_a_lost_gpu_ends_its_tracks_and_not_the_run(self):
        code, err = self.profile(
            script=self.until("metric_block") +
            "printf 'gpus 1\\nfail nvmlDeviceGetFieldValues 15\\nfail nvmlDeviceGetClockInfo 15\\n' > gpus; exit 3")
        self.assertEqual(code, 3, err)
        self.assertTrue(self.records("metric_block"))
        self.assertTrue(self.records("metric_loss"))

    def test_counters_are_sampled_where_they_are_asked_for(self):
        code, err = self.profile("--gpu-metrics-devices", "all", "--nvml", "off",
                                 script=self.until("metric_block"))
        self.assertEqual(code, 0, err)
        self.assertIn("SMs Active", self.names())
        self.assertNotIn("power", self.names())
        blocks = self.records("metric_block")
        self.assertGreater(len(blocks), 10)
        self.assertEqual({b["duration_ns"] for b in blocks}, {"1000000"})

    def test_another_owner_of_the_monitors_is_told(self):
        self.env["MOCK_PM_AVAILABILITY"] = "26"
        code, err = self.profile("--gpu-metrics-devices", "0", "--nvml", "off",
                                 script=self.until("notice") + "exit 4")
        self.assertEqual(code, 4, err)
        self.assertIn("another program uses the performance monitors", err)
        self.assertIn("another program", " ".join(n["message"] for n in self.records("notice")))

    def test_no_permission_is_told_with_what_to_do(self):
        self.env["MOCK_PM_ENABLE"] = "35"
        code, err = self.profile("--gpu-metrics-devices", "all", "--nvml", "off", script=self.until("notice"))
        self.assertEqual(code, 0, err)
        self.assertIn("NVreg_RestrictProfilingToAdminUsers=0", err)


    def test_whatever_a_gpu_refuses_the_run_goes_on_and_the_report_says_so(self):
        trouble = {"MOCK_PM_ENABLE=43": "divided by MIG", "MOCK_PM_ENABLE=33": "virtual GPUs of this kind",
                   "MOCK_PM_ENABLE=27": "or its driver, cannot sample", "MOCK_PM_ENABLE=40": "enable_profiling=1",
                   "MOCK_PM_AVAILABILITY=26": "another program uses the performance monitors",
                   "MOCK_PM_DECODE=999": "cuptiPmSamplingDecodeData"}
        for setting, words in trouble.items():
            with self.subTest(setting):
                name, value = setting.split("=")
                self.env[name] = value
                code, err = self.profile("--gpu-metrics-devices", "all", "-f",
                                         script=self.until("notice") + self.until("metric_block") + "exit 5")
                del self.env[name]
                self.assertEqual(code, 5, err)
                self.assertIn(words, err)
                self.assertIn("power", self.names(), "what NVML tells is not lost with it")
                report = self.run_in_folder(self.cli, "report", "run.trace", "--full").stdout.decode()
                self.assertIn(words, " ".join(report.split()))


class Monitor(GpuTest):
    def monitor(self, *options):
        return self.run_in_folder(self.cli, "monitor", "--interval", "0.1", *options, timeout=DEADLINE_S)

    def test_text(self):
        done = self.monitor("--count", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("250 W", done.stdout.decode())
        self.assertIn("1980 MHz", done.stdout.decode())

    def test_lines_of_json(self):
        done = self.monitor("--count", "2", "--format", "jsonl")
        lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
        self.assertEqual([line["schema"] for line in lines], ["gprof.monitor/1"] * 2)
        self.assertEqual(lines[0]["gpus"][0]["power_watts"], 250)
        self.assertNotIn("temperature_celsius", lines[0]["gpus"][0], "what is not known is left out")

    def test_prometheus(self):
        process = self.start(self.cli, "monitor", "--format", "prometheus", "--port", "0")
        address = process.stderr.readline().decode().split()[1].rstrip(",")
        text = urllib.request.urlopen(address, timeout=DEADLINE_S).read().decode()
        self.assertRegex(text, r'gprof_gpu_power_watts\{gpu="0",uuid="GPU-1",name="",run=""\} 250\n')
        self.assertIn("# TYPE gprof_gpu_energy_joules_total counter\n", text)
        process.terminate()
        self.assertEqual(process.wait(DEADLINE_S), 0)
        process.communicate()

    def test_without_a_driver(self):
        self.say("fail nvmlInit_v2 9\n")
        done = self.monitor("--count", "1")
        self.assertEqual(done.returncode, 3)
        self.assertIn("cannot watch GPUs", done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
