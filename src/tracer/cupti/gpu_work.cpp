#include "tracer/cupti/gpu_work.h"

#include <algorithm>

#include "tracer/core/notice.h"
#include "tracer/core/process_record.h"
#include "tracer/cupti/activity/activity_buffers.h"
#include "tracer/cupti/activity/activity_records.h"
#include "tracer/cupti/activity/found_contexts.h"
#include "tracer/cupti/guest_profiler.h"
#include "tracer/cupti/immediate_exit.h"
#include "tracer/cupti/library/second_cupti.h"
#include "tracer/store/chunk_output.h"
#include "tracer/store/memory/arena.h"

namespace gprof::tracer {
namespace {

constinit bool is_complete GPROF_IN_ARENA = true;       // as far as CUPTI's last flushes tell
constinit uint64_t told_instant_ns GPROF_IN_ARENA = 0;  // the last of CUPTI's clock in the output

void Flush(bool is_last, bool looks) {
  // Long enough for a healthy CUPTI; what comes later is taken by the next flush.
  constexpr uint64_t kPatienceNs = 50u * 1000000u;
  constexpr uint64_t kLastPatienceNs = 2000u * 1000000u;
  constexpr uint64_t kLookPatienceNs = 2000u * 1000000u;
  const uint64_t patience_ns = is_last ? kLastPatienceNs : looks ? kLookPatienceNs : kPatienceNs;
  if (CuptiIsActive()) is_complete = FlushActivity(is_last || looks, patience_ns);
  if (looks && CuptiIsActive() && !is_complete) {
    Message message;
    message << "CUPTI did not say which GPU work had not ended: a CUDA call of the program may hold it up";
    Say(trace::NoticeLevel::kInfo, message);
  }
  if (!is_last || is_complete) return;
  Message message;
  message << "CUPTI did not deliver its last records; GPU work after the last one in the trace is missing";
  Say(trace::NoticeLevel::kWarning, message);
}

void TellClock() {
  const CuptiInstant instant = LastCuptiInstant();
  if (instant.monotonic_ns > told_instant_ns) {
    Output().Add(trace::ClockRecord{instant.monotonic_ns, 0, 0, instant.cupti_ns, 0});
  }
  told_instant_ns = instant.monotonic_ns;
}

void CountLosses() {
  Output().CountLoss(trace::RecordKind{}, trace::LossReason::kNoMemory, TakeDiscarded());
  Output().CountLoss(trace::RecordKind{}, trace::LossReason::kCuptiDropped, TakeCuptiDropped());
}

// GPU work that ended later may be missing; 0: none is.
uint64_t CompleteUntilNs() { return is_complete ? 0 : std::max(Header().start_ns, LastOperationEndNs()); }

}  // namespace

void StartGpuWork() {
  StartGuestProfiler();
  WrapImmediateExits();
}

void RetellGpuWork() { told_instant_ns = 0; }

void DrainGpuWork(DrainRound* round) {
  const bool is_flush = round->depth == Depth::kAll || round->depth == Depth::kLast;
  const bool is_last = round->depth == Depth::kLast;
  if (is_flush) {
    if (round->look != 0) TellUnfinishedWork(round->look);
    Flush(is_last, round->look != 0);
    TellClock();
    TellFoundContexts(&Output());
  }
  if (round->depth != Depth::kEnd && DrainActivity(&Output())) round->has_delivered = true;
  if (is_flush) {
    if (CuptiIsActive()) LookForSecondCupti(is_last);
    CountLosses();
  }
  round->end.gpu_complete_until_ns = CompleteUntilNs();
}

// Whether CUPTI's last flush came back is only known of a process that had begun to exit. Of one that waited for its
// first capture there was nothing to come back.
void SalvageGpuWork(DrainRound* round) {
  SalvageActivity(&Output());
  CountLosses();
  const bool was_exiting = round->end.reason == static_cast<uint8_t>(trace::EndReason::kExit);
  const bool has_only_waited =
      Header().state.load(std::memory_order_relaxed) == static_cast<uint32_t>(trace::ArenaState::kIdle) &&
      Header().captures_started.load(std::memory_order_relaxed) == 0;
  is_complete = (was_exiting && is_complete) || has_only_waited || !ProcessHasCupti();
  round->end.gpu_complete_until_ns = CompleteUntilNs();
}

void ResetGpuWorkAfterFork() {
  ResetActivityAfterFork();
  ResetGuestAfterFork();
  is_complete = true;
  told_instant_ns = 0;
}

}  // namespace gprof::tracer
