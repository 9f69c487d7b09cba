"""What `--pytorch graphs` tells the tracer: modules while a graph is captured, and the source of generated code."""
import pathlib
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src" / "launch" / "hooks"))
import gprof_graphs  # noqa: E402


class Modules:
    """Stands for what sitecustomize makes: it calls push and pop between begin() and end()."""

    def __init__(self, push, pop):
        self.push, self.pop, self.is_on = push, pop, False

    def begin(self):
        self.is_on = True

    def end(self):
        self.is_on = False


class Captures(unittest.TestCase):
    def setUp(self):
        self.told, self.calls = [], []
        before = gprof_graphs.tell_place
        self.addCleanup(setattr, gprof_graphs, "tell_place", before)
        gprof_graphs.tell_place = self.told.append
        calls = self.calls

        class CUDAGraph:
            def capture_begin(self, pool=None, capture_error_mode="global"):
                if pool == "bad":
                    raise RuntimeError("pool")
                calls.append(("begin", pool, capture_error_mode))

            def capture_end(self):
                calls.append("end")
        self.kind = CUDAGraph
        torch = types.SimpleNamespace(cuda=types.SimpleNamespace(graphs=types.SimpleNamespace(CUDAGraph=CUDAGraph)))

        def make(push, pop):
            self.modules = Modules(push, pop)
            return self.modules
        gprof_graphs.watch_captures(torch, make)

    def test_modules_are_told_while_a_graph_is_captured(self):
        graph = self.kind()
        self.assertFalse(self.modules.is_on)
        graph.capture_begin("pool", capture_error_mode="relaxed")
        self.assertTrue(self.modules.is_on)
        self.modules.push("nn.Module: GPT")
        self.modules.push("nn.Module: h.0 (Block)")
        self.modules.pop()
        graph.capture_end()
        self.assertFalse(self.modules.is_on)
        self.assertEqual(self.told, ["nn.Module: GPT", "nn.Module: GPT / nn.Module: h.0 (Block)", "nn.Module: GPT", ""])
        self.assertEqual(self.calls, [("begin", "pool", "relaxed"), "end"])

    def test_a_second_capture_meanwhile(self):
        one, other = self.kind(), self.kind()
        one.capture_begin()
        other.capture_begin()
        one.capture_end()
        self.assertTrue(self.modules.is_on)
        other.capture_end()
        self.assertFalse(self.modules.is_on)

    def test_a_capture_that_cannot_begin(self):
        with self.assertRaisesRegex(RuntimeError, "pool"):
            self.kind().capture_begin("bad")
        self.assertFalse(self.modules.is_on)

    def test_code_that_was_compiled_sees_no_hooks(self):
        counters = {"frames": {"total": 1}}
        sys.modules["torch._dynamo.utils"] = types.SimpleNamespace(counters=counters)
        self.addCleanup(sys.modules.pop, "torch._dynamo.utils")
        graph = self.kind()
        graph.capture_begin()
        self.assertFalse(self.modules.is_on)
        graph.capture_end()
        counters["frames"]["total"] = 0
        graph.capture_begin()
        self.assertTrue(self.modules.is_on)
        graph.capture_end()

    def test_a_tracer_that_fails_changes_nothing(self):
        def fail(_):
            raise OSError("no tracer")
        gprof_graphs.tell_place = fail
        graph = self.kind()
        graph.capture_begin()
        graph.capture_end()
        self.assertEqual(len(self.calls), 2)


GENERATED = '''# AOT ID: ['0_inference']
import torch
# Topologically Sorted Source Nodes: [x, linear], Original ATen: [aten.addmm]
# Source node to ATen node mapping: ...
triton_poi_fused_0 = async_compile.triton("...")

def call(args):
    # Topologically Sorted Source Nodes: [linear], Original ATen: [aten.addmm]
    extern_kernels.addmm(arg0, arg1, out=buf0)
    # Topologically Sorted Source Nodes: [relu, add_1], Original ATen: [aten.relu, aten.add]
    stream0 = get_raw_stream(0)
    triton_poi_fused_0.run(buf0, stream=stream0)
    # Topologically Sorted Source Nodes: [unknown], Original ATen: []
    del buf0
'''


