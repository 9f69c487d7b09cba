"""A real browser for the tests of the page: Debian's Chromium, driven by Selenium.

One browser is started for all tests of a file. Whatever a page writes to the console as an error or a warning (a violation
of the content security policy is one) fails the test. Waiting is polling with a generous limit: nothing depends on speed.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", ROOT / "build" / "release"))
ASSEMBLE = os.environ.get("GPROF_TEST_ASSEMBLE", "")
SKIP = 77
LIMIT_S = float(os.environ.get("GPROF_TEST_LIMIT_S", "60"))
# With GPROF_TEST_FRAME_MS, frames and changes of size reach the page up to that much later, as on a busy machine: what
# passes only on a fast one fails then.
FRAME_MS = float(os.environ.get("GPROF_TEST_FRAME_MS", "0"))
SLOW_FRAMES = """{
    const late = () => Math.random() * %g;
    const frame = requestAnimationFrame.bind(window);
    window.requestAnimationFrame = (then) => frame(() => setTimeout(() => frame(then), late()));
    window.ResizeObserver = class extends ResizeObserver {
      constructor(then) { super((...sizes) => setTimeout(() => then(...sizes), late())); }
    };
}""" % FRAME_MS


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIP)


def find(*names):
    return next((path for path in map(shutil.which, names) if path), None)


def require_selenium():
    """The module, of Debian's Python where that of the tests is another one."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        debian = "/usr/bin/python3"
        is_there = os.access(debian, os.X_OK) and subprocess.run([debian, "-c", "import selenium"], capture_output=True).returncode == 0
        if not is_there or os.path.realpath(sys.executable) == os.path.realpath(debian):
            skip("no python3-selenium")
        os.execv(debian, [debian, "-B", *sys.argv])


CHROMIUM = find("chromium", "chromium-browser", "google-chrome")
DRIVER = find("chromedriver")
if not CHROMIUM or not DRIVER:
    skip("no chromium with its chromedriver (Debian: chromium, chromium-driver)")
require_selenium()

from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.options import Options  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

FOLDER = tempfile.TemporaryDirectory(prefix="gprof-web-")
_pages = {}


def ask(*words):
    done = subprocess.run([BUILD / "bin" / "gprof-cli", *map(str, words)], capture_output=True, timeout=300)
    assert done.returncode in (0, 4), (words, done.returncode, done.stderr.decode(errors="replace"))
    return done.stdout


def made(key, *words):
    """Path of a page that gprof-cli wrote, once for all tests of the file."""
    if key not in _pages:
        path = pathlib.Path(FOLDER.name) / f"{key}.html"
        ask(*words, "-o", path)
        _pages[key] = path
    return _pages[key]


def report_page(trace, *options):
    trace = pathlib.Path(trace)
    return made(trace.stem, "report", trace, "--format", "html", *options)


def data_page(name):
    return report_page(DATA / f"{name}.trace")


def diff_page(base, new):
    return made(f"{base}-{new}", "diff", DATA / f"{base}.trace", DATA / f"{new}.trace", "--format", "html")


def assemble(name, text):
    path = pathlib.Path(FOLDER.name) / f"{name}.trace"
    path.write_bytes(subprocess.run([ASSEMBLE], input=text.encode(), capture_output=True, timeout=120, check=True).stdout)
    return path


def start():
    options = Options()
    options.binary_location = CHROMIUM
    profile = pathlib.Path(FOLDER.name) / "profile"
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio",
                 "--disable-background-networking", "--disable-component-update", "--force-device-scale-factor=1",
                 "--window-size=1280,900", f"--user-data-dir={profile}"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    environment = {**os.environ, "HOME": FOLDER.name}
    driver = webdriver.Chrome(options=options, service=Service(DRIVER, env=environment))
    driver.set_page_load_timeout(LIMIT_S)
    driver.set_script_timeout(LIMIT_S)
    if FRAME_MS:
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": SLOW_FRAMES})
    return driver


