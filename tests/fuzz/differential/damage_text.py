"""Damage to a trace as text: records changed, swapped, dropped, repeated or moved. Its checksums are right again."""

import re

RATES = [0.0003, 0.003, 0.03, 0.2]
FIELD = re.compile(r"(\w+)=(-?\d+)")
TIME = re.compile(r"\b(start_ns|time_ns)=(\d+)")
DURATION = re.compile(r"\bduration_ns=(\d+)")
TID = re.compile(r"\btid=(\d+)")
CHUNK_DETAILS = re.compile(r" (kind|sequence)=\S+")  # which follow from the records
U32_MAX = (1 << 32) - 1
# What times and lengths are stored in ends here, or is not believed from here on.
LIMITS_NS = [(1 << 24) - 1, 1 << 24, 1 << 32, U32_MAX, 1 << 40, 1 << 58, 1 << 59, 1 << 60, (1 << 60) + 1, (1 << 63) - 1,
             (1 << 64) - 1]
TIMES = ("start_ns", "time_ns", "duration_ns")
BYTES = ("event", "copy_kind", "sync_kind", "is_unfinished", "source_memory", "destination_memory", "operation",
         "is_async", "memory", "domain")
IDS = (*BYTES, "correlation", "tid", "stream", "context", "device", "range", "graph", "graph_node", "result",
       "size_bytes", "address")


def kind_of(line):
    return line.split(" ", 1)[0]


def shortened(rng, lines, most):
    """Of a long trace all that is rare, and of the rest what lies in a window of time."""
    if len(lines) <= most:
        return lines
    found = [(line, TIME.search(line)) for line in lines]
    times = sorted(int(match[2]) for line, match in found if match and kind_of(line) not in ("process", "chunk"))
    if not times:
        return lines[:most]
    share = most / len(lines)
    at = rng.uniform(0, 1 - share)
    low_ns, high_ns = (times[int(part * (len(times) - 1))] for part in (at, at + share))
    return [line for line, match in found if match is None or kind_of(line) in ("process", "chunk", "end", "capture")
            or low_ns <= int(match[2]) <= high_ns]


def changed_value(rng, name, value, spread_ns):
    if name in TIMES and rng.random() < 0.005:
        return rng.choice(LIMITS_NS)
    if name == "duration_ns":
        return rng.choice(
            [0, 0, 1, value * 2, value * 10, value // 2,
             rng.randint(0, 3 * spread_ns), value + 1,
             max(0, value - 1)])
    if name in TIMES:
        by_ns = rng.choice([-1, 1, -1000, 1000, int(rng.gauss(0, spread_ns)), int(rng.gauss(0, spread_ns))])
        return 0 if rng.random() < 0.01 else max(0, value + by_ns)
    if name in BYTES:
        return rng.choice([0, 1, 2, 3, 4, 5, 8, rng.randint(0, 255)])
    if name == "result":
        return rng.choice([0, 1, 600, -5])
    return min(U32_MAX, rng.choice([0, max(0, value - 1), value + 1, value + 2, 7, 13, rng.randint(0, 500)]))


def with_changed_field(rng, line, names, spread_ns):
    fields = [match for match in FIELD.finditer(line.split('name="')[0]) if match[1] in names]
    if not fields:
        return line
    field = rng.choice(fields)
    value = changed_value(rng, field[1], int(field[2]), spread_ns)
    return f"{line[:field.start(2)]}{value}{line[field.end(2):]}"


# Damage to all lines at once: each gives the lines that are left.


def without_a_kind(rng, lines):
    gone = rng.choice(sorted({kind_of(line) for line in lines} - {"chunk"}) or [""])
    share = rng.choice([1, 1, 0.5, 0.1])
    return [line for line in lines if kind_of(line) != gone or rng.random() >= share]


