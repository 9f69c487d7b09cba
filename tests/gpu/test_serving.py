"""Requests of a serving engine on the GPU: what `requests` says is what the engine knows of itself."""
import json
import os
import sys
import unittest

import support

PROGRAMS = support.SOURCE / "tests" / "gpu" / "programs"
HOOKS = support.BUILD / "lib" / "gprof-cli" / "hooks"  # has gprof_serving.py


def is_missing(module):
    return support.run(sys.executable, "-c", f"import {module}").returncode != 0


class Serving(support.GpuTest):
    def record(self, program, *options, flags=()):
        log, trace = self.folder / "truth.json", self.folder / "run.trace"
        env = support.environment(PYTHONPATH=str(HOOKS))
        done = support.run(support.COMMAND, "profile", "-f", "-o", trace, *flags, "--", sys.executable, PROGRAMS / program,
                           "--log", log, *options, env=env, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return trace, json.loads(log.read_text(encoding="utf-8"))

    def tables(self, trace, *options):
        done = support.run(support.COMMAND, "requests", trace, "--rows", "0", "--format", "json", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}

    @unittest.skipIf(is_missing("torch"), "torch is not installed")
    def test_latencies_are_sums_and_steps_have_their_kernels(self):
        trace, truth = self.record("serving_engine.py", "--requests", "200")
        for name in list(truth["requests"])[::20]:
            rows = self.tables(trace, "--request", name)["request_tokens"]
            self.assertEqual(len(rows), len(truth["requests"][name]["tokens_ns"]), name)
            for row in rows:
                parts = sum(v for k, v in row.items() if k.endswith("_ns") and k != "latency_ns")
                self.assertEqual(parts, row["latency_ns"])
        steps = {row["kind"]: row for row in self.tables(trace)["engine_steps"]}
        self.assertEqual(sum(row["steps"] for row in steps.values()), len(truth["steps"]))
        self.assertEqual(steps["decode"]["graph_steps"], steps["decode"]["steps"])
        for row in steps.values():
            self.assertGreater(row["mean_kernel_ns"], 0)

    @unittest.skipIf(is_missing("transformers"), "transformers is not installed")
    def test_the_hooks_of_transformers_tell_of_every_token(self):
        trace, truth = self.record("transformers_serving.py", flags=("--serving",))
        for name, request in truth["requests"].items():
            if not request["is_cancelled"]:
                rows = self.tables(trace, "--request", name)["request_tokens"]
                self.assertEqual(len(rows), len(request["got_ns"]), name)


if __name__ == "__main__":
    support.main()
