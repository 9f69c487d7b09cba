"""The command lines of examples/walkthroughs, with their own programs, and what must be seen there."""

import importlib.util
import os
import re
import sys
import unittest

import recorded
import support

PAGES = support.SOURCE / "examples" / "walkthroughs"
SCRIPTS = {"streams.md": "normalise_python", "loader.md": "walkthroughs", "encoder.md": "walkthroughs"}


def needs(*modules):
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


class Walkthroughs(support.GpuTest):
    def walk(self, page):
        """What each line printed; traces are in the folder of the test."""
        tools = self.folder / "bin"
        tools.mkdir()
        (tools / "gprof-cli").symlink_to(support.COMMAND)
        # A link to the interpreter of a virtual environment is one without its packages.
        (tools / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
        (tools / "python3").chmod(0o755)
        for script in (support.EXAMPLES / SCRIPTS[page]).glob("*.py"):
            (self.folder / script.name).symlink_to(script)
        env = support.environment(PATH=f"{tools}:{os.environ['PATH']}", PYTHONPATH=support.python_path(), NO_COLOR="1")
        printed = {}
        for block in re.findall(r"^```sh\n(.*?)^```", (PAGES / page).read_text(encoding="utf-8"), re.M | re.S):
            for line in block.splitlines():
                done = support.run("sh", "-c", line, env=env, cwd=self.folder)
                # A diff ends with 1 where steps got slower, as they may on a busy machine.
                self.assertIn(done.returncode, (0, 1) if line.startswith("gprof-cli diff") else (0,), f"{line}\n{done.stdout}\n{done.stderr}")
                printed[line] = " ".join(done.stdout.split())
        return printed

    def report(self, name):
        return recorded.Report.of(self.folder / name)

    @needs("numba", "numpy")
    def test_streams(self):
        printed = self.walk("streams.md")
        self.assertRegex(printed["gprof-cli report v1.trace"], r"pageable copies: H2D .*?; D2H ")
        self.assertIn("streams.one_only", self.report("v3_bug.trace").finding_ids())
        good = self.report("v3.trace")
        self.assertEqual(good.metric("streams.created"), 8)
        self.assertGreaterEqual(good.metric("streams.max_concurrency"), 2)
        self.assertNotIn("streams.one_only", good.finding_ids())

    @needs("torch")
    def test_loader(self):
        printed = self.walk("loader.md")
        # By the samples of the steps: most of the start-up is spent in main.
        self.assertRegex(printed["gprof-cli report w0.trace"], r"of [\d,]+ CPU samples in [^;]*?SlowTransform")
        self.assertNotRegex(printed["gprof-cli report w0.trace"], r"of [\d,]+ CPU samples in main\b")
        self.assertEqual("host.loader_workers" in self.report("w32.trace").finding_ids(), len(os.sched_getaffinity(0)) < 32)

    @needs("torch")
    def test_encoder(self):
        printed = self.walk("encoder.md")
        fused = printed["gprof-cli diff eager.trace fused.trace"]
        self.assertRegex(fused, r"Launches [\d,]+ -> [\d,]+ \(-[\d,]+\); [\d.]+ -> [\d.]+ kernels a step")
        self.assertIn("Kernels ", fused)


if __name__ == "__main__":
    support.main()
