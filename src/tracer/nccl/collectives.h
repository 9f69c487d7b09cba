// The collector of operations of NCCL. [writer thread, or salvage, unless it is said]
#pragma once

#include <atomic>
#include <cstdint>

#include "tracer/core/collectors.h"
#include "tracer/nccl/proxy_transfers.h"
#include "tracer/store/log_rows.h"

namespace gprof::tracer {

extern std::atomic<bool> nccl_is_on;

struct CollectiveRow {
  RowHeader header;  // flags: captured into a graph
  int32_t rank;
  uint64_t start, end;  // stamps
  uint64_t communicator, sequence, size_bytes;
  trace::StringId function, datatype, algorithm, protocol, communicator_name;
  uint32_t ranks, nodes;
  int32_t peer;
  uint32_t channels, unused;
};
static_assert(sizeof(CollectiveRow) == 88);

void StartCollectives();          // [starting thread]
void SwitchCollectives(bool on);  // [any thread, one at a time]
void DrainCollectives(DrainRound* round);
void StopCollectives(StopReason why);
void ConvertNcclRow(const RowHeader* row, const RowSource& source);

inline constexpr Collector kNcclCollector = {
    .start = StartCollectives,
    .switch_capture = SwitchCollectives,
    .is_of_base = true,
    .drain = DrainCollectives,
    .stop = StopCollectives,
    .row_types = SetOf(RowType::kCollective, RowType::kNcclTransfer),
    .convert = ConvertNcclRow,
};

}  // namespace gprof::tracer
