// Counter tracks: what was measured again and again of the host, a process, a thread or a device.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "gprof/events.h"
#include "gprof/fields.h"
#include "gprof/trace/record.h"

namespace gprof {

// The words of enumerations, by number: what tables have in the place of those.
constexpr std::array<std::string_view, 4> WordsOf(trace::MetricKind) {
  return {"not known", "gauge", "counter", "rate"};
}
constexpr std::array<std::string_view, 5> WordsOf(trace::MetricScope) {
  return {"none", "host", "process", "thread", "device"};
}
constexpr std::array<std::string_view, 7> WordsOf(trace::MetricLossReason) {
  return {"not known",   "buffer full",     "too slow", "taken by another program",
          "not allowed", "fewer asked for", "paused"};
}

struct MetricSource {
  int64_t time_ns = 0;    // when its samples began, 0 when not known
  int64_t period_ns = 0;  // between samples, as asked for; 0 when they are not regular
  uint32_t process = kNone, thread = kNone, device = kNone;  // what it is of, as its scope says
  uint32_t pid = 0;                                          // of its process, which may be none of the trace
  NameId name, unit;
  NameId origin;       // who measures: proc, nvml, gpm, pm
  NameId device_uuid;  // of its device, which may be none of the trace
  int32_t scale = 0;   // a value times ten to the power of this is in the unit
  trace::MetricKind metric_kind = trace::MetricKind::kUnknown;
  trace::MetricScope scope = trace::MetricScope::kNone;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"time_ns", Role::kKnownTime}, m.time_ns);
    v(FieldOf{"period_ns", Role::kKnown}, m.period_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"device", Role::kDevice}, m.device);
    v(FieldOf{"pid", Role::kKnown}, m.pid);
    v(FieldOf{"name"}, m.name);
    v(FieldOf{"unit"}, m.unit);
    v(FieldOf{"origin"}, m.origin);
    v(FieldOf{"device_uuid"}, m.device_uuid);
    v(FieldOf{"scale"}, m.scale);
    v(FieldOf{"metric_kind"}, m.metric_kind);
    v(FieldOf{"scope"}, m.scope);
  }
};

struct MetricSample {
  int64_t start_ns = 0, end_ns = 0;  // the time that it is a mean over; the same for an instant
  int64_t value = 0;                 // to be scaled as its source says, see ScaledValue()
  uint32_t source = kNone;           // index into metric_sources
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"value"}, m.value);
    v(FieldOf{"source", Role::kMetricSource}, m.source);
  }
};

// A time without samples.
struct MetricLoss {
  int64_t start_ns = 0, end_ns = 0;
  uint64_t count = 0;       // samples that are missing, 0 when not known
  uint32_t source = kNone;  // index into metric_sources; kNone for all of a collector
  trace::MetricLossReason reason = trace::MetricLossReason::kUnknown;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"count", Role::kKnown}, m.count);
    v(FieldOf{"source", Role::kMetricSource}, m.source);
    v(FieldOf{"reason"}, m.reason);
  }
};

// In the unit of the source.
double ScaledValue(const MetricSource& source, int64_t value);

}  // namespace gprof
