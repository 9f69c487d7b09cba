"""The first findings of reports against what an expert would say (README.md): the score may not fall, the labels fit the tree."""

import ast
import fnmatch
import hashlib
import json
import pathlib
import re
import sys
import unittest

import examination
import examination2
import examination3
import score
import synthetic

PROGRAMS = score.HERE / "programs"
sys.path.insert(0, str(PROGRAMS))

import interventions  # noqa: E402
import variants  # noqa: E402

CORPUS = score.load()
CAPTURES = CORPUS["captures"]
RECORDED = "tests/judgement/data/"
STRANGERS = sorted(file.name.removesuffix("_programs.json") for file in PROGRAMS.glob("exam*_programs.json"))  # exam5 and later ones
MOST_BYTES_OF_JSON = 5_000_000


def ids_of_the_docs():
    page = (score.ROOT / "docs" / "analyses.md").read_text(encoding="utf-8")
    return set(re.findall(r"`([a-z]+\.[a-z_]+)`", page)) | set(CORPUS["planned"]) | {score.NONE}


def strangers_of(exam):
    return json.loads((PROGRAMS / f"{exam}_programs.json").read_text(encoding="utf-8"))


class Score(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        here = [capture for capture in CAPTURES if score.is_here(capture)]
        cls.verdicts = score.judge_all(CORPUS, here)
        print(f"\n{score.totals_table(CORPUS, cls.verdicts)}\n")

    def totals_and_floor(self, wanted):
        now, floor = score.counted_totals(CORPUS, self.verdicts, wanted), score.floor(wanted)
        self.assertIsNotNone(floor, f"floor.json has nothing of the {wanted} set: score.py --update")
        self.assertEqual(now.captures, floor.captures, "captures came or went: score.py --update")
        self.assertGreaterEqual(now.first_three, floor.first_three, "right mechanism among the first three")
        return now, floor

    def test_tuning_score_does_not_fall(self):
        now, floor = self.totals_and_floor(score.TUNING)
        self.assertGreaterEqual(now.first, floor.first, "right mechanism first")
        self.assertLessEqual(now.wrong, floor.wrong, "a wrong one among the first three")

    def test_no_report_contradicts_itself(self):
        contradicted = {v.name: v.contradictions for v in self.verdicts if v.contradictions}
        # What is blind stays so: of that half no more than the number is told.
        open_ones = {name: why for name, why in contradicted.items() if not name.startswith("blind")}
        self.assertEqual(open_ones, {})
        self.assertEqual(len(contradicted), 0, "blind captures whose reports contradict themselves")

    def test_no_report_in_json_is_large(self):
        """With all that a capture has: paths of Python stacks once made 72 MB of one of 1.1 MB."""
        self.assertEqual({v.name: v.size_bytes for v in self.verdicts if v.size_bytes > MOST_BYTES_OF_JSON}, {})

    def test_examination_scores_do_not_fall(self):
        for wanted in score.HIDDEN:
            with self.subTest(set=wanted):
                self.totals_and_floor(wanted)


class Labels(unittest.TestCase):
    def test_names_are_unique(self):
        names = [capture["name"] for capture in CAPTURES]
        self.assertEqual(sorted(names), sorted(set(names)))

    def test_each_set_has_its_file(self):
        for capture in CAPTURES:
            with self.subTest(capture=capture["name"]):
                self.assertEqual(len({"file", *score.MADE_BY} & set(capture)), 1)
                self.assertEqual(capture["name"].startswith("examination/"), "examination" in capture or "/exam_" in capture.get("file", ""))
                if "examination2" in capture:
                    folder = "blind" if examination2.is_blind(capture["examination2"]) else "open"
                    self.assertEqual(capture["name"], f"{folder}/{capture['examination2']}")
                folder, _, name = capture["name"].partition("/")
                if numbered := re.fullmatch(r"[a-z]+(\d+)", folder):
                    number = numbered[1]
                    self.assertEqual(folder, ("blind" if examination2.is_blind(name) else "open") + number)
                    self.assertTrue("examination3" in capture or f"/exam{number}_" in capture["file"])

    def test_every_label_says_something(self):
        for capture in CAPTURES:
            with self.subTest(capture=capture["name"]):
                self.assertTrue(capture["first"])
                self.assertTrue(capture["wrong"])
                self.assertTrue(capture["why"].endswith("."))

    def test_findings_of_the_labels_exist_or_are_planned(self):
        known = ids_of_the_docs()
        for capture in CAPTURES:
            label = score.Label.of(capture, CORPUS["mechanisms"])
            for pattern in label.first + label.also + label.wrong:
                with self.subTest(capture=capture["name"], finding=pattern):
                    self.assertTrue(fnmatch.filter(known, pattern) or pattern.startswith("idle."))

    def test_nothing_is_right_and_wrong(self):
        for capture in CAPTURES:
            label = score.Label.of(capture, CORPUS["mechanisms"])
            with self.subTest(capture=capture["name"]):
                self.assertEqual(set(label.first + label.also) & set(label.wrong), set())


class Captures(unittest.TestCase):
    def test_files_of_the_repository_are_there(self):
        files = [c["file"] for c in CAPTURES if "file" in c and not score.is_sample(c) and not c["file"].startswith(RECORDED)]
        self.assertEqual([file for file in files if not (score.ROOT / file).is_file()], [])

    def test_every_trace_of_the_repository_has_a_label(self):
        files = [path for folder in ("tests/data", RECORDED) for path in (score.ROOT / folder).glob("*")]
        captures = {path.relative_to(score.ROOT).as_posix() for path in files
                    if path.name.endswith((".trace", ".sqlite.gz")) or (path.parent.parent == score.HERE and path.name.endswith(".json.gz"))}
        self.assertEqual(sorted(captures - {c.get("file") for c in CAPTURES}), [])

    def test_no_recording_is_another_one(self):
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (score.ROOT / RECORDED).glob("*")]
        self.assertEqual(len(digests), len(set(digests)), "recorded for two programs, and the same bytes")

    def test_every_capture_that_is_made_has_a_label(self):
        for key, captures in score.MADE_BY.items():
            self.assertEqual({c[key] for c in CAPTURES if key in c}, set(captures))

    def test_captures_of_the_examinations_are_as_long_as_programs(self):
        made = [c for c in CAPTURES if {"examination", "examination2", "examination3"} & set(c)]
        operation = re.compile(r"^(?:kernel|memcpy|memset|graph_launch|peer_copy) ", re.MULTILINE)
        operations = {c["name"]: len(operation.findall(score.text_of(c))) for c in made}
        self.assertEqual({name: count for name, count in operations.items() if not 500 <= count <= 30_000}, {})

    def test_every_variant_of_a_program_has_a_label(self):
        labelled = {c["name"].partition(".")[0] for c in CAPTURES if c["name"].startswith(("torch/", "cupy/", "numba/", "jax/"))}
        of_torch = {f"torch/{name}" for name in variants.names_in(PROGRAMS / "torch_variants.py")}
        of_arrays = {name.replace("_", "/", 1) for name in variants.names_in(PROGRAMS / "array_variants.py")}
        self.assertEqual(of_torch | of_arrays, labelled)

    def test_every_program_of_the_later_examinations_has_a_label(self):
        for exam in ("exam3", "exam4"):
            with self.subTest(exam=exam):
                labelled = {c["name"].partition("/")[2] for c in CAPTURES if f"/{exam}_" in c.get("file", "")}
                source = (PROGRAMS / f"{exam}_variants.cu").read_text(encoding="utf-8")
                of_cuda = re.findall(r'^ +\{"(\w+)", \w+\},$', source, re.MULTILINE)
                of_python = variants.names_in(PROGRAMS / f"{exam}_variants.py")
                self.assertEqual(labelled, {f"cuda_{name}" for name in of_cuda} | set(of_python))

    def test_every_program_of_strangers_has_a_label(self):
        for exam in STRANGERS:
            with self.subTest(exam=exam):
                listed = strangers_of(exam)
                labelled = {c["name"].partition("/")[2]: c["file"] for c in CAPTURES if f"/{exam}_" in c.get("file", "")}
                names = [program["name"] for program in listed["programs"]]
                self.assertEqual(labelled, {name: f"{RECORDED}{exam}_{name}.trace" for name in names})
                self.assertEqual(len(names), len(set(names)))
                self.assertLessEqual({program["repository"] for program in listed["programs"]}, set(listed["repositories"]))

    def test_no_program_of_strangers_is_in_two_examinations(self):
        names = [program["name"] for exam in STRANGERS for program in strangers_of(exam)["programs"]]
        self.assertEqual(sorted(names), sorted(set(names)))

    def test_a_program_stands_behind_the_one_that_it_replaces(self):
        for exam in STRANGERS:
            before = set()
            for program in strangers_of(exam)["programs"]:
                with self.subTest(program=program["name"]):
                    self.assertTrue("instead_of" not in program or program["instead_of"] in before)
                before.add(program["name"])

    def test_every_fix_and_every_intervention_exists(self):
        of_cuda = set(re.findall(r'^ +\{"(\w+)", \w+\},$', (PROGRAMS / "cuda_variants.cu").read_text(encoding="utf-8"), re.MULTILINE))
        known = {interventions.CUDA: of_cuda}
        for program in (interventions.TORCH, interventions.ARRAYS):
            tree = ast.parse((PROGRAMS / program).read_text(encoding="utf-8"))
            known[program] = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        for pair in interventions.PAIRS:
            with self.subTest(pair=pair.name):
                self.assertLessEqual({pair.spoiled, pair.fixed}, known[pair.program])
                self.assertLessEqual(set(pair.advice), ids_of_the_docs() | {"idle.host", "idle.copy", "idle.sync", "idle.memory", "idle.launch"})

    def test_synthetic_captures_are_the_same_each_time(self):
        for name in ("kernel_bound", "nccl_straggler_loads_data"):
            self.assertEqual(synthetic.CAPTURES[name](), synthetic.CAPTURES[name]())
        for name in ("resnet_training", "one_rank_reads_slowly"):
            self.assertEqual(examination.CAPTURES[name](), examination.CAPTURES[name]())
        self.assertEqual(examination2.CAPTURES["one_gpu_of_four_is_hot"](), examination2.CAPTURES["one_gpu_of_four_is_hot"]())


if __name__ == "__main__":
    unittest.main(verbosity=2)
