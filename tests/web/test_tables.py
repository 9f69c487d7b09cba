"""The tables of the page: order, filter, copying, and the way to the timeline and back."""

import csv
import io
import json
import unittest

import browser
from browser import Keys


class Tables(browser.Case):
    def show(self, trace, table):
        self.open(browser.data_page(trace), f"#tab=tables&table={table}")
        self.wait("return document.querySelector('.grid tbody tr')")

    def column(self, title):
        return self.js("""
            const heads = [...document.querySelectorAll('.grid th')].map((e) => e.textContent.replace(/[▲▼]/g, '').trim());
            const at = heads.indexOf(arguments[0]);
            return [...document.querySelectorAll('.grid tbody tr:not(.spacer)')].map((r) => r.children[at].textContent)""", title)

    def order_of(self, title):
        return self.js("""
            return [...document.querySelectorAll('.grid th')].find((e) => e.textContent.includes(arguments[0])).getAttribute('aria-sort')""", title)

    def test_a_click_sorts_and_another_turns_it_around(self):
        self.show("normalise_v3_bug", "kernels")
        self.click(".grid .sort", "Max")
        self.assertEqual(self.order_of("Max"), "descending")
        self.assertEqual(self.column("Max"), ["31.01 us", "11.46 us", "9.25 us"])
        self.click(".grid .sort", "Max")
        self.assertEqual(self.order_of("Max"), "ascending")
        self.assertEqual(self.column("Max"), ["9.25 us", "11.46 us", "31.01 us"])

    def test_in_a_narrow_window_names_leave_room_for_figures(self):
        for width, name in ((1600, "gprof::kernels::SingleThreadSumKernel"), (900, "gprof::kernels::Si…leThreadSumKernel")):
            self.size(width, 900)
            self.show("normalise_v3_bug", "kernels")
            self.assertIn(name, self.column("Name"))

    def test_keys_sort_and_move(self):
        self.show("normalise_v3_bug", "kernels")
        self.tab_to("Name")
        self.press(Keys.ENTER)
        names = self.column("Name")
        self.assertEqual(names, sorted(names))
        self.assertIn("Name", self.focused())
        self.js("document.querySelector('.grid tbody tr').focus()")
        self.press(Keys.ARROW_DOWN)
        self.assertEqual(self.js("return document.activeElement.dataset.at"), "1")
        self.assertIn("PartialReduceKernel(float const*", self.text(".row-details"))
        self.press(Keys.ENTER)
        self.assertIn("PartialReduceKernel", self.selected())

    def test_the_filter_leaves_rows_that_have_all_words(self):
        self.show("known_facts", "api")
        count = len(self.column("Function"))
        self.click(".table-filter")
        self.press("memcpy async")
        rows = self.column("Function")
        self.assertTrue(0 < len(rows) < count)
        self.assertTrue(all("memcpy" in row.lower() and "async" in row.lower() for row in rows))
        self.assertIn(f"{len(rows)} of {count} rows", self.text(".table-head"))

    def test_copies_are_csv_with_plain_numbers_and_full_names(self):
        self.show("normalise_v3_bug", "kernels")
        # A page from a file may not read the clipboard: what it would write there is taken.
        self.js("Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } })")
        self.click("#copy-csv")
        rows = list(csv.DictReader(io.StringIO(self.wait("return window.copied"))))
        report = json.loads(browser.ask("report", browser.DATA / "normalise_v3_bug.trace", "--format", "json", "--tables"))
        table = next(table for table in report["tables"] if table["id"] == "kernels")
        self.assertEqual([row["name"] for row in rows], [row["name"] for row in table["rows"]])
        self.assertEqual([int(row["total_ns"]) for row in rows], [row["total_ns"] for row in table["rows"]])

    def test_the_selected_event_marks_its_row(self):
        self.show("normalise_v3_bug", "kernels")
        self.click(".grid tbody tr[data-at='2'] button.show")
        self.selected()
        self.click("#tab-tables")
        self.assertEqual(self.js("return [...document.querySelectorAll('.grid tr.marked')].map((r) => r.dataset.at)"), ["2"])
        self.click(".table-link", "Longest kernels")
        self.wait("return document.querySelector('.table-view h2').textContent === 'Longest kernels' && document.querySelector('.grid tr.marked')")

    def test_a_gap_of_the_table_is_the_gap_of_the_timeline(self):
        self.show("starved_loader", "gaps")
        self.click(".grid tbody tr[data-at='0'] button.show")
        self.assertIn("Part of 875.11 us", self.selected())

    def test_tables_of_events_hold_thousands_of_rows(self):
        self.open(browser.data_page("many_small_copies"), "#tab=tables&table=events.copies")
        self.wait("return document.querySelector('.grid tbody tr')")
        rows = self.js("return Number(document.querySelector('.grid').getAttribute('aria-rowcount')) - 1")
        self.assertGreater(rows, 1000)
        self.assertLess(self.js("return document.querySelectorAll('.grid tbody tr').length"), 200)
        self.js("document.querySelector('.grid tbody tr').focus()")
        self.press(Keys.END)
        self.wait("return document.activeElement.dataset.at === String(arguments[0] - 1)", rows)
        self.press(Keys.HOME)
        self.wait("return document.activeElement.dataset.at === '0'")

    def test_every_table_opens(self):
        for trace in ("known_facts", "nccl_after", "captures"):
            self.open(browser.data_page(trace), "#tab=tables")
            for i in range(self.js("return document.querySelectorAll('.table-link').length")):
                self.js("document.querySelectorAll('.table-link')[arguments[0]].click()", i)
                self.assertTrue(self.text(".table-view h2"))
            self.assertEqual(self.console(), [])

    def test_narrow_windows_choose_tables_from_a_list(self):
        self.size(380, 800)
        self.show("known_facts", "kernels")
        self.js("const s = document.querySelector('.table-select'); s.value = 'api'; s.dispatchEvent(new Event('change'))")
        self.assertEqual(self.text(".table-view h2"), "CUDA calls")
        self.assertTrue(self.js("return document.querySelector('.table-select').checkVisibility()"))


if __name__ == "__main__":
    browser.main()
