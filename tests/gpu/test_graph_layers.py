"""Nodes of CUDA graphs on the GPU: each has the module and the line that it was captured in, and recording costs what it did."""
import json
import sys
import unittest

import support

PROGRAM = support.SOURCE / "tests" / "gpu" / "programs" / "torch_graph_layers.py"
LAYERS = 4


def is_missing(module):
    return support.run(sys.executable, "-c", f"import {module}").returncode != 0


class GraphLayers(support.GpuTest):
    def record(self, mode, *options):
        trace = self.folder / f"{mode}.trace"
        done = support.run(support.COMMAND, "profile", "-f", "-o", trace, "--cuda-graph-trace", "node", *options, "--",
                           sys.executable, PROGRAM, mode, "100", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        facts = json.loads(done.stdout.splitlines()[-1])
        self.assertTrue(facts["is_right"])
        return trace, facts

    def tables(self, trace):
        done = support.run(support.COMMAND, "report", trace, "--only", "graphs", "--rows", "0", "--format", "json", "--tables")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        return {table["id"]: table["rows"] for table in report["tables"]}

    def check(self, mode, replays, *options):
        """The rows of the graph that ran that often, by layer; every node has a module and a line of the program."""
        trace, _ = self.record(mode, *options)
        tables = self.tables(trace)
        rows = [row for row in tables["graph_layers"] if row["replays"] >= replays]
        self.assertTrue(rows, tables)
        by_layer = {row["path"].rpartition("/")[2] or row["layer"]: row for row in rows}
        self.assertNotIn("(no module)", by_layer)
        lines = [row for row in tables["graph_lines"] if row["replays"] >= replays]
        for row in lines:
            if row["line"] != "(all nodes)":
                self.assertIn(PROGRAM.name, row["line"])
        return by_layer

    @unittest.skipIf(is_missing("torch"), "torch is not installed")
    def test_a_graph_that_was_captured_by_hand(self):
        rows = self.check("graph", 100, "--pytorch", "graphs")
        self.assertEqual(rows["Gpt"]["nodes"], rows["(all nodes)"]["nodes"])
        self.assertEqual(rows["h.*.mlp"]["nodes"] % LAYERS, 0)
        self.assertGreater(rows["h.*.attn"]["interval_ns"], 0)

    @unittest.skipIf(is_missing("torch"), "torch is not installed")
    def test_what_torch_compile_captures(self):
        rows = self.check("compile", 100, "--pytorch", "graphs")
        self.assertGreater(rows["h.*.attn"]["nodes"], 0)

    @unittest.skipIf(is_missing("jax"), "jax is not installed")
    def test_named_scopes_of_jax(self):
        trace, _ = self.record("jax")
        rows = {row["path"] for row in self.tables(trace)["graph_layers"]}
        self.assertTrue({"h_*/attn", "h_*/mlp"} & rows, rows)


if __name__ == "__main__":
    support.main()
