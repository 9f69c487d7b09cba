"""What a made-up trace is like: how large, on which clock, and how often something odd happens in it."""

SORTS = {
    "usual": "what programs do, some of it out of order, lost or twice",
    "odd": "rarer oddities, ranges 80 deep, calls with 600 operations, calls around calls",
    "ranges": "as odd, with NVTX ranges of all sorts next to each other around single launches",
    "large": "as ranges, with 100,000 to 260,000 records: enough that work is shared among threads",
}


class Habits:
    """Of a whole trace; its processes draw their own on top of these."""

    def __init__(self, rng, sort, most_records):
        self.rng = rng
        self.has_rare_oddities = sort != "usual"
        self.has_mixed_ranges = sort in ("ranges", "large")
        self.records = min(most_records, self.draw_records(sort))
        # Clocks that tick this seldom make many records of one time.
        self.tick_ns = rng.choices([1, 7, 100, 1000, 10000], [60, 6, 14, 14, 6])[0]
        self.base_ns = self.draw_base_ns()
        self.is_clean = rng.random() < (0.25 if self.has_rare_oddities else 0.45)

    def draw_records(self, sort):
        rng = self.rng
        if sort == "large":
            return rng.randint(101_000, 260_000)
        limits, weights = [(0, 60), (60, 2500), (2500, 12_000), (20_000, 60_000), (60_000, 130_000)], [14, 56, 22, 6, 2]
        if self.has_rare_oddities:
            limits, weights = [(0, 300), (300, 4000), (4000, 20_000), (30_000, 90_000)], [15, 60, 19, 6]
        return rng.randint(*rng.choices(limits, weights)[0])

    def draw_base_ns(self):
        rng = self.rng
        if rng.random() < 0.05:  # where times stop to be usual, and to be usable
            return rng.choice([1 << 58, 1 << 59, 1 << 60, 1 << 60, 1 << 62]) - rng.choice([0, 1_000_000, 30_000_000])
        return rng.choice([0, 100, 1_000_000, 10**12, (1 << 32) - 5000, (1 << 40) - 100_000, 27_120_823_981])

    def rate(self, chance, low=0.001, high=0.1):
        """How often something odd happens: 0 in most traces."""
        rng = self.rng
        if self.is_clean or rng.random() >= chance:
            return 0.0
        if self.has_rare_oddities and rng.random() < 0.5:
            return rng.choice([1 / 300, 1 / 3000, 1 / 20_000])
        return rng.uniform(low, high) ** rng.choice([1, 1, 2])

    def quantize(self, time_ns):
        return max(0, min((1 << 64) - 1, time_ns)) // self.tick_ns * self.tick_ns
