// libcupti by dlopen: never linked, so that the program's own copy is used and its absence is a message, not a failure.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace gprof::tracer {

struct CuptiApi {
  // One line a function: the name in libcupti, and whether recording is impossible without it.
#define GPROF_CUPTI_FUNCTIONS(X)                       \
  X(cuptiGetVersion, true)                             \
  X(cuptiGetTimestamp, true)                           \
  X(cuptiSubscribe, true)                              \
  X(cuptiUnsubscribe, true)                            \
  X(cuptiEnableCallback, true)                         \
  X(cuptiGetCallbackName, true)                        \
  X(cuptiActivityEnable, true)                         \
  X(cuptiActivityDisable, false)                       \
  X(cuptiActivityEnableContext, false)                 \
  X(cuptiActivityDisableContext, false)                \
  X(cuptiActivityRegisterCallbacks, true)              \
  X(cuptiActivityGetNextRecord, true)                  \
  X(cuptiActivityFlushAll, true)                       \
  X(cuptiActivityGetNumDroppedRecords, false)          \
  X(cuptiActivitySetAttribute, false)                  \
  X(cuptiActivityConfigureUnifiedMemoryCounter, false) \
  X(cuptiGetResultString, false)                       \
  X(cuptiSetThreadIdType, false)                       \
  X(cuptiGetStreamIdEx, false)                         \
  X(cuptiGetContextId, false)                          \
  X(cuptiGetDeviceId, false)                           \
  X(cuptiGetGraphId, false)                            \
  X(cuptiGetGraphNodeId, false)
#define X(name, required) decltype(&::name) name = nullptr;
  GPROF_CUPTI_FUNCTIONS(X)
#undef X
  void* library = nullptr;
  uint32_t version = 0;
  char path[4096] = {};

  // "CUPTI_ERROR_…", or the bare number from a library that cannot say.
  const char* NameOf(CUptiResult result) const;
};

CuptiApi& Cupti();

// Finds the copy of libcupti that the program itself would use, loads it and fills `api`. False: none (a notice says
// why).
bool LoadCupti(CuptiApi* api, uint32_t driver_version);
// The driver's version as cuDriverGetVersion tells it, 0 without a driver in the process.
uint32_t DriverVersion();
// Binds the functions of a loaded library; `missing` names the first required one that is not there.
bool BindCupti(CuptiApi* api, void* library, const char** missing);

}  // namespace gprof::tracer
