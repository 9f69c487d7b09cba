"""Kernel counters: what limits kernels that are made to have a limit, application replay beside kernel replay, and that
programs compute what they compute without."""

import json
import re

import support


def counters(folder, program, *options):
    """Of `program`: the process, its report as JSON and its trace."""
    trace = folder / "run.trace"
    done = support.run(support.COMMAND, "counters", "-f", "-o", trace, "--format", "json", *options, "--", program)
    if done.returncode != 0:
        raise RuntimeError(f"{done.stdout}\n{done.stderr}")
    return done, json.loads(done.stdout), trace


def plain_name(kernel):
    return re.search(r"(\w+)\(", kernel)[1]


class Limits(support.GpuTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        program = support.EXAMPLES / "kernel_limits"
        cls.expected = [json.loads(line) for line in support.run(program).stdout.splitlines()]
        with support.temporary_folder() as folder:
            _, report, _ = counters(folder, program, "--set", "full", "-c", "1", "--filter-mode", "per-launch-config")
        cls.found = {}
        for finding in report["findings"]:
            if finding["table"] == "counters":
                cls.found.setdefault(plain_name(finding["subject"]["kernel"]), []).append(finding["id"])

    def test_the_first_finding_is_the_limit(self):
        for kernel in (k for k in self.expected if k["has_it"]):
            with self.subTest(kernel=kernel["kernel"]):
                self.assertEqual(self.found.get(kernel["kernel"], ["none"])[0], kernel["finding"])

    def test_a_twin_without_it_has_no_such_finding(self):
        for kernel in (k for k in self.expected if not k["has_it"]):
            with self.subTest(kernel=kernel["kernel"]):
                self.assertNotIn(kernel["finding"], self.found.get(kernel["kernel"], []))


class Replays(support.GpuTest):
    METRICS = ("--metrics", "smsp__inst_executed.sum,smsp__sass_thread_inst_executed_op_ffma_pred_on.sum,l1tex__t_sectors.sum")

    def values(self, folder, replay):
        _, _, trace = counters(folder, support.EXAMPLES / "kernel_limits", "--replay-mode", replay, *self.METRICS,
                               "-c", "1", "--filter-mode", "per-launch-config")
        done = support.run(support.COMMAND, "dump", trace)
        lines = [(line.partition(" ")[0], dict(re.findall(r'(\w+)=("[^"]*"|\S+)', line))) for line in done.stdout.splitlines()]
        names = {fields["id"]: fields["name"] for kind, fields in lines if kind == "counter_range"}
        return {(names[fields["range"]], fields["metric"]): (fields.get("value"), fields.get("scale"))
                for kind, fields in lines if kind == "counter_values" and "inst_executed" in fields["metric"]}

    def test_application_replay_counts_what_kernel_replay_counts(self):
        with support.temporary_folder() as folder:
            kernel, application = self.values(folder, "kernel"), self.values(folder, "application")
        self.assertEqual(len(kernel), 2 * len(self.kernels()))  # metrics of each kernel
        self.assertEqual(kernel, application)

    def kernels(self):
        return support.run(support.EXAMPLES / "kernel_limits").stdout.splitlines()


class Results(support.GpuTest):
    """What a program prints is the same in every mode."""
    MODES = (("none", "light"), ("kernel", "basic"), ("application", "basic"), ("range", "light"))

    def output(self, *command):
        done = support.run(*command)
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
        return done.stdout

    def measured(self, folder, program, replay, metrics, *arguments):
        return self.output(support.COMMAND, "counters", "-f", "-o", folder / "run.trace", "--replay-mode", replay, "--set",
                           metrics, "-c", "20", "--", program, *arguments)

    def check(self, program, *arguments, modes=MODES):
        plain = self.output(program, *arguments)
        for replay, metrics in modes:
            with self.subTest(replay=replay), support.temporary_folder() as folder:
                self.assertIn(plain, self.measured(folder, program, replay, metrics, *arguments))

    def test_memory_of_every_kind_is_restored(self):
        self.assertNotRegex(self.output(support.PROGRAMS / "gpu_replayed_memory"), r'"wrong":[1-9]')
        self.check(support.PROGRAMS / "gpu_replayed_memory")

    def test_work_on_streams_and_threads_with_graphs(self):
        for seed in ("1", "2"):
            self.check(support.PROGRAMS / "gpu_random_work", "--seed", seed, "--steps", "60")


if __name__ == "__main__":
    support.main()
