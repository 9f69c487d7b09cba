// The MPI library of the process: which loaded module it is, and what it is asked.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tracer/system/loaded_module.h"

namespace gprof::tracer {

struct MpiLibrary {
  int (*type_size)(uintptr_t type, int* size) = nullptr;
  int (*comm_size)(uintptr_t communicator, int* size) = nullptr;
  int (*comm_rank)(uintptr_t communicator, int* rank) = nullptr;
  int (*comm_test_inter)(uintptr_t communicator, int* is_inter) = nullptr;
  int (*comm_c2f)(uintptr_t communicator) = nullptr;  // null: the handle is the number
  uint64_t world = 0;                                 // what MPI_COMM_WORLD is known by
  int any_source = -2;                                // MPI_ANY_SOURCE
};
const MpiLibrary& Mpi();

// Looks for the library among the modules, from now on. [starting thread]
void WatchForMpi();

}  // namespace gprof::tracer
