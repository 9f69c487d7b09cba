// What is collected on a device: the metrics that its chip has, and how many passes they take.
#pragma once

#include "gprof/trace/record.h"
#include "tracer/counters/profiler/profiler_api.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {

struct DevicePlan {
  uint32_t id = 0;  // in the trace, from 1; 0: there is none
  uint32_t device = 0;
  CUpti_Profiler_Host_Object* host = nullptr;  // which has the metrics, and evaluates them
  const char** metrics = nullptr;
  trace::StringId *names = nullptr, *units = nullptr;
  uint32_t metric_count = 0;
  uint8_t* config = nullptr;
  std::size_t config_size = 0;
  uint32_t passes = 0;
  trace::ReplayMode replay = trace::ReplayMode::kNone;
};

// The plan of a device, made at the first call. Null: there is none, which a notice has said. [with the lock of the
// caller]
const DevicePlan* PlanOf(uint32_t device);
void ForgetPlansAfterFork();

// The records of plans that are not told yet. [writer thread, or salvage]
void TellPlans();
void RetellPlans();

}  // namespace gprof::tracer
#endif
