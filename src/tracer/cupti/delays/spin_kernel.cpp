#include "tracer/cupti/delays/spin_kernel.h"

#include "tracer/cupti/library/own_kernel.h"

namespace gprof::tracer {
namespace {

// The timer counts nanoseconds, in steps of up to 1 us.
constexpr char kCode[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry gprof_delay(.param .u64 delay_ns) {
  .reg .u64 %begin, %now, %passed, %delay;
  .reg .pred %goes_on;
  ld.param.u64 %delay, [delay_ns];
  mov.u64 %begin, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %passed, %now, %begin;
  setp.lt.u64 %goes_on, %passed, %delay;
  @%goes_on bra again;
  ret;
}
)";

constinit OwnKernel kernel(kCode, "gprof_delay", "kernels are not delayed");

}  // namespace

bool LaunchSpinKernel(CUcontext context, CUstream stream, uint64_t delay_ns) {
  void* arguments[] = {&delay_ns};
  return kernel.Launch(context, stream, {1, 1}, arguments);
}

void ForgetSpinKernelsAfterFork() { kernel.ForgetAfterFork(); }

}  // namespace gprof::tracer
