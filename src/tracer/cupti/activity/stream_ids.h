// Which id a stream has: callbacks give handles, records give ids.
#pragma once

#include <cstdint>

namespace gprof::tracer {

// 0 when not known. [writer thread, or salvage]
uint32_t StreamOfHandle(uint32_t context, uint64_t handle);
void NoteStream(uint32_t context, uint64_t handle, uint32_t stream);  // [any thread]
void NoteNullStream(uint32_t context, uint32_t stream);               // [writer thread, or salvage]

}  // namespace gprof::tracer
