// NVTX before main and after it: from static objects of the program and, where TEST_LIBRARY is set, of a library that
// is closed again.
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdlib>

namespace {

struct EndsOnly {
  ~EndsOnly() { nvtxMarkA("destructor of an object without NVTX in its constructor"); }
};

struct Both {
  Both() { nvtxMarkA("constructor"); }
  ~Both() { nvtxMarkA("destructor"); }
};

EndsOnly ends_only;
Both both;

__attribute__((constructor(200))) void First() { nvtxRangePushA("first constructor"), nvtxRangePop(); }
__attribute__((destructor(200))) void Last() { nvtxMarkA("last destructor"); }

}  // namespace

int main() {
  nvtxMarkA("main");
  if (const char* path = std::getenv("TEST_LIBRARY")) {
    void* library = dlopen(path, RTLD_NOW);
    if (library == nullptr) return 2;
    dlclose(library);
  }
  return 5;
}
