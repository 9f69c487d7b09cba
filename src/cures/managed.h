// The managed memory that prefetch-managed has on the GPU before kernels touch it.
#pragma once

#include <cstdint>

namespace gprof::cures {

void NoteManaged(uint64_t address, uint64_t bytes, uint32_t flags);
void ForgetManaged(uint64_t address);
void ForgetAllManaged();

}  // namespace gprof::cures
