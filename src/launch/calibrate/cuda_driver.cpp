#include "launch/calibrate/cuda_driver.h"

#include <dlfcn.h>

#include "gprof/error.h"

namespace gprof {

CudaDriver LoadCudaDriver() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error(ExitCode::kUnreadable, "libcuda.so.1 cannot be loaded", "run gprof-cli doctor");
  const CudaDriver driver{LibrarySymbols(library)};
  if (const char* const missing = driver.in.missing())
    throw Error(ExitCode::kUnreadable, std::string("the CUDA driver has no ") + missing, "a newer driver is needed");
  return driver;
}

void CheckCuda(int result, const char* what) {
  if (result == 0) return;
  throw Error(ExitCode::kUnreadable, std::string(what) + " fails: CUDA error " + std::to_string(result),
              "run gprof-cli doctor");
}

}  // namespace gprof
