// L2 without a dirty line and without data of the program, before a kernel is measured. It is flushed by reading: a
// line that is read takes the place of another one, which is written back if it is dirty. A fill would leave dirty
// lines itself, whose write-back the kernel would pay for.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace gprof::tracer {

// Of one context, which is current. It has memory from the first flush on until the context goes: to give it back would
// make the driver write to it, just before the kernel.
class CacheFlush {
 public:
  // False: there is no memory for it, which a notice says.
  bool Prepare(CUcontext context, CUdevice device);
  // Reads more than L2 holds, and waits. False: it could not be done, which a notice says.
  bool Flush() const;

 private:
  CUcontext context_ = nullptr;
  CUdeviceptr memory_ = 0;
  uint64_t bytes_ = 0;
};

void ForgetFlushesAfterFork();

}  // namespace gprof::tracer
