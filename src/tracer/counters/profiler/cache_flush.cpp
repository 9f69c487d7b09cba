#include "tracer/counters/profiler/cache_flush.h"

#include <dlfcn.h>

#include "gprof/library_symbols.h"
#include "tracer/core/notice.h"
#include "tracer/cupti/library/driver_queries.h"
#include "tracer/cupti/library/own_kernel.h"

namespace gprof::tracer {
namespace {

// Adds up memory, past L1. What `writes` is, 0 always, the compiler does not know, and so it has to read.
constexpr char kCode[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry gprof_read(.param .u64 begin, .param .u64 bytes, .param .u32 writes) {
  .reg .u64 %first, %at, %end, %step, %size;
  .reg .u32 %a, %b, %c, %d, %sum, %i, %n, %block, %thread, %writes;
  .reg .pred %is_done, %goes_on;
  ld.param.u64 %first, [begin];
  ld.param.u64 %size, [bytes];
  ld.param.u32 %writes, [writes];
  add.u64 %end, %first, %size;
  mov.u32 %n, %ntid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %i, %block, %n, %thread;
  mad.wide.u32 %at, %i, 16, %first;
  mov.u32 %i, %nctaid.x;
  mul.lo.u32 %i, %i, %n;
  mul.wide.u32 %step, %i, 16;
  mov.u32 %sum, 0;
again:
  setp.ge.u64 %is_done, %at, %end;
  @%is_done bra done;
  ld.global.cg.v4.u32 {%a, %b, %c, %d}, [%at];
  add.u32 %sum, %sum, %a;
  add.u32 %sum, %sum, %b;
  add.u32 %sum, %sum, %c;
  add.u32 %sum, %sum, %d;
  add.u64 %at, %at, %step;
  bra again;
done:
  setp.ne.u32 %goes_on, %writes, 0;
  @%goes_on st.global.u32 [%first], %sum;
  ret;
}
)";

constinit OwnKernel kernel(kCode, "gprof_read", "caches are not flushed");

struct Driver {
  LibrarySymbols in;
  GPROF_OPTIONAL_SYMBOL(cuMemAlloc_v2);
};

const Driver& TheDriver() {
  static Driver driver;
  static bool is_bound = false;
  if (!is_bound) {
    driver = Driver{LibrarySymbols(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD))};
    is_bound = true;
  }
  return driver;
}

// Where the driver does not tell the size of L2.
constexpr uint64_t kLargeL2Bytes = 128 << 20;

}  // namespace

bool CacheFlush::Prepare(CUcontext context, CUdevice device) {
  if (memory_ != 0) return true;
  constexpr uint64_t kOfL2 = 2;
  const int l2_bytes = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  context_ = context;
  bytes_ = kOfL2 * (l2_bytes > 0 ? static_cast<uint64_t>(l2_bytes) : kLargeL2Bytes);
  const RelaxedCapture relaxed;
  const auto allocate = TheDriver().cuMemAlloc_v2;
  const CUresult result = allocate == nullptr ? CUDA_ERROR_NOT_FOUND : allocate(&memory_, bytes_);
  if (result == CUDA_SUCCESS) return true;
  memory_ = 0;
  Message message;
  message << "caches are not flushed, which takes " << (bytes_ >> 20) << " MiB of GPU memory: cuMemAlloc returned "
          << static_cast<uint64_t>(result);
  Say(trace::NoticeLevel::kWarning, message);
  return false;
}

// Which line a new one replaces is not always the oldest, so one round leaves some.
bool CacheFlush::Flush() const {
  constexpr int kRounds = 4;
  constexpr OwnKernel::Size kSize = {1024, 512};
  CUdeviceptr begin = memory_;
  uint64_t bytes = bytes_;
  uint32_t writes = 0;
  void* arguments[] = {&begin, &bytes, &writes};
  for (int i = 0; i < kRounds; ++i) {
    if (!kernel.Launch(context_, nullptr, kSize, arguments)) return false;
  }
  SynchronizeContext();
  return true;
}

void ForgetFlushesAfterFork() { kernel.ForgetAfterFork(); }

}  // namespace gprof::tracer
