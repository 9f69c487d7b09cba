#!/usr/bin/env python3
"""Measures a page in headless Chromium: first paint, loading of the events, frames of pan and zoom, memory.

  measure_page.py page.html [--frames 240] [--json]

The view is moved in each animation frame for some seconds: panned at several zooms, zoomed in and out. A frame's time is
from one animation frame to the next; the time of drawing is what the page's script took within it. Needs python3-selenium
and chromium-driver, else returns 77.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

import page_reader

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.options import Options
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        print("skipped: python3-selenium is not installed")
        sys.exit(77)

DEADLINE_S = 120

# Moves by keys and the wheel, as a reader does: events go through all of the page's own code.
FRAMES = """
const [name, frames, done] = arguments;
const stage = document.querySelector('.tl-stage');
const box = stage.getBoundingClientRect();
const at = {clientX: box.left + box.width * 0.4, clientY: box.top + 40, bubbles: true, cancelable: true};
const times = [], draws = [];
let i = 0, last = 0;
function move() {
  if (name === 'pan') {
    stage.dispatchEvent(new WheelEvent('wheel', {...at, deltaX: (i >> 5) % 2 ? -37 : 37, deltaY: 0, shiftKey: true}));
  } else {
    stage.dispatchEvent(new WheelEvent('wheel', {...at, deltaX: 0, deltaY: (i >> 6) % 2 ? 60 : -60}));
  }
}
// The page draws in an animation frame that it asks for while the view moves, so that one that is asked for before the
// move runs before it, and one after it runs after it.
function frame(now) {
  if (last > 0) times.push(now - last);
  last = now;
  if (++i > frames) return done({times, draws});
  move();
  requestAnimationFrame(frame);
}
const draw = window.requestAnimationFrame;
window.requestAnimationFrame = (callback) => draw((now) => {
  const began = performance.now();
  callback(now);
  if (callback !== frame) draws.push(performance.now() - began);
});
requestAnimationFrame(frame);
"""

ZOOM = "location.hash = arguments[0]"


def start(args):
    options = Options()
    if os.path.exists("/usr/bin/chromium"):
        options.binary_location = "/usr/bin/chromium"
    options.page_load_strategy = "none"
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", f"--window-size={args.size.replace('x', ',')}",
                 "--enable-precise-memory-info", "--js-flags=--expose-gc", "--disable-extensions"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver_path = "/usr/bin/chromedriver"
    service = Service(driver_path) if os.path.exists(driver_path) else Service()
    return webdriver.Chrome(service=service, options=options)


def wait_for(driver, condition):
    until = time.monotonic() + DEADLINE_S
    while time.monotonic() < until:
        value = driver.execute_script("return " + condition)
        if value:
            return value
        time.sleep(0.02)
    sys.exit(f"measure_page.py: the page did not get to {condition} within {DEADLINE_S} s: {driver.get_log('browser')}")


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))] if values else float("nan")


def load(driver, url):
    driver.get(url)
    wait_for(driver, "document.body && document.body.dataset.page === 'shown'")
    wait_for(driver, "document.body.dataset.events === 'loaded'")
    loaded_ms = driver.execute_script("return performance.now()")
    paints = wait_for(driver, "performance.getEntriesByType('paint').length >= 2 && "
                              "performance.getEntriesByType('paint').map(e => [e.name, e.startTime])")
    return {"first_paint_ms": dict(paints).get("first-contentful-paint"), "events_loaded_ms": loaded_ms}


def memory_mb(driver):
    driver.execute_script("if (window.gc) gc()")
    return driver.execute_script("return performance.memory.usedJSHeapSize") / 1e6


def array_memory_mb(driver):
    """All of the renderer process, which holds the columns, too."""
    total = 0
    import subprocess
    pid = driver.service.process.pid
    lines = subprocess.run(["ps", "-eo", "pid,ppid,rss,args"], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    rows = [line.split(None, 3) for line in lines]
    family, grown = {str(pid)}, True
    while grown:
        found = {row[0] for row in rows if row[1] in family} - family
        family |= found
        grown = bool(found)
    for row in rows:
        if row[0] in family and "--type=renderer" in row[3]:
            total = max(total, int(row[2]))
    return total / 1e3


def summary(frames):
    return {"frames": len(frames["times"]), "frame_median_ms": statistics.median(frames["times"]),
            "frame_p95_ms": percentile(frames["times"], 0.95), "frame_max_ms": max(frames["times"]),
            "draw_median_ms": statistics.median(frames["draws"]), "draw_p95_ms": percentile(frames["draws"], 0.95),
            "draw_max_ms": max(frames["draws"])}


def measure(args):
    driver = start(args)
    try:
        driver.set_script_timeout(DEADLINE_S)
        url = pathlib.Path(args.page).resolve().as_uri()
        result = load(driver, url + "#tab=timeline")
        duration = page_reader.read(args.page).data["timelines"][0]["duration_ns"]
        result["moves"] = {}
        for label, share in (("whole", 1), ("1/20", 20), ("1/400", 400), ("1/10000", 10000)):
            begin = duration * 0.45
            driver.execute_script(ZOOM, f"t={0 if share == 1 else begin:.0f},{duration if share == 1 else begin + duration / share:.0f}&tab=timeline")
            time.sleep(0.4)
            for move in ("pan", "zoom"):
                frames = driver.execute_async_script(FRAMES, move, args.frames)
                result["moves"][f"{move} at {label}"] = summary(frames)
        result["heap_mb"] = memory_mb(driver)
        result["renderer_mb"] = array_memory_mb(driver)
        result["errors"] = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
        result["file_mb"] = os.path.getsize(args.page) / 1e6
        return result
    finally:
        driver.quit()


def show(result):
    print(f"file              {result['file_mb']:9.1f} MB")
    print(f"first paint       {result['first_paint_ms']:9.0f} ms")
    print(f"events are there  {result['events_loaded_ms']:9.0f} ms")
    print(f"heap, renderer    {result['heap_mb']:9.0f} MB, {result['renderer_mb']:.0f} MB resident")
    print("                     frame: median   p95    max   draw: median   p95    max  ms")
    for name, m in result["moves"].items():
        print(f"{name:20} {m['frame_median_ms']:14.1f} {m['frame_p95_ms']:6.1f} {m['frame_max_ms']:6.1f} "
              f"{m['draw_median_ms']:14.1f} {m['draw_p95_ms']:6.1f} {m['draw_max_ms']:6.1f}")
    for error in result["errors"]:
        print("error:", error)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page")
    parser.add_argument("--frames", type=int, default=240)
    parser.add_argument("--size", default="1600x900")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    result = measure(args)
    if args.json:
        print(json.dumps(result, indent=2))
    else:
        show(result)
    return 1 if result["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
