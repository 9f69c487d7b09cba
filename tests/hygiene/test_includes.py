"""Who may include what: the folder rules of docs/architecture.md."""

import collections
import os
import re
import unittest

import tree

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)

# Our headers that a folder may use, besides its own.
PUBLIC = r"gprof/(trace|events|fields|host_activity|kernel_counters|library_symbols|lists|metric_tracks|packed|packed_list|packed_ranges|prefetch|pytorch|request_span|analysis|error|export|terminal_entries|version)\.h"
FORMAT = r"gprof/trace/\w+\.h"
OURS = {
    "include/gprof/trace": FORMAT,
    "src/tracer": rf"{FORMAT}|gprof/library_symbols\.h|unwind/(byte_reader|cfi|registers)\.h|tracer/.*",
    "src/cures": r"gprof/trace/env\.h|glibc/forward\.h|cures/.*",
    "src/base": r"gprof/error\.h|base/.*",
    "src/trace": rf"{FORMAT}|{PUBLIC}|base/.*|trace/.*",
    "src/unwind": r"(base|unwind)/.*",
    "src/collect": rf"{FORMAT}|{PUBLIC}|(base|trace|unwind|collect)/.*",
    "src/counters": rf"gprof/(error|library_symbols)\.h|analysis/facts/counters/.*|collect/gpu/pm_api\.h|(base|counters)/.*",
    "src/launch": rf"gprof/trace/(calibration_file|counter_request|delay_request|env|file|outbox|rank_variables|record|run_folder|write_notes)\.h|{PUBLIC}|unwind/address_space\.h|(base|collect|launch)/.*|trace/write/append\.h",
    "src/recorder": rf"{FORMAT}|{PUBLIC}|analysis/facts/(calls/error_names|recording/measured_slow_down)\.h|collect/run/own_process\.h|(base|trace|launch|recorder)/.*",
    "src/analysis": rf"{FORMAT}|{PUBLIC}|base/.*|analysis/.*",
    "src/import": rf"{FORMAT}|{PUBLIC}|(base|trace|import)/.*",
    "src/gate": rf"{FORMAT}|{PUBLIC}|(base|trace|analysis|import|fleet|gate)/.*",
    "src/export": rf"{FORMAT}|{PUBLIC}|base/.*|analysis/.*|export/.*",
    "src/html": rf"{FORMAT}|{PUBLIC}|(base|analysis|export|report|fleet|html)/.*",
    "src/report": rf"{FORMAT}|{PUBLIC}|(base|trace|analysis|report)/.*",
    "src/fleet": rf"{FORMAT}|{PUBLIC}|(base|trace|analysis|import|report|fleet)/.*",
    "src/python": rf"{PUBLIC}|trace/file/mapped_file\.h|import/read_trace\.h|(analysis|base|export|html|report|fleet|python)/.*",
    "src/glibc": r"glibc/.*",
    "src/cli": rf"{FORMAT}|{PUBLIC}|(base|trace|collect|counters|launch|recorder|analysis|gate|import|export|html|report|fleet|python|cli)/.*",
}
# Folders in layers: each may include those before it.
LAYERS = {
    "src/analysis": ["result", "findings", "facts", "causes", "topics", "registry"],
    "src/fleet": ["rank", "partial", "summarize", "verdict"],
}
# Folders with subfolders of which none include each other in a circle.
WITHOUT_CIRCLES = {*LAYERS, "src/report"}
# Layers whose subfolders know nothing of each other: what one needs of another belongs into a layer before.
APART = {"src/analysis/topics"}
# Third parties: the folders that may include them.
FOREIGN = {
    r"CLI/": {"src/cli"},
    r"nlohmann/": {"src/python", "src/base", "src/cli", "src/fleet", "src/gate", "src/export", "src/html", "src/report"},
    r"fmt/": {"src/base", "src/fleet", "src/trace", "src/counters", "src/launch", "src/analysis", "src/import", "src/gate", "src/export",
             "src/html", "src/report", "src/cli"},
    r"zstd": {"src/export", "src/fleet", "src/trace", "src/html"},
    r"sqlite3\.h$": {"src/import", "src/export"},
    r"protozero/": {"src/export"},
    r"re2/": {"src/base"},
    r"(curses|term)\.h$": {"src/cli"},
    r"zlib\.h$": {"src/trace", "src/import", "src/export", "src/html"},
    r"cuda_occupancy\.h$": {"src/analysis"},
    r"cupti|cuda(?!_occupancy\.h$)|generated_": {"src/tracer"},
    r"nvtx3": {"src/tracer", "include/gprof_cli"},
    r"gtest|gmock|benchmark/": set(),
}
# Nothing of the format may allocate, throw or print.
FORMAT_STANDARD = {
    "array", "atomic", "bit", "cassert", "cstddef", "cstdint", "cstdlib", "cstring", "iterator", "limits", "string_view",
    "tuple", "type_traits", "utility",
}
# The tracer is linked without libstdc++, so what it takes from it has to be header-only.
TRACER_FORBIDDEN = {
    "string", "vector", "map", "set", "unordered_map", "unordered_set", "memory", "functional", "iostream", "fstream",
    "sstream", "ostream", "istream", "thread", "mutex", "condition_variable", "shared_mutex", "stdexcept", "exception",
    "filesystem", "regex", "deque", "list", "future", "any", "locale", "random",
}
# The one file where collectors are known by name: of those in the target, and of those outside of it.
COLLECTORS = "src/tracer/core/collectors.cpp"
OUTSIDE_COLLECTORS = "src/collect/run/collector_list.cpp"
PRINTERS = re.compile(r"\b(fmt::print|std::cout|std::cerr|printf|fprintf|puts|fputs)\s*[(<]")
EXITS = re.compile(r"(?<![\w.>:])(?:std::)?(exit|_exit|_Exit|quick_exit|abort)\s*\(")


