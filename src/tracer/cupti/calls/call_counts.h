// How often CUDA functions are called, by which the one is chosen whose calls are counted (core/work_count.h).
#pragma once

#include <cstdint>

namespace gprof::tracer {

inline uint32_t FunctionNumber(uint32_t domain, uint32_t cbid) { return domain << 16 | cbid; }

void SetUpCallCounts();
// [writer thread]
void NoteRecordedCall(uint32_t domain, uint32_t cbid);

}  // namespace gprof::tracer
