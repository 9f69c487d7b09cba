"""Reads Perfetto traces with Perfetto's own messages and prints as JSON what is in each. Runs where they are installed."""

import collections
import json
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def unknown_fields(message, path="packet"):
    for field in UnknownFieldSet(message):
        yield f"{path} has an unknown field {field.field_number}"
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for one in value if field.is_repeated else [value]:
                yield from unknown_fields(one, f"{path}.{field.name}")


class Reader:
    def __init__(self, path):
        trace = protos.Trace()
        with open(path, "rb") as file:
            trace.ParseFromString(file.read())
        self.problems, self.slices, self.open = [], collections.Counter(), collections.Counter()
        self.tables = {"event_categories": {}, "event_names": {}, "debug_annotation_names": {}}
        self.tracks, self.flows, self.ended = {}, set(), set()
        for packet in trace.packet:
            self.problems += unknown_fields(packet)
            self.take(packet)
        self.problems += [f"track {track} has {count} slices without an end" for track, count in self.open.items() if count]
        self.problems += [f"flow {flow} ends and does not begin" for flow in self.ended - self.flows]

    def take(self, packet):
        for name, table in self.tables.items():
            for entry in getattr(packet.interned_data, name):
                if entry.iid == 0 or entry.iid in table:
                    self.problems.append(f"{name} {entry.iid} is told twice, or has no number")
                table[entry.iid] = entry.name
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            if descriptor.HasField("parent_uuid") and descriptor.parent_uuid not in self.tracks:
                self.problems.append(f"track {descriptor.uuid} comes before its parent")
            self.tracks[descriptor.uuid] = descriptor
        if packet.HasField("track_event"):
            self.event(packet.track_event)

    def named(self, table, number):
        if number not in self.tables[table]:
            self.problems.append(f"{table} {number} was not told")
        return self.tables[table].get(number, "")

    def event(self, event):
        if event.track_uuid not in self.tracks:
            self.problems.append(f"track {event.track_uuid} was not told")
        for argument in event.debug_annotations:
            self.named("debug_annotation_names", argument.name_iid)
        self.flows.update(event.flow_ids)
        self.ended.update(event.terminating_flow_ids)
        if event.type == BEGIN:
            self.named("event_names", event.name_iid)
            self.slices[self.named("event_categories", event.category_iids[0])] += 1
            self.open[event.track_uuid] += 1
        elif event.type == END:
            self.open[event.track_uuid] -= 1
        elif event.type == COUNTER and not self.tracks[event.track_uuid].HasField("counter"):
            self.problems.append(f"track {event.track_uuid} has values and is no counter")

    def found(self):
        return {"problems": self.problems[:20], "slices": self.slices, "flows": len(self.flows),
                "ended_flows": len(self.ended), "names": list(self.tables["event_names"].values())}


if __name__ == "__main__":
    json.dump([Reader(path).found() for path in sys.argv[1:]], sys.stdout)
