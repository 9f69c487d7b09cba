// What serving engines tell the tracer of, as plain C: the functions that libgprof-tracer.so exports for them, and what
// they take. src/python/gprof_cli/serving.py lays it out with ctypes, so that a field is only ever appended.
#pragma once

#include <cstdint>

//   uint64_t GprofBeginEngineStep(): what begins a step; 0 where nothing is recorded now
//   void GprofEndEngineStep(const EngineStepCall*)
//   int GprofTellRequestEvent(const RequestEventCall*): 1 where it is recorded
//   void GprofTellTokensOut(uint64_t requests, const uint64_t* request, const uint64_t* tokens)
namespace gprof::trace {

// A step that ends, with the requests of its batch as columns of that many numbers each.
struct EngineStepCall {
  uint64_t begin = 0;  // what GprofBeginEngineStep() answered
  uint64_t waiting = 0;
  uint64_t cache_used = 0, cache_blocks = 0;
  uint64_t requests = 0;
  const uint64_t* request = nullptr;  // numbers that the engine gave, below 2^32
  const uint64_t* tokens = nullptr;
  const uint64_t* cached = nullptr;
  const uint64_t* tokens_out = nullptr;
  const uint64_t* is_prefill = nullptr;
};

struct RequestEventCall {
  uint64_t request = 0;
  uint64_t event = 0;  // RequestEventKind
  uint64_t tokens = 0;
  uint64_t ago_ns = 0;  // how long ago it was
  const char* name = nullptr;
  uint64_t name_bytes = 0;
};

}  // namespace gprof::trace
