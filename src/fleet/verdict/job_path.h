// What the time of a whole run is made of: in each step, that of the rank that the others wait for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fleet/verdict/path_parts.h"
#include "fleet/verdict/turns.h"

namespace gprof {

struct RankVerdict;
struct StepMatrix;

struct RankOnPath {
  size_t rank = 0;      // index into FleetVerdict::ranks
  int64_t entries = 0;  // in which the others waited for it
  int64_t wall_ns = 0, above_median_ns = 0;
  PathParts above_ns{};  // its parts above those of the median rank
};

struct JobPath {
  bool are_linked = false;      // ranks wait for one another; else the path is that of the rank that takes longest
  int64_t wall_ns = 0;          // 0: no path is known
  int64_t above_median_ns = 0;  // own time that the median rank does not have
  PathParts parts_ns{}, median_ns{};  // on the path; of the median rank in the same steps
  std::vector<size_t> slowest;        // by entry: who is on the path, an index into FleetVerdict::ranks
  std::vector<PathParts> medians_ns;  // by entry
  std::vector<RankOnPath> ranks;      // the most entries first
  Turns turns;                        // where ranks take turns, the path of a step leads through several
};

// Of a single rank there is none: its report has its critical path.
JobPath FindJobPath(const std::vector<RankVerdict>& ranks, const StepMatrix& matrix, const Alignment& alignment);

}  // namespace gprof
