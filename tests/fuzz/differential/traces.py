"""Trace number N of a seed: made up, damaged, or a recorded one damaged."""

import functools
import random
import re
import subprocess

import damage_bytes
import damage_text
import random_trace

MADE_UP_SHARE, RECORDED_SHARE = 0.62, 0.22  # the rest is made up and damaged
BYTES_SHARE = 0.25  # of damage is to bytes, where the rest is to text
WRONG_LINE = re.compile(r"assemble_trace: line (\d+):")
MOST_WRONG_LINES = 200


class Maker:
    def __init__(self, program, assembler, sources, most_lines=130_000):
        """Traces are read by `program dump` and written by `assembler`."""
        self.program, self.assembler, self.sources, self.most_lines = program, assembler, sources, most_lines

    def make(self, sort, seed, number):
        """Bytes of the trace."""
        rng = random.Random(f"{sort} {seed} {number}")
        what = rng.random()
        if what < MADE_UP_SHARE:
            return self.assemble(random_trace.make(rng, sort))
        if what < MADE_UP_SHARE + RECORDED_SHARE and self.sources:
            return self.damaged_recording(rng, rng.choice(self.sources), sort)
        text = random_trace.make(rng, sort)
        if rng.random() < BYTES_SHARE:
            return damage_bytes.damaged(rng, self.assemble(text))
        return self.assemble(damage_text.damaged(rng, text))

    def damaged_recording(self, rng, source, sort):
        if rng.random() < BYTES_SHARE:
            return damage_bytes.damaged(rng, source.read_bytes())
        most = rng.choices([800, 3000, 12_000, 45_000, 130_000], [25, 40, 22, 9, 4])[0] if sort != "large" else 200_000
        lines = self.dumped(source).split("\n")
        part = damage_text.shortened(rng, lines, min(most, self.most_lines))
        return self.assemble(damage_text.damaged(rng, "\n".join(part)))

    @functools.lru_cache(maxsize=16)
    def dumped(self, path):
        done = subprocess.run([self.program, "dump", path],
                              stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL,
                              check=True)
        return done.stdout.decode("utf-8", "surrogateescape")

    def assemble(self, text):
        """A line that no trace can hold is left out."""
        for _ in range(MOST_WRONG_LINES):
            done = subprocess.run([self.assembler],
                                  input=text.encode("utf-8", "surrogateescape"),
                                  capture_output=True,
                                  check=False)
            if done.returncode == 0:
                return done.stdout
            wrong = WRONG_LINE.match(done.stderr.decode())
            if wrong is None:
                break
            lines = text.split("\n")
            del lines[int(wrong[1]) - 1]
            text = "\n".join(lines)
        raise RuntimeError(done.stderr.decode())
