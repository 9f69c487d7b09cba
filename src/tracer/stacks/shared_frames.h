// Modules and frames that some thread of the process has told the trace of, so that no other thread tells them again.
// They are found without a lock; two threads that tell the same one at once both do.
#pragma once

#include <cstdint>

#include "gprof/trace/record.h"

namespace gprof::tracer {

struct KnownModule {
  uintptr_t begin, end, base;
  uint32_t number;  // 0: free
  bool is_driver;   // of CUDA, or CUPTI
  trace::StringId path;
};

// `generation`: one more each time that a module was unloaded, whose addresses may be those of another one now.
bool FindSharedModule(uintptr_t address, uint32_t generation, KnownModule* module);
void ShareModule(const KnownModule& module, uint32_t generation);

// The number of the frame record, 0: nobody has told it.
uint32_t SharedFrame(uint32_t module, uint64_t offset);
void ShareFrame(uint32_t module, uint64_t offset, uint32_t number);

// [child of a fork] Its trace has been told nothing.
void ForgetSharedFrames();

}  // namespace gprof::tracer
