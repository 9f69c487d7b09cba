// The frame around every driver function of the double: state checks, then enter and exit callbacks around the body.
#pragma once

#include <cuda.h>
#include <cupti_driver_cbid.h>
#include <unistd.h>

// Types of CUDA 3 that the parameter structs of long dead functions still name.
using CUdeviceptr_v1 = unsigned int;
struct CUDA_MEMCPY2D_v1;
struct CUDA_MEMCPY3D_v1;
struct CUDA_ARRAY_DESCRIPTOR_v1;
struct CUDA_ARRAY3D_DESCRIPTOR_v1;
#include <generated_cuda_meta.h>

#include "cuda_model.h"
#include "violation.h"

// The function's callback id and its name, as CUPTI spells them.
#define MOCK_DRIVER_ID(name) CUPTI_DRIVER_TRACE_CBID_##name, #name

namespace mock {

// Queries and waits are allowed inside a tool's callbacks; anything that makes work is not.
enum class Use : uint8_t { kQuery, kWork };

inline CUresult CheckState(Use use) {
  const Model& m = TheModel();
  ThreadState& t = ThisThread();
  if (t.is_injecting) Violation("CUDA call inside InitializeInjection: the driver holds its locks");
  if (use == Use::kWork && t.callback_depth > 0) Violation("CUDA work inside a CUPTI callback");
  if (m.is_torn_down) return CUDA_ERROR_DEINITIALIZED;
  if (!m.is_initialized || m.init_pid != getpid()) return CUDA_ERROR_NOT_INITIALIZED;
  return CUDA_SUCCESS;
}

template <class Body>
CUresult Call(Use use, uint32_t cbid, const char* name, const void* params, Body body, const char* symbol = nullptr) {
  CUresult result = CheckState(use);
  if (result != CUDA_SUCCESS) return result;
  Frame frame{};
  frame.domain = kDriver;
  frame.cbid = cbid;
  frame.function = name;
  frame.params = params;
  frame.symbol = symbol;
  TheHub().enter(&frame);
  result = body();
  static const long work_us = EnvNumber("MOCK_LAUNCH_US", 0);
  if (work_us > 0 && use == Use::kWork) usleep(static_cast<useconds_t>(work_us));
  TheHub().exit(&frame, &result, static_cast<uint32_t>(result));
  return result;
}

// As Call, for functions that need a context.
template <class Body>
CUresult CallInContext(Use use, uint32_t cbid, const char* name, const void* params, Body body,
                       const char* symbol = nullptr) {
  return Call(
      use, cbid, name, params,
      [&] {
        const CUcontext context = CurrentContext();
        return context == nullptr  ? CUDA_ERROR_INVALID_CONTEXT
               : context->is_alive ? body()
                                   : CUDA_ERROR_CONTEXT_IS_DESTROYED;
      },
      symbol);
}

}  // namespace mock
