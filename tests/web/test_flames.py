"""Flame graphs in a browser: another measure, another way to group, search and zoom."""

import browser

browser.require_selenium()

CHOOSE = """
    const choice = document.querySelector(`#chart-flame select[aria-label="${arguments[0]}"]`);
    choice.value = arguments[1];
    choice.dispatchEvent(new Event('change'))"""


class Flames(browser.Case):
    def setUp(self):
        super().setUp()
        self.open(browser.data_page("starved_loader"), "#tab=charts")
        self.element("#chart-flame")

    def boxes(self):
        return self.js("return [...document.querySelectorAll('.flame-box')].map((e) => e.title)")

    def choose(self, measure, by=None):
        self.js(CHOOSE, "Measure", measure)
        if by:
            self.js(CHOOSE, "By", by)

    def test_measures_and_groups_can_be_chosen(self):
        self.assertTrue(any(box.startswith("step: ") for box in self.boxes()))
        self.choose("GPU idle time", "cause")
        self.assertRegex(self.boxes()[0], r"^(host|queue|launch)")
        self.choose("GPU idle time", "NVTX range")
        self.assertRegex(self.boxes()[0], r"^step: [\d.]+ ms, ")
        self.assertIn("GPU idle time by NVTX range: ", self.text("#chart-flame .chart-value"))
        self.choose("Potential saving")
        self.assertTrue(self.boxes())

    def test_what_is_found_is_marked_and_summed(self):
        self.choose("GPU idle time", "NVTX range")
        self.js("const box = document.querySelector('#chart-flame input'); box.value = 'HOST'; box.dispatchEvent(new Event('input'))")
        self.assertTrue(all(box.startswith("host: ") for box in self.js("return [...document.querySelectorAll('.flame-box.found')].map((e) => e.title)")))
        self.assertRegex(self.text("#chart-flame .chart-value"), r"9\d\.\d% of it under names that contain “host”")

    def test_a_click_zooms_and_can_be_taken_back(self):
        self.choose("GPU idle time", "NVTX range")
        before = self.boxes()
        self.js("[...document.querySelectorAll('.flame-box')].find((e) => e.title.startsWith('host: ')).click()")
        self.assertEqual([box.split(":")[0] for box in self.boxes()], ["step", "compute", "host"])
        self.click("#chart-flame button.tool")
        self.assertEqual(self.boxes(), before)

    def test_nothing_is_cut_on_a_narrow_window(self):
        for width in (900, 400):
            self.size(width, 800)
            self.assertEqual(self.js("return document.documentElement.scrollWidth > document.documentElement.clientWidth"), False)


if __name__ == "__main__":
    browser.main()
