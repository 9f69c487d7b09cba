// Who arrives last in collectives of MPI: each rank waits in the call for the others.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

inline constexpr uint32_t kMpiWorld = 1;  // MPI_COMM_WORLD as MpiCall::communicator

// "MPI_Bcast" for "MPI_Bcast_c", whose counts have 64 bits.
std::string_view WithoutLargeCount(std::string_view function);

// Nobody leaves such a call before everybody has come. Of a broadcast or a reduction that is true of some ranks alone.
bool WaitsForAll(std::string_view function);

// Of one rank, over all collectives on MPI_COMM_WORLD that nobody leaves before everybody has come.
struct MpiArrivals {
  uint32_t process = kNone;
  int64_t waited_ns = 0;   // from its own arrival to that of the last one
  int64_t last = 0;        // how often it was the last one
  int64_t held_up_ns = 0;  // what the others waited in those, all of them together
};

struct MpiLateness {
  std::vector<MpiArrivals> ranks;  // by rank
  int64_t collectives = 0;
  Interval time;  // from the first arrival in the first to the end of the last
};

// Empty unless all ranks of the world are in the trace, on one host: the clocks of several do not agree well enough.
MpiLateness MpiLatenessOf(const Trace& trace);

}  // namespace gprof
