// What CUDA functions are to the tracer, by their names.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tracer/core/config.h"

namespace gprof::tracer {

// What a function's callback has to do beyond noting start and end.
enum Duty : uint8_t {
  kNothing = 0,
  kStreamSync,  // first argument: stream
  kEventSync,   // first argument: event
  kContextSync,
  kStreamWait,   // first argument: stream, second: event
  kReset,        // the context goes away: take what CUPTI holds before
  kEventRecord,  // first argument: event, second: stream
  kGraphLaunch,
  kConditional,  // a conditional node of a graph
  kProfilerStart,
  kProfilerStop,
};

inline bool IsSync(Duty duty) {
  return duty == kStreamSync || duty == kEventSync || duty == kContextSync || duty == kStreamWait;
}
inline bool IsProfilerApi(Duty duty) { return duty == kProfilerStart || duty == kProfilerStop; }
// Calls that say how to record what comes later: they are heard outside of captures, too.
inline bool IsAlwaysOn(Duty duty) { return IsProfilerApi(duty) || duty == kConditional; }

// `n`: the length without a version suffix (call_names.h).
Duty DutyOf(const char* name, std::size_t n);
// Calls so cheap and so frequent that recording them costs more than they do; --cuda-trace-all-apis records them too.
bool IsQuery(const char* name, std::size_t n);
CallKind KindOfCall(const char* name);
// Whether the base level hears of such calls. Others are short and many, more than it can afford.
bool IsOfBase(const char* name, std::size_t n);

}  // namespace gprof::tracer
