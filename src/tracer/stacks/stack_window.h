// The part of the calling thread's stack that may be read: asked of the kernel a page at a time, where a walk goes on
// to it. A stack may be one that the program made itself, with anything behind it.
#pragma once

#include <cstdint>

#include "tracer/system/system_calls.h"

namespace gprof::tracer {

class StackWindow {
 public:
  // From the stack pointer on, no more than so many bytes.
  StackWindow(uintptr_t begin, uint32_t bytes)
      : begin_(begin), limit_(begin + bytes), readable_((begin | (kPageBytes - 1)) + 1) {}

  bool Word(uintptr_t address, uintptr_t* value) {
    if (address % sizeof *value != 0 || address < begin_ || address > limit_ - sizeof *value) return false;
    while (address >= readable_) {
      if (!CanReadWord(reinterpret_cast<const void*>(readable_))) return false;
      readable_ += kPageBytes;
    }
    *value = *reinterpret_cast<const uintptr_t*>(address);
    return true;
  }

 private:
  static constexpr uintptr_t kPageBytes = 4096;
  const uintptr_t begin_, limit_;
  uintptr_t readable_;  // up to here
};

}  // namespace gprof::tracer