class Case(unittest.TestCase):
    """Tests with a browser. `self.js` runs a function body in the page, `self.wait` until it is true."""

    driver = None

    @classmethod
    def setUpClass(cls):
        if Case.driver is None:
            Case.driver = start()
            unittest.addModuleCleanup(Case.quit)

    @staticmethod
    def quit():
        if Case.driver is not None:
            Case.driver.quit()
        Case.driver = None

    def setUp(self):
        self.size(1280, 900)
        self.prefer("light")
        self.driver.get("about:blank")
        self.driver.get_log("browser")

    def tearDown(self):
        # A page that the test left as it is said all that it has to say.
        self.assertEqual(self.console(), [])

    def console(self):
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    # ---- the window

    def command(self, name, **arguments):
        return self.driver.execute_cdp_cmd(name, arguments)

    def size(self, width, height, scale=1):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def prefer(self, theme):
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    # ---- the page

    def open(self, path, link="", events=True):
        self.driver.get("about:blank")  # another link of the same page would not load it anew
        self.driver.get(pathlib.Path(path).as_uri() + link)
        self.wait("return document.body.dataset.page === 'shown'")
        if events:
            self.wait("return document.body.dataset.events === 'loaded'")
            # A timeline that is shown draws them in its next frame.
            self.wait("return !document.querySelector('.tl-stage')?.checkVisibility() || document.querySelector('.tl-label')")

    def js(self, body, *arguments):
        return self.driver.execute_script(body, *arguments)

    def wait(self, body, *arguments):
        """Polls until the function body gives something true, which is returned."""
        end = time.monotonic() + LIMIT_S
        while True:
            value = self.js(body, *arguments)
            if value:
                return value
            if time.monotonic() > end:
                self.fail(f"never came: {body} {json.dumps(arguments)[:300]}; console: {self.console()}")
            time.sleep(0.02)

    def text(self, css):
        return self.wait("return document.querySelector(arguments[0])?.textContent", css)

    def texts(self, css):
        return self.js("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", css)

    def element(self, css, text=None):
        """The first element in sight that has the text."""
        return self.wait("""
            return [...document.querySelectorAll(arguments[0])].find((e) => e.checkVisibility() &&
              (arguments[1] === null || e.textContent.includes(arguments[1])))""", css, text)

    def click(self, css, text=None):
        element = self.element(css, text)
        self.js("arguments[0].scrollIntoView({block: 'center'})", element)
        ActionChains(self.driver, duration=0).move_to_element(element).click().perform()

    # ---- the keyboard

    def press(self, *keys):
        actions = ActionChains(self.driver, duration=0)
        for key in keys:
            actions.send_keys(key)
        actions.perform()

    def focused(self):
        return self.js("""
            const e = document.activeElement;
            return e && e !== document.body ? (e.getAttribute('aria-label') || e.textContent || e.tagName).trim().slice(0, 200) : ''""")

    def tab_to(self, label, most=200):
        """Presses Tab until what has the focus says `label`: what no keyboard reaches fails here."""
        seen = []
        for _ in range(most):
            self.press(Keys.TAB)
            seen.append(self.focused())
            if label in seen[-1]:
                return seen
        self.fail(f"Tab never came to {label!r}, but to {seen[:60]}")

    # ---- what is shown

    def link(self):
        """The fields of the address: what is selected, filtered, in view."""
        return self.js("return Object.fromEntries(new URLSearchParams(location.hash.slice(1)))")

    def selected(self):
        """Text of the details of the selected event, once there is one."""
        self.wait("return new URLSearchParams(location.hash.slice(1)).get('sel')")
        return self.wait("""
            const e = document.querySelector('.tl-details:not(.tl-span)');
            return e && e.checkVisibility() && e.innerText""")


def main():
    try:
        unittest.main()
    finally:
        Case.quit()
