// Packets of a Perfetto trace (protos/perfetto/trace in its sources), with names written out once and numbered.
#pragma once

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "export/events/event_args.h"
#include "export/output/output_stream.h"
#include "gprof/trace.h"

namespace gprof {

// Names of one kind; numbers count from 1, as 0 is none.
class Interned {
 public:
  explicit Interned(uint32_t field) : field_(field) {}
  // The number of `name`. What is new is added to `interned_data`, the message that tells the reader.
  uint64_t Of(std::string_view name, protozero::pbf_writer* interned_data);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  uint32_t field_;
  std::unordered_map<std::string, uint64_t, Hash, std::equal_to<>> numbers_;
};

class PerfettoPackets {
 public:
  enum class EventType : uint8_t { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };

  explicit PerfettoPackets(OutputStream& out) : out_(out) {}

  // `realtime_ns` of 0: not known.
  void Clocks(uint64_t monotonic_ns, uint64_t realtime_ns);

  struct Track {
    uint64_t parent = 0;  // 0: none
    std::string_view name{};
    int32_t order = 0;       // among those of the same parent
    uint64_t merge_key = 0;  // tracks of one parent with the same key are one row; 0: by name
    bool has_ordered_children = false;
    bool is_counter = false;
    std::string_view unit{};  // of a counter
  };
  // Numbers of tracks count from 1.
  uint64_t ProcessTrack(uint32_t pid, std::string_view name, std::string_view command_line, std::string_view label);
  uint64_t ThreadTrack(uint64_t process_track, uint32_t pid, uint32_t tid, std::string_view name);
  uint64_t AddTrack(const Track& track);

  // `label` numbers `name`. f(args, event) adds arguments and fields to the event.
  template <class F>
  void Event(EventType type, uint64_t track, int64_t time_ns, std::string_view category, uint32_t label,
             const std::string& name, F&& f) {
    StartEvent(type, track);
    protozero::pbf_writer event(event_), interned(interned_);
    NameEvent(category, label, name, &event, &interned);
    Args args(this, &event, &interned);
    f(static_cast<ArgSink&>(args), event);
    FinishEvent(time_ns);
  }
  void End(uint64_t track, int64_t time_ns);
  void CounterValue(uint64_t track, int64_t time_ns, int64_t value);
  void CounterValue(uint64_t track, int64_t time_ns, double value);

  // Of a TrackEvent.
  static void AddFlow(uint64_t flow, bool is_end, protozero::pbf_writer* event);

 private:
  class Args : public ArgSink {
   public:
    Args(PerfettoPackets* packets, protozero::pbf_writer* event, protozero::pbf_writer* interned)
        : packets_(packets), event_(event), interned_(interned) {}
    void Int(std::string_view key, int64_t value) override;
    void Uint(std::string_view key, uint64_t value) override;
    void Real(std::string_view key, double value) override;
    void Bool(std::string_view key, bool value) override;
    void Text(std::string_view key, std::string_view value) override;
    void Dim(std::string_view key, uint32_t x, uint32_t y, uint32_t z) override;

   private:
    // The number of the key, which has to be known before the annotation is begun.
    uint64_t Key(std::string_view key);
    template <class F>
    void Add(std::string_view key, F&& add_value);
    PerfettoPackets* packets_;
    protozero::pbf_writer* event_;
    protozero::pbf_writer* interned_;
  };

  void StartEvent(EventType type, uint64_t track);
  void NameEvent(std::string_view category, uint32_t label, const std::string& name, protozero::pbf_writer* event,
                 protozero::pbf_writer* interned);
  void FinishEvent(int64_t time_ns);
  void WritePacket(const std::string& packet);
  void WriteTrack(const std::string& descriptor);

  OutputStream& out_;
  Interned categories_{1}, keys_{3};
  std::vector<bool> is_named_;  // by label
  uint64_t tracks_ = 0;
  bool is_first_ = true;
  std::string event_, interned_, packet_, frame_;
};

}  // namespace gprof
