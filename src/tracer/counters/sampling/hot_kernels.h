// Which kernel of a run is the next to be measured: one that took much of the GPU's time, and was measured seldom.
#pragma once

#include <atomic>
#include <cstdint>

namespace gprof::tracer {

class HotKernels {
 public:
  // A kernel ran, by the number of its name. [writer thread]
  void Ran(uint32_t name, uint64_t duration_ns);
  // It was measured. [one thread at a time]
  void Measured(uint32_t name);
  // 0: none ran yet. [any thread]
  uint32_t Next() const;
  void Forget();

 private:
  struct Kernel {
    std::atomic<uint32_t> name{0};
    std::atomic<uint32_t> times_measured{0};
    std::atomic<uint64_t> gpu_ns{0};
  };
  // Kernels beyond are not measured of their own accord, but where they run beside one that is.
  static constexpr uint32_t kMost = 1024;
  Kernel kernels_[kMost];
};

}  // namespace gprof::tracer
