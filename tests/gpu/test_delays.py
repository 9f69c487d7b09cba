"""what-if on a GPU: lines of Python that are on the path and hidden, and a program that runs already."""
import importlib.util
import json
import pathlib
import subprocess
import sys
import unittest

from support import COMMAND, PROGRAMS, GpuTest, environment, main, python_path, run

LINES = pathlib.Path(__file__).resolve().parent / "programs" / "torch_lines_program.py"


def line_of(comment):
    lines = LINES.read_text(encoding="utf-8").splitlines()
    return f"line:{LINES.name}:{next(n for n, line in enumerate(lines, 1) if line.endswith('# ' + comment))}"


class Lines(GpuTest):
    @unittest.skipIf(importlib.util.find_spec("torch") is None, "not installed: torch")
    def test_on_the_path_and_hidden(self):
        on_path, hidden = line_of("ON THE PATH"), line_of("HIDDEN")
        done = run(COMMAND, "what-if", "--of", f"{on_path},{hidden}", "--progress", "step", "--format", "json", "--",
                   sys.executable, LINES, env=environment(PYTHONPATH=python_path()), cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = {row["thing"]: row for row in json.loads(done.stdout)["table"]["rows"]}
        print(rows, file=sys.stderr)
        self.assertGreater(rows[on_path]["worth_low"], 0.6)
        self.assertLess(rows[hidden]["worth_high"], 0.4)


class Attached(GpuTest):
    def test_a_program_that_runs_already(self):
        names = subprocess.run([PROGRAMS / "gpu_proof_pairs", "--list"], capture_output=True, text=True, check=True).stdout
        program = subprocess.Popen([PROGRAMS / "gpu_proof_pairs", names.split()[0], "--seconds", "60"], stdout=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL, env=environment(), text=True)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        # It has no CUDA in its first moments.
        for _ in range(20):
            done = run(COMMAND, "what-if", "--attach", program.pid, "--experimental", "--duration", "4", "-n", "3", "--of", "launches,sync,copies",
                       "--format", "json", "-o", self.folder / "out", cwd=self.folder)
            if done.returncode in (0, 4) and done.stdout:
                break
            try:
                program.wait(1)
            except subprocess.TimeoutExpired:
                continue
        self.assertIn(done.returncode, (0, 4), done.stderr)
        print(done.stdout, file=sys.stderr)
        self.assertGreater(json.loads(done.stdout)["windows"], 6)
        self.assertIsNone(program.poll())
        self.assertEqual(program.wait(90), 0)
        self.assertGreater(float(program.stdout.read()), 0)


if __name__ == "__main__":
    main()
