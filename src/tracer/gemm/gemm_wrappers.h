// What stands in the place of the functions of cuBLAS that multiply matrices: a wrapper calls the library, looks at the
// clock before and after, and writes a row.
#pragma once

#include <atomic>
#include <cstdint>

#include "tracer/gemm/gemm_functions.h"
#include "tracer/imports/import_slots.h"
#include "tracer/store/log_rows.h"

namespace gprof::tracer {

extern WrapTarget gemm_targets[kGemmNumbers];  // by number
extern std::atomic<bool> gemms_are_on;

// Fills in what import slots are to be led to. [starting thread]
void WrapGemms();

struct GemmRow {
  RowHeader header;   // flags: number of the function
  uint32_t duration;  // packed
  uint64_t start;     // stamp
  GemmShape shape;
  uint32_t unused;
};
static_assert(sizeof(GemmRow) == 56);

}  // namespace gprof::tracer
