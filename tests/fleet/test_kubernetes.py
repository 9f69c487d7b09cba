"""The command of the job in docs/cluster.md, run once for each index as Kubernetes does, summarises all traces."""

import os
import pathlib
import re
import unittest

import fleet

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs/cluster.md").read_text(encoding="utf-8")
MANIFEST = re.search(r"## Kubernetes\n.*?```yaml\n(.*?)```", PAGE, re.S).group(1)


class Job(fleet.FleetTest):
    def test_its_command(self):
        completions = int(re.search(r"completions: (\d+)", MANIFEST).group(1))
        line = re.search(r"command: \[sh, -c, '(.*)'\]", MANIFEST).group(1)
        parts = self.folder / "parts"
        line = line.replace("gprof-cli", fleet.CLI).replace("/traces/parts", str(parts)).replace("/traces", str(self.traces))
        for index in range(completions):
            made = fleet.run("sh", "-c", line, env={**os.environ, "JOB_COMPLETION_INDEX": str(index)})
            self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(len(list(parts.iterdir())), completions)
        self.cli("merge", *parts.iterdir(), "-o", "all.gpart")
        self.assertEqual((self.folder / "all.gpart").read_bytes(), self.partial("whole.gpart", self.traces).read_bytes())


if __name__ == "__main__":
    unittest.main(verbosity=2)
