// The program's own profiler, torch.profiler for example. CUPTI takes one subscriber and one pair of functions for
// buffers, and we hold both. Its calls of libcupti come to us, by way of import slots and of the addresses that dlsym
// answers: it is a guest of our subscription, and while it records, GPU work goes to it and not to us. All else that we
// record goes on. What it would end or take away for good stays ours.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

#include "tracer/store/log_rows.h"

namespace gprof::tracer {

void StartGuestProfiler();  // [starting thread]
void ResetGuestAfterFork();
void ConvertGpuPauseRow(const RowHeader* row, const RowSource& source);

// It records now: no kind of GPU work is ours.
bool IsCuptiLent();
// A guest that has switched off all that it recorded, and asks for it no more, has left. [flush thread]
void TakeBackFromIdleGuest();
// Whether callbacks of the function go to it.
bool GuestHears(uint32_t domain, uint32_t cbid);
void TellGuest(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data);
// The function that a guest is given in place of this one of libcupti, or this one.
void* GuestFunctionFor(void* function);

// What CUPTI is given in place of our own functions for buffers: each buffer goes back to whom it is of.
void CUPTIAPI RequestBuffer(uint8_t** buffer, std::size_t* size, std::size_t* max_records);
void CUPTIAPI CompleteBuffer(CUcontext context, uint32_t stream, uint8_t* buffer, std::size_t size, std::size_t valid);

}  // namespace gprof::tracer
