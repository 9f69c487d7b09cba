"""The timeline in a browser, on pages that fake_page.py makes: keys, mouse, filter, ranges, links, hostile names, two runs."""

import json
import pathlib
import re
import shutil
import unittest

import browser
import fake_page
import page_reader
from browser import ActionChains, Keys

if not shutil.which("esbuild"):
    browser.skip("no esbuild")

FOLDER = pathlib.Path(browser.FOLDER.name)
PAGES = {
    "plain": ["--events", "6000"],
    "hostile": ["--events", "9000", "--hostile"],
    "merged": ["--events", "4000", "--merged"],
    "diff": ["--events", "4000", "--diff"],
    "gpus": ["--events", "30000", "--gpus", "8", "--streams", "6"],
}


def page(name):
    path = FOLDER / f"fake-{name}.html"
    if not path.exists():
        fake_page.write([*PAGES[name], "-o", str(path)])
    return path


def counts_by_kind(name):
    """Out of the file, by other means than the page's."""
    text = page(name).read_text(encoding="utf-8")
    timeline, blob = (page_reader.unpacked(re.search(rf'id="{part}">(.*?)</script>', text, re.DOTALL).group(1))
                      for part in ("page", "events-0"))
    timeline = json.loads(timeline)["timelines"][0]
    counts = dict.fromkeys(fake_page.KINDS, 0)
    for track in timeline["tracks"]:
        for lane in track["lanes"]:
            for column in lane["columns"]:
                if column["name"] == "kind":
                    for value in blob[column["offset"]:column["offset"] + column["bytes"]]:
                        counts[fake_page.KINDS[value]] += 1
    return counts


# Of a copy, as browsers warn of canvases that are read back.
READ = """
const canvas = document.querySelector(arguments[0]);
const copy = document.createElement('canvas');
copy.width = canvas.width;
copy.height = canvas.height;
const context = copy.getContext('2d', {willReadFrequently: true});
context.drawImage(canvas, 0, 0);
const words = new Uint32Array(context.getImageData(0, 0, copy.width, copy.height).data.buffer);
"""


