"""`profile --pytorch`: a double of torch says what is asked of it, and the program is what it was."""
import pathlib
import shutil
import subprocess
import sys
import unittest

import launcher

HOOKS = pathlib.Path(__file__).resolve().parents[3] / "src" / "launch" / "hooks" / "sitecustomize.py"
TORCH = {
    "torch/__init__.py": "import torch.cuda, torch.cuda.nvtx, torch.autograd.profiler, torch.nn.modules.module, torch.optim.optimizer\nprint('torch')\n",
    "torch/cuda/nvtx.py": "def range_push(name):\n    print('push', name)\ndef range_pop():\n    print('pop')\n",
    "torch/nn/__init__.py": "", "torch/nn/modules/__init__.py": "", "torch/optim/__init__.py": "",
    "torch/nn/modules/module.py": """
before, after = [], []
def register_module_forward_pre_hook(hook):
    before.append(hook)
def register_module_forward_hook(hook, *, always_call):
    assert always_call
    after.append(hook)
class Module:
    parts = {}
    def named_modules(self, prefix=''):
        yield prefix, self
        for name, part in self.parts.items():
            yield from part.named_modules(prefix + '.' * bool(prefix) + name)
    def __call__(self, value):
        [hook(self, (value,)) for hook in before]
        try:
            return self.forward(value)
        finally:
            [hook(self, (value,), None) for hook in after]
""",
    "torch/optim/optimizer.py": """
before, after = [], []
register_optimizer_step_pre_hook, register_optimizer_step_post_hook = before.append, after.append
class Sgd:
    def step(self):
        [hook(self, (), {}) for hook in before]
        print('step')
        [hook(self, (), {}) for hook in after]
""",
    "model.py": """
import torch, torch.cuda
from torch.nn.modules.module import Module
class Leaf(Module):
    __eq__ = lambda self, other: True  # and so no hash
    def forward(self, value):
        return 1 // value
class Block(Module):
    def __init__(self):
        self.parts = {'fc': Leaf()}
    def forward(self, value):
        return self.parts['fc'](value)
class Net(Module):
    def __init__(self):
        self.parts = {'h.0': Block(), 'h.1': Block()}
    def forward(self, value):
        return sum(part(value) for part in self.parts.values())
net = Net()
net(1)
torch.cuda.init()
print(net(1))
try:
    net(0)
except ZeroDivisionError as error:
    print(error)
torch.optim.optimizer.Sgd().step()
""",
    "torch/cuda/__init__.py": "queued = []\n_lazy_call = queued.append\ndef init():\n    print('init')\n    [call() for call in queued]\n",
    "torch/autograd/__init__.py": "",
    "torch/autograd/profiler.py": """
class emit_nvtx:
    def __init__(self, enabled=True, record_shapes=False):
        self.shapes = record_shapes
    def __enter__(self):
        print('enter', self.shapes)
    def __exit__(self, *error):
        print('exit', *error)
class profile:
    def __init__(self, name, *, key):
        print('profile', name, key)
""",
    "sitecustomize.py": "print('of the user')\n",
    "program.py": """
import sys
assert 'torch' not in sys.modules
import torch, torch.cuda
torch.cuda.init()
torch.autograd.profiler.profile(1, key=2)
torch.autograd.profiler.profile(3, key=4)
print(torch.__spec__.loader.__class__.__name__, torch.__loader__ is torch.__spec__.loader)
""",
}

class Pytorch(launcher.LauncherTest):
    def setUp(self):
        super().setUp()
        hooks = self.stub.parent / "hooks"
        hooks.mkdir(exist_ok=True)
        shutil.copy(HOOKS, hooks)
        for name, text in TORCH.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            self.write(name, text)

    def run_with(self, *options, code=None):
        command = [sys.executable, "program.py"] if code is None else [sys.executable, "-c", code]
        return self.profile(*options, "--", *command, env=self.python_env(), text=True)

    def python_env(self):
        return {**self.env, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}

    PLAIN = ["of the user", "torch", "init", "profile 1 2", "profile 3 4", "SourceFileLoader True"]

    def test_operators_are_emitted_once_cuda_is_there(self):
        for value, shapes in (("autograd-nvtx", False), ("autograd-shapes-nvtx", True)):
            done = self.run_with("--pytorch", value)
            expected = list(self.PLAIN)
            expected[3:3] = [f"enter {shapes}", "exit None None None"]
            self.assertEqual((done.returncode, done.stdout.splitlines()), (0, expected), done.stderr)

    def test_where_the_tracer_cannot_be_called_torch_emits_its_operators(self):
        done = self.run_with("--pytorch", "ops")
        expected = list(self.PLAIN)
        expected[3:3] = ["enter True", "exit None None None"]
        self.assertEqual((done.returncode, done.stdout.splitlines()), (0, expected), done.stderr)

    def test_modules_have_the_names_that_they_have_in_the_outermost_one(self):
        plain = subprocess.run([sys.executable, "model.py"], capture_output=True, text=True, check=True, cwd=self.folder,
                               env=self.python_env())
        first = ["push nn.Module: Net", "push nn.Module: h.0 (Block)", "push nn.Module: h.0.fc (Leaf)", "pop", "pop"]
        second = ["push nn.Module: h.1 (Block)", "push nn.Module: h.1.fc (Leaf)", "pop", "pop", "pop"]
        ranges = [*first, *second, *first, "pop", "push Optimizer.step: Sgd", "pop"]
        for value in ("modules", "functions-trace"):
            done = self.profile("--pytorch", value, "--", sys.executable, "model.py", env=self.python_env(), text=True)
            lines = done.stdout.splitlines()
            is_range = [line.startswith(("push", "pop")) for line in lines]
            self.assertEqual([line for line, is_ours in zip(lines, is_range) if is_ours], ranges, done.stderr)
            self.assertEqual([line for line, is_ours in zip(lines, is_range) if not is_ours], plain.stdout.splitlines())
            self.assertEqual(done.returncode, 0)

    def test_operators_and_modules(self):
        done = self.run_with("--pytorch", "autograd-nvtx,modules")
        self.assertIn("enter False", done.stdout, done.stderr)

    def test_without_the_option_nothing_is_there(self):
        for options in ((), ("--pytorch", "none")):
            done = self.run_with(*options, code="import sys; print([p for p in sys.path if 'hooks' in p])")
            self.assertEqual(done.stdout.splitlines(), ["of the user", "[]"], done.stderr)

    def test_a_program_without_torch_is_what_it_was(self):
        code = "try:\n  import torch.nothing\nexcept ImportError as error:\n  print(error)\nimport json"
        plain = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=self.folder,
                               env=self.python_env())
        done = self.run_with("--pytorch", "autograd-nvtx", code=code)
        self.assertEqual((done.returncode, done.stdout), (plain.returncode, plain.stdout), done.stderr)

    def test_values(self):
        done = self.run_with("--pytorch", "everything")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("use ops, autograd-nvtx", done.stderr)
        done = self.run_with("-t", "cuda", "--pytorch", "autograd-nvtx")
        self.assertIn("--pytorch needs NVTX", done.stderr)


if __name__ == "__main__":
    unittest.main()
