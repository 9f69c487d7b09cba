#include "tracer/nccl/proxy_transfers.h"

#include "tracer/store/thread_log.h"

namespace gprof::tracer {
namespace {

struct TransferRow {
  RowHeader header;  // flags: sent
  int32_t rank;
  uint64_t start, end;         // stamps
  uint64_t waits[kStepWaits];  // in the unit of stamps
  uint64_t communicator, sequence, size_bytes;
  trace::StringId function;
  int32_t peer;
  uint32_t channel, steps;
};
static_assert(sizeof(TransferRow) == 96);

// Of all communicators together: 32 channels in both directions for 32 operations that are on their way at once.
constexpr uint32_t kMostTransfers = 2048;
constinit Transfer transfers[kMostTransfers] = {};
constinit std::atomic<uint32_t> next_transfer{0};
constinit std::atomic<uint64_t> lost{0};

}  // namespace

Transfer* Transfer::Take(const TransferDetails& details, uint64_t now) {
  for (uint32_t tries = 0; tries < kMostTransfers; ++tries) {
    Transfer& transfer = transfers[next_transfer.fetch_add(1, std::memory_order_relaxed) % kMostTransfers];
    if (transfer.is_taken_.exchange(true, std::memory_order_acquire)) continue;
    transfer.details_ = details;
    transfer.start_ = transfer.now_ = now;
    for (uint64_t& wait : transfer.waits_) wait = 0;
    transfer.size_bytes_ = 0;
    transfer.oldest_ = transfer.next_ = 0;
    return &transfer;
  }
  lost.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

uint64_t Transfer::TakeLost() { return lost.exchange(0, std::memory_order_relaxed); }

Transfer* Transfer::Of(void* handle) {
  const auto first = reinterpret_cast<uintptr_t>(&transfers[0]), at = reinterpret_cast<uintptr_t>(handle);
  if (at < first || at >= first + sizeof transfers) return nullptr;
  return &transfers[(at - first) / sizeof(Transfer)];
}

uint32_t Transfer::StepOf(void* handle_of_step) const {
  const auto digits = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle_of_step) % kStepsAtOnce);
  return oldest_ + (digits - oldest_) % kStepsAtOnce;
}

void Transfer::GoOnTo(uint64_t now) {
  if (now <= now_) return;
  const StepWait wait = oldest_ < next_ ? of_steps_[oldest_ % kStepsAtOnce] : StepWait::kNothing;
  waits_[static_cast<uint32_t>(wait)] += now - now_;
  now_ = now;
}

// NCCL may begin a step several times before it goes on.
void Transfer::BeginStep(uint32_t step, uint64_t now) {
  GoOnTo(now);
  of_steps_[step % kStepsAtOnce] = StepWait::kNothing;
  if (step >= next_) next_ = step + 1;
}

void Transfer::SetWait(void* handle_of_step, StepWait wait, uint64_t now) {
  GoOnTo(now);
  of_steps_[StepOf(handle_of_step) % kStepsAtOnce] = wait;
}

void Transfer::EndStep(void* handle_of_step, uint64_t now) {
  GoOnTo(now);
  const uint32_t step = StepOf(handle_of_step);
  if (step < next_) oldest_ = step + 1;
}

void Transfer::End(ThreadLog* log, uint64_t now) {
  GoOnTo(now);
  if (log != nullptr) {
    TransferRow row{RowHeaderOf<TransferRow>(RowType::kNcclTransfer),
                    details_.rank,
                    start_,
                    now,
                    {waits_[0], waits_[1], waits_[2], waits_[3]},
                    details_.communicator,
                    details_.sequence,
                    size_bytes_,
                    details_.function,
                    details_.peer,
                    details_.channel,
                    oldest_};
    row.header.flags = details_.is_send ? 1 : 0;
    Append(log, row);
  }
  is_taken_.store(false, std::memory_order_release);
}

void ConvertTransferRow(const RowHeader* header, const RowSource& source) {
  const auto& row = *reinterpret_cast<const TransferRow*>(header);
  trace::NcclTransferRecord r;
  r.start_ns = source.clock.ToNs(row.start);
  const uint64_t end_ns = source.clock.ToNs(row.end);
  r.duration_ns = end_ns > r.start_ns ? end_ns - r.start_ns : 0;
  // As if they came one after the other, so that their sum is no longer than all of it.
  uint64_t* const waits_ns[kStepWaits] = {&r.gpu_ns, &r.peer_ns, &r.network_ns, &r.flush_ns};
  uint64_t at = row.start, at_ns = r.start_ns;
  for (uint32_t i = 0; i < kStepWaits; ++i) {
    const uint64_t until_ns = source.clock.ToNs(at += row.waits[i]);
    *waits_ns[i] = until_ns > at_ns ? until_ns - at_ns : 0;
    at_ns = until_ns;
  }
  r.tid = source.log->tid;
  r.function = row.function;
  r.communicator = row.communicator;
  r.sequence = row.sequence;
  r.rank = row.rank;
  r.peer = row.peer;
  r.channel = row.channel;
  r.steps = row.steps;
  r.is_send = header->flags;
  r.size_bytes = row.size_bytes;
  source.output->Add(r, source.cursor);
}

}  // namespace gprof::tracer
