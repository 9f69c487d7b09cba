"""Kernel counters: what limits kernels that are made to have a limit, and that programs compute what they compute without."""

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
            _, report, trace = counters(folder, program, "--set", "full", "-c", "1", "--filter-mode", "per-launch-config")
            whole = support.run(support.COMMAND, "report", trace, "--only", "counters", "--rows", "0", "--format", "json")
        cls.tables = {table["id"]: table["rows"] for table in json.loads(whole.stdout)["tables"]}
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


    def test_operations_of_a_kernel_are_rows_of_the_caches(self):
        of = {name: {(plain_name(row["kernel"]), row["operation"]) for row in self.tables[name]}
              for name in ("counter_l1", "counter_l2")}
        for kernel, operation in (("BankConflictKernel", "shared loads"), ("StridedCopyKernel", "global loads"),
                                  ("StridedCopyKernel", "global stores"), ("CountThreadsKernel", "global reductions"),
                                  ("LocalTableKernel", "local loads")):
            self.assertIn((kernel, operation), of["counter_l1"])
        kernels = {plain_name(row["kernel"]) for row in self.tables["counters"]}
        self.assertEqual(kernels, {kernel for kernel, operation in of["counter_l2"] if operation == "all"})
        for row in self.tables["counter_l2"]:
            self.assertIsNotNone(row["requests"], row)


class Results(support.GpuTest):
    """What a program prints is the same in every mode."""
    MODES = (("none", "light"), ("kernel", "basic"), ("range", "light"))

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
