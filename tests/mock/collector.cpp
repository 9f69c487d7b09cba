// The smallest tool that can be injected: it subscribes, turns activity on and keeps one line of text for each thing it
// is told, which the scenarios of mock_test.cpp print. Rules are broken on purpose where MOCK_TEST_BREAK asks for it.
#include <cupti.h>
#include <dlfcn.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace {

std::mutex mutex;
std::string* lines = nullptr;
void* library = nullptr;
CUpti_SubscriberHandle subscriber = nullptr;

#define CUPTI(name) reinterpret_cast<decltype(&name)>(dlsym(library, #name))

bool Breaks(const char* what) {
  const char* asked = std::getenv("MOCK_TEST_BREAK");
  return asked != nullptr && std::strcmp(asked, what) == 0;
}

__attribute__((format(printf, 1, 2))) void Say(const char* format, ...) {
  char line[256];
  va_list list;
  va_start(list, format);
  std::vsnprintf(line, sizeof(line), format, list);
  va_end(list);
  std::lock_guard<std::mutex> lock(mutex);
  *lines += line;
  *lines += '\n';
}

void OnApi(CUpti_CallbackDomain domain, const void* data) {
  const auto* d = static_cast<const CUpti_CallbackData*>(data);
  const bool is_exit = d->callbackSite == CUPTI_API_EXIT;
  if (is_exit)
    Say("exit %d %s %u %d", domain, d->functionName, d->correlationId, *static_cast<int*>(d->functionReturnValue));
  else
    Say("enter %d %s %u", domain, d->functionName, d->correlationId);
}

void OnCallback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    Say("resource %u %s", cbid, data == nullptr ? "null" : "data");
    if (Breaks("flush-in-resource")) CUPTI(cuptiActivityFlushAll)(0);
  } else if (domain == CUPTI_CB_DOMAIN_STATE) {
    Say("state %u", cbid);
  } else {
    OnApi(domain, data);
  }
}

void OnRequest(uint8_t** buffer, size_t* size, size_t* max_records) {
  *size = 64 << 10;
  *buffer = Breaks("null-buffer") ? nullptr : static_cast<uint8_t*>(std::aligned_alloc(64, *size));
  *max_records = 0;
  if (Breaks("call-in-request")) {
    size_t dropped = 0;
    CUPTI(cuptiActivityGetNumDroppedRecords)(nullptr, 0, &dropped);
  }
  Say("request");
  if (Breaks("touch")) std::memset(*buffer, 0xAA, *size);
}

void OnComplete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  CUpti_Activity* r = nullptr;
  CUptiResult result;
  while ((result = CUPTI(cuptiActivityGetNextRecord)(buffer, valid, &r)) == CUPTI_SUCCESS) {
    if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const auto* k = reinterpret_cast<const CUpti_ActivityKernel10*>(r);
      Say("kernel %s %u %u %llu", k->name, k->correlationId, k->streamId,
          static_cast<unsigned long long>(k->end - k->start));
    } else if (r->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
      const auto* m = reinterpret_cast<const CUpti_ActivityMemcpy6*>(r);
      Say("memcpy %u %u %u %llu", m->copyKind, m->srcKind, m->dstKind, static_cast<unsigned long long>(m->bytes));
    } else {
      Say("record %d", static_cast<int>(r->kind));
    }
  }
  Say("complete %d", static_cast<int>(result));
  std::free(buffer);
}

}  // namespace

extern "C" int InitializeInjection() {
  lines = new std::string;
  library = dlopen(std::getenv("MOCK_TEST_CUPTI"), RTLD_NOW);
  if (library == nullptr) return 1;
  if (Breaks("cuda-in-injection")) {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    reinterpret_cast<CUresult (*)(unsigned)>(dlsym(driver, "cuInit"))(0);
  }
  Say("subscribe %d", static_cast<int>(CUPTI(cuptiSubscribe)(&subscriber, OnCallback, nullptr)));
  CUpti_SubscriberHandle second = nullptr;
  Say("second %d", static_cast<int>(CUPTI(cuptiSubscribe)(&second, OnCallback, nullptr)));
  if (subscriber == nullptr) return Breaks("return-0") ? 0 : 1;
  CUPTI(cuptiActivityRegisterCallbacks)(OnRequest, OnComplete);
  CUpti_ActivityUnifiedMemoryCounterConfig managed{};
  managed.kind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD;
  managed.enable = 1;
  Say("managed %d", static_cast<int>(CUPTI(cuptiActivityConfigureUnifiedMemoryCounter)(&managed, 1)));
  for (const int kind : {1, 2, 10, 38, 9, 37, 8, 51}) {
    if (kind == 51 && Breaks("late-graph-trace")) continue;
    Say("kind %d %d", kind, static_cast<int>(CUPTI(cuptiActivityEnable)(static_cast<CUpti_ActivityKind>(kind))));
  }
  for (const int kind : {3, 6, 27, 53, 99}) {
    Say("kind %d %d", kind, static_cast<int>(CUPTI(cuptiActivityEnable)(static_cast<CUpti_ActivityKind>(kind))));
  }
  CUPTI(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE);
  Say("state-domain %d", static_cast<int>(CUPTI(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_STATE)));
  for (const unsigned id : {20u, 211u}) CUPTI(cuptiEnableCallback)(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, id);
  for (const unsigned id : {243u, 307u}) CUPTI(cuptiEnableCallback)(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
  return 1;
}

extern "C" int CollectorFlush(unsigned flag) { return static_cast<int>(CUPTI(cuptiActivityFlushAll)(flag)); }

extern "C" int CollectorEnable(unsigned kind) {
  return static_cast<int>(CUPTI(cuptiActivityEnable)(static_cast<CUpti_ActivityKind>(kind)));
}
extern "C" int CollectorDisable(unsigned kind) {
  return static_cast<int>(CUPTI(cuptiActivityDisable)(static_cast<CUpti_ActivityKind>(kind)));
}
extern "C" int CollectorFinalize(unsigned) { return static_cast<int>(CUPTI(cuptiFinalize)()); }

extern "C" const char* CollectorText() {
  std::lock_guard<std::mutex> lock(mutex);
  static std::string* copy = new std::string;
  *copy = *lines;
  return copy->c_str();
}
