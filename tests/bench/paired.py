"""Statistics of runs that took turns: each round gives one figure for every variant, compared within the round."""

import math
import statistics


def interval(values, confidence=0.95):
    """(low, high) around the median, free of any assumption about the distribution: with that confidence at least the
    median lies between two of the values. None where there are too few of them."""
    ordered = sorted(values)
    count = len(ordered)
    below, best = 0.0, None
    for rank in range(count // 2):
        below += math.comb(count, rank) / 2**count  # the chance that the median lies below value number `rank`
        if 1 - 2 * below < confidence:
            break
        best = (ordered[rank], ordered[count - 1 - rank])
    return best


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def ratios(values, others):
    """{round: value} of two variants: the ratios of the rounds that both have."""
    return [values[key] / others[key] for key in sorted(values) if key in others and others[key] > 0]


def agrees(values, plain):
    """Whether results are those of the untraced runs: the same texts, or no further apart than those are themselves."""
    known = set(plain)
    if set(values) <= known:
        return True
    if len(known) < 2:
        return False
    try:
        plain_numbers = [float(text) for text in plain]
        numbers = [float(text) for text in values]
    except ValueError:
        return False
    spread = max(plain_numbers) - min(plain_numbers)
    return all(min(plain_numbers) - spread <= number <= max(plain_numbers) + spread for number in numbers)


def time_text(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns:.4g} ns"


def bytes_text(count):
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} B"


def slowdown_cells(values, plain):
    """Cells for {round: ns} against the untraced ones: median, middle half, median of the ratios, its interval."""
    times = list(values.values())
    low, high = quartiles(times)
    cells = [time_text(statistics.median(times)), f"{time_text(low)} – {time_text(high)}"]
    if values is plain:
        return [*cells, "", ""]
    found = ratios(values, plain)
    if not found:
        return [*cells, "", ""]
    around = interval(found)
    text = f"{around[0]:.3f} – {around[1]:.3f}" if around else f"{min(found):.3f} – {max(found):.3f} (all)"
    return [*cells, f"{statistics.median(found):.3f}", text]
