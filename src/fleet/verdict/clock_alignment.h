// One clock for many hosts, and who came late on it: nobody leaves a collective before everybody has come, and then
// all leave at nearly the same time, whatever their clocks say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fleet/rank/rank_summary.h"

namespace gprof {

using Ranks = std::vector<const RankSummary*>;

// The ranks of one communicator that made the same collectives.
struct Meeting {
  std::string name;
  struct Member {
    size_t rank = 0;  // index
    const Communicator* collectives = nullptr;
  };
  std::vector<Member> members;
  size_t size() const { return members.front().collectives->numbers.size(); }
};

struct ClockOfHost {
  std::string host;
  std::vector<size_t> ranks;  // indices
  int64_t offset_ns = 0;      // its time of day is ahead of that of most hosts by that, going by collectives
  int64_t residual_ns = 0;    // median of what the offset does not explain
  int64_t collectives = 0;    // that tell; 0: its time of day is taken as it is
};

struct Alignment {
  std::vector<ClockOfHost> hosts;                  // by name
  std::vector<int64_t> shift_ns;                   // by rank: added to times of its trace they are times of the run
  std::vector<Meeting> meetings;                   // those whose collectives fit together on that clock
  std::vector<std::string> unfit;                  // communicators that do not
  int64_t residual_ns = 0, worst_residual_ns = 0;  // median and 95th percentile over all hosts
};

Alignment AlignClocks(const Ranks& ranks);

struct Arrivals {
  int64_t collectives = 0, last = 0;
  int64_t waited_ns = 0;     // for the last rank
  int64_t late_ns = 0;       // after the median rank
  int64_t late_host_ns = 0;  // its host called NCCL after that of the median rank
  // What late_ns would be of a rank that came as any of those in each of the collectives, by chance; and of one that
  // came last in all of them.
  double expected_late_ns = 0, late_variance = 0, most_late_ns = 0;
};

struct MeetingTimes {
  int64_t collectives = 0;
  int64_t spread_ns = 0;    // median from the first arrival to the last
  int64_t transfer_ns = 0;  // median from the last arrival to the end
};

// By rank, over all meetings; of meetings of two ranks or more.
std::vector<Arrivals> ArrivalsOf(const Alignment& alignment, size_t ranks);
MeetingTimes TimesOf(const Meeting& meeting, const Alignment& alignment);

// Of an even number the lower one of the two in the middle. 0 without any.
int64_t MedianOf(std::vector<int64_t> values);

}  // namespace gprof
