// A program with a profiler of its own: it has launches recorded in rounds, and says how many kernels it saw in each.
// usage: own_profiler ROUNDS END [LIBCUPTI [FILE]]
//   END  keep: nothing; early: subscribes before it uses CUDA, and unsubscribes at the end; finalize: cuptiFinalize at
//   the end, as some do; link: subscribes and records nothing;
//        kill: dies in the first round; forget: does not have the last round delivered, and goes on until there is FILE
//   LIBCUPTI  looks for the functions in this library, as JAX and Triton Proton do, enables kinds before it registers
//             functions for buffers, and unsubscribes after each round; with - it uses the one that it is linked with,
//             as torch.profiler does: subscribes once
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include "facts.h"

namespace {

constexpr unsigned kBytes = 1u << 16;
constexpr char kKernel[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry a_kernel()\n{\n  ret;\n}\n";
std::atomic<int> kernels{0}, timed{0}, buffers{0}, callbacks{0};

// Of the library that it is linked with, by calls and not by addresses that are known before.
struct Cupti {
  decltype(&cuptiSubscribe) subscribe = [](auto... a) { return cuptiSubscribe(a...); };
  decltype(&cuptiUnsubscribe) unsubscribe = [](auto... a) { return cuptiUnsubscribe(a...); };
  decltype(&cuptiEnableCallback) enable_callback = [](auto... a) { return cuptiEnableCallback(a...); };
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = [](auto... a) {
    return cuptiActivityRegisterCallbacks(a...);
  };
  decltype(&cuptiActivityEnable) enable = [](auto... a) { return cuptiActivityEnable(a...); };
  decltype(&cuptiActivityDisable) disable = [](auto... a) { return cuptiActivityDisable(a...); };
  decltype(&cuptiActivityFlushAll) flush_all = [](auto... a) { return cuptiActivityFlushAll(a...); };
  decltype(&cuptiActivityGetNextRecord) next_record = [](auto... a) { return cuptiActivityGetNextRecord(a...); };
  decltype(&cuptiFinalize) finalize = [](auto... a) { return cuptiFinalize(a...); };
} cupti;

template <class F>
void Find(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  if (*function == nullptr) std::exit(98);
}

void LookUp(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::exit(96);
  Find(library, "cuptiSubscribe", &cupti.subscribe);
  Find(library, "cuptiUnsubscribe", &cupti.unsubscribe);
  Find(library, "cuptiEnableCallback", &cupti.enable_callback);
  Find(library, "cuptiActivityRegisterCallbacks", &cupti.register_callbacks);
  Find(library, "cuptiActivityEnable", &cupti.enable);
  Find(library, "cuptiActivityDisable", &cupti.disable);
  Find(library, "cuptiActivityFlushAll", &cupti.flush_all);
  Find(library, "cuptiActivityGetNextRecord", &cupti.next_record);
  Find(library, "cuptiFinalize", &cupti.finalize);
}

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
  while (valid != 0 && cupti.next_record(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel5*>(record);
    ++kernels;
    timed += kernel->start != 0 && kernel->end > kernel->start;
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

void StartCuda() {
  static CUcontext context;
  CUmodule module;
  CUdevice device;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, kKernel));
  CHECK(cuModuleGetFunction(&function, module, "a_kernel"));
}

CUpti_SubscriberHandle subscriber = nullptr;
int Subscribe() { return cupti.subscribe(&subscriber, OnCallback, nullptr); }

void Record(bool enables_first, const std::string& end) {
  kernels = timed = 0;
  if (!enables_first) CHECK(cupti.register_callbacks(Request, Complete));
  CHECK(cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
  CHECK(cupti.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  CHECK(cupti.enable(CUPTI_ACTIVITY_KIND_MEMCPY));
  if (enables_first) CHECK(cupti.register_callbacks(Request, Complete));
  nvtxRangePushA("within");
  Launch(20);
  nvtxRangePop();
  if (end == "kill") kill(getpid(), SIGKILL);
  CHECK(cupti.disable(CUPTI_ACTIVITY_KIND_MEMCPY));
  CHECK(cupti.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  CHECK(cupti.enable_callback(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
}

void RunRounds(int rounds, bool looks_up, const std::string& end) {
  for (int round = 0; round < rounds; ++round) {
    if (looks_up && round > 0) CHECK(Subscribe());
    Record(looks_up, end);
    if (end == "forget") return;
    CHECK(cupti.flush_all(1));
    if (looks_up) CHECK(cupti.unsubscribe(subscriber));
    facts::Say(R"({"fact":"round","kernels":%d,"timed":%d,"callbacks":%d})", kernels.load(), timed.load(),
               callbacks.load());
    facts::Say(R"({"fact":"buffers","left":%d})", buffers.load());
    Launch(7);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 97;
  const std::string end = argv[2];
  const bool looks_up = argc > 3 && std::strcmp(argv[3], "-") != 0;
  int subscribed = end == "early" ? Subscribe() : 0;
  StartCuda();
  Launch(5);
  if (looks_up) LookUp(argv[3]);
  if (end != "early") subscribed = Subscribe();
  facts::Say(R"({"fact":"subscribed","answer":%d})", subscribed);
  if (subscribed == 0 && end != "link") RunRounds(std::atoi(argv[1]), looks_up, end);
  if (end == "early" && subscribed == 0) CHECK(cupti.unsubscribe(subscriber));
  if (end == "finalize" && subscribed == 0) CHECK(cupti.finalize());
  while (end == "forget" && access(argv[4], F_OK) != 0) {
    Launch(1);
    usleep(20000);
  }
  Launch(3);
  return 3;
}
