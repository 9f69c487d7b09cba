#include "export/timeline/perfetto_packets.h"

#include "base/text.h"

namespace gprof {
namespace {

using protozero::pbf_writer;

// Numbers of fields and values, by message.
namespace trace_file {
constexpr uint32_t kPacket = 1;
}
namespace trace_packet {
constexpr uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInternedData = 12,
                   kSequenceFlags = 13, kTimestampClock = 58, kDefaults = 59, kTrackDescriptor = 60;
constexpr uint32_t kStateCleared = 1, kNeedsState = 2;
}  // namespace trace_packet
namespace clock_snapshot {
constexpr uint32_t kClocks = 1, kPrimaryClock = 2, kClockId = 1, kClockTime = 2;
constexpr uint32_t kRealtime = 1, kMonotonic = 3;
}  // namespace clock_snapshot
namespace track_descriptor {
constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8, kChildOrdering = 11,
                   kOrder = 12, kMergeBehavior = 15, kMergeKey = 17;
constexpr int32_t kExplicitOrder = 3, kMergeByKey = 3;
constexpr uint32_t kProcessPid = 1, kProcessCommandLine = 2, kProcessName = 6, kProcessLabels = 8;
constexpr uint32_t kThreadPid = 1, kThreadTid = 2, kThreadName = 5;
constexpr uint32_t kCounterUnit = 3, kCounterUnitName = 6;
constexpr int32_t kUnitBytes = 3;
}  // namespace track_descriptor
namespace track_event {
constexpr uint32_t kCategory = 3, kArgument = 4, kType = 9, kName = 10, kTrack = 11, kCounterValue = 30,
                   kDoubleCounterValue = 44, kFlow = 47, kEndOfFlow = 48;
}  // namespace track_event
namespace argument {
constexpr uint32_t kKey = 1, kBool = 2, kUint = 3, kInt = 4, kDouble = 5, kString = 6, kDictionary = 11;
}
namespace interned_data {
constexpr uint32_t kEventNames = 2, kNumber = 1, kText = 2;
}

constexpr uint32_t kOurSequence = 1;

}  // namespace

uint64_t Interned::Of(std::string_view name, pbf_writer* interned_data) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  const uint64_t number = numbers_.size() + 1;
  numbers_.emplace(name, number);
  pbf_writer entry(*interned_data, field_);
  entry.add_uint64(interned_data::kNumber, number);
  entry.add_string(interned_data::kText, name.data(), name.size());
  return number;
}

void PerfettoPackets::WritePacket(const std::string& packet) {
  frame_.clear();
  pbf_writer(frame_).add_message(trace_file::kPacket, packet);
  out_.Write(frame_);
}

void PerfettoPackets::Clocks(uint64_t monotonic_ns, uint64_t realtime_ns) {
  packet_.clear();
  {
    pbf_writer packet(packet_);
    pbf_writer snapshot(packet, trace_packet::kClockSnapshot);
    const auto add = [&](uint32_t clock, uint64_t time_ns) {
      pbf_writer reading(snapshot, clock_snapshot::kClocks);
      reading.add_uint32(clock_snapshot::kClockId, clock);
      reading.add_uint64(clock_snapshot::kClockTime, time_ns);
    };
    add(clock_snapshot::kMonotonic, monotonic_ns);
    if (realtime_ns != 0) add(clock_snapshot::kRealtime, realtime_ns);
    snapshot.add_enum(clock_snapshot::kPrimaryClock, static_cast<int32_t>(clock_snapshot::kMonotonic));
  }
  WritePacket(packet_);
}

// ---- tracks ----

void PerfettoPackets::WriteTrack(const std::string& descriptor) {
  packet_.clear();
  pbf_writer packet(packet_);
  packet.add_uint32(trace_packet::kSequence, kOurSequence);
  packet.add_message(trace_packet::kTrackDescriptor, descriptor);
  WritePacket(packet_);
}

uint64_t PerfettoPackets::ProcessTrack(uint32_t pid, std::string_view name, std::string_view command_line,
                                       std::string_view label) {
  std::string descriptor;
  {
    pbf_writer track(descriptor);
    track.add_uint64(track_descriptor::kUuid, ++tracks_);
    pbf_writer process(track, track_descriptor::kProcess);
    process.add_int32(track_descriptor::kProcessPid, static_cast<int32_t>(pid));
    process.add_string(track_descriptor::kProcessName, name.data(), name.size());
    if (!command_line.empty())
      process.add_string(track_descriptor::kProcessCommandLine, command_line.data(), command_line.size());
    if (!label.empty()) process.add_string(track_descriptor::kProcessLabels, label.data(), label.size());
  }
  WriteTrack(descriptor);
  return tracks_;
}

uint64_t PerfettoPackets::ThreadTrack(uint64_t process_track, uint32_t pid, uint32_t tid, std::string_view name) {
  std::string descriptor;
  {
    pbf_writer track(descriptor);
    track.add_uint64(track_descriptor::kUuid, ++tracks_);
    if (process_track != 0) track.add_uint64(track_descriptor::kParent, process_track);
    pbf_writer thread(track, track_descriptor::kThread);
    thread.add_int32(track_descriptor::kThreadPid, static_cast<int32_t>(pid));
    thread.add_int64(track_descriptor::kThreadTid, tid);
    if (!name.empty()) thread.add_string(track_descriptor::kThreadName, name.data(), name.size());
  }
  WriteTrack(descriptor);
  return tracks_;
}

