// GPU work: CUPTI fills buffers on its own or the target's threads, the writer thread turns them into records.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tracer/cupti/library/cupti_api.h"
#include "tracer/store/chunk_output.h"

namespace gprof::tracer {

// Handed to cuptiActivityRegisterCallbacks.
void CUPTIAPI OnBufferRequested(uint8_t** buffer, std::size_t* size, std::size_t* max_records);
void CUPTIAPI OnBufferCompleted(CUcontext, uint32_t, uint8_t* buffer, std::size_t size, std::size_t valid);

bool IsOurBuffer(const uint8_t* buffer);

// Converts every completed buffer. False: there was none. [writer thread]
bool DrainActivity(ChunkOutput* output);
// Records for which there was no buffer, since the last call. [writer thread]
uint64_t TakeDiscarded();
// Converts what a dead process had been given and not converted.
void SalvageActivity(ChunkOutput* output);
void ResetActivityAfterFork();

}  // namespace gprof::tracer
