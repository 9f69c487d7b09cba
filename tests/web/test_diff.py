"""The page of a difference: what changed, why, and both runs above each other."""

import json
import re
import unittest

import browser

NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def ns_of(text):
    number, unit = re.match(r"([-+]?[\d.,]+) (\w+)", text).groups()
    return float(number.replace(",", "")) * NS[unit]


class DiffPage(browser.Case):
    def setUp(self):
        super().setUp()
        self.page = browser.diff_page("normalise_v1", "normalise_v3_streams")
        self.diff = json.loads(browser.ask("diff", browser.DATA / "normalise_v1.trace", browser.DATA / "normalise_v3_streams.trace", "--format", "json"))

    def test_the_verdict_and_its_explanation(self):
        self.open(self.page)
        self.assertIn("83.1%", self.text(".headline"))
        self.assertEqual(self.texts(".explanation li"), self.diff["explanation"])
        self.assertIn(self.diff["evidence"], self.text(".hero"))

    def test_the_parts_sum_to_the_difference(self):
        self.open(self.page)
        rows = self.js("return [...document.querySelector('.waterfall').rows].map((r) => [r.cells[0].textContent, r.cells[1].textContent])")
        parts = [row for row in self.diff["time"] if row["in_window"]]
        self.assertEqual([label for label, _ in rows[1:-1]], [part["label"] for part in parts])
        self.assertEqual(self.diff["window"]["base_ns"] + sum(part["change_ns"] for part in parts), self.diff["window"]["new_ns"])
        self.assertAlmostEqual(ns_of(rows[-1][1]), self.diff["window"]["new_ns"], delta=5e3)
        bars = self.js("return [...document.querySelectorAll('.waterfall')[0].querySelectorAll('.fall')].map((e) => e.getBoundingClientRect()).map((b) => [b.left, b.right])")
        for before, after in zip(bars[1:-1], bars[2:-1]):  # each begins where the one before ended
            self.assertTrue(any(abs(a - b) < 3 for a in before for b in after), (before, after))

    def test_two_timelines_and_tables(self):
        self.open(self.page)
        self.click("#tab-timeline")
        self.wait("return document.querySelectorAll('.tl-run').length === 2")
        self.click("#tab-tables")
        for table in ("Time breakdown", "Kernels", "Copies and memsets", "All metrics", "Longest kernels"):
            self.click(".table-link", table)
            self.wait("return document.querySelector('.table-view h2').textContent === arguments[0] && document.querySelector('.grid tbody tr')", table)

    def test_a_part_leads_to_its_events(self):
        self.open(self.page)
        self.click(".waterfall .link", "idle: copy")
        self.assertIn("copy", self.selected())

    def test_narrow_and_dark(self):
        self.size(380, 800)
        self.prefer("dark")
        self.open(self.page)
        self.assertLessEqual(self.js("return document.scrollingElement.scrollWidth"), 380)

    def test_measurements_without_traces_have_no_timeline(self):
        gates = browser.DATA / "gates"
        self.open(browser.made("gates", "diff", gates / "v1.json", gates / "v2.json", "--format", "html"))
        self.assertEqual(self.texts("[role=tab]"), ["Difference", "Tables"])
        self.click("#tab-tables")
        self.assertNotIn("Single events", " ".join(self.texts(".table-list h3")))

    def test_runs_with_steps_have_theirs_explained(self):
        self.open(browser.diff_page("normalise_v2", "normalise_v3_bug"))
        self.assertIn("One “round” step", " ".join(self.texts(".card h2")))


if __name__ == "__main__":
    browser.main()
