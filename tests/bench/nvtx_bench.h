// The NVTX operations that are timed, in programs with and without CUDA.
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <cstddef>

#include "samples.h"

namespace gprof::bench {

// Keeps the compiler from looking up the NVTX function once for all rounds of a loop, as no real program could.
inline void EndOfRound() { asm volatile("" ::: "memory"); }

inline void MeasureNvtx(Samples& samples, std::size_t count) {
  samples.Measure("nvtx_push_pop", count, [](std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      nvtxRangePushA("step");
      nvtxRangePop();
      EndOfRound();
    }
  });
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("bench");
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(domain, "step");
  samples.Measure("nvtx_push_pop_registered", count, [domain, &attributes](std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      nvtxDomainRangePushEx(domain, &attributes);
      nvtxDomainRangePop(domain);
      EndOfRound();
    }
  });
  attributes.category = 3;
  attributes.colorType = NVTX_COLOR_ARGB;
  attributes.color = 0xFF00FF00;
  samples.Measure("nvtx_push_pop_coloured", count, [domain, &attributes](std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      nvtxDomainRangePushEx(domain, &attributes);
      nvtxDomainRangePop(domain);
      EndOfRound();
    }
  });
  samples.Measure("nvtx_push_pop_changing_text", count, [](std::size_t n) {
    char text[] = "step 0";
    for (std::size_t i = 0; i < n; ++i) {
      text[5] = static_cast<char>('0' + i % 10);
      nvtxRangePushA(text);
      nvtxRangePop();
      EndOfRound();
    }
  });
  samples.Measure("nvtx_mark", count, [](std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      nvtxMarkA("mark");
      EndOfRound();
    }
  });
}

}  // namespace gprof::bench
