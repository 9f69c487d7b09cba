#include "tracer/nccl/collectives.h"

#include "tracer/capture/capture.h"
#include "tracer/core/config.h"
#include "tracer/store/chunk_output.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {

constinit std::atomic<bool> nccl_is_on{false};

void StartCollectives() { SwitchCollectives(IsCapturing()); }

void SwitchCollectives(bool on) {
  if (Config().wants_nccl) nccl_is_on.store(on, std::memory_order_release);
}

void DrainCollectives(DrainRound* round) {
  Output().CountLoss(trace::RecordKind::kNcclTransfer, trace::LossReason::kNoMemory, Transfer::TakeLost());
  if (round->depth == Depth::kEnd) StopCollectives(StopReason::kThreadsEnd);
}

void StopCollectives(StopReason why) {
  if (why != StopReason::kDriverGoes) nccl_is_on.store(false, std::memory_order_release);
}

void ConvertNcclRow(const RowHeader* header, const RowSource& source) {
  if (header->type == RowType::kNcclTransfer) return ConvertTransferRow(header, source);
  const auto& row = *reinterpret_cast<const CollectiveRow*>(header);
  trace::CollectiveRecord r;
  r.start_ns = source.clock.ToNs(row.start);
  const uint64_t end_ns = source.clock.ToNs(row.end);
  r.duration_ns = end_ns > r.start_ns ? end_ns - r.start_ns : 0;
  r.tid = source.log->tid;
  r.function = row.function;
  r.datatype = row.datatype;
  r.algorithm = row.algorithm;
  r.protocol = row.protocol;
  r.communicator_name = row.communicator_name;
  r.communicator = row.communicator;
  r.sequence = row.sequence;
  r.size_bytes = row.size_bytes;
  r.ranks = row.ranks;
  r.nodes = row.nodes;
  r.rank = row.rank;
  r.peer = row.peer;
  r.channels = row.channels;
  r.is_captured = header->flags;
  source.output->Add(r, source.cursor);
}

}  // namespace gprof::tracer
