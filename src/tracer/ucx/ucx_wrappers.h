// What stands in the place of the functions of UCX: a wrapper that makes an NVTX range of each call.
#pragma once

#include <cstdint>

#include "tracer/imports/import_slots.h"
#include "tracer/store/interned_names.h"
#include "tracer/ucx/ucx_functions.h"

namespace gprof::tracer {

extern WrapTarget ucx_targets[kUcxFunctionCount];

// Where the ranges go. Known before the first slot is led to a wrapper.
struct UcxNames {
  uint32_t domain = 0;
  trace::StringId functions[kUcxFunctionCount];
  uint64_t shortest_poll = 0;  // stamps; shorter ones are left out
};
extern UcxNames ucx_names;

// Fills in what import slots are to be led to. [starting thread]
void WrapUcx();

}  // namespace gprof::tracer
