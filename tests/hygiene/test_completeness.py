"""What is written down in a list is complete: registries, and the sources that CMake builds."""

import re
import unittest

import tree

LIST_FILES = {"registry.cpp", "commands.cpp"}


def stem(name):
    return name.split("/")[-1].rsplit(".", 1)[0]


class Registries(unittest.TestCase):
    def test_every_command_file_is_in_the_list_of_commands(self):
        files = {stem(name).removeprefix("cmd_") for name in tree.files("src/cli", suffixes=(".cpp",))
                 if stem(name).startswith("cmd_")}
        self.assertTrue(files)
        listing = "".join(tree.text(name) for name in tree.files("src/cli", suffixes=(".cpp", ".h"))
                          if stem(name) == "commands")
        missing = [name for name in sorted(files) if not re.search(rf"\b\w*{name}\w*\b", listing, re.I)]
        self.assertEqual(missing, [])

    def test_every_analysis_file_is_in_the_registry(self):
        registry = tree.text("src/analysis/registry/registry.cpp")
        defined = {}
        for name in tree.files("src/analysis", suffixes=(".cpp",)):
            code = tree.text(name)
            # An analysis is a function AnalysisResult X(const AnalysisInput&, const AnalysisOptions&) that others can call.
            public = re.sub(r"namespace \{.*?\}  // namespace\n", "", code, flags=re.S)
            for function in re.findall(r"^AnalysisResult (\w+)\(\s*const AnalysisInput&[^)]*AnalysisOptions&", public, re.M):
                defined[function] = name
        self.assertTrue(defined)
        missing = [f"{name}: {function}" for function, name in sorted(defined.items())
                   if not re.search(rf"\b{function}\b", registry)]
        self.assertEqual(missing, [])


# With compilers of MPI libraries, OpenMP and OpenACC, which CMake does not ask for.
BUILT_BY_TESTS = {f"tests/e2e/tracer/programs/{name}.c" for name in ("acc_facts", "library_facts", "mpi_facts", "omp_facts", "start_cuda", "ucx_facts")}
BUILT_BY_TESTS.add("tests/judgement/exam_ranks/real/ranks.c")  # by real/record.sh


class Lists(unittest.TestCase):
    def test_cmake_builds_every_source(self):
        forgotten = []
        for name in tree.files("src", "tests", "kernels", "examples", suffixes=(".cpp", ".cu", ".c")):
            if name in BUILT_BY_TESTS:
                continue
            folder, _, file = name.rpartition("/")
            lists = []
            while folder:
                path = tree.SOURCE / folder / "CMakeLists.txt"
                if path.is_file():
                    lists.append(path.read_text(encoding="utf-8"))
                folder = folder.rpartition("/")[0]
            if not any(self.lists(text, file) for text in lists):
                forgotten.append(name)
        self.assertEqual(forgotten, [])

    def lists(self, text, file):
        text = re.sub(r"#[^\n]*", "", text)
        if re.search(rf"(?<![\w.-]){re.escape(file)}(?![\w.-])", text):
            return True
        # foreach(name a b) … ${name}.cpp and functions that add the ending.
        name = re.escape(file.rsplit(".", 1)[0])
        return "}" + file[file.rindex("."):] in text and re.search(rf"(?<![\w-]){name}(?![\w-])", text) is not None

    def test_cmake_runs_every_python_test(self):
        forgotten = []
        for name in tree.files("tests", suffixes=(".py",)):
            if stem(name).startswith("test_"):
                folder = name.rpartition("/")[0]
                listing = tree.SOURCE / folder / "CMakeLists.txt"
                text = listing.read_text(encoding="utf-8") if listing.is_file() else ""
                if not re.search(rf"\b{stem(name)}\b|\b{stem(name).removeprefix('test_')}\b", text):
                    forgotten.append(name)
        self.assertEqual(forgotten, [])

    def test_nothing_of_a_release_is_compiled_for_a_debugger(self):
        names = [name for name in tree.files("src", "kernels", "examples", suffixes=("CMakeLists.txt", ".cmake"))]
        self.assertTrue(names)
        self.assertEqual([name for name in [*names, "CMakeLists.txt", "CMakePresets.json"] if "-Og" in tree.text(name)], [])

    def test_nothing_is_left_of_the_skeleton(self):
        self.assertEqual([name for name in tree.files() if stem(name) == "placeholder"], [])


if __name__ == "__main__":
    tree.main()
