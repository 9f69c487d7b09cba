// The use of CUPTI in this process: what is subscribed and enabled, and the thread that flushes it.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "tracer/core/collectors.h"

namespace gprof::tracer {

// Called within cuInit. False: GPU work is not recorded; a notice says why.
bool StartCuptiSession();
// The stamp of when another profiler had CUPTI already, 0 otherwise.
uint64_t CuptiRefusedAt();
bool CuptiIsActive();
CUpti_SubscriberHandle OurSubscriber();
// Work is recorded, or not. [one thread at a time]
void SwitchCupti(bool on);
// GPU work is recorded again that CUPTI was lent for, where a capture is on.
void RecordWorkAgain();
// After this no function of libcupti is called again.
void StopCupti(StopReason why);

// [writer thread] Has the flush thread hand over what CUPTI holds, and waits for it at most so long. CUPTI may hang
// (a forked worker, a dying driver), and then it hangs a thread that nobody waits for. False: not done in time.
// `with_unfinished`: work that has not ended, too, which has no times and is not told again when it ends.
bool FlushActivity(bool with_unfinished, uint64_t timeout_ns);
// [writer thread] Records that CUPTI dropped since the last call.
uint64_t TakeCuptiDropped();

uint64_t GpuTimeToNs(uint64_t cupti_ns);
// cuptiGetTimestamp at the last flush, zeros before the first. [writer thread]
struct CuptiInstant {
  uint64_t cupti_ns = 0, monotonic_ns = 0;
};
CuptiInstant LastCuptiInstant();

}  // namespace gprof::tracer
