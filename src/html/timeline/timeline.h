// What the timeline of the HTML page shows of a trace: tracks, their lanes, and which events are in them.
//
// Pure: Trace → TimelineData. Events stay where they are, in the vectors of the trace; a lane has their indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/result/idle_causes.h"
#include "export/events/counter_curves.h"
#include "export/events/request_slices.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// src/web/shared/data.ts has the same words.
enum class TrackKind : uint8_t {
  kProcess,
  kThread,
  kNvtx,
  kApi,
  kDevice,
  kGaps,
  kStream,
  kCounter,
  kMarks,
  kOverhead,
  kMetrics,  // what was sampled
  kMpi,
  kOs,
  kStates,    // whether the thread ran
  kSamples,   // where it was
  kRequests,  // of a serving engine, and its steps
};

// What the items of a track are indices of.
enum class EventSource : uint8_t {
  kNothing,
  kOp,
  kCall,
  kRange,
  kMark,
  kIdlePart,
  kOverhead,
  kMpiCall,
  kOsCall,
  kThreadState,
  kSample,
  kRequestSlice,
};

// Events by start, none of which overlaps the next.
struct TimelineLane {
  uint32_t depth = 0;
  uint32_t first = 0;  // number of its first event, see NumberEvents
  uint32_t count = 0;  // events: fewer than items where some are drawn together
  std::vector<uint32_t> items;
};

struct TimelineTrack {
  TrackKind kind = TrackKind::kProcess;
  EventSource source = EventSource::kNothing;
  int32_t parent = -1;
  std::string label, detail;  // UTF-8
  std::vector<TimelineLane> lanes;
  std::optional<Counter> counter;
  bool is_folded = false;  // at first
};

// A piece of idle time of a device.
struct IdlePart {
  int64_t start_ns = 0, end_ns = 0;
  Cause cause = Cause::kUnknown;
  uint32_t call = kNone, range = kNone;  // where the host was: one of them, or none
  uint32_t next = kNone;                 // the operation that ended the gap
  NameId function;                       // of the operating system, that the host was blocked in the longest
};

enum class RunState : uint8_t { kRunning, kPreempted, kBlocked };

// A time in which a thread ran, or did not.
struct ThreadState {
  int64_t start_ns = 0, end_ns = 0;
  RunState state = RunState::kRunning;
  uint32_t cpu = kNone;  // that it ran on, or had left
  uint32_t by = kNone;   // the thread that ran there in its place, the one that did so the longest
};

// A request, a part of one, or a step of the engine.
struct NamedSlice {
  RequestSlice slice;
  std::string name, detail;
};

struct TimelineData {
  std::vector<TimelineTrack> tracks;  // in the order of display; parents before their children
  std::vector<IdlePart> idle_parts;
  std::vector<ThreadState> thread_states;
  std::vector<NamedSlice> request_slices;
  Interval span;                // that of the trace, or what its events need
  int64_t merged_below_ns = 0;  // events shorter than this are drawn together with their neighbours
  uint64_t event_count = 0;     // as drawn
  uint64_t trace_event_count = 0;
};

// All events of a trace in their lanes; nothing is drawn together yet.
TimelineData LayOut(const AnalysisInput& input);

// Draws neighbours together, as few as it takes for `budget` events at most, and numbers the events over all lanes.
void NumberEvents(const Trace& trace, uint64_t budget, TimelineData* timeline);

Interval TimeOf(const Trace& trace, const TimelineData& timeline, EventSource source, uint32_t item);

// Calls f(first, last) for each event of a lane: what it stands for is items [first, last). Events shorter than
// `merged_below_ns` that begin in the same slice of time, of that length and counted from `origin_ns`, are drawn
// together.
template <class TimeOfItem, class F>
void ForEachEvent(const std::vector<uint32_t>& items, int64_t origin_ns, int64_t merged_below_ns, TimeOfItem&& time_of,
                  F&& f) {
  for (std::size_t i = 0; i < items.size();) {
    std::size_t last = i + 1;
    const Interval time = time_of(items[i]);
    if (time.DurationNs() < merged_below_ns) {
      // So nothing that is drawn together is longer than two slices.
      const int64_t slice = (time.start_ns - origin_ns) / merged_below_ns;
      for (; last < items.size(); ++last) {
        const Interval next = time_of(items[last]);
        if (next.DurationNs() >= merged_below_ns || (next.start_ns - origin_ns) / merged_below_ns != slice) break;
      }
    }
    f(i, last);
    i = last;
  }
}

}  // namespace gprof
