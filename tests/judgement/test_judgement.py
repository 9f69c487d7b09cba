"""The first findings of reports against what an expert would say (README.md): the score may not fall, the labels fit the tree.

With --all it asks the same of all captures, and is skipped (77) where ../shared/samples does not have them.
"""

import fnmatch
import hashlib
import re
import sys
import unittest

import choose_captures
import score

EVERYTHING = "--all" in sys.argv
SKIP = 77
CORPUS = score.load()
CAPTURES = CORPUS["captures"]
WANTED = [capture for capture in CAPTURES if EVERYTHING or score.is_kept(capture)]
SAMPLES_ARE_HERE = all(score.path_of(capture).is_file() for capture in CAPTURES)
MOST_BYTES_OF_JSON = 5_000_000


def ids_of_the_docs():
    page = (score.ROOT / "docs" / "analyses.md").read_text(encoding="utf-8")
    return set(re.findall(r"`([a-z]+\.[a-z_]+)`", page)) | {score.NONE}


class Score(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.verdicts = score.judge_all(CORPUS, WANTED)
        cls.totals = score.totals_of(CORPUS, cls.verdicts, EVERYTHING)
        print(f"\n{score.totals_table(cls.totals)}\n")

    def test_scores_do_not_fall(self):
        for wanted, floor in score.floors().items():
            now = self.totals.get(wanted)
            with self.subTest(set=wanted):
                if now is None:  # of the other run, with or without --all
                    continue
                self.assertEqual(now.captures, floor.captures, "captures came or went: score.py --update")
                self.assertGreaterEqual(now.first_three, floor.first_three, "right mechanism among the first three")
                if wanted not in score.HIDDEN:
                    self.assertGreaterEqual(now.first, floor.first, "right mechanism first")
                    self.assertLessEqual(now.wrong, floor.wrong, "a wrong one among the first three")

    def test_every_set_has_a_floor(self):
        self.assertLessEqual(set(self.totals), set(score.floors()), "score.py --update")

    def test_no_report_contradicts_itself(self):
        contradicted = {v.name: v.contradictions for v in self.verdicts if v.contradictions}
        # Of the hidden sets no more than the number is told.
        sets = {capture["name"]: score.set_of(capture) for capture in CAPTURES}
        self.assertEqual({name: why for name, why in contradicted.items() if sets[name] == score.TUNING}, {})
        self.assertEqual(len(contradicted), 0, "captures of hidden sets whose reports contradict themselves")

    def test_messages_are_short_and_plain(self):
        """Of the hidden sets, too: what is wrong with words says nothing of what was found."""
        self.assertEqual({v.name: v.wording for v in self.verdicts if v.wording}, {})

    def test_no_report_in_json_is_large(self):
        """With all that a capture has: paths of Python stacks once made 72 MB of one of 1.1 MB."""
        self.assertEqual({v.name: v.size_bytes for v in self.verdicts if v.size_bytes > MOST_BYTES_OF_JSON}, {})


class Labels(unittest.TestCase):
    def test_names_and_files_are_unique(self):
        for key in ("name", "file"):
            values = [capture[key] for capture in CAPTURES]
            self.assertEqual(sorted(values), sorted(set(values)))

    def test_every_label_says_something(self):
        for capture in CAPTURES:
            with self.subTest(capture=capture["name"]):
                self.assertTrue(capture["first"])
                self.assertTrue(capture["wrong"])
                self.assertTrue(capture["why"].endswith("."))

    def test_findings_of_the_labels_exist(self):
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
    def test_every_capture_of_the_tree_has_a_label(self):
        labelled = {score.kept_path(capture) for capture in CAPTURES}
        self.assertEqual(set((score.HERE / "data").iterdir()) - labelled, set())
        self.assertEqual(set((score.ROOT / "tests" / "data").glob("*.trace")) - labelled, set())

    def test_the_tree_stays_small(self):
        files = list((score.HERE / "data").iterdir())
        self.assertLessEqual(len(files), choose_captures.MOST_CAPTURES)
        self.assertLessEqual(sum(path.stat().st_size for path in files), choose_captures.MOST_BYTES)

    def test_no_recording_is_another_one(self):
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (score.HERE / "data").iterdir()]
        self.assertEqual(len(digests), len(set(digests)), "recorded for two programs, and the same bytes")

    @unittest.skipUnless(SAMPLES_ARE_HERE, "../shared/samples does not have all captures")
    def test_the_tree_has_what_the_script_chooses(self):
        chosen = choose_captures.choose(CORPUS)
        self.assertEqual({score.kept_path(capture) for capture in chosen}, set((score.HERE / "data").iterdir()))
        self.assertEqual((score.HERE / "kept.md").read_text(encoding="utf-8"), choose_captures.page(CORPUS, chosen))


if __name__ == "__main__":
    if EVERYTHING:
        sys.argv.remove("--all")
        if not SAMPLES_ARE_HERE:
            print(f"skipped: {score.SAMPLES} does not have all captures")
            sys.exit(SKIP)
        unittest.main(verbosity=2, defaultTest="Score")
    unittest.main(verbosity=2)
