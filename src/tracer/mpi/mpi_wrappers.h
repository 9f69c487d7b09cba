// What stands in the place of the functions of MPI: a wrapper calls the library, looks at the clock before and after,
// and writes a row.
#pragma once

#include <atomic>
#include <cstdint>

#include "tracer/imports/import_slots.h"
#include "tracer/mpi/mpi_functions.h"
#include "tracer/store/log_rows.h"

namespace gprof::tracer {

// By number. The second is what the functions are called by tools and by the Fortran bindings.
extern WrapTarget mpi_targets[kMpiNumbers], mpi_profiling_targets[kMpiNumbers];

extern std::atomic<bool> mpi_is_on;
extern std::atomic<uint64_t> mpi_poll_stamps;  // shorter polls are left out

// Fills in what import slots are to be led to. [starting thread]
void WrapMpi();

struct MpiCallRow {
  RowHeader header;   // flags: number of the function
  uint32_t duration;  // packed
  uint64_t start;     // stamp
  uint64_t communicator;
  uint32_t communicator_size;
  int32_t peer;
  int32_t tag;
  uint32_t error;
};
static_assert(sizeof(MpiCallRow) == 40);

struct MpiCallRowWithBytes {
  MpiCallRow row;
  uint64_t sent_bytes, received_bytes;
};
static_assert(sizeof(MpiCallRowWithBytes) == 56);

}  // namespace gprof::tracer
