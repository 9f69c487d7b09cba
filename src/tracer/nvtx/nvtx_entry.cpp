#include "gprof/trace/env.h"
#include "tracer/core/entry_points.h"
#include "tracer/core/fork_hold.h"
#include "tracer/core/tracer.h"
#include "tracer/nvtx/nvtx_hooks.h"
#include "tracer/nvtx/stuck_children.h"
#include "tracer/system/system_calls.h"

// Called at the first NVTX call of every shared object that has NVTX in it.
GPROF_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  using namespace gprof::tracer;
  ErrnoGuard errno_guard;
  const ForkHold hold;
  // No more than this, as other threads that call NVTX wait for it: the first event starts the tracer.
  if (IsTracerWanted() && Config().wants_nvtx) {
    WatchStartOfNvtx(get_export_table);
    return InstallNvtx(get_export_table);
  }
  StartTracer();
  using Initialize = int(NvtxGetExportTableFunc_t);
  auto* next = EntryOfNext<Initialize>(gprof::trace::env::kNextNvtxInjection, "InitializeInjectionNvtx2");
  if (next != nullptr) return next(get_export_table);
  RememberNvtx(get_export_table);
  return 1;
}

// What the closed NVTX 2 library asks for.
GPROF_EXPORT int InitializeInjectionNvtx(NvtxGetExportTableFunc_t get_export_table) {
  return InitializeInjectionNvtx2(get_export_table);
}

GPROF_EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  gprof::tracer::ErrnoGuard errno_guard;
  return gprof::tracer::InstallNvtxExtension(module);
}
