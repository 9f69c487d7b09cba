// NVTX as no program should use it. It must run on, and the trace must stay readable.
#include <nvtx3/nvToolsExt.h>

#include <string>

#include "facts.h"

int main() {
  const std::string huge(200000, 'L');
  nvtxMarkA(huge.c_str());
  nvtxMarkA("");
  nvtxMarkA(nullptr);
  nvtxMarkA("\xff\xfe\x01\n\t\"quoted\\\" {x=1} #comment");
  nvtxMarkW(nullptr);
  nvtxMarkW(L"\xD800 lone surrogate \x10FFFF");
  for (int i = 0; i < 3; ++i) nvtxRangePop();
  nvtxRangeEnd(0);
  nvtxRangeEnd(0xdeadbeefdeadbeefull);
  nvtxMarkEx(nullptr);
  nvtxEventAttributes_t nothing = {};
  nvtxMarkEx(&nothing);
  nvtxEventAttributes_t strange = {};
  strange.version = 0x7fff;
  strange.size = 0xffff;
  strange.messageType = 1234567;
  strange.payloadType = 7654321;
  strange.colorType = 99;
  nvtxMarkEx(&strange);
  nvtxDomainRangePop(nullptr);
  nvtxDomainDestroy(nullptr);
  nvtxDomainCreateA(nullptr);
  nvtxDomainRegisterStringA(nullptr, nullptr);
  nvtxDomainResourceCreate(nullptr, nullptr);
  // Deeper than any table of fixed size is likely to be, and never closed.
  for (int i = 0; i < 2000; ++i) nvtxRangePushA("deep");
  for (int i = 0; i < 1000; ++i) nvtxRangePop();
  // The same address with other text: what was interned by address would be wrong.
  char buffer[16];
  for (int i = 0; i < 100; ++i) {
    std::snprintf(buffer, sizeof(buffer), "reused %d", i);
    nvtxMarkA(buffer);
  }
  nvtxMarkA("the end");
  facts::Say(R"({"fact":"end","tid":%u})", facts::Tid());
  return 0;
}
