"""Reads Perfetto traces with the standard library alone: slices with their tracks, names and arguments.

The numbers of fields are those of protos/perfetto/trace in Perfetto's sources. test_perfetto_protos.py has Perfetto's own messages
read the same files, where they can be installed.
"""

import collections
import dataclasses
import struct

PACKET = 1
TIMESTAMP, TRACK_EVENT, INTERNED, DESCRIPTOR = 8, 11, 12, 60
BEGIN, END, INSTANT = 1, 2, 3


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """(number, value) of a message; messages and texts are bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = {1: 8, 5: 4}[kind]
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


def signed(value):
    return value - (1 << 64) if value >> 63 else value


@dataclasses.dataclass
class Slice:
    category: str
    name: str
    track: int
    start_ns: int
    args: dict
    flows: list
    ended_flows: list
    end_ns: int = -1
    depth: int = 0  # how many slices of its track were open


@dataclasses.dataclass
class Track:
    name: str = ""
    parent: int = 0
    pid: int = -1
    tid: int = -1


class Perfetto:
    def __init__(self, path):
        self.names = collections.defaultdict(dict)  # number of the table in InternedData: {number: text}
        self.tracks, self.slices, self.marks = {}, [], []
        open_slices = collections.defaultdict(list)
        for number, packet in fields(path.read_bytes()):
            assert number == PACKET
            parts = dict(fields(packet))
            if INTERNED in parts:
                for table, entry in fields(parts[INTERNED]):
                    told = dict(fields(entry))
                    self.names[table][told[1]] = told.get(2, b"").decode()
            if DESCRIPTOR in parts:
                self.descriptor(parts[DESCRIPTOR])
            if TRACK_EVENT in parts:
                self.event(parts[TIMESTAMP], parts[TRACK_EVENT], open_slices)
        assert not any(open_slices.values()), "slices without an end"

    def descriptor(self, data):
        told = dict(fields(data))
        track = Track(told.get(2, b"").decode(), told.get(5, 0))
        if 3 in told:
            track.pid = dict(fields(told[3]))[1]
        if 4 in told:
            thread = dict(fields(told[4]))
            track.pid, track.tid = thread[1], thread[2]
        self.tracks[told[1]] = track

    def argument(self, data):
        key, value = "", None
        for number, field in fields(data):
            if number == 1:
                key = self.names[3][field]
            elif number == 2:
                value = bool(field)
            elif number == 4:
                value = signed(field)
            elif number == 5:
                value, = struct.unpack("<d", field)
            elif number == 6:
                value = field.decode()
            elif number == 3:
                value = field
        return key, value

    def event(self, time_ns, data, open_slices):
        kind, track, category, name, args, flows, ended = 0, 0, "", "", {}, [], []
        for number, value in fields(data):
            if number == 9:
                kind = value
            elif number == 11:
                track = value
            elif number == 3:
                category = self.names[1][value]
            elif number == 10:
                name = self.names[2][value]
            elif number == 4:
                key, argument = self.argument(value)
                args[key] = argument
            elif number == 47:
                flows.append(value)
            elif number == 48:
                ended.append(value)
        if kind == END:
            open_slices[track].pop().end_ns = time_ns
        elif kind in (BEGIN, INSTANT):
            found = Slice(category, name, track, time_ns, args, flows, ended)
            if kind == INSTANT:
                self.marks.append(found)
                return
            found.depth = len(open_slices[track])
            open_slices[track].append(found)
            self.slices.append(found)

    def is_of_thread(self, track):
        while track != 0 and self.tracks[track].tid < 0:
            track = self.tracks[track].parent
        return track != 0

    def thread(self, track):
        """pid and tid of the thread that a track is of, or is below."""
        while self.tracks[track].tid < 0:
            track = self.tracks[track].parent
        return self.tracks[track].pid, self.tracks[track].tid
