// What the name of a kernel says: kernels of cuBLAS, cuDNN, CUTLASS, PyTorch, CuPy and others are named after what they
// do and how.
#pragma once

#include <cstdint>
#include <string_view>

namespace gprof {

enum class KernelKind : uint8_t {
  kOther,
  kProduct,  // of matrices
  kConvolution,
  kAttention,  // as one kernel
  kSoftmax,
  kNormalisation,
  kElementwise,
  kReduction,
  kLayout,  // the same numbers in another order
  kOptimizer,
  kIndexing,  // gathers, scatters, embeddings
  kSorting,   // and scans
  kRandom,
  kPooling,
  kCommunication,
};
inline constexpr std::size_t kKernelKindCount = 15;

std::string_view WordOf(KernelKind kind);

KernelKind KindOfKernel(std::string_view name);

// Of products and convolutions: FP32 numbers multiplied by the ordinary units, not by tensor cores.
bool IsFp32WithoutTensorCores(std::string_view name);

// Of products on tensor cores: rows that do not begin at multiples of 16 bytes, which are read in small pieces.
bool IsMisalignedProduct(std::string_view name);

// One operation of PyTorch or CuPy on each element, which reads and writes all of them for it.
bool IsSingleElementwise(std::string_view name);

// Softmax as the loss of a classifier has it, where no product follows.
bool IsLogSoftmax(std::string_view name);

}  // namespace gprof
