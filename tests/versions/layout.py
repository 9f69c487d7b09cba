"""What the tracer reads of CUPTI's records, found in its sources, and where a release's headers put it."""
import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ("activity_records.cpp", "memory_records.cpp", "device_record.cpp", "graph_nodes.cpp", "callbacks.cpp")
# Records by CUPTI's name for their newest struct without its number, and the kinds that have them.
KINDS = {"Kernel": (3, 10), "Memcpy": (1,), "MemcpyPtoP": (22,), "Memset": (2,), "GraphTrace": (51,), "Overhead": (17,),
         "Jit": (52,), "Context": (9,), "Stream": (37,), "Device": (8,), "Memory": (49,), "MemoryPool": (50,),
         "UnifiedMemoryCounter": (25,)}
# Kind 45 has a struct that goes by the same name without a number; the tracer never enables it.
OTHER_STRUCTS = {"CUpti_ActivityMemory"}
# One template reads these.
OPERATIONS = ("Kernel", "Memcpy", "MemcpyPtoP", "Memset")
CALLBACK_STRUCTS = ("CUpti_CallbackData", "CUpti_ResourceData", "CUpti_GraphData")
# No address can be taken of bits: what is around them stands for them.
BITS = {"cacheConfig.config.executed": "cacheConfig"}


def source(name):
    return next((ROOT / "src" / "tracer" / "cupti").rglob(name)).read_text()


def family(struct):
    return re.fullmatch(r"CUpti_Activity(\w*?)(\d*)", struct).group(1)


def bodies(text):
    """(struct, name of the parameter, body) of every function that takes a struct of CUPTI."""
    pattern = re.compile(r"^\S[^;{}]*\([^;{}]*const (CUpti_\w+)[&*] (\w+)[^;{}]*\{(.*?)^}", re.S | re.M)
    return [match.groups() for match in pattern.finditer(text)]


def reads(parameter, body):
    found = re.findall(rf"(?<![\w.]){parameter}(?:\.|->)([A-Za-z_]\w*(?:\.\w+)*)", body)
    return {BITS.get(path, path) for path in found}


def fields():
    """{struct that the tracer is built with: paths of the members that it reads}"""
    result, operation = {}, set()
    for name in SOURCES:
        text = source(name)
        for struct, parameter, body in bodies(text):
            if struct == "CUpti_Activity":
                continue  # what all records begin with
            result.setdefault(struct, set()).update(reads(parameter, body))
        template = re.search(r"template <class Record, class Activity>.*?^}", text, re.S | re.M)
        if template:
            operation |= reads("a", template.group(0))
    for struct in list(result):
        if struct.startswith("CUpti_Activity") and family(struct) in OPERATIONS:
            result[struct] |= operation
    # The data of graph callbacks is reached through a pointer of another type.
    result["CUpti_GraphData"] = {"graph", "node", "originalNode", "nodeType"}
    return {struct: paths for struct, paths in result.items() if paths}


def constants():
    """Every number of CUPTI's that the sources name."""
    names = set()
    for path in sorted((ROOT / "src" / "tracer").rglob("*.cpp")):
        code = re.sub(r"//.*", "", path.read_text())
        names |= set(re.findall(r"\bCUPTI_(?:ACTIVITY|CBID|CB_DOMAIN|API|ERROR|SUCCESS|UNIFIED|INVALID)\w*", code))
    return names


def newest(include, ours):
    """The struct of a release that has the records of `ours`: that with the highest number."""
    text = (pathlib.Path(include) / "cupti_activity.h").read_text()
    name = family(ours)
    numbers = [int(n or 1) for n in re.findall(rf"^\}} CUpti_Activity{name}(\d*);", text, re.M)
               if f"CUpti_Activity{name}{n}" not in OTHER_STRUCTS]
    number = max(numbers)
    return f"CUpti_Activity{name}{number if number > 1 else ''}"


PROGRAM = """
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cstddef>
#include <cstdio>
#define FIELD(path) if constexpr (requires(T t) { t.path; }) \\
  std::printf("field %s " #path " %zu %zu\\n", name, offsetof(T, path), sizeof(static_cast<T*>(nullptr)->path));
"""


def program(structs, names):
    """C++ that prints sizes and offsets. `structs`: {name to print: (struct, paths)}"""
    lines = [PROGRAM]
    for number, (_, (_, paths)) in enumerate(sorted(structs.items())):
        lines.append(f"template <class T> void Struct{number}(const char* name) {{\n  std::printf(\"size %s %zu\\n\", name, sizeof(T));")
        lines += [f"  FIELD({path})" for path in sorted(paths)]
        lines.append("}")
    lines.append("int main() {")
    lines += [f'  Struct{number}<{struct}>("{name}");' for number, (name, (struct, _)) in enumerate(sorted(structs.items()))]
    lines += [f'  std::printf("constant {name} %lld 0\\n", static_cast<long long>({name}));' for name in sorted(names)]
    return "\n".join(lines + ["}"])


def declared(include, names):
    text = "".join(path.read_text() for path in pathlib.Path(include).glob("cupti_*.h"))
    words = set(re.findall(r"\bCUPTI_\w+", text))
    return names & words


def measure(include, structs, names):
    """(sizes by name, {(name, path): (offset, size)}, constants) as the compiler sees the headers in `include`."""
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder) / "layout.cpp"
        text.write_text(program(structs, declared(include, names)))
        binary = pathlib.Path(folder) / "layout"
        command = [os.environ.get("GPROF_TEST_CXX", "c++"), "-std=c++20", "-w", "-I", str(include), "-isystem",
                   os.environ["GPROF_CUDA_H_INCLUDE"], str(text), "-o", str(binary)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        lines = subprocess.run([binary], capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    sizes, places, values = {}, {}, {}
    for kind, name, *rest in map(str.split, lines):
        if kind == "size":
            sizes[name] = int(rest[0])
        elif kind == "field":
            places[name, rest[0]] = (int(rest[1]), int(rest[2]))
        else:
            values[name] = int(rest[0])
    return sizes, places, values
