// NVTX by handlers of our own, an order of magnitude cheaper than CUPTI's. Handlers may run on any thread, in signal
// handlers, before main, in destructors and in forked children.
#pragma once

#include <nvtx3/nvToolsExt.h>

// The header of the extension types wants to be included by NVTX's own headers only.
#define NVTX_EXT_TYPES_GUARD
#include <nvtx3/nvtxDetail/nvtxExtTypes.h>
#undef NVTX_EXT_TYPES_GUARD

#include <cstddef>
#include <cstdint>

#include "gprof/trace/record.h"

namespace gprof::tracer {

// Fill the function tables of a shared object that has NVTX in it. 1: satisfied, 0: never call again.
int InstallNvtx(NvtxGetExportTableFunc_t get_export_table);
int InstallNvtxExtension(nvtxExtModuleInfo_t* module);
// The same when somebody asks for a recording, in an armed process (core/arming.h).
void RememberNvtx(NvtxGetExportTableFunc_t get_export_table);

// The handlers, for the tables.
struct NvtxHandler {
  uint32_t id;
  NvtxFunctionPointer function;
};
struct NvtxHandlers {
  const NvtxHandler* first;
  std::size_t count;
};
NvtxHandlers HandlersOf(uint32_t module);

// What handlers and the payload extension share.
uint32_t DomainNumber(nvtxDomainHandle_t domain);

// UTF-8 of at most kMaxNameBytes; answers its length.
std::size_t ToUtf8(const wchar_t* text, char* out, std::size_t capacity);

}  // namespace gprof::tracer
