// The program's own profiler, torch.profiler for example. CUPTI takes one subscriber and one pair of functions for
// buffers, and we hold both. With --yield-to-profiler its calls of libcupti come to us, by way of import slots: it is a
// guest of our subscription, and while it records we do not. What it would end or take away for good stays ours.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace gprof::tracer {

void StartGuestProfiler();  // [starting thread]
void ResetGuestAfterFork();

// It records now: nothing of ours is switched on.
bool IsCuptiLent();
// Whether callbacks of the function go to it.
bool GuestHears(uint32_t domain, uint32_t cbid);
void TellGuest(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data);

// What CUPTI is given in place of our own functions for buffers: each buffer goes back to whom it is of.
void CUPTIAPI RequestBuffer(uint8_t** buffer, std::size_t* size, std::size_t* max_records);
void CUPTIAPI CompleteBuffer(CUcontext context, uint32_t stream, uint8_t* buffer, std::size_t size, std::size_t valid);

}  // namespace gprof::tracer
