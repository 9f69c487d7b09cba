// The entry points: what the CUDA driver and the NVTX headers look up by name. Nothing of ours may throw or exit, so
// there is nothing to catch; each answers that it is satisfied, because "no" unloads a library that is in use.
#include <dlfcn.h>
#include <stdlib.h>

#include "gprof/trace/env.h"
#include "tracer/core/tracer.h"
#include "tracer/cupti/cupti_session.h"
#include "tracer/nvtx/nvtx.h"
#include "tracer/store/system_calls.h"

#define GPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// The tool that the user had named before we took its place: where we do nothing, it does what it would have done.
template <class Function>
Function* EntryOfNext(const char* variable, const char* name) {
  const char* path = getenv(variable);
  void* library = path == nullptr || *path == 0 ? nullptr : dlopen(path, RTLD_LAZY);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

// Called by libcuda within cuInit, with locks of the driver held.
GPROF_EXPORT int InitializeInjection() {
  gprof::tracer::ErrnoGuard errno_guard;
  if (gprof::tracer::StartTracer() && gprof::tracer::Config().wants_cuda) {
    gprof::tracer::StartCuptiSession();
  } else if (auto* next = EntryOfNext<int()>(gprof::trace::env::kNextCudaInjection, "InitializeInjection")) {
    next();
  }
  return 1;
}

// Called at the first NVTX call of every shared object that has NVTX in it.
GPROF_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  gprof::tracer::ErrnoGuard errno_guard;
  if (gprof::tracer::StartTracer() && gprof::tracer::Config().wants_nvtx) {
    return gprof::tracer::InstallNvtx(get_export_table);
  }
  using Initialize = int(NvtxGetExportTableFunc_t);
  auto* next = EntryOfNext<Initialize>(gprof::trace::env::kNextNvtxInjection, "InitializeInjectionNvtx2");
  return next == nullptr ? 1 : next(get_export_table);
}

// What the closed NVTX 2 library asks for.
GPROF_EXPORT int InitializeInjectionNvtx(NvtxGetExportTableFunc_t get_export_table) {
  return InitializeInjectionNvtx2(get_export_table);
}

GPROF_EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  gprof::tracer::ErrnoGuard errno_guard;
  return gprof::tracer::InstallNvtxExtension(module);
}

// Static destructors and atexit handlers of the program have run; the driver may be gone.
__attribute__((destructor)) static void AtUnload() { gprof::tracer::StopAtUnload(); }
