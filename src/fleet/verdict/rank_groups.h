// Which ranks talk to each other: the communicators of a run, those of one shape together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fleet/verdict/fleet_verdict.h"

namespace gprof {

// Communicators with as many ranks each, that lie alike and call the same.
struct RankGroups {
  std::string shape;                          // "all ranks", "consecutive ranks", "every 4th rank", …
  std::string like;                           // the parallelism that has such groups; empty: none comes to mind
  std::string functions;                      // "AllReduce, Barrier"; empty: not known
  std::vector<std::vector<int64_t>> members;  // of each group, sorted
  int64_t collectives = 0;                    // of a rank, at most
  int64_t spread_ns = 0, transfer_ns = 0;     // medians, as in MeetingTimes; of groups that can be compared
  int64_t compared = 0;                       // of the groups
};

// The most collectives first.
std::vector<RankGroups> GroupsOf(const FleetVerdict& verdict);

// "0-3, 4-7 and 2 more"
std::string MembersText(const RankGroups& groups);

Table GroupTable(const FleetVerdict& verdict, uint32_t max_rows);

}  // namespace gprof
