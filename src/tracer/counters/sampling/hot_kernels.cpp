#include "tracer/counters/sampling/hot_kernels.h"

namespace gprof::tracer {

void HotKernels::Ran(uint32_t name, uint64_t duration_ns) {
  for (uint32_t i = 0; i < kMost; ++i) {
    Kernel& kernel = kernels_[(name + i) % kMost];
    const uint32_t there = kernel.name.load(std::memory_order_relaxed);
    if (there != 0 && there != name) continue;
    kernel.gpu_ns.fetch_add(duration_ns, std::memory_order_relaxed);
    kernel.name.store(name, std::memory_order_release);
    return;
  }
}

void HotKernels::Measured(uint32_t name) {
  for (uint32_t i = 0; i < kMost; ++i) {
    Kernel& kernel = kernels_[(name + i) % kMost];
    const uint32_t there = kernel.name.load(std::memory_order_acquire);
    if (there == name) kernel.times_measured.fetch_add(1, std::memory_order_relaxed);
    if (there == name || there == 0) return;
  }
}

uint32_t HotKernels::Next() const {
  uint32_t next = 0;
  uint64_t most = 0;
  for (const Kernel& kernel : kernels_) {
    const uint32_t name = kernel.name.load(std::memory_order_acquire);
    if (name == 0) continue;
    const uint64_t owed_ns = kernel.gpu_ns.load(std::memory_order_relaxed) /
                             (uint64_t{1} + kernel.times_measured.load(std::memory_order_relaxed));
    if (owed_ns < most) continue;
    most = owed_ns;
    next = name;
  }
  return next;
}

void HotKernels::Forget() {
  for (Kernel& kernel : kernels_) {
    kernel.name.store(0, std::memory_order_relaxed);
    kernel.times_measured.store(0, std::memory_order_relaxed);
    kernel.gpu_ns.store(0, std::memory_order_relaxed);
  }
}

}  // namespace gprof::tracer