class Timeline(browser.Case):
    def show(self, name, link="tab=timeline"):
        self.open(page(name), f"#{link}")

    def field(self, name):
        """Of the address, once it is there."""
        return self.wait("return new URLSearchParams(location.hash.slice(1)).get(arguments[0])", name)

    def view(self):
        return [float(part) for part in self.field("t").split(",")]

    def title(self):
        return self.wait("return document.querySelector('.tl-details h2')?.textContent")

    def settle(self):
        """Two frames, and the address is written: its timer was set before this one, so that it is over before."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 130)))")

    def colors(self, canvas=".tl-canvas"):
        """How many colours a canvas has."""
        return self.js(READ + "return new Set(words).size", canvas)

    def filter(self, text):
        self.js("""
            const box = document.querySelector('.tl-filter');
            box.value = arguments[0];
            box.dispatchEvent(new Event('input'))""", text)
        if not text:
            return ""
        return self.wait("const e = document.querySelector('.tl-count'); return e.dataset.of === arguments[0] && e.textContent", text)

    # ---- drawing

    def test_events_are_drawn(self):
        self.show("plain")
        self.settle()
        self.assertGreater(self.colors(), 20)
        self.assertGreater(self.colors(".tl-minimap canvas"), 3)
        legend = self.text(".tl-legend")
        for word in ("kernel", "pageable copy host to device", "idle: host", "launch call", "synchronising call", "NVTX range"):
            self.assertIn(word, legend)

    def test_dark_is_another_picture(self):
        self.show("plain")
        self.settle()

        def pixel():
            word = self.js(READ + "return words[words.length - 5]", ".tl-canvas")
            return [word & 255, word >> 8 & 255, word >> 16 & 255]
        light = pixel()
        self.click("#theme")
        self.settle()
        self.assertGreater(sum(light), 600)
        self.assertLess(sum(pixel()), 200)

    def test_many_rows_scroll(self):
        self.show("gpus")
        first = self.texts(".tl-label")
        self.press("f", Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.PAGE_DOWN, Keys.PAGE_DOWN)
        self.settle()
        self.assertNotEqual(self.texts(".tl-label"), first)
        self.assertGreater(self.colors(), 20)

    def test_narrow_windows_lose_nothing(self):
        self.size(420, 800)
        self.show("plain", "tab=timeline&sel=0:5")
        self.title()
        self.assertLessEqual(self.js("return document.documentElement.scrollWidth"), 420)
        self.assertGreater(self.js("return document.querySelector('.tl-stage').clientWidth"), 150)
        self.assertGreater(self.js("return document.querySelector('.tl-stage').clientHeight"), 80)

    # ---- keys

    def test_keys_alone(self):
        self.show("plain")
        self.press("G")
        self.assertIn("idle: host", self.title())
        longest = self.field("sel")
        self.press("g")
        self.wait("return new URLSearchParams(location.hash.slice(1)).get('sel') !== arguments[0]", longest)
        self.press("G")
        self.wait("return new URLSearchParams(location.hash.slice(1)).get('sel') === arguments[0]", longest)
        self.press(Keys.ENTER)
        begin, end = self.view()
        self.press("w")
        self.wait("const t = new URLSearchParams(location.hash.slice(1)).get('t').split(','); return t[1] - t[0] < arguments[0] * 0.7", end - begin)
        self.press("d", "d")
        self.settle()
        self.assertGreater(self.view()[0], begin)
        self.press("f")
        self.wait("return !new URLSearchParams(location.hash.slice(1)).has('t')")
        self.press(Keys.ESCAPE)
        self.wait("return !new URLSearchParams(location.hash.slice(1)).has('sel')")

    def test_walking_through_a_name(self):
        self.show("plain")
        self.filter("kind:kernel")
        self.press("m")
        name, first = self.title(), self.field("sel")
        self.press("p")
        self.settle()
        before = self.field("sel")
        self.assertNotEqual(before, first)
        self.assertEqual(self.title(), name)
        self.press("n")
        self.wait("return new URLSearchParams(location.hash.slice(1)).get('sel') === arguments[0]", first)

    def test_help(self):
        self.show("plain")
        self.press("?")
        self.assertIn("longest gap", self.text(".tl-help"))
        self.assertTrue(self.js("return document.querySelector('.tl-help').contains(document.activeElement)"))
        self.press(Keys.ESCAPE)
        self.wait("return document.querySelector('.tl-help').hidden")

    def test_slash_goes_to_the_filter(self):
        self.show("plain")
        self.press("/", *"sgemm", Keys.ENTER)
        self.assertIn("sgemm", self.title())
        self.wait("return new URLSearchParams(location.hash.slice(1)).get('q') === 'sgemm'")

    def test_tab_reaches_tracks_and_folds_them(self):
        self.show("plain")
        rows = len(self.texts(".tl-label"))
        self.tab_to("Fold gpu0 NVIDIA H200")
        self.press(Keys.SPACE)
        self.wait("return document.querySelectorAll('.tl-label').length < arguments[0]", rows)
        self.assertEqual(self.js("return document.activeElement.getAttribute('aria-expanded')"), "false")
        self.tab_to("Keep gpu0 NVIDIA H200 at the top")

    def test_selection_is_said(self):
        self.show("plain")
        self.press("G")
        self.title()
        said = self.wait("return document.getElementById('live').textContent")
        self.assertRegex(said, r"host, idle, [\d.]+ [mu]s, on idle by cause")

    # ---- mouse

    def test_click_wheel_and_drag(self):
        self.show("plain", "t=0,3000000&tab=timeline")
        stage = self.element(".tl-stage")
        row = self.js("""
            const at = [...document.querySelectorAll('.tl-label')].find((e) => e.textContent.includes('CUDA API'));
            return at.offsetTop + 10 - arguments[0].clientHeight / 2""", stage)
        ActionChains(self.driver).move_to_element_with_offset(stage, 0, round(row)).perform()
        # Somewhere near the middle is a call: the pointer looks for it as a reader would.
        for x in range(-200, 200, 6):
            ActionChains(self.driver, duration=0).move_to_element_with_offset(stage, x, round(row)).perform()
            if self.js("return document.querySelector('.tl-stage').classList.contains('tl-over-event')"):
                break
        self.assertIn("cuda", self.text(".tl-tooltip"))
        ActionChains(self.driver).click().perform()
        self.assertIn("cuda", self.title())
        self.settle()
        begin, end = self.view()
        self.js("""
            const box = arguments[0].getBoundingClientRect();
            arguments[0].dispatchEvent(new WheelEvent('wheel', {clientX: box.left + box.width / 4, clientY: box.top + 30, deltaY: -300, bubbles: true, cancelable: true}))""", stage)
        self.settle()
        near_begin, near_end = self.view()
        self.assertLess(near_end - near_begin, (end - begin) * 0.8)
        self.assertAlmostEqual(near_begin + (near_end - near_begin) / 4, begin + (end - begin) / 4, delta=(end - begin) / 500)
        ActionChains(self.driver).move_to_element_with_offset(stage, 60, 0).click_and_hold().move_by_offset(-120, 0).release().perform()
        self.settle()
        self.assertGreater(self.view()[0], near_begin)
        self.assertAlmostEqual(self.view()[1] - self.view()[0], near_end - near_begin, delta=2)

    # ---- what was sampled

    def open_sampled(self):
        case = (browser.ROOT / "tests" / "cases" / "report" / "sampled.test").read_text(encoding="utf-8")
        trace = browser.assemble("sampled", case.split("--- trace run.trace\n")[1].split("--- run\n")[0])
        self.open(browser.report_page(trace), "#tab=timeline")

    def hover(self, label, share):
        """What is said of a row at this share of the width."""
        stage = self.element(".tl-stage")
        x, y = self.js("""
            const row = [...document.querySelectorAll('.tl-label')].find((e) => e.textContent.includes(arguments[1]));
            return [(arguments[2] - 0.5) * arguments[0].clientWidth, row.offsetTop + 12 - arguments[0].clientHeight / 2]""", stage, label, share)
        ActionChains(self.driver, duration=0).move_to_element_with_offset(stage, round(x), round(y)).perform()
        return self.texts(".tl-tooltip:not([hidden]) > *")

    def test_long_groups_of_counters_are_folded(self):
        self.open_sampled()
        self.assertNotIn("waiting for a CPU (%)", " ".join(self.texts(".tl-name")))
        self.assertEqual(self.hover("load", 15 / 135), ["150.5%", "CPU (%)"])
        self.click(".tl-fold[aria-label='Fold load']")
        self.wait("return [...document.querySelectorAll('.tl-name')].some((e) => e.textContent.includes('waiting for a CPU (%)'))")

    def test_values_under_the_pointer(self):
        self.open_sampled()
        self.assertEqual(self.hover("SMs Active", 14.5 / 135), ["90.0%", "SMs Active (%)"])
        self.assertEqual(self.hover("SMs Active", 61.5 / 135), ["not measured", "SMs Active (%)"])

    def test_a_range_is_measured(self):
        self.show("plain", "t=0,9000000&tab=timeline")
        stage = self.element(".tl-stage")
        (ActionChains(self.driver).key_down(Keys.SHIFT).move_to_element_with_offset(stage, -150, 20).click_and_hold()
         .move_by_offset(300, 0).release().key_up(Keys.SHIFT).perform())
        panel = self.wait("const e = document.querySelector('.tl-span'); return !e.hidden && e.innerText")
        for word in ("Range of", "Busy", "Idle", "GPU operations", "CUDA calls", "NVTX ranges", "step"):
            self.assertIn(word, panel)
        begin, end = [float(part) for part in self.field("span").split(",")]
        self.assertAlmostEqual(end - begin, 9e6 * 300 / self.js("return arguments[0].clientWidth + 0", stage), delta=9e6 * 0.4)
        self.press(Keys.ESCAPE)
        self.wait("return document.querySelector('.tl-span').hidden")

    def test_details_lead_on(self):
        self.show("plain")
        self.filter("kind:pageable")
        self.press("m")
        details = self.selected()
        for word in ("pageable", "Bandwidth", "Launched by", "cudaMemcpyAsync", "step/load", "cudaHostRegister"):
            self.assertIn(word, details)
        self.click(".tl-details .tl-link", "cudaMemcpyAsync")
        self.wait("return document.querySelector('.tl-details h2').textContent === 'cudaMemcpyAsync'")
        self.assertIn("Launched", self.selected())
        self.click(".tl-details .tl-link", "copy host to device")
        self.wait("return document.querySelector('.tl-details h2').textContent === 'copy host to device'")

    # ---- filter

    def test_counts_are_those_of_the_file(self):
        counts = counts_by_kind("plain")
        self.show("plain")
        for text, expected in (("kind:kernel", counts["kernel"]), ("kind:pageable", counts["pageable_h2d"]), ("kind:gap", counts["gap"]),
                               ("kind:copy", counts["copy_h2d"] + counts["copy_d2h"] + counts["pageable_h2d"]),
                               ("kind:nvtx", counts["nvtx_range"]), ("-kind:nvtx -kind:gap", sum(counts.values()) - counts["nvtx_range"] - counts["gap"])):
            self.assertGreater(expected, 0)
            self.assertRegex(self.filter(text), rf"^{expected:,} match", text)
        self.assertEqual(self.filter("nothing is called like this"), "no match")
        self.filter("")
        self.assertEqual(self.js("return document.querySelector('.tl-count').textContent"), "")

    def test_a_filter_scrolls_to_its_first_match(self):
        self.size(1280, 420)
        self.show("gpus")
        self.settle()
        self.assertNotIn("stream 9", self.texts(".tl-name-line"))
        self.assertRegex(self.filter("gpu:5 stream:9 kind:kernel"), r"^[\d,]+ match")
        self.settle()
        self.assertIn("stream 9", self.in_sight())
        self.assertNotIn("sel", self.link())  # nothing is selected by typing

    def test_a_filter_pans_to_its_first_match(self):
        self.show("plain", "t=0,1000&tab=timeline")
        self.settle()
        self.filter("kind:kernel")
        self.settle()
        begin, end = self.view()
        self.assertGreater(begin, 0)
        self.assertAlmostEqual(end - begin, 1000, delta=1)

    def test_a_link_keeps_its_view(self):
        self.show("plain", "t=0,1000&q=kind%3Akernel&tab=timeline")
        self.settle()
        self.assertEqual(self.view(), [0, 1000])

    # ---- labels

    def in_sight(self):
        return self.js("""
            const box = document.querySelector('.tl-labels').getBoundingClientRect();
            return [...document.querySelectorAll('.tl-name-line')].filter((e) => {
              const {top, bottom} = e.getBoundingClientRect();
              return top >= box.top - 1 && bottom <= box.bottom + 1 && e.checkVisibility({visibilityProperty: true});
            }).map((e) => e.textContent)""")

    def test_labels_keep_their_end(self):
        self.show("plain")
        self.js("document.querySelector('.tl').style.setProperty('--tl-side', '5.5rem')")
        self.settle()
        cut = self.js("""
            const line = [...document.querySelectorAll('.tl-name-line')].find((e) => e.textContent === 'gpu0 NVIDIA H200');
            const [start, end] = line.children;
            const box = line.closest('.tl-label').getBoundingClientRect();
            return [end.textContent, start.scrollWidth > start.clientWidth, end.getBoundingClientRect().right <= box.right + 1]""")
        self.assertEqual(cut, [" H200", True, True])

    def test_labels_of_deep_rows_stay_in_view(self):
        self.size(1280, 360)
        self.show("plain")
        row = self.js("""
            const name = [...document.querySelectorAll('.tl-label')].find((e) => e.textContent.startsWith('▾NVTX'));
            const top = name.offsetTop;
            document.querySelector('.tl-scroll').scrollTop = top + name.offsetHeight - 30;
            return [top, name.offsetHeight]""")
        self.assertGreater(row[1], 40)
        self.settle()
        self.assertTrue(any(name.startswith("NVTX") for name in self.in_sight()), self.in_sight())

    # ---- ranges on the GPU

    def test_ranges_are_projected_onto_the_gpu(self):
        self.show("plain")
        self.settle()
        labels = self.texts(".tl-name-line")
        self.assertIn("NVTX (GPU)", labels)
        self.assertGreater(labels.index("NVTX (GPU)"), labels.index("gpu0 NVIDIA H200"))
        count = sum(counts_by_kind("plain").values())
        self.js("location.hash = `sel=0:${arguments[0]}&tab=timeline`", count)
        self.assertIn("NVTX range on the GPU", self.selected())
        title = self.title()
        self.click(".tl-details .tl-link", title)
        self.wait("return !document.querySelector('.tl-details').innerText.includes('NVTX range on the GPU')")
        self.assertIn("gpu0", self.selected())

    # ---- links

    def test_a_link_comes_back(self):
        self.show("plain", "t=1000000,2000000&sel=0:40&q=kind%3Akernel&span=1200000,1300000&tab=timeline")
        self.settle()
        self.assertEqual({key: self.link().get(key) for key in ("t", "sel", "q", "tab")},
                         {"t": "1000000,2000000", "sel": "0:40", "q": "kind:kernel", "tab": "timeline"})
        self.assertFalse(self.js("return document.querySelector('.tl-details').hidden"))

    def test_nonsense_in_links(self):
        for link in ("t=x&sel=9:9&q=%22&tab=timeline", "tab=timeline&t=5,1&sel=0:999999999", "tab=timeline&t=-1e9,NaN&span=7", "%%%&tab=timeline",
                     "tab=timeline&t=99999999999999,99999999999999.5", "tab=constructor", "sel=0:1&sel=x&tab=%00"):
            self.open(page("plain"), f"#{link}")
            self.settle()
            self.assertEqual(self.console(), [], link)

    def test_an_address_that_changes(self):
        self.show("plain")
        self.js("location.hash = 't=500000,700000&sel=0:3&tab=timeline'")
        self.title()
        self.settle()
        self.assertEqual(self.link()["t"], "500000,700000")

    # ---- pages of other kinds

    def test_hostile_names_are_text(self):
        self.show("hostile")
        self.assertIsNone(self.js("return window.hacked ?? null"))
        for number in range(40, 3000, 140):
            self.js("location.hash = `sel=0:${arguments[0]}&tab=timeline`", number)
            self.settle_short()
        for text in ("</script>", "onerror", "__proto__", "constructor", "very_long", "nirts", "\"=HYPERLINK(\\\"http\""):
            self.filter(text)
            self.press("m")
            self.settle_short()
        self.assertIsNone(self.js("return window.hacked ?? null"))
        self.assertEqual(self.js("return document.querySelectorAll('img, iframe, object').length"), 0)
        self.filter("nirts")
        self.press("m")
        self.assertIn("⟨U+202E⟩", self.title())

    def settle_short(self):
        self.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))")

    def test_merged_events_say_so(self):
        self.show("merged")
        self.filter("kind:kernel")
        self.press("m")
        for _ in range(2):  # every other one stands for many
            if "Stands for" in self.selected():
                break
            self.press(".")
            self.settle()
        self.assertRegex(self.selected(), r"Stands for\s+50 events shorter than 2.00 us")

    def test_two_runs_on_one_axis(self):
        self.show("diff")
        self.assertEqual(len(self.js("return [...document.querySelectorAll('.tl-pane')]")), 2)
        self.settle()
        before = self.js("return document.querySelectorAll('.tl-canvas')[0].toDataURL() + document.querySelectorAll('.tl-canvas')[1].toDataURL()")
        self.click(".tl-align")
        self.settle()
        after = self.js("return document.querySelectorAll('.tl-canvas')[0].toDataURL() + document.querySelectorAll('.tl-canvas')[1].toDataURL()")
        self.assertNotEqual(before, after)
        self.js("location.hash = 'sel=1:7&tab=timeline'")
        self.title()
        self.press("n")
        self.settle()
        self.assertTrue(self.link()["sel"].startswith("1:"))


if __name__ == "__main__":
    browser.main()
