#!/usr/bin/env python3
"""Makes the pictures of docs/images from recorded traces: run it after a change of the page, and look at them.

  GPROF_TEST_BUILD=build/release tests/web/screenshots.py
"""

import base64
import collections
import os
import pathlib
import struct
import sys
import time
import zlib

import browser

IMAGES = browser.ROOT / "docs" / "images"
MOST_BYTES = 150_000

# name: (trace or two, link, width, height, theme, what to do before)
PICTURES = {
    "overview": ("starved_loader", "", 1280, 860, "light", None),
    "timeline": ("starved_loader", "", 1280, 720, "light", "first"),
    "timeline-dark": ("normalise_v3_streams", "#tab=timeline", 1280, 720, "dark", None),
    "tables": ("known_facts", "#tab=tables&table=kernels", 1280, 620, "light", None),
    "charts": ("normalise_v3_streams", "#tab=charts", 1280, 760, "light", None),
    "diff": (("normalise_v1", "normalise_v3_streams"), "", 1280, 820, "light", None),
    "narrow": ("normalise_v1", "", 380, 800, "dark", None),
}


def show(case, name):
    traces, link, width, height, theme, action = PICTURES[name]
    case.size(width, height)
    case.prefer(theme)
    page = browser.diff_page(*traces) if isinstance(traces, tuple) else browser.data_page(traces)
    case.open(page, link)
    if action == "first":  # where the first finding leads
        case.click(".finding button.go")
        case.selected()
        case.js("document.activeElement.blur()")
    time.sleep(0.5)  # transitions


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def pixels(png):
    """(width, height, pixels as bytes of 3 or 4) of a PNG as Chromium writes it: 8 bits, no interlace."""
    at, data, width, height, channels = 8, b"", 0, 0, 0
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", body[:10])
            channels = {2: 3, 6: 4}[colour]
        elif kind == b"IDAT":
            data += body
        at += 12 + size
    raw, stride, out = zlib.decompress(data), width * channels, []
    above = bytearray(stride)
    for y in range(height):
        start = y * (stride + 1)
        line = unfiltered(raw[start], bytearray(raw[start + 1:start + 1 + stride]), above, channels)
        out.append(line)
        above = line
    return width, height, [bytes(line[i:i + 3]) for line in out for i in range(0, stride, channels)]


def unfiltered(form, line, above, channels):
    for i in range(len(line) if form else 0):
        left = line[i - channels] if i >= channels else 0
        up, corner = above[i], above[i - channels] if i >= channels else 0
        if form == 4:  # Paeth
            by = [(abs(left + up - corner - value), order, value) for order, value in enumerate((left, up, corner))]
            guess = min(by)[2]
        else:
            guess = (0, left, up, (left + up) // 2)[form]
        line[i] = (line[i] + guess) & 255
    return line


def distance(one, other):
    return sum((a - b) ** 2 for a, b in zip(one, other))


def smaller(png):
    """The same picture in 256 colours: it is lines, bars and text."""
    width, height, points = pixels(png)
    counts = collections.Counter(points)
    palette = []  # frequent ones that differ, so that a small swatch is not lost to the many shades of the edges of letters
    for colour, _ in counts.most_common():
        if len(palette) < 256 and all(distance(colour, other) > 100 for other in palette):
            palette.append(colour)
    index = {colour: i for i, colour in enumerate(palette)}
    for colour in counts:
        if colour not in index:
            index[colour] = min(range(len(palette)), key=lambda i: distance(palette[i], colour))
    flat = bytes(index[point] for point in points)
    lines = b"".join(b"\0" + flat[y * width:(y + 1) * width] for y in range(height))
    return (png[:8] + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) + chunk(b"PLTE", b"".join(palette)) +
            chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b""))


def main():
    os.chdir(browser.ROOT)  # traces are named as a reader of the repository would
    browser.DATA = pathlib.Path("tests/data")
    browser.Case.setUpClass = classmethod(lambda cls: None)
    case = browser.Case("command")
    browser.Case.driver = browser.start()
    case.command("Emulation.setScrollbarsHidden", hidden=True)
    IMAGES.mkdir(parents=True, exist_ok=True)
    try:
        for name in sys.argv[1:] or PICTURES:
            show(case, name)
            png = smaller(base64.b64decode(case.command("Page.captureScreenshot", format="png")["data"]))
            if len(png) > MOST_BYTES:
                sys.exit(f"{name}: {len(png)} bytes, at most {MOST_BYTES}")
            (IMAGES / f"{name}.png").write_bytes(png)
            print(f"{name}: {len(png)} bytes")
    finally:
        browser.Case.quit()


if __name__ == "__main__":
    main()
