// Ranks that take turns within a step: while some of them work, most others wait, as the stages of a pipeline do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fleet/verdict/clock_alignment.h"
#include "fleet/verdict/path_parts.h"

namespace gprof {

struct RankVerdict;
struct StepMatrix;

// Ranks that have their turn at the same time.
struct RankTurn {
  std::vector<size_t> ranks;  // indices into FleetVerdict::ranks
  int64_t path_ns = 0;        // of the path, their work
  int64_t alone_ns = 0;       // of that, while at least half of all other ranks wait
  int64_t waiting_ns = 0;     // each of them on average, while others on the path work
};

// Of the steps whose waits the ranks kept. The path of a step leads back from its end: along the work of a rank, and
// from a wait to the rank that came last.
struct Turns {
  int64_t steps = 0;                          // 0: nothing is known
  int64_t path_ns = 0, communication_ns = 0;  // communication: on the path, after the last rank has come
  int64_t hand_overs = 0;                     // from one turn to another
  int64_t taken_ns = 0;                       // work of turns alone, but for the longest one of each step
  std::vector<RankTurn> turns;                // by their first rank
  PathParts parts_ns{};                       // of the path: each rank's work is divided as all of its own time is
  bool AreTaken() const;
};

Turns FindTurns(const std::vector<RankVerdict>& ranks, const StepMatrix& matrix, const Alignment& alignment);

}  // namespace gprof
