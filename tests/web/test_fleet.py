"""The page about many ranks: the heat map has the figures of the verdict, and a rank leads to the command that opens its report."""

import json
import pathlib
import sys

import browser
import page_reader

sys.path.insert(0, str(browser.ROOT / "tests" / "fleet"))
import ranks  # noqa: E402

FOLDER = pathlib.Path(browser.FOLDER.name)
RANKS, STEPS = 64, 8


def traces():
    folder = FOLDER / "traces"
    if not folder.exists():
        ranks.write(folder, browser.ASSEMBLE, RANKS, STEPS)
    return folder


def page():
    return browser.made("ranks", "ranks", traces(), "--format", "html")


def verdict():
    return json.loads(browser.ask("ranks", traces(), "--format", "json"))


def heat():
    """Figures in ns by measure, each a list of rows."""
    read = page_reader.Page(page().read_text(encoding="utf-8"))
    fleet = read.data["fleet"]["heat"]
    body = next(body for attrs, body in read.elements.scripts if attrs.get("id") == "events-0")
    blob = page_reader.unpacked(body)
    figures = {}
    for measure in fleet["measures"]:
        values = page_reader.decode("varint", blob[measure["offset"]:measure["offset"] + measure["bytes"]])
        columns = fleet["columns"]
        figures[measure["id"]] = [[v * measure["unit_ns"] for v in values[i:i + columns]] for i in range(0, len(values), columns)]
    return fleet, figures


class Fleet(browser.Case):
    def show(self):
        self.open(page(), events=False)
        self.element("#heat canvas")

    def test_the_map_has_the_figures_of_the_verdict(self):
        fleet, figures = heat()
        steps = verdict()["steps"]
        self.assertEqual([rank["rank"] for rank in fleet["ranks"]], [rank["rank"] for rank in steps["ranks"]])
        self.assertEqual((fleet["path"], fleet["is_time"], fleet["columns"]), ("step", False, STEPS))
        for id_, key in (("own", "own_ns"), ("wall", "wall_ns"), ("exposed", "exposed_ns")):
            most = max(max(rank[key]) for rank in steps["ranks"])
            for row, rank in zip(figures[id_], steps["ranks"]):
                for drawn, is_ in zip(row, rank[key]):
                    self.assertAlmostEqual(drawn, is_, delta=most / 16383 + 1)
        self.assertIn("idle.os", figures)

    def test_the_worst_ranks_come_first(self):
        self.show()
        late = range(RANKS * 3 // 8 // ranks.RANKS_OF_A_HOST * ranks.RANKS_OF_A_HOST, (RANKS * 3 // 8 // ranks.RANKS_OF_A_HOST + 1) * ranks.RANKS_OF_A_HOST)
        names = [f"rank {number}" for number in late]
        self.assertIn(self.text(".heat-labels span"), names)
        self.assertIn("late host", self.text(".findings"))

    def test_a_rank_leads_to_its_report(self):
        self.show()
        self.js("document.querySelector('.heat-box').focus()")
        self.press(browser.Keys.ARROW_DOWN, browser.Keys.ENTER)
        name = self.text("#rank h2")
        self.assertIn(name, self.text("#heat .chart-value"))
        number = name.split()[1]
        self.assertEqual(self.text("#rank code"), f"gprof-cli view {traces() / f'rank{number}.trace'}")

    def test_figures_and_orders_can_be_chosen(self):
        self.show()
        picture = "return document.querySelector('#heat canvas').toDataURL()"
        before = self.js(picture)
        for choice, value in (("Figure", "idle.os"), ("Order of ranks", "rank")):
            self.js("""
                const choice = document.querySelector(`#heat select[aria-label="${arguments[0]}"]`);
                choice.value = arguments[1];
                choice.dispatchEvent(new Event('change'))""", choice, value)
            after = self.js(picture)
            self.assertNotEqual(after, before)
            before = after
        self.assertEqual(self.text(".heat-labels span"), "rank 0")
        self.assertIn("idle: os", self.text("#heat .chart-value"))

    def test_tables_are_those_of_the_verdict(self):
        self.open(page(), "#tab=tables&table=ranks", events=False)
        self.wait("return document.querySelector('.grid tbody tr')")
        self.assertIn(f"{RANKS - 1} rows", self.text(".table-head"))

    def test_partials_have_no_traces_to_open(self):
        partial = FOLDER / "all.gpart"
        if not partial.exists():
            browser.ask("partial", traces(), "-o", partial)
        self.open(browser.made("partials", "ranks", partial, "--format", "html"), events=False)
        self.assertIn(".trace", self.text("#rank"))
        self.assertEqual(self.js("return document.querySelectorAll('#rank code').length"), 0)


if __name__ == "__main__":
    browser.main()
