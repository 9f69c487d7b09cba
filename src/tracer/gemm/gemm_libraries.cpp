#include "tracer/gemm/gemm_libraries.h"

#include "tracer/gemm/gemm_functions.h"
#include "tracer/gemm/gemm_wrappers.h"
#include "tracer/imports/import_slots.h"
#include "tracer/system/loaded_module.h"

namespace gprof::tracer {
namespace {

CublasLibrary library;
bool is_there = false;

template <class F>
void Find(const LoadedModule& module, const char* symbol, F* function) {
  if (void* const found = module.AddressOfExport(symbol); found != nullptr) *function = reinterpret_cast<F>(found);
}

// Done anew after any module was unloaded, while wrappers go on calling the libraries: nothing is cleared in between.
void See(const LoadedModule& module) {
  const bool is_cublas = module.AddressOfExport("cublasSgemm_v2") != nullptr;
  const bool is_lt = module.AddressOfExport("cublasLtMatmul") != nullptr;
  if (!is_cublas && !is_lt) return;
  is_there = true;
  Find(module, "cublasGetMathMode", &library.get_math_mode);
  Find(module, "cublasLtMatrixLayoutGetAttribute", &library.layout_attribute);
  Find(module, "cublasLtMatmulDescGetAttribute", &library.matmul_attribute);
  for (std::size_t i = 0; i < kGemmNumbers; ++i) {
    if (!IsGemm(i)) continue;
    if (void* const found = module.AddressOfExport(GemmSymbolOf(i).text); found != nullptr)
      gemm_targets[i].real = found;
  }
}

}  // namespace

const CublasLibrary& Cublas() { return library; }

void WatchForCublas() {
  WatchModules({.see = See, .forget = [] { is_there = false; }, .is_urgent = [] { return is_there; }});
}

}  // namespace gprof::tracer
