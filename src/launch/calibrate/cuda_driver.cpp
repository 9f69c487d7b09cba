#include "launch/calibrate/cuda_driver.h"

#include <dlfcn.h>

#include "gprof/error.h"

namespace gprof {
namespace {

// Graphs are older than the second version of their function, whose structure only has more at its end.
void* Find(void* library, const char* symbol) {
  void* const found = dlsym(library, symbol);
  const std::string name = symbol;
  return found == nullptr && name.ends_with("_v2") ? dlsym(library, name.substr(0, name.size() - 3).c_str()) : found;
}

}  // namespace

CudaDriver LoadCudaDriver() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error(ExitCode::kUnreadable, "libcuda.so.1 cannot be loaded", "run gprof-cli doctor");
  CudaDriver driver;
  const auto find = [library](const char* symbol) {
    void* const found = Find(library, symbol);
    if (found == nullptr)
      throw Error(ExitCode::kUnreadable, std::string("the CUDA driver has no ") + symbol, "a newer driver is needed");
    return found;
  };
#define GPROF_CUDA_FIND(name, symbol, parameters) driver.name = reinterpret_cast<int(*) parameters>(find(symbol));
  GPROF_CUDA_FUNCTIONS(GPROF_CUDA_FIND)
#undef GPROF_CUDA_FIND
  return driver;
}

void CheckCuda(int result, const char* what) {
  if (result == 0) return;
  throw Error(ExitCode::kUnreadable, std::string(what) + " fails: CUDA error " + std::to_string(result),
              "run gprof-cli doctor");
}

}  // namespace gprof
