// Kernel counters: what the performance monitors of a GPU counted in launches of kernels and in ranges.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "gprof/events.h"
#include "gprof/fields.h"
#include "gprof/trace/record.h"

namespace gprof {

constexpr std::array<std::string_view, 5> WordsOf(trace::ReplayMode) {
  return {"not known", "none", "kernel", "application", "range"};
}
constexpr std::array<std::string_view, 4> WordsOf(trace::CacheControl) { return {"not known", "none", "l2", "all"}; }
constexpr std::array<std::string_view, 4> WordsOf(trace::ClockControl) {
  return {"not known", "none", "base", "boost"};
}
constexpr std::array<std::string_view, 4> WordsOf(trace::CounterScope) {
  return {"not known", "kernel", "NVTX range", "graph"};
}
constexpr std::array<std::string_view, 4> WordsOf(trace::CounterStatus) {
  return {"complete", "passes missing", "refused", "time limit"};
}

// What was collected, and how.
struct CounterPlan {
  int64_t time_ns = 0;
  uint32_t process = kNone;
  NameId chip, library, metric_set;
  uint32_t passes = 0;
  trace::ReplayMode replay = trace::ReplayMode::kUnknown;
  trace::CacheControl caches = trace::CacheControl::kUnknown;
  trace::ClockControl clocks = trace::ClockControl::kUnknown;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"time_ns", Role::kKnownTime}, m.time_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"chip"}, m.chip);
    v(FieldOf{"library"}, m.library);
    v(FieldOf{"metric_set"}, m.metric_set);
    v(FieldOf{"passes", Role::kKnown}, m.passes);
    v(FieldOf{"replay"}, m.replay);
    v(FieldOf{"caches"}, m.caches);
    v(FieldOf{"clocks"}, m.clocks);
  }
};

// A launch of a kernel, or a range, whose counters were collected.
struct CounterRange {
  int64_t start_ns = 0;     // 0 when not known
  int64_t duration_ns = 0;  // with all passes
  uint32_t plan = kNone;    // index into counter_plans
  uint32_t process = kNone, device = kNone;
  uint32_t context = 0, stream = 0;  // ids, as CUDA has them
  uint32_t correlation = 0, invocation = 0, passes = 0;
  NameId name, nvtx;
  trace::CounterScope scope = trace::CounterScope::kUnknown;
  trace::CounterStatus status = trace::CounterStatus::kComplete;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kKnownTime}, m.start_ns);
    v(FieldOf{"duration_ns", Role::kKnown}, m.duration_ns);
    v(FieldOf{"plan", Role::kCounterPlan}, m.plan);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"device", Role::kDevice}, m.device);
    v(FieldOf{"context"}, m.context);
    v(FieldOf{"stream"}, m.stream);
    v(FieldOf{"correlation", Role::kKnown}, m.correlation);
    v(FieldOf{"invocation", Role::kKnown}, m.invocation);
    v(FieldOf{"passes", Role::kKnown}, m.passes);
    v(FieldOf{"name"}, m.name);
    v(FieldOf{"nvtx"}, m.nvtx);
    v(FieldOf{"scope"}, m.scope);
    v(FieldOf{"status"}, m.status);
  }
};

struct CounterValue {
  int64_t value = 0;       // see NumberOf()
  uint32_t range = kNone;  // index into counter_ranges
  NameId metric, unit;
  NameId text;        // the value where it is no number
  int32_t scale = 0;  // the value times ten to the power of this is in the unit
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"value"}, m.value);
    v(FieldOf{"range", Role::kCounterRange}, m.range);
    v(FieldOf{"metric"}, m.metric);
    v(FieldOf{"unit"}, m.unit);
    v(FieldOf{"text"}, m.text);
    v(FieldOf{"scale"}, m.scale);
  }
};

// How often warps of a kernel were found at an instruction for one reason.
struct PcSample {
  uint64_t cubin = 0, offset = 0;
  uint64_t samples = 0;
  uint32_t process = kNone;
  NameId kernel, reason;
  NameId file;  // empty when not known
  uint32_t line = 0;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"cubin"}, m.cubin);
    v(FieldOf{"offset"}, m.offset);
    v(FieldOf{"samples"}, m.samples);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"kernel"}, m.kernel);
    v(FieldOf{"reason"}, m.reason);
    v(FieldOf{"file"}, m.file);
    v(FieldOf{"line", Role::kKnown}, m.line);
  }
};

struct Instruction {
  uint64_t cubin = 0, offset = 0;
  NameId kernel, text;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"cubin"}, m.cubin);
    v(FieldOf{"offset"}, m.offset);
    v(FieldOf{"kernel"}, m.kernel);
    v(FieldOf{"text"}, m.text);
  }
};

// In its unit.
double NumberOf(const CounterValue& value);

}  // namespace gprof