def folder_of(name):
    if name.startswith("include/gprof/trace/"):
        return "include/gprof/trace"
    return "/".join(name.split("/")[:2])


def sources():
    for name in tree.files("include", "src", suffixes=(".h", ".cpp", ".c")):
        yield name, folder_of(name), re.sub(r"//[^\n]*", "", tree.text(name))


class Includes(unittest.TestCase):
    def problems(self, judge):
        return [problem for name, folder, code in sources() for problem in judge(name, folder, code)]

    def test_folders_include_only_what_is_below_them(self):
        def judge(name, folder, code):
            if folder not in OURS:
                return
            for quote, header in INCLUDE.findall(code):
                if quote == '"' and not re.fullmatch(OURS[folder], header):
                    is_foreign = any(re.match(pattern, header) for pattern in FOREIGN)
                    if not is_foreign:
                        yield f"{name} includes {header}"

        self.assertEqual(self.problems(judge), [])

    def test_headers_of_ours_are_where_includes_name_them(self):
        known = {name.removeprefix(root) for root in ("src/", "include/") for name in tree.files("src", "include") if name.startswith(root)}
        known |= {"gprof/version.h", "gprof/terminal_entries.h"}  # which are made when the build is configured
        topics = {name.partition("/")[0] for name in known}

        def judge(name, folder, code):
            for quote, header in INCLUDE.findall(code):
                if quote == '"' and header.partition("/")[0] in topics and header not in known:
                    yield f"{name} includes {header}, which there is not"

        self.assertEqual(self.problems(judge), [])

    def test_third_parties_stay_in_their_folders(self):
        def judge(name, folder, code):
            for _, header in INCLUDE.findall(code):
                for pattern, allowed in FOREIGN.items():
                    if re.match(pattern, header) and folder not in allowed:
                        yield f"{name} includes {header}"

        self.assertEqual(self.problems(judge), [])

    def test_nothing_uses_the_regular_expressions_of_the_standard_library(self):
        """They go a frame deeper with each character, and back without end: base/regular_expression.h."""
        def judge(name, folder, code):
            if re.search(r"#[ \t]*include[ \t]*<regex>|\bstd::(basic_regex|regex)", code):
                yield f"{name} uses std::regex"

        self.assertEqual(self.problems(judge), [])

    def test_the_format_uses_little_of_the_standard_library(self):
        def judge(name, folder, code):
            for quote, header in INCLUDE.findall(code):
                if folder == "include/gprof/trace" and quote == "<" and header not in FORMAT_STANDARD:
                    yield f"{name} includes <{header}>"

        self.assertEqual(self.problems(judge), [])

    def test_the_tracer_uses_nothing_that_lives_in_libstdcxx(self):
        def judge(name, folder, code):
            for _, header in INCLUDE.findall(code):
                if folder == "src/tracer" and header in TRACER_FORBIDDEN:
                    yield f"{name} includes <{header}>"

        self.assertEqual(self.problems(judge), [])

    def test_layers_include_only_those_before_them(self):
        def judge(name, folder, code):
            for root, layers in LAYERS.items():
                place, may = name.removeprefix(root + "/").split("/")[0], f"{root.removeprefix('src/')}/"
                if folder != root or place not in layers:
                    continue
                for _, header in INCLUDE.findall(code):
                    other = header.removeprefix(may).split("/")[0] if header.startswith(may) else place
                    if other in layers and layers.index(other) > layers.index(place):
                        yield f"{name} includes {header}"

        self.assertEqual(self.problems(judge), [])

    def test_topics_know_no_other_topic(self):
        def judge(name, folder, code):
            for layer in APART:
                topic = re.match(rf"{layer}/(\w+)/", name)
                for _, header in INCLUDE.findall(code) if topic else ():
                    other = re.match(rf"{layer.removeprefix('src/')}/(\w+)/", header)
                    if other and other.group(1) != topic.group(1):
                        yield f"{name} includes {header}"

        self.assertEqual(self.problems(judge), [])

    def test_folders_include_each_other_in_one_direction(self):
        included = collections.defaultdict(set)  # by folder, folders
        for name, folder, code in sources():
            if folder in WITHOUT_CIRCLES:
                place = os.path.dirname(name)
                included[place] |= {"src/" + os.path.dirname(header) for quote, header in INCLUDE.findall(code) if quote == '"'} - {place}
        left = dict(included)
        while leaves := {place for place, others in left.items() if not others & left.keys()}:
            left = {place: others for place, others in left.items() if place not in leaves}
        self.assertEqual(sorted(left), [], "these include each other, or what does")

    def test_topics_of_the_tracer_meet_in_the_table_of_collectors_only(self):
        def judge(name, folder, code):
            if folder != "src/tracer" or name == COLLECTORS:
                return
            may = {"core", "capture", "writing", "imports", "store", "system", name.split("/")[2]}
            if "counters" in may:
                may.add("cupti")  # which is a part of CUPTI
            if "cupti" in may:
                may.add("places")  # where its nodes of graphs are made
            if "libraries" in may:
                may.add("nvtx")  # whose ranges its calls become
            for _, header in INCLUDE.findall(code):
                topic = re.match(r"tracer/(\w+)/", header)
                if topic and topic.group(1) not in may:
                    yield f"{name} includes {header}"

        self.assertEqual(self.problems(judge), [])

    def test_what_the_tracer_stands_on_knows_nothing_of_it(self):
        def judge(name, folder, code):
            if name.startswith("src/tracer/system/"):
                for _, header in INCLUDE.findall(code):
                    if header.startswith("tracer/") and not header.startswith("tracer/system/"):
                        yield f"{name} includes {header}"

        self.assertEqual(self.problems(judge), [])

    def test_formats_of_exports_know_nothing_of_each_other(self):
        def judge(name, folder, code):
            if folder != "src/export" or name.count("/") == 2:
                return
            may = {"output", "events", "tables", name.split("/")[2]}
            for _, header in INCLUDE.findall(code):
                topic = re.match(r"export/(\w+)/", header)
                if topic and topic.group(1) not in may:
                    yield f"{name} includes {header}"

        self.assertEqual(self.problems(judge), [])

    def test_collectors_outside_the_target_meet_in_their_list_only(self):
        def judge(name, folder, code):
            if folder != "src/collect" or name == OUTSIDE_COLLECTORS:
                return
            may = {"run", name.split("/")[2]}
            for _, header in INCLUDE.findall(code):
                topic = re.match(r"collect/(\w+)/", header)
                if topic and topic.group(1) not in may:
                    yield f"{name} includes {header}"

        self.assertEqual(self.problems(judge), [])

    def test_every_collector_is_in_the_table(self):
        described = {found for _, folder, code in sources() if folder == "src/tracer"
                     for found in re.findall(r"constexpr Collector (k\w+)\s*=?\s*\{", code)}
        table = re.search(r"Collector kCollectors\[\] = \{(.*?)\}", tree.text(COLLECTORS), re.S).group(1)
        self.assertGreater(len(described), 3)
        self.assertEqual(described, set(re.findall(r"k\w+", table)))

    def test_only_the_command_line_prints(self):
        def judge(name, folder, code):
            if folder in ("src/trace", "src/analysis", "src/export", "src/report") and PRINTERS.search(code):
                yield f"{name} prints: {PRINTERS.search(code).group(0)}"

        self.assertEqual(self.problems(judge), [])

    def test_only_main_exits(self):
        # The launcher's child after fork has no other way out.
        may_exit = ("src/cli/main.cpp",)

        def judge(name, folder, code):
            found = {match.group(1) for match in EXITS.finditer(code)}
            if folder in ("src/launch", "src/collect"):
                found -= {"_exit"}
            if found and name not in may_exit:
                yield f"{name} calls {', '.join(sorted(found))}"

        self.assertEqual(self.problems(judge), [])

    def test_there_is_something_to_look_at(self):
        self.assertGreater(len(list(sources())), 10)


if __name__ == "__main__":
    tree.main()
