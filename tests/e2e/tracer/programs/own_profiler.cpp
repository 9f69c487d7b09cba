// A program with a profiler of its own, which uses libcupti as torch.profiler does: it subscribes once, and for each of
// its recordings registers, enables, disables and flushes. Says how many kernels it saw. usage: own_profiler ROUNDS END
//   END  finalize: cuptiFinalize at the end, as some do; keep: nothing
#include <cuda.h>
#include <cupti.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "facts.h"

namespace {

constexpr unsigned kBytes = 1u << 16;
std::atomic<int> kernels{0}, buffers{0}, callbacks{0};

void CUPTIAPI Request(uint8_t** buffer, size_t* size, size_t* most) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBytes));
  std::memset(*buffer, 0, kBytes);
  *size = kBytes;
  *most = 0;
  ++buffers;
}

// What is not its own would crash it here.
void CUPTIAPI Complete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  CUpti_Activity* record = nullptr;
  while (valid != 0 && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  }
  std::free(buffer);
  --buffers;
}

void CUPTIAPI OnCallback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  callbacks += static_cast<const CUpti_CallbackData*>(data)->callbackSite == CUPTI_API_EXIT;
}

CUfunction function;
void Launch(unsigned count) {
  for (unsigned i = 0; i < count; ++i) CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
  CHECK(cuCtxSynchronize());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 97;
  CUcontext context;
  CUmodule module;
  CHECK(cuInit(0));
  CHECK(cuCtxCreate(&context, nullptr, 0, 0));
  CHECK(cuModuleLoadData(&module, "cubin"));
  CHECK(cuModuleGetFunction(&function, module, "a_kernel"));
  Launch(5);
  CUpti_SubscriberHandle subscriber = nullptr;
  const int subscribed = cuptiSubscribe(&subscriber, OnCallback, nullptr);
  facts::Say(R"({"fact":"subscribed","answer":%d})", subscribed);
  const int rounds = std::atoi(argv[1]);
  for (int round = 0; subscribed == 0 && round < rounds; ++round) {
    kernels = 0;
    CHECK(cuptiActivityRegisterCallbacks(Request, Complete));
    CHECK(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
    CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
    Launch(20);
    CHECK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMCPY));
    CHECK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    CHECK(cuptiEnableCallback(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
    CHECK(cuptiActivityFlushAll(1));
    facts::Say(R"({"fact":"round","kernels":%d,"buffers":%d,"callbacks":%d})", kernels.load(), buffers.load(),
               callbacks.load());
    Launch(7);
  }
  if (std::strcmp(argv[2], "finalize") == 0 && subscribed == 0) CHECK(cuptiFinalize());
  Launch(3);
  return 0;
}
