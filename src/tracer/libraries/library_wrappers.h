// What stands in the place of the functions of libraries: a wrapper that makes an NVTX range of each call.
#pragma once

#include <cstdint>

#include "tracer/imports/import_slots.h"
#include "tracer/libraries/library_functions.h"
#include "tracer/store/interned_names.h"

namespace gprof::tracer {

extern WrapTarget library_targets[kLibraryFunctionCount];

// Where the ranges go. Known before the first slot is led to a wrapper.
struct LibraryNames {
  uint32_t domains[kRangedLibraryCount] = {};
  trace::StringId functions[kLibraryFunctionCount];
  uint64_t shortest_poll = 0;  // stamps; shorter ones are left out
};
extern LibraryNames library_names;

// Fills in what the import slots of its functions are to be led to. [starting thread]
void WrapLibrary(RangedLibrary library);

}  // namespace gprof::tracer
