"""Ten PyTorch programs with one mistake each: the first finding names the file and the line of it."""

import sys

import recorded
import support
from test_frameworks import PROGRAMS, FrameworkTest, needs

PROGRAM = PROGRAMS / "torch_culprits_program.py"
MARK = "# HERE: "
# The mechanisms that are right to come first, by what a finding's id begins with.
CULPRITS = {
    "item": ("sync.", "launch.bound", "memcpy.small", "idle.host", "kernels.chain"),
    "cpu_each_step": ("memcpy.pageable", "gpu.copy_bound"),
    "pageable_batches": ("memcpy.pageable", "gpu.copy_bound"),
    "no_workers": ("idle.host",),
    "noise_of_the_cpu": ("idle.host", "memcpy.pageable"),
    "empty_cache": ("memory.churn", "sync.implied", "idle.memory"),
    "float64": ("gpu.kernel_bound", "library."),
    "many_tiny_ops": ("launch.bound", "kernels.", "idle.host"),
    "channels_first": ("gpu.kernel_bound", "library.layout"),
    "print_the_loss": ("idle.host", "sync.", "launch.bound"),
}


def line_of(name):
    lines = PROGRAM.read_text(encoding="utf-8").splitlines()
    number, = (i for i, text in enumerate(lines, 1) if text.endswith(MARK + name))
    return f"{PROGRAM.name}:{number}"


class Culprits(FrameworkTest):
    @needs("torch")
    def test_the_first_finding_names_the_line(self):
        for name, mechanisms in CULPRITS.items():
            with self.subTest(name):
                env = support.environment(PYTHONPATH=support.python_path())
                self.profile(sys.executable, "-B", PROGRAM, name, code=0, env=env)
                first = recorded.Report.of(self.trace).document["findings"][0]
                self.assertTrue(first["id"].startswith(mechanisms), f"{first['id']}: {first['message']}")
                self.assertIn(line_of(name), recorded.words_of(first))


if __name__ == "__main__":
    support.main()
