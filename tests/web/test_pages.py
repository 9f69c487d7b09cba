"""Every recorded trace as a page: it loads, says nothing on the console, asks no network, and fits windows and paper."""

import base64
import pathlib
import re
import unittest

import browser

TRACES = sorted(path.stem for path in browser.DATA.glob("*.trace"))
HOSTILE = {
    "markup": "</script><script>window.hacked=1</script><img src=x onerror=\"window.hacked=1\">",
    "comment": "<!--<script>",
    "quotes": "a \"quoted\" 'name' `with` ${all} of them {{script}}",
    "bidi": "abc\u202egnirts desrever\u202c",
    "words": "__proto__",
    "formula": "=HYPERLINK(\"http://example.com\")",
    "long": "void very_long_" + "x" * 10000 + "<int>(float*)",
    "lines": "two\nlines\r\n\u2028\u2029",
}


UNNAMED = """
  const name = (e) => (e.getAttribute('aria-label') || e.textContent || e.title || e.closest('label')?.textContent || '').trim();
  return [...document.querySelectorAll('button, a, input, select, [role=button], [tabindex="0"]')]
    .filter((e) => e.checkVisibility() && !name(e)).map((e) => e.outerHTML.slice(0, 100));"""
# Texts of less than 4.5 to 1 on the plain colour behind them.
FAINT = """
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (!/, 0\\)$/.test(colour)) return colour;
    }
    return getComputedStyle(document.documentElement).backgroundColor;
  };
  const faint = {};
  for (const e of document.querySelectorAll('#app *')) {
    if (e instanceof SVGElement || !e.checkVisibility() || ![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))];
    if (Math.max(a, b) / Math.min(a, b) < 4.5) faint[`${e.tagName} ${e.className}`] = [getComputedStyle(e).color, behind(e)].join(' on ');
  }
  return faint;"""