uint64_t PerfettoPackets::AddTrack(const Track& t) {
  std::string descriptor;
  pbf_writer track(descriptor);
  track.add_uint64(track_descriptor::kUuid, ++tracks_);
  if (t.parent != 0) track.add_uint64(track_descriptor::kParent, t.parent);
  track.add_string(track_descriptor::kName, t.name.data(), t.name.size());
  if (t.has_ordered_children) track.add_enum(track_descriptor::kChildOrdering, track_descriptor::kExplicitOrder);
  track.add_int32(track_descriptor::kOrder, t.order);
  if (t.merge_key != 0) {
    track.add_enum(track_descriptor::kMergeBehavior, track_descriptor::kMergeByKey);
    track.add_uint64(track_descriptor::kMergeKey, t.merge_key);
  }
  if (t.is_counter) {
    pbf_writer counter(track, track_descriptor::kCounter);
    if (t.unit == "bytes") {
      counter.add_enum(track_descriptor::kCounterUnit, track_descriptor::kUnitBytes);
    } else {
      counter.add_string(track_descriptor::kCounterUnitName, t.unit.data(), t.unit.size());
    }
  }
  WriteTrack(descriptor);
  return tracks_;
}

// ---- events ----

void PerfettoPackets::StartEvent(EventType type, uint64_t track) {
  event_.clear();
  interned_.clear();
  pbf_writer event(event_);
  event.add_enum(track_event::kType, static_cast<int32_t>(type));
  event.add_uint64(track_event::kTrack, track);
}

void PerfettoPackets::NameEvent(std::string_view category, uint32_t label, const std::string& name, pbf_writer* event,
                                pbf_writer* interned) {
  event->add_uint64(track_event::kCategory, categories_.Of(category, interned));
  event->add_uint64(track_event::kName, uint64_t{label} + 1);
  if (is_named_.size() <= label) is_named_.resize(label + 1);
  if (is_named_[label]) return;
  is_named_[label] = true;
  pbf_writer entry(*interned, interned_data::kEventNames);
  entry.add_uint64(interned_data::kNumber, uint64_t{label} + 1);
  entry.add_string(interned_data::kText, name);
}

void PerfettoPackets::FinishEvent(int64_t time_ns) {
  packet_.clear();
  {
    pbf_writer packet(packet_);
    packet.add_uint64(trace_packet::kTimestamp, static_cast<uint64_t>(time_ns));
    packet.add_uint32(trace_packet::kSequence, kOurSequence);
    packet.add_uint32(trace_packet::kSequenceFlags,
                      is_first_ ? trace_packet::kStateCleared | trace_packet::kNeedsState : trace_packet::kNeedsState);
    if (is_first_) {
      pbf_writer defaults(packet, trace_packet::kDefaults);
      defaults.add_uint32(trace_packet::kTimestampClock, clock_snapshot::kMonotonic);
    }
    if (!interned_.empty()) packet.add_message(trace_packet::kInternedData, interned_);
    packet.add_message(trace_packet::kTrackEvent, event_);
  }
  is_first_ = false;
  WritePacket(packet_);
}

void PerfettoPackets::End(uint64_t track, int64_t time_ns) {
  StartEvent(EventType::kEnd, track);
  FinishEvent(time_ns);
}

void PerfettoPackets::CounterValue(uint64_t track, int64_t time_ns, int64_t value) {
  StartEvent(EventType::kCounter, track);
  pbf_writer(event_).add_int64(track_event::kCounterValue, value);
  FinishEvent(time_ns);
}

void PerfettoPackets::CounterValue(uint64_t track, int64_t time_ns, double value) {
  StartEvent(EventType::kCounter, track);
  pbf_writer(event_).add_double(track_event::kDoubleCounterValue, value);
  FinishEvent(time_ns);
}

void PerfettoPackets::AddFlow(uint64_t flow, bool is_end, pbf_writer* event) {
  event->add_fixed64(is_end ? track_event::kEndOfFlow : track_event::kFlow, flow);
}

// ---- arguments ----

uint64_t PerfettoPackets::Args::Key(std::string_view key) { return packets_->keys_.Of(key, interned_); }

template <class F>
void PerfettoPackets::Args::Add(std::string_view key, F&& add_value) {
  const uint64_t number = Key(key);
  pbf_writer argument(*event_, track_event::kArgument);
  argument.add_uint64(argument::kKey, number);
  add_value(argument);
}

void PerfettoPackets::Args::Int(std::string_view key, int64_t value) {
  Add(key, [&](pbf_writer& out) { out.add_int64(argument::kInt, value); });
}

void PerfettoPackets::Args::Uint(std::string_view key, uint64_t value) {
  Add(key, [&](pbf_writer& out) { out.add_uint64(argument::kUint, value); });
}

void PerfettoPackets::Args::Real(std::string_view key, double value) {
  Add(key, [&](pbf_writer& out) { out.add_double(argument::kDouble, value); });
}

void PerfettoPackets::Args::Bool(std::string_view key, bool value) {
  Add(key, [&](pbf_writer& out) { out.add_bool(argument::kBool, value); });
}

void PerfettoPackets::Args::Text(std::string_view key, std::string_view value) {
  Add(key, [&](pbf_writer& out) { out.add_string(argument::kString, Utf8(value)); });
}

void PerfettoPackets::Args::Dim(std::string_view key, uint32_t x, uint32_t y, uint32_t z) {
  Key(key);  // before those of its entries
  const uint64_t axes[] = {Key("x"), Key("y"), Key("z")};
  const uint32_t sizes[] = {x, y, z};
  Add(key, [&](pbf_writer& out) {
    for (std::size_t i = 0; i < 3; ++i) {
      pbf_writer entry(out, argument::kDictionary);
      entry.add_uint64(argument::kKey, axes[i]);
      entry.add_uint64(argument::kUint, sizes[i]);
    }
  });
}

}  // namespace gprof
