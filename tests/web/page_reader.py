"""Reads a page of `gprof-cli report --format html` as docs/html.md and src/web/shared/data.ts describe it: independent of the page's own script."""

import html.parser
import json
import zlib

# In the order of EVENT_KINDS in src/web/shared/data.ts.
KINDS = ["kernel", "copy_h2d", "copy_d2h", "copy_d2d", "copy_peer", "copy_other", "memset", "graph",
         "api_launch", "api_copy", "api_memset", "api_sync", "api_memory", "api_load", "api_query", "api_stream",
         "api_event", "api_graph", "api_other", "nvtx_range", "nvtx_start_end", "nvtx_mark", "gap",
         "pageable_h2d", "pageable_d2h", "overhead", "projection", "os_call", "mpi_call",
         "thread_running", "thread_preempted", "thread_blocked", "cpu_sample"]
MEMORY = ["unknown", "pageable", "pinned", "device", "array", "managed", "device_static", "managed_static"]
MASK = (1 << 64) - 1


class Elements(html.parser.HTMLParser):
    """What a browser makes of the file: the text of each script and style, in order, and the policy."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.scripts, self.policy, self.title = [], None, ""
        self.open = None

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy":
            self.policy = attrs["content"]
        if tag in ("script", "title"):
            self.open = (tag, attrs, [])

    def handle_data(self, data):
        if self.open:
            self.open[2].append(data)

    def handle_endtag(self, tag):
        if not self.open or self.open[0] != tag:
            return
        text = "".join(self.open[2])
        if tag == "script":
            self.scripts.append((self.open[1], text))
        else:
            self.title = text
        self.open = None


RESERVED = (0, 13, 60)
LAST = 0x100 + 128 * len(RESERVED)


def text_of(data):
    """Bytes as characters of seven bits each, docs/html.md."""
    bits = len(data) * 8
    count = (bits + 6) // 7
    septets = []
    for at in range(0, len(data), 7):
        part = data[at:at + 7]
        number = int.from_bytes(part, "big") << (-len(part) * 8 % 7)
        septets += [number >> shift & 127 for shift in range((len(part) * 8 + 6) // 7 * 7 - 7, -1, -7)]
    assert len(septets) == count
    out, at = [], 0
    while at < count:
        value = septets[at]
        at += 1
        if value in RESERVED:
            if at < count:
                value = 0x100 + 128 * RESERVED.index(value) + septets[at]
                at += 1
            else:
                value += LAST
        out.append(chr(value))
    return "".join(out)


def bytes_of(text):
    septets = []
    for code in map(ord, text):
        if 0x100 <= code < LAST:
            septets.append(RESERVED[(code - 0x100) >> 7])
        elif code >= 128 and not LAST <= code < LAST + 128:
            raise ValueError(f"character {code:#x} in packed data")
        septets.append(code & 127)
    out = bytearray()
    for at in range(0, len(septets), 8):
        number, part = 0, septets[at:at + 8]
        for septet in part:
            number = number << 7 | septet
        size = len(part) * 7 // 8
        out += (number >> (len(part) * 7 - size * 8)).to_bytes(size, "big")
    return bytes(out)


def unpacked(text):
    return zlib.decompress(bytes_of(text))


def varints(data):
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    if shift:
        raise ValueError("a number is cut")
    return values


def decode(coding, data):
    if coding == "byte":
        return list(data)
    values = varints(data)
    if coding == "varint":
        return values
    values = [(v >> 1) ^ -(v & 1) for v in values]
    if coding == "delta":
        before = 0
        for i, value in enumerate(values):
            before = values[i] = (before + value + (1 << 63) & MASK) - (1 << 63)
    return values


class Timeline:
    def __init__(self, description, blob):
        self.description, self.blob = description, blob
        if len(blob) != description["blob_bytes"]:
            raise ValueError(f"{len(blob)} bytes, not {description['blob_bytes']}")
        self.names = description["names"]
        self.start_ns = int(description["start_ns"])
        self.events = []  # by number
        for number, track in enumerate(description["tracks"]):
            for lane in track["lanes"]:
                if lane["first"] != len(self.events):
                    raise ValueError("events are not numbered one after the other")
                self.events += self._lane(lane, number, track)

    def columns(self, holder):
        columns = {}
        for column in holder["columns"]:
            data = self.blob[column["offset"]:column["offset"] + column["bytes"]]
            if len(data) != column["bytes"]:
                raise ValueError("a column ends behind the blob")
            columns[column["name"]] = decode(column["coding"], data)
            if len(columns[column["name"]]) != holder["count"]:
                raise ValueError(f"column {column['name']} has {len(columns[column['name']])} values, not {holder['count']}")
        return columns

    def _lane(self, lane, number, track):
        columns = self.columns(lane)
        at, events = 0, []
        for i in range(lane["count"]):
            value = {name: values[i] for name, values in columns.items()}
            start = at + value.get("gap", 0)
            at = start + value.get("duration", 0)
            events.append({
                "track": number, "track_kind": track["kind"], "depth": lane["depth"],
                "start_ns": self.start_ns + start, "duration_ns": value.get("duration", 0),
                "name": self.names[value.get("name", 0)], "kind": KINDS[value.get("kind", 0)],
                "call": value.get("call", 0) - 1, "bytes": value.get("bytes", 0), "shape": value.get("shape", 0) - 1,
                "source": MEMORY[value.get("memory", 0) >> 4], "destination": MEMORY[value.get("memory", 0) & 15],
                "correlation": value.get("correlation", 0), "result": value.get("result", 0),
                "color": value.get("color", 0) - 1,
                "payload": self.names[value["payload"] - 1] if value.get("payload") else None,
                "range": value.get("range", 0) - 1, "next": value.get("next", 0) - 1,
                "function": self.names[value["function"] - 1] if value.get("function") else None, "blame": value.get("blame", 0) - 1,
                "count": value.get("count", 1), "busy": value.get("busy", value.get("duration", 0)),
            })
        return events

    def of_tracks(self, *kinds):
        return [event for event in self.events if event["track_kind"] in kinds]

    def counter(self, track):
        """[(time_ns, value)] of a counter track."""
        columns = self.columns(track["counter"])
        points, at = [], self.start_ns
        count = track["counter"]["count"]
        for step, value in zip(columns.get("time", [0] * count), columns.get("value", [0] * count)):
            at += step
            points.append((at, value))
        return points


class Page:
    def __init__(self, text):
        self.text = text
        elements = Elements()
        elements.feed(text)
        elements.close()
        self.elements = elements
        self.policy, self.title = elements.policy, elements.title
        by_id = {attrs.get("id"): body for attrs, body in elements.scripts if attrs.get("id")}
        self.program = unpacked(by_id["program"]).decode("utf-8")
        self.style = unpacked(by_id["style"]).decode("utf-8")
        self.programs = [body for attrs, body in elements.scripts if attrs.get("type") in (None, "text/javascript", "module")]
        self.data = json.loads(unpacked(by_id["page"]).decode("utf-8"))
        self.timelines = [
            Timeline(description, unpacked(by_id[f"events-{i}"]))
            for i, description in enumerate(self.data["timelines"])]


def read(path):
    with open(path, encoding="utf-8", errors="strict", newline="") as file:
        return Page(file.read())