def node(name, modules, stack_trace):
    return types.SimpleNamespace(name=name, meta={"nn_module_stack": modules, "stack_trace": stack_trace})


class Block:
    pass


STACK = '  File "/app/model.py", line 12, in forward\n    x = self.fc(x)\n  File "/site/torch/nn/modules/linear.py", line 125, in forward\n    return F.linear(x)\n'


class Generated(unittest.TestCase):
    def setUp(self):
        self.told = []
        before = gprof_graphs.tell_lines
        self.addCleanup(setattr, gprof_graphs, "tell_lines", before)
        gprof_graphs.tell_lines = lambda *args: self.told.append(args)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = folder.name + "/cab.py"
        pathlib.Path(self.file).write_text(GENERATED, encoding="utf-8")
        self.files = gprof_graphs._GeneratedFiles("/site/torch/")
        modules = {"a": ("L['self']", "model.GPT"), "b": ("L['self']._modules['h']._modules['0']", Block),
                   "c": ("L['self'].h[0].fc", "torch.nn.modules.linear.Linear")}
        self.graph = types.SimpleNamespace(nodes=[
            node("linear", modules, STACK),
            node("relu", dict(list(modules.items())[:2]), '  File "/app/model.py", line 13, in forward\n    y\n'),
            node("add_1", dict(list(modules.items())[:1]), '  File "/app/model.py", line 14, in forward\n    y\n'),
            types.SimpleNamespace(name="arg0", meta={})])

    def test_each_line_has_the_source_of_its_last_node(self):
        self.files.within(self.files.note_graph(self.graph))
        self.files.tell(self.file)
        linear = ("nn.Module: GPT / nn.Module: h.0 (Block) / nn.Module: h.0.fc (Linear)", "/app/model.py", 12, "forward")
        self.assertEqual(self.told, [(self.file, 4, 7, linear), (self.file, 9, 9, linear),
                                     (self.file, 11, 12, ("nn.Module: GPT", "/app/model.py", 14, "forward"))])
        self.files.tell(self.file)  # a second time: nothing more
        self.assertEqual(len(self.told), 3)

    def test_a_name_of_two_graphs_is_not_guessed(self):
        self.files.note_graph(self.graph)
        other = types.SimpleNamespace(nodes=[node("linear", {}, '  File "/app/other.py", line 1, in g\n')])
        self.files.note_graph(other)
        self.files.tell(self.file)  # outside of a compilation, as for a backward pass
        self.assertEqual([told[3][2] for told in self.told], [14])

    def test_the_hooks_pass_everything_through(self):
        loaded = []

        class PyCodeCache:
            @classmethod
            def load_by_key_path(cls, key, path, linemap=None):
                loaded.append((key, path, linemap))
                return "module"
        compiler = types.SimpleNamespace(compile_fx=lambda model_, inputs, **keywords: (
            PyCodeCache.load_by_key_path("k", self.file, linemap=[]), inputs, keywords))
        fakes = {"torch": types.SimpleNamespace(__file__="/site/torch/__init__.py"), "torch._inductor.compile_fx": compiler,
                 "torch._inductor.codecache": types.SimpleNamespace(PyCodeCache=PyCodeCache)}
        self.addCleanup(setattr, gprof_graphs, "_files", None)
        for name, fake in fakes.items():
            sys.modules[name] = fake
            self.addCleanup(sys.modules.pop, name)
        gprof_graphs.compiler_is_there()
        answer = compiler.compile_fx(types.SimpleNamespace(graph=self.graph), [1], mode="m")
        self.assertEqual(answer, ("module", [1], {"mode": "m"}))
        self.assertEqual(loaded, [("k", self.file, [])])
        self.assertEqual(len(self.told), 3)


if __name__ == "__main__":
    unittest.main()
