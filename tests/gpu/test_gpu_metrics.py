"""GPU metrics against loads whose figures the program knows: each in the right metric and near what it must be."""

import json

import recorded
import support


UNITS = {"MB/s": 1e6, "GB/s": 1e9}  # what a table has, in bytes


class Loads:
    """A recording of the program with one set of metrics: what it knows, and the means by range."""

    def __init__(self, metric_set):
        with support.temporary_folder() as folder:
            trace = folder / "run.trace"
            done = support.profile(trace, support.PROGRAMS / "gpu_loads",
                                   options=("--gpu-metrics-devices", "all", "--gpu-metrics-set", metric_set))
            if done.returncode != 0:
                raise RuntimeError(f"{done.stdout}\n{done.stderr}")
            self.known, self.said, report = json.loads(done.stdout), done.stderr, recorded.Report.of(trace)
        self.means = {(row["range"], row["metric"]): row["mean"] * UNITS.get(row["unit"], 1)
                      for row in report.table("gpu_metrics_ranges")}
        self.highest = {}
        for row in report.table("gpu_metrics"):  # one for each GPU that there is
            self.highest[row["metric"]] = max(row["max"], self.highest.get(row["metric"], row["max"]))


class GpuMetrics(support.GpuTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.default, cls.dram = Loads("default"), Loads("dram")

    def mean(self, loads, load, metric):
        self.assertIn((load, metric), loads.means, loads.said)
        return loads.means[load, metric]

    def assert_near(self, value, expected, share):
        self.assertLessEqual(abs(value - expected), share * expected, f"{value} is not within {share:.0%} of {expected}")

    def test_blocks_occupy_their_share_of_the_sms(self):
        sms = self.default.known["sm_count"]
        self.assert_near(self.mean(self.default, "one_block", "SMs Active"), 100 / sms, 0.05)
        self.assert_near(self.mean(self.default, "half_of_the_sms", "SMs Active"), 100 * (sms // 2) / sms, 0.03)

    def test_a_copy_within_the_device_reads_and_writes_dram(self):
        for metric in ("DRAM Read", "DRAM Write"):
            self.assert_near(self.mean(self.dram, "copy_within", metric), self.dram.known["copy_within"], 0.05)

    def test_a_copy_from_or_to_the_host_is_one_direction_of_the_link(self):
        # With the headers of packets, and with requests in the other direction.
        for load, ours, other in (("copy_in", "PCIe RX Throughput", "PCIe TX Throughput"),
                                  ("copy_out", "PCIe TX Throughput", "PCIe RX Throughput")):
            known = self.default.known[load]
            self.assert_near(self.mean(self.default, load, ours), 1.05 * known, 0.06)
            self.assertLess(self.default.means.get((load, other), 0), 0.15 * known)

    def test_nvml_calls_a_gpu_busy_that_one_block_occupies(self):
        self.assertGreater(self.default.highest["utilization"], 90)


if __name__ == "__main__":
    support.main()
