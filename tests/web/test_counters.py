"""Charts of kernel counters, on a page of what Nsight Compute printed for 13 kernels: they show the figures of the report."""

import gzip
import json
import pathlib
import re

import browser

FOLDER = pathlib.Path(browser.FOLDER.name)


def capture():
    path = FOLDER / "ncu_full.csv"
    if not path.exists():
        path.write_bytes(gzip.decompress((browser.DATA / "counters" / "ncu_full.raw.csv.gz").read_bytes()))
    return path


def report():
    return json.loads(browser.ask("report", capture(), "--format", "json", "--tables"))


def rows(document, table):
    return next(entry["rows"] for entry in document["tables"] if entry["id"] == table)


class Counters(browser.Case):
    def show(self):
        self.open(browser.report_page(capture()), "#tab=charts")
        self.element("#counter-charts")

    def test_the_roofline_has_every_kernel(self):
        self.show()
        expected = [row for row in rows(report(), "counter_roofline") if row["level"] == "DRAM" and row["intensity"] > 0 and row["gflops"] > 0]
        self.assertGreater(len(expected), 5)
        values = self.js("return [...document.querySelectorAll('#chart-roofline .spot')].map((e) => e.dataset.value)")
        self.assertEqual(len(values), len(expected))
        roofs = " ".join(self.texts("#chart-roofline .roofs text"))
        for word in ("DRAM", "L2", "L1", "FP32"):
            self.assertIn(word, roofs)
        outside = self.js("""
            const box = document.querySelector('#chart-roofline svg.plot').getBoundingClientRect();
            return [...document.querySelectorAll('#chart-roofline .spot')].map((e) => e.getBoundingClientRect())
              .filter((r) => r.left < box.left || r.right > box.right || r.top < box.top || r.bottom > box.bottom).length""")
        self.assertEqual(outside, 0)

    def test_another_level_moves_the_points(self):
        self.show()
        where = "return [...document.querySelectorAll('#chart-roofline .spot')].map((e) => e.getBoundingClientRect().x)"
        before = self.js(where)
        self.js("""
            const choice = document.querySelector('#chart-roofline select');
            choice.value = 'L2';
            choice.dispatchEvent(new Event('change'))""")
        self.assertNotEqual(self.js(where), before)
        self.assertIn("FLOP/B of L2", self.js("return document.querySelector('#chart-roofline .spot').dataset.value"))

    def test_a_point_chooses_its_kernel(self):
        self.show()
        name = self.js("""
            const point = [...document.querySelectorAll('#chart-roofline .spot:not(.chosen)')].pop();
            point.dispatchEvent(new Event('click'));
            return point.dataset.value.split(':')[0]""")
        chosen = self.js("const c = document.querySelector('.kernel-choice'); return c.options[c.selectedIndex].textContent")
        self.assertEqual(chosen[:20], name[:20])

    def test_bars_and_edges_are_those_of_the_report(self):
        self.show()
        document = report()
        kernel = rows(document, "counters")[0]["kernel"]
        stalls = [row for row in rows(document, "counter_stalls") if row["kernel"] == kernel]
        self.assertGreater(len(stalls), 1)
        self.assertEqual(len(self.texts("#chart-stalls tr")), len(stalls))
        self.assertIn(f"{stalls[0]['share_percent']:.1f}%", self.text("#chart-stalls tr"))
        edges = [row for row in rows(document, "counter_traffic") if row["kernel"] == kernel]
        self.assertEqual(len(self.texts("#chart-units .traffic")), len(edges))
        self.assertIn("Compute", self.text("#chart-speed"))

    def test_occupancy_is_that_of_the_report(self):
        self.show()
        overview = rows(report(), "counters")[0]
        text = self.text("#counter-charts #chart-occupancy")
        self.assertIn(f"{overview['theoretical_occupancy_percent']:.1f}% theoretical, {overview['occupancy_percent']:.1f}% achieved", text)
        self.assertEqual(len(self.texts("#counter-charts .curves svg")), 3)

    def test_kernels_of_a_trace_have_curves(self):
        self.open(browser.data_page("normalise_v1"), "#tab=charts")
        document = json.loads(browser.ask("report", browser.DATA / "normalise_v1.trace", "--format", "json", "--tables"))
        expected = {(row["registers"], f"{row['occupancy_percent']:.1f}") for row in rows(document, "occupancy")}
        shown = set()
        self.element(".kernel-choice")
        for i in range(self.js("return document.querySelector('.kernel-choice').options.length")):
            label, text = self.js("""
                const choice = document.querySelector('.kernel-choice');
                choice.selectedIndex = arguments[0];
                choice.dispatchEvent(new Event('change'));
                return [choice.selectedOptions[0].textContent, document.querySelector('#chart-occupancy').innerText]""", i)
            registers = int(re.search(r"(\d+) registers? per thread", label).group(1))
            self.assertIn(f"Now {registers} registers per thread", text)
            shown.add((registers, re.search(r"([\d.]+)% theoretical", text).group(1)))
        self.assertEqual(shown, expected)

    def test_a_trace_without_counters_has_no_such_charts(self):
        self.open(browser.data_page("normalise_v1"), "#tab=charts")
        self.element(".chart")
        self.assertEqual(self.js("return document.querySelectorAll('#counter-charts').length"), 0)


if __name__ == "__main__":
    browser.main()
