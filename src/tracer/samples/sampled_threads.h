// The threads that are sampled, each by a timer on its own CPU time.
//
// Since Linux 5.10 (6.1 on aarch64) such a timer goes off where its thread returns to the program: a thread that waits
// is never woken by it, and no call of the kernel is interrupted, so that none fails with EINTR. Older kernels are not
// sampled. A thread that has the signal blocked has its timer stopped, so that none is found waiting for it.
#pragma once

#include <cstdint>

namespace gprof::tracer {

bool KernelSparesCalls();

// Begins with the threads that have called CUDA or NVTX since the last time, and ends with those that are gone. Takes
// no more timers than the kernel lets us have. [writer thread]
void LookForSampledThreads(uint64_t period_ns);
void ForgetSampledThreads();         // their timers end [writer thread, or whoever changes the signal]
void ForgetParentsSampledThreads();  // [child of a fork] timers stay with the parent

// Around a change of the own thread's signal mask. [own thread]
bool IsOwnThreadSampled();
void PauseOwnThread();
void ResumeOwnThread();  // unless the signal is blocked

// Of the calling thread: its id and the CPU time since the last call. False: it is not sampled. [signal handler]
bool TakeOwnTime(uint32_t* tid, uint64_t* weight_ns);

}  // namespace gprof::tracer