def escaped(text):
    """As `dump` writes it: bytes that are not plain as \\xNN."""
    return "".join(chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\' else f"\\x{byte:02x}" for byte in text.encode())


def hostile_trace():
    names = [escaped(name) for name in HOSTILE.values()] + ["broken \\xff\\xc3 \\x00 name"]
    lines = ["chunk pid=7", f'process start_ns=1000 pid=7 name="app" command_line="{names[0]}" host="{names[0]}"',
             f'device name="{names[0]}" uuid="GPU-1" sm_count=1', "context context=1 null_stream=7", f'thread tid=7 name="{names[0]}"']
    for i, name in enumerate(names):
        at = 10_000 * (i + 1)
        lines += [f'nvtx time_ns={at} tid=7 event=2 message="{name}"',
                  f'api start_ns={at + 10} duration_ns=20 tid=7 correlation={i + 1} function="cudaLaunchKernel" domain=1',
                  f'kernel start_ns={at + 50} duration_ns={100 + i} context=1 stream=7 correlation={i + 1} name="{name}"',
                  f"nvtx time_ns={at + 500} tid=7 event=3"]
    return browser.assemble("hostile", "\n".join(lines + ["end time_ns=900000 reason=1 chunks_written=1"]) + "\n")


def lossy_trace():
    return browser.assemble("lossy", """chunk pid=7
process start_ns=1000 pid=7 name="app"
device name="GPU" uuid="GPU-1" sm_count=1
context context=1 null_stream=7
thread tid=7 name="main"
api start_ns=10000 duration_ns=20 tid=7 correlation=1 function="cudaLaunchKernel" domain=1
kernel start_ns=10100 duration_ns=5000 context=1 stream=7 correlation=1 name="k"
loss time_ns=20000 reason=1 count=1234
""")


class Pages(browser.Case):
    def test_every_trace_loads_in_silence(self):
        for name in TRACES:
            with self.subTest(name):
                self.open(browser.data_page(name))
                self.assertGreater(len(self.text(".headline")), 10)
                for tab in ("timeline", "tables", "charts", "overview"):
                    self.js("document.getElementById(arguments[0]).click()", f"tab-{tab}")
                    self.assertEqual(self.js("return document.querySelector('[role=tab][aria-selected=true]').id"), f"tab-{tab}")
                    self.assertGreater(len(self.text(f"#panel-{tab}")), 10)
                self.assertEqual(self.console(), [])

    def test_top_kernels_with_the_share_of_each_gpu(self):
        self.open(browser.data_page("nccl_beside"))
        self.assertRegex(self.text(".headline"), r"idle 77.2%.\(gpu0\), 77.2%.\(gpu1\)")
        self.assertEqual(self.texts(".top-kernels thead th")[:3], ["Kernel", "gpu0", "gpu1"])
        rows = self.js("return [...document.querySelectorAll('.top-kernels tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")
        self.assertEqual(len(rows), 3)
        for gpu in (1, 2):
            shares = [float(row[gpu].strip("<%")) for row in rows]
            self.assertGreater(sum(shares), 50)
            self.assertLessEqual(sum(shares), 100.1)
        self.click(".top-kernels .link")
        self.assertIn("kernel", self.selected())

    def test_nothing_to_improve_is_said_and_kernels_are_shown(self):
        self.open(browser.report_page(browser.assemble("fine", """chunk pid=7
process start_ns=1000 pid=7 name="app"
device name="GPU" uuid="GPU-1" sm_count=1
context context=1 null_stream=7
thread tid=7 name="main"
api start_ns=10000 duration_ns=20 tid=7 correlation=1 function="cudaLaunchKernel" domain=1
kernel start_ns=10100 duration_ns=5000 context=1 stream=7 correlation=1 name="k"
end time_ns=15200 reason=1 chunks_written=1
"""), "--only", "devices,kernels"))
        self.assertIn("No issues found.", self.text(".findings"))
        self.assertEqual(self.texts(".top-kernels tbody th"), ["k"])

    def test_steps_are_said_with_the_warm_up(self):
        self.open(browser.data_page("starved_loader"))
        self.assertIn('39 "step" iterations (1 warm-up excluded)', self.text(".hero"))
        self.assertIn("potential saving: up to 11.9% of the run, 28.77 ms", self.text(".findings"))

    def test_no_request_leaves_the_page(self):
        self.open(browser.data_page("starved_loader"))
        for tab in ("timeline", "tables", "charts"):
            self.click(f"#tab-{tab}")
        self.assertEqual(self.js("return performance.getEntriesByType('resource').map((e) => e.name).filter((n) => !n.startsWith('data:'))"), [])
        page = browser.data_page("starved_loader").read_text(encoding="utf-8")
        shell = re.sub(r"(?s)<script.*?</script>|<style.*?</style>", "", page)
        self.assertNotRegex(shell, r"(?i)https?://|\bsrc=|url\(|@import")
        self.assertNotRegex(shell, r"(?i)\sstyle=|\son\w+=")

    def test_the_policy_forbids_what_the_page_does_not_need(self):
        self.open(browser.data_page("normalise_v1"))
        policy = self.js("return document.querySelector('meta[http-equiv=Content-Security-Policy]').content")
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        self.js("""
            const e = document.createElement('script');
            e.textContent = 'window.injected = 1';
            document.body.append(e);""")
        self.assertIsNone(self.js("return window.injected ?? null"))
        self.assertRegex(" ".join(self.console()), "Content Security Policy")

    def test_hostile_names_are_only_text(self):
        if not browser.ASSEMBLE:
            self.skipTest("GPROF_TEST_ASSEMBLE names no assemble_trace")
        self.open(browser.report_page(hostile_trace()))
        scripts = self.js("return document.scripts.length")
        for tab in ("timeline", "tables", "charts", "overview"):
            self.click(f"#tab-{tab}")
        self.click("#tab-tables")
        for table in ("Kernels", "NVTX ranges", "Longest kernels"):
            self.click(".table-link", table)
            self.wait("return document.querySelector('.table-view h2').textContent === arguments[0] && document.querySelector('.grid tbody tr')", table)
            self.click(".grid tbody tr td.name")
        cells = "\n".join(self.texts(".grid td.name"))
        self.assertIn("</script>", cells)
        self.assertIn("⟨U+202E⟩", cells)
        self.assertNotIn("\u202e", cells)
        self.assertTrue(all(len(cell) < 200 for cell in cells.split("\n")))
        self.click(".grid tbody button.show")
        self.selected()
        self.assertIsNone(self.js("return window.hacked ?? null"))
        self.assertEqual(self.js("return document.scripts.length"), scripts)
        self.assertEqual(self.js("return document.querySelectorAll('img, iframe, object, embed').length"), 0)

    def test_what_is_missing_is_said_at_the_top(self):
        if not browser.ASSEMBLE:
            self.skipTest("GPROF_TEST_ASSEMBLE names no assemble_trace")
        self.open(browser.report_page(lossy_trace()))
        self.assertIn("incomplete", self.text(".hero .banner"))
        self.assertIn("1,234", self.text(".hero .banner"))
        self.open(browser.data_page("normalise_v1"))
        self.assertEqual(self.texts(".hero .banner"), [])

    def test_a_trace_without_gpu_work_says_so(self):
        self.open(browser.data_page("nvtx_cpu"))
        self.assertEqual(self.text(".headline"), "No GPU work in this trace")

    def test_a_part_of_the_report_does_not_say_what_it_does_not_know(self):
        self.open(browser.made("only", "report", browser.DATA / "normalise_v1.trace", "--only", "kernels", "--format", "html"))
        self.assertNotIn("No GPU work", self.text("#panel-overview"))
        self.open(browser.made("part", "report", browser.DATA / "starved_loader.trace", "--nvtx", "step/load", "--format", "html"))
        self.assertIn("step/load", self.text(".hero"))

    def test_it_works_where_another_page_writes_it_into_a_frame(self):
        """As the webviews of VS Code do, which put a script and a style of their own before all else."""
        page = browser.data_page("normalise_v1").read_text(encoding="utf-8")
        host = pathlib.Path(browser.FOLDER.name) / "host.html"
        host.write_text("<!DOCTYPE html><meta charset='utf-8'><iframe style='width: 1200px; height: 800px'></iframe>", encoding="utf-8")
        self.driver.get(host.as_uri())
        self.js("""
            const made = new DOMParser().parseFromString(arguments[0], 'text/html');
            for (const name of ['script', 'style']) {
              const own = made.createElement(name);
              own.textContent = name === 'script' ? 'window.ofTheHost = 1;' : 'body { padding: 0 20px; }';
              made.head.prepend(own);
            }
            const frame = document.querySelector('iframe').contentDocument;
            frame.open('text/html', 'replace');
            frame.write('<!DOCTYPE html>\\n' + made.documentElement.outerHTML);
            frame.close();""", page)
        self.driver.switch_to.frame(0)
        self.wait("return document.body?.dataset.events === 'loaded'")
        self.assertEqual(self.js("return window.ofTheHost"), 1)
        self.click(".finding button.go")
        self.wait("return document.querySelector('.tl-details:not(.tl-span)')?.innerText.includes('pageable')")
        self.driver.switch_to.default_content()

    def test_light_and_dark(self):
        page = browser.data_page("normalise_v1")
        colour = "return getComputedStyle(document.body.parentElement).backgroundColor"
        self.open(page)
        light = self.js(colour)
        self.prefer("dark")
        self.open(page)
        self.assertNotEqual(self.js(colour), light)
        self.click("#theme")
        self.assertEqual(self.js(colour), light)
        self.open(page)  # the choice was kept, or the preference is followed where nothing can be kept
        self.js("try { localStorage.clear() } catch {}")

    def test_narrow_windows_have_no_sideways_scroll(self):
        for width in (380, 640):  # 640: 1280 at 200 %
            self.size(width, 800)
            self.open(browser.data_page("normalise_v1"))
            for tab in ("overview", "timeline", "tables", "charts"):
                self.click(f"#tab-{tab}")
                with self.subTest(width=width, tab=tab):
                    self.assertLessEqual(self.js("return document.scrollingElement.scrollWidth"), width)

    def test_every_control_has_a_name_and_every_text_contrast(self):
        for theme in ("light", "dark"):
            self.prefer(theme)
            self.open(browser.data_page("known_facts"))
            for tab in ("overview", "timeline", "tables", "charts"):
                self.js("document.getElementById(arguments[0]).click()", f"tab-{tab}")
                with self.subTest(theme=theme, tab=tab):
                    self.assertEqual(self.js(UNNAMED), [])
                    self.assertEqual(self.js(FAINT), {})

    def test_printing_has_overview_and_tables(self):
        self.open(browser.data_page("normalise_v1"), "#tab=charts")
        pdf = base64.b64decode(self.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})["data"])
        self.assertTrue(pdf.startswith(b"%PDF"))
        self.js("dispatchEvent(new Event('beforeprint'))")
        printed = self.js("return document.querySelector('main').textContent")
        for title in ("GPU time", "Findings", "Top kernels", "Kernels", "Copies and memsets"):
            self.assertIn(title, printed)
        self.js("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.texts(".printed"), [])
        self.assertEqual(self.js("return document.body.dataset.tab"), "charts")

    def test_figures_are_those_of_the_report(self):
        text = browser.ask("report", browser.DATA / "normalise_v3_bug.trace", "--full-names", "--rows", "0", "--format", "md").decode()
        words = set(re.findall(r"[\d.,]+ (?:ns|us|ms|s|B|kB|MB|GB|GB/s)(?!\S)|[<>]?[\d.]+%", text))
        self.open(browser.data_page("normalise_v3_bug"), "#tab=tables")
        for table in ("Kernels", "CUDA calls", "Copies and memsets", "Why the GPU was idle"):
            self.click(".table-link", table)
            self.wait("return document.querySelector('.table-view h2').textContent === arguments[0]", table)
            shown = [cell for cell in self.texts(".grid td.number") if re.search("[a-z%]", cell)]
            self.assertGreater(len(shown), 5)
            self.assertEqual([cell for cell in shown if cell not in words], [], table)


if __name__ == "__main__":
    browser.main()
