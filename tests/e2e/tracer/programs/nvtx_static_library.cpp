// NVTX when a library is loaded and unloaded, and functions for Python's ctypes.
#include <nvtx3/nvToolsExt.h>

namespace {

struct Object {
  Object() { nvtxMarkA("library's constructor"); }
  ~Object() { nvtxMarkA("library's destructor"); }
};
Object object;

}  // namespace

extern "C" __attribute__((visibility("default"))) void MarkFromPython(const char* name) { nvtxMarkA(name); }
