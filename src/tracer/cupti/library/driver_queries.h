// What the driver tells of a launch, by functions of libcuda that make no work. Found when the first is asked for.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace gprof::tracer {

struct FunctionResources {
  int registers = 0, static_shared_bytes = 0, local_bytes = 0;
};

// False: it is not known. `function` may be a kernel, which newer runtimes hand over in its place.
bool ResourcesOf(CUfunction function, FunctionResources* resources);
// Blocks of it that an SM holds at once, 0 when not known.
int BlocksPerSm(CUfunction function, uint32_t threads, uint32_t dynamic_shared_bytes);
// The process exits, and the driver has torn itself down.
bool HasDriverGone();
// 0 when not known.
int DeviceAttribute(CUdevice device, CUdevice_attribute attribute);
// Bytes of the GPU of the current context that are taken, by whatever process; 0 when not known.
uint64_t MemoryInUse();
// Launches into it are recorded and do not run.
bool IsCapturingStream(CUstream stream);

// Waits for all that runs in the current context.
void SynchronizeContext();

// A context for calls of the thread, while this lives.
class CurrentContext {
 public:
  explicit CurrentContext(CUcontext context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  bool is_pushed_;
};

}  // namespace gprof::tracer
