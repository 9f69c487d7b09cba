"""The ways through the page that the tutorials go: from opening the file to the event that is the cause, with the mouse and
with the keyboard alone; and links that lead others to the same place."""

import unittest

import browser
from browser import Keys


class Paths(browser.Case):
    """A finding leads to its event."""

    def link_of(self, finding):
        """The button that leads to the finding's event: by its id, as its words are for readers."""
        return self.wait("""
            const own = [...document.querySelectorAll('.finding')].find((e) => e.querySelector('.finding-id').textContent === arguments[0]);
            return own?.querySelector('button.go')""", finding)

    def follow(self, trace, finding, words):
        """By mouse: what the finding says, a click, and the event is selected."""
        self.open(browser.data_page(trace))
        self.assertIn(finding, self.text(".finding-list"))
        self.js("arguments[0].id = 'to-click'", self.link_of(finding))
        self.click("#to-click")
        self.check(words)

    def follow_by_keys(self, trace, finding, words):
        self.open(browser.data_page(trace))
        self.tab_to(self.link_of(finding).get_attribute("aria-label"))
        self.press(Keys.ENTER)
        self.check(words)

    def check(self, words):
        self.assertEqual(self.link().get("tab", self.js("return document.body.dataset.tab")), "timeline")
        details = self.selected()
        for word in words:
            self.assertIn(word, details)
        self.assertTrue(self.link()["q"])
        view = [float(part) for part in self.wait("return new URLSearchParams(location.hash.slice(1)).get('t')").split(",")]
        self.assertLess(view[0], view[1])

    PAGEABLE = ["pageable", "cudaMemcpy", "8.39 MB"]
    STARVED = ["host"]

    def test_the_pageable_copies_of_the_first_version(self):
        self.follow("normalise_v1", "memcpy.pageable", self.PAGEABLE)

    def test_the_pageable_copies_by_keyboard(self):
        self.follow_by_keys("normalise_v1", "memcpy.pageable", self.PAGEABLE)

    def test_the_streams_that_are_not_used(self):
        self.follow("normalise_v3_bug", "streams.one_used", ["chunk 3 (13)"])

    def test_the_streams_by_keyboard(self):
        self.follow_by_keys("normalise_v3_bug", "streams.one_used", ["chunk 3 (13)"])

    def test_the_starved_loader(self):
        self.follow("starved_loader", "idle.host", self.STARVED)

    def test_warm_up_is_passed_over(self):
        # The longest wait of all, 840 us, is in the first step.
        self.follow("starved_loader", "idle.host", ["818.45 us"])
        self.click("button", "longest")
        self.wait("return document.querySelector('.tl-details').innerText.includes('840.21 us')")

    def test_the_starved_loader_by_keyboard(self):
        self.follow_by_keys("starved_loader", "idle.host", self.STARVED)


class Around(browser.Case):
    def test_a_link_brings_others_to_the_same_place(self):
        page = browser.data_page("starved_loader")
        self.open(page, "#tab=tables&table=nvtx")
        self.assertEqual(self.text(".table-view h2"), "NVTX ranges")
        self.click(".grid tbody tr button.show")
        details = self.selected()
        self.wait("return new URLSearchParams(location.hash.slice(1)).get('t')")
        link = self.js("return location.hash")
        self.open(page, link)
        self.assertEqual(self.selected(), details)
        self.assertEqual(self.js("return location.hash"), link)

    def test_links_that_mean_nothing_do_no_harm(self):
        page = browser.data_page("normalise_v1")
        for link in ("#t=5,1&sel=9:999999999&tab=nothing&table=none", "#sel=-1:x&t=NaN,NaN", "#%E0%A4%A&&==", "#q=" + "%22" * 50):
            self.open(page, link)
            self.assertTrue(self.text(".headline"))

    def test_tabs_by_keyboard(self):
        self.open(browser.data_page("normalise_v1"))
        self.press(Keys.TAB)
        self.assertEqual(self.focused(), "Skip to the content")
        self.tab_to("Overview")
        for key, tab in ((Keys.ARROW_RIGHT, "timeline"), (Keys.ARROW_RIGHT, "tables"), (Keys.END, "charts"), (Keys.ARROW_RIGHT, "overview"),
                         (Keys.ARROW_LEFT, "charts"), (Keys.HOME, "overview")):
            self.press(key)
            self.assertEqual(self.js("return document.activeElement.id"), f"tab-{tab}")
            self.assertTrue(self.js("return document.getElementById(arguments[0]).checkVisibility()", f"panel-{tab}"))
        outline = self.js("return getComputedStyle(document.activeElement).outlineStyle")
        self.assertNotEqual(outline, "none")

    def test_charts_lead_to_the_timeline(self):
        self.open(browser.data_page("starved_loader"), "#tab=charts")
        for chart in ("gaps", "steps", "copies"):
            with self.subTest(chart):
                self.click("#tab-charts")
                mark = self.wait("return document.querySelector(arguments[0])", f"#chart-{chart} .goes")
                self.js("arguments[0].focus()", mark)
                self.assertTrue(self.text(f"#chart-{chart} .chart-value"))
                self.press(Keys.ENTER)
                self.wait("return document.body.dataset.tab === 'timeline'")
                self.selected()

    def test_what_the_trace_does_not_know_is_not_drawn(self):
        self.open(browser.data_page("starved_loader"), "#tab=charts")
        self.assertIn("cuda-memory-usage", " ".join(self.texts(".chart.absent")))
        self.assertEqual(self.texts("#chart-memory"), [])


if __name__ == "__main__":
    browser.main()
