// Which calls of collectives belong together: of NCCL's kernels, those of one operation on all of its ranks.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "analysis/topics/gpus/nccl_messages.h"
#include "gprof/trace.h"

namespace gprof {

using IsCollective = std::function<bool(const GpuOp&)>;

// A rank, as far as one file tells: a process on a GPU.
struct NcclParty {
  uint32_t device = kNone, process = kNone;
  friend auto operator<=>(const NcclParty&, const NcclParty&) = default;
};

struct NcclArrival {
  NcclParty party;
  std::string_view name;  // of the operation or kernel
  int64_t called_ns = 0;  // by the host
  Interval kernels;
  uint32_t thread = kNone;  // that launched them
};

using NcclMeeting = std::vector<NcclArrival>;  // one of each party, two at least

// By sequence numbers, where NCCL told of its operations; by order on each communicator, where ranges name those; else
// by the order, names and times of kernels.
std::vector<NcclMeeting> FindNcclMeetings(const NcclMessages& messages, const IsCollective& is_collective);

}  // namespace gprof
