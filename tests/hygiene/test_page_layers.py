"""Which folder of src/web may import from which: the parts of the page do not know one another."""

import pathlib
import posixpath
import re
import unittest

import tree

IMPORT = re.compile(r'^(?:import|export)\b[^;]*?"(\.[^"]+)"', re.M)
ROOT = "src/web"
# Folders, and those below that they may import from.
LAYERS = {
    "shared": set(),
    "timeline/model": {"shared"},
    "timeline/paint": {"shared", "timeline/model"},
    "timeline/input": {"shared", "timeline/model"},
    "timeline/panels": {"shared", "timeline/model", "timeline/paint", "timeline/input"},
    "timeline": {"shared", "timeline/model", "timeline/paint", "timeline/input", "timeline/panels"},
    "overview": {"shared"},
    "tables": {"shared"},
    "charts": {"shared", "tables"},  # a step leads where its row does
    "diff": {"shared", "tables"},  # whose rows are those of its tables
    "fleet": {"shared", "overview"},  # findings look alike
    "": {"shared", "timeline", "overview", "tables", "charts", "diff", "fleet"},
}


def imports():
    """The modules that each module imports."""
    found = {}
    for name in tree.files(ROOT, suffixes=(".ts",)):
        module = name.removeprefix(f"{ROOT}/").removesuffix(".ts")
        folder = posixpath.dirname(module)
        found[module] = {posixpath.normpath(posixpath.join(folder, target)) for target in IMPORT.findall(tree.text(name))}
    return found


def circles(graph):
    """Modules that import themselves by way of others: what is left when those that import nothing of what is left are taken away."""
    left = dict(graph)
    while True:
        free = [module for module, targets in left.items() if not targets & left.keys()]
        if not free:
            return sorted(left)
        for module in free:
            del left[module]


class Layers(unittest.TestCase):
    def test_folders_import_what_is_below_them(self):
        wrong = []
        for module, targets in imports().items():
            folder = posixpath.dirname(module)
            wrong += [f"{module} imports {target}" for target in sorted(targets)
                      if posixpath.dirname(target) not in LAYERS[folder] | {folder}]
        self.assertEqual(wrong, [])

    def test_the_folders_have_no_circle(self):
        self.assertEqual(circles(LAYERS), [])

    def test_the_modules_have_no_circle(self):
        self.assertEqual(circles(imports()), [])

    def test_imports_are_found(self):
        found = imports()
        self.assertGreater(len(found), 50)
        self.assertEqual({target for targets in found.values() for target in targets} - found.keys(), set())
        self.assertEqual(circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}), ["a", "b", "c"])
        self.assertTrue(pathlib.Path(tree.SOURCE, ROOT).is_dir())


if __name__ == "__main__":
    tree.main()
