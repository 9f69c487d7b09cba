// Events of NVTX that the tracer keeps in different forms, one after the other on one thread: known and new names,
// names of every length, many registered strings, many domains, and a pause within a range. The test knows the order.
#include <nvtx3/nvToolsExt.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "facts.h"

namespace {

constexpr int kStrings = 66000, kDomains = 300, kLongest = 60, kTimes = 4;

long long Now() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

void PushAndPop(const char* name) {
  nvtxRangePushA(name);
  nvtxRangePop();
}

// One buffer that keeps its text for a while, and others that never keep it.
void Buffers() {
  char buffer[8];
  for (const char* text : {"aa", "aa", "aa", "aa", "bb", "aa", "bb", "bb", "bb"}) {
    std::strcpy(buffer, text);
    PushAndPop(buffer);
  }
  PushAndPop("");
  for (int i = 0; i < kTimes; ++i) nvtxRangePushA(nullptr);
  for (int i = 0; i < kTimes; ++i) nvtxRangePop();
}

void Lengths() {
  for (int size = 1; size <= kLongest; ++size) {
    const std::string name(static_cast<size_t>(size), 'l');
    for (int i = 0; i < kTimes; ++i) PushAndPop(name.c_str());
  }
}

void PushRegistered(nvtxDomainHandle_t domain, nvtxStringHandle_t name) {
  nvtxEventAttributes_t a = {};
  a.version = NVTX_VERSION;
  a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  a.message.registered = name;
  nvtxDomainRangePushEx(domain, &a);
  nvtxDomainRangePop(domain);
}

void Registered() {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("strings");
  for (int i = 0; i < kStrings; ++i) {
    PushRegistered(domain, nvtxDomainRegisterStringA(domain, ("string " + std::to_string(i)).c_str()));
  }
}

void Domains() {
  for (int i = 0; i < kDomains; ++i) {
    nvtxDomainHandle_t domain = nvtxDomainCreateA(("domain " + std::to_string(i)).c_str());
    PushRegistered(domain, nvtxDomainRegisterStringA(domain, "in a domain"));
  }
}

// Longer than 32 bits of a time stamp counter hold.
void Pause() {
  PushAndPop("before");
  const long long outer = Now();
  nvtxRangePushA("pause");
  const long long inner = Now();
  usleep(2'200'000);
  const long long ns = Now() - inner;
  nvtxRangePop();
  facts::Say(R"({"fact":"pause","inner_ns":%lld,"outer_ns":%lld})", ns, Now() - outer);
  PushAndPop("after");
}

}  // namespace

int main() {
  Buffers();
  Lengths();
  Registered();
  Domains();
  Pause();
  facts::Say(R"({"fact":"rows","strings":%d,"domains":%d,"longest":%d,"times":%d})", kStrings, kDomains, kLongest,
             kTimes);
  return 0;
}