def with_a_kind_shifted(rng, lines):
    kind = rng.choice(sorted({kind_of(line) for line in lines} - {"chunk"}) or [""])
    by_ns = rng.choice([-100_000, -1000, -1, 1, 500, 20_000, 1_000_000])
    def shift(match):
        return f"{match[1]}={max(0, int(match[2]) + by_ns)}"
    return [TIME.sub(shift, line, count=1) if kind_of(line) == kind else line for line in lines]


def with_shorter_work(rng, lines):
    divisor = rng.choice([2, 10, 1000])
    def shorten(match):
        return f"duration_ns={int(match[1]) // divisor}"
    return [DURATION.sub(shorten, line, count=1) if kind_of(line) in ("kernel", "api") else line for line in lines]


def with_round_times(rng, lines):
    tick_ns = rng.choice([100, 1000, 10_000, 100_000])
    def rounded(match):
        is_time = match[1] in TIMES
        return f"{match[1]}={int(match[2]) // tick_ns * tick_ns}" if is_time else match[0]
    return [FIELD.sub(rounded, line) for line in lines]


def with_other_threads(rng, lines):
    """Threads become one, or one becomes several."""
    count, share, first = rng.choice([1, 2, 5]), rng.choice([1, 0.05]), rng.randint(1, 1000)
    def other(match):
        return f"tid={first + rng.randrange(count)}" if rng.random() < share else match[0]
    return [TID.sub(other, line) for line in lines]


WHOLE = {"kind gone": without_a_kind, "kind shifted": with_a_kind_shifted, "shorter": with_shorter_work,
         "round": with_round_times, "threads": with_other_threads}
SINGLE = ["times", "ids", "drop", "repeat", "swap", "move", "chunk"]


def add_damaged(rng, lines, line, damage, spread_ns):
    """Adds what becomes of a line to those before it."""
    is_chunk = kind_of(line) == "chunk"
    if damage == "drop" and (not is_chunk or rng.random() < 0.5):
        return
    if damage == "repeat":
        lines += [line] * rng.choice([2, 2, 3])
    elif damage == "chunk" and not is_chunk:  # begins a chunk of its own
        lines += [
            next((CHUNK_DETAILS.sub("", before) for before in reversed(lines) if kind_of(before) == "chunk"),
                 "chunk pid=1"), line
        ]
    elif damage == "move" and not is_chunk and len(lines) > 2:
        lines.insert(rng.randrange(1, len(lines)), line)
    elif damage in ("times", "ids") and not is_chunk:
        lines.append(with_changed_field(rng, line, TIMES if damage == "times" else IDS, spread_ns))
    else:
        lines.append(line)
        other = rng.randrange(max(0, len(lines) - 50), len(lines))
        if damage == "swap" and not is_chunk and kind_of(lines[other]) != "chunk":
            lines[-1], lines[other] = lines[other], lines[-1]


def with_own_chunks(lines):
    """A chunk that names its kind ends before a record of another."""
    text, kind, header = [], None, ""
    for line in lines:
        if kind_of(line) == "chunk":
            header, named = CHUNK_DETAILS.sub("", line), re.search(r" kind=(\w+)", line)
            kind = named and named[1]
        elif kind is not None and kind_of(line) != kind:
            text.append(header)
            kind = None
        text.append(line)
    return text


def damaged(rng, text):
    """Text of a trace, damaged in some ways more or less often."""
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    rate, spread_ns = rng.choice(RATES), rng.choice([100, 5000, 1_000_000])
    chosen = rng.sample([*SINGLE, *WHOLE], rng.choice([1, 1, 2, 3]))
    for damage in chosen:
        if damage in WHOLE:
            lines = WHOLE[damage](rng, lines)
    single = [damage for damage in chosen if damage in SINGLE]
    left = []
    for line in lines:
        if single and rng.random() < rate:
            add_damaged(rng, left, line, rng.choice(single), spread_ns)
        else:
            left.append(line)
    if not {"drop", "repeat"} & set(chosen):  # numbers of chunks are given anew, else what is missing is reported
        left = [re.sub(r" sequence=\S+", "", line) if kind_of(line) == "chunk" else line for line in left]
    return "\n".join(with_own_chunks(left)) + "\n"
