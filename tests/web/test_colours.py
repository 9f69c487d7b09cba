"""The colours of the page: one meaning each, and told apart by readers who see no red or no green.

Colour vision without one kind of cone is simulated with the matrices of Machado, Oliveira and Fernandes (2009) for linear
RGB; distances are those of OKLab times 100, where 2 is just to be seen."""

import itertools
import math
import pathlib
import re
import unittest

WEB = pathlib.Path(__file__).resolve().parents[2] / "src" / "web"
VISIONS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}
LEAST_IN_ONE_PLACE = 4.5
LEAST_ANYWHERE = 2.0
DARK_TEXT = "#0d1520"  # --on-kind


def channels(text):
    return [int(text[i:i + 2], 16) / 255 for i in (1, 3, 5)]


def linear(text):
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels(text)]


def oklab(text, vision):
    r, g, b = (min(1, max(0, sum(a * x for a, x in zip(row, linear(text))))) for row in VISIONS[vision])
    long, medium, short = ((0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3),
                           (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3),
                           (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3))
    return (0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
            1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
            0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short)


def distance(one, other):
    """The least of all visions."""
    return min(100 * math.dist(oklab(one, vision), oklab(other, vision)) for vision in VISIONS)


def luminance(text):
    r, g, b = linear(text)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def tinted(text, share):
    """As timeline/paint/palette.ts does."""
    target = 0 if share < 0 else 1
    return "#" + "".join(f"{round(255 * (c + (target - c) * abs(share))):02x}" for c in channels(text))


COLOURS = dict(re.findall(r"--((?:kind|cause)-[\w-]+): (#[0-9a-f]{6})", (WEB / "style.css").read_text(encoding="utf-8")))
# Ranges have their own colours or one by name; a gap has that of its cause.
BY_NAME = {"kind-nvtx-range", "kind-nvtx-start-end", "kind-projection", "kind-gap"}
HOST = {name for name in COLOURS if name.startswith(("kind-api-", "kind-thread-"))} | {
    "kind-nvtx-mark", "kind-overhead", "kind-os-call", "kind-mpi-call", "kind-cpu-sample"}
# In rows of their own.
REQUESTS = {name for name in COLOURS if name.startswith("kind-request")} | {"kind-engine-step"}
GPU = set(COLOURS) - HOST - BY_NAME - REQUESTS


class Colours(unittest.TestCase):
    def assert_apart(self, names, least):
        for one, other in itertools.combinations(sorted(names), 2):
            self.assertGreaterEqual(distance(COLOURS[one], COLOURS[other]), least, f"{one} and {other}")

    def test_all_are_looked_at(self):
        self.assertGreaterEqual(len([name for name in GPU if name.startswith("cause-")]), 12)
        self.assertGreaterEqual(len([name for name in GPU if name.startswith("kind-")]), 11)
        self.assertGreaterEqual(len(HOST), 19)
        self.assertEqual(len(REQUESTS), 5)

    def test_the_simulation_sees_what_it_should(self):
        self.assertLess(distance("#a09010", "#c08010"), 5)
        self.assertGreater(100 * math.dist(oklab("#ff0000", "normal"), oklab("#4a8000", "normal")), 25)
        self.assertLess(100 * math.dist(oklab("#d03000", "deuteranopia"), oklab("#808000", "deuteranopia")), 8)

    def test_what_is_on_a_gpu(self):
        self.assert_apart(GPU, LEAST_IN_ONE_PLACE)

    def test_what_is_on_the_host(self):
        self.assert_apart(HOST, LEAST_IN_ONE_PLACE)

    def test_what_requests_do(self):
        self.assert_apart(REQUESTS, LEAST_IN_ONE_PLACE)

    def test_each_has_one_meaning(self):
        self.assert_apart(HOST | GPU | REQUESTS, LEAST_ANYWHERE)

    def test_shades_of_kernels_are_still_kernels(self):
        text = (WEB / "timeline" / "paint" / "draw.ts").read_text(encoding="utf-8")
        tints = [float(share) for share in re.search(r"TINTS = \[(.*?)\]", text).group(1).split(",")]
        self.assertGreater(len(tints), 3)
        operations = [name for name in GPU if name.startswith("kind-") and name != "kind-kernel"]
        for share in tints:
            shade = tinted(COLOURS["kind-kernel"], share)
            nearest = min(distance(shade, COLOURS[name]) for name in operations)
            self.assertGreater(nearest, LEAST_ANYWHERE, share)

    def test_dark_text_can_be_read_on_all(self):
        for name, colour in COLOURS.items():
            self.assertGreaterEqual((luminance(colour) + 0.05) / (luminance(DARK_TEXT) + 0.05), 4.5, name)


if __name__ == "__main__":
    unittest.main()
