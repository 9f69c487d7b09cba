// libcupti by dlopen: never linked, so that the program's own copy is used and its absence is a message, not a failure.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

#include "gprof/library_symbols.h"

namespace gprof::tracer {

struct CuptiApi {
  LibrarySymbols in;
  // Recording is impossible without these.
  GPROF_SYMBOL(cuptiGetVersion);
  GPROF_SYMBOL(cuptiGetTimestamp);
  GPROF_SYMBOL(cuptiSubscribe);
  GPROF_SYMBOL(cuptiUnsubscribe);
  GPROF_SYMBOL(cuptiEnableCallback);
  GPROF_SYMBOL(cuptiGetCallbackName);
  GPROF_SYMBOL(cuptiActivityEnable);
  GPROF_SYMBOL(cuptiActivityRegisterCallbacks);
  GPROF_SYMBOL(cuptiActivityGetNextRecord);
  GPROF_SYMBOL(cuptiActivityFlushAll);
  // These may be missing.
  GPROF_OPTIONAL_SYMBOL(cuptiActivityDisable);
  GPROF_OPTIONAL_SYMBOL(cuptiActivityEnableContext);
  GPROF_OPTIONAL_SYMBOL(cuptiActivityDisableContext);
  GPROF_OPTIONAL_SYMBOL(cuptiActivityGetNumDroppedRecords);
  GPROF_OPTIONAL_SYMBOL(cuptiActivitySetAttribute);
  GPROF_OPTIONAL_SYMBOL(cuptiActivityConfigureUnifiedMemoryCounter);
  GPROF_OPTIONAL_SYMBOL(cuptiGetResultString);
  GPROF_OPTIONAL_SYMBOL(cuptiSetThreadIdType);
  GPROF_OPTIONAL_SYMBOL(cuptiGetStreamIdEx);
  GPROF_OPTIONAL_SYMBOL(cuptiGetContextId);
  GPROF_OPTIONAL_SYMBOL(cuptiGetDeviceId);
  GPROF_OPTIONAL_SYMBOL(cuptiGetGraphId);
  GPROF_OPTIONAL_SYMBOL(cuptiGetGraphNodeId);
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

}  // namespace gprof::tracer
