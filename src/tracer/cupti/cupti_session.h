// The use of CUPTI in this process: what is subscribed and enabled, and the thread that flushes it.
#pragma once

#include <cstdint>

#include "gprof/trace/record.h"
#include "tracer/cupti/cupti_api.h"

namespace gprof::tracer {

// Called within cuInit. False: GPU work is not recorded; a notice says why.
bool StartCuptiSession();
bool CuptiIsActive();
// Threads that the session has of its own.
uint32_t CuptiThreads();
// Lets the thread go, and CUPTI with it.
void EndCuptiThread();
// Work is recorded, or not (capture.h decides). [one thread at a time]
void SwitchCupti(bool on);
// What there is to say of the session. The driver's version is asked when it starts, because the loader's lock, which
// the question needs, must not be waited for by the writer thread.
struct CuptiFacts {
  trace::StringId path;
  uint32_t version = 0, driver_version = 0;
  bool is_on = false;
};
const CuptiFacts& FactsOfCupti();
void ResetCuptiFactsAfterFork();
// After this no function of libcupti is called again: the driver is about to go away, or this is a forked child.
void ForgetCupti();

// [writer thread] Has the flush thread hand over what CUPTI holds, and waits for it at most so long. CUPTI may hang
// (a forked worker, a dying driver), and then it hangs a thread that nobody waits for. False: not done in time.
bool FlushActivity(bool is_last, uint64_t timeout_ns);
// [writer thread] Records that CUPTI dropped since the last call.
uint64_t TakeCuptiDropped();

uint64_t GpuTimeToNs(uint64_t cupti_ns);
// cuptiGetTimestamp at the last flush, zeros before the first. [writer thread]
struct CuptiInstant {
  uint64_t cupti_ns = 0, monotonic_ns = 0;
};
CuptiInstant LastCuptiInstant();

// Which stream id a handle has; 0 when not known.
uint32_t StreamOfHandle(uint32_t context, uint64_t handle);
void NoteStream(uint32_t context, uint64_t handle, uint32_t stream);
void NoteNullStream(uint32_t context, uint32_t stream);

}  // namespace gprof::tracer
