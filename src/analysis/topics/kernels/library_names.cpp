#include "analysis/topics/kernels/library_names.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>

#include "analysis/result/display_names.h"
#include "base/text.h"

namespace gprof {
namespace {

template <std::size_t n>
bool HasAny(std::string_view name, const std::string_view (&parts)[n]) {
  return std::ranges::any_of(parts, [name](std::string_view part) { return Contains(name, part); });
}

struct NamePart {
  std::string_view part;
  KernelKind kind;
};

// The first that a name has decides: what is special comes before the general words that its names have as well.
constexpr NamePart kParts[] = {
    {"flash", KernelKind::kAttention},
    {"fmha", KernelKind::kAttention},
    {"sdpa", KernelKind::kAttention},
    {"attention", KernelKind::kAttention},
    {"nchwToNhwc", KernelKind::kLayout},
    {"nhwcToNchw", KernelKind::kLayout},
    {"nchwToFolded", KernelKind::kLayout},
    {"foldedNhwc", KernelKind::kLayout},
    {"tensorTransform", KernelKind::kLayout},
    {"batched_transpose", KernelKind::kLayout},
    {"softmax", KernelKind::kSoftmax},
    {"SoftMax", KernelKind::kSoftmax},
    {"Softmax", KernelKind::kSoftmax},
    {"layer_norm", KernelKind::kNormalisation},
    {"LayerNorm", KernelKind::kNormalisation},
    {"batch_norm", KernelKind::kNormalisation},
    {"BatchNorm", KernelKind::kNormalisation},
    {"GroupNorm", KernelKind::kNormalisation},
    {"RowwiseMoments", KernelKind::kNormalisation},
    {"rms_norm", KernelKind::kNormalisation},
    {"rmsnorm", KernelKind::kNormalisation},
    {"::bn_", KernelKind::kNormalisation},
    {"wgrad", KernelKind::kConvolution},
    {"dgrad", KernelKind::kConvolution},
    {"fprop", KernelKind::kConvolution},
    {"winograd", KernelKind::kConvolution},
    {"convolve", KernelKind::kConvolution},
    {"Convolution", KernelKind::kConvolution},
    {"conv1d", KernelKind::kConvolution},
    {"conv2d", KernelKind::kConvolution},
    {"conv3d", KernelKind::kConvolution},
    {"conv_depthwise", KernelKind::kConvolution},
    {"gemm", KernelKind::kProduct},
    {"Gemm", KernelKind::kProduct},
    {"gemv", KernelKind::kProduct},
    {"matmul", KernelKind::kProduct},
    {"nvjet", KernelKind::kProduct},
    {"splitKreduce", KernelKind::kProduct},
    {"multi_tensor_apply", KernelKind::kOptimizer},
    {"Adam", KernelKind::kOptimizer},
    {"distribution_", KernelKind::kRandom},
    {"dropout", KernelKind::kRandom},
    {"generate_seed", KernelKind::kRandom},
    {"gen_sequenced", KernelKind::kRandom},
    {"cupy_random", KernelKind::kRandom},
    {"pool", KernelKind::kPooling},
    {"Pool", KernelKind::kPooling},
    {"embedding", KernelKind::kIndexing},
    {"gather", KernelKind::kIndexing},
    {"scatter", KernelKind::kIndexing},
    {"indexSelect", KernelKind::kIndexing},
    {"index_", KernelKind::kIndexing},
    {"RadixSort", KernelKind::kSorting},
    {"MergeSort", KernelKind::kSorting},
    {"radix_sort", KernelKind::kSorting},
    {"DeviceScan", KernelKind::kSorting},
    {"bitonicSort", KernelKind::kSorting},
    {"opk", KernelKind::kSorting},
    {"elementwise", KernelKind::kElementwise},
    {"elementWise", KernelKind::kElementwise},
    {"pointwise", KernelKind::kElementwise},
    {"triton_poi", KernelKind::kElementwise},
    {"CatArray", KernelKind::kElementwise},
    {"reduce_kernel", KernelKind::kReduction},
    {"DeviceReduce", KernelKind::kReduction},
    {"triton_red", KernelKind::kReduction},
    {"triton_per", KernelKind::kReduction},
    {"cupy_sum", KernelKind::kReduction},
};

// "cupy_add__float32_float32_float32": a function of CuPy on arrays, and the types of its arguments.
bool IsCupyFunction(std::string_view name) { return name.starts_with("cupy_") && Contains(name, "__"); }

}  // namespace

std::string_view WordOf(KernelKind kind) {
  constexpr std::string_view kWords[] = {"other",   "matrix product", "convolution",  "attention",
                                         "softmax", "normalisation",  "element-wise", "reduction",
                                         "layout",  "optimiser",      "indexing",     "sort and scan",
                                         "random",  "pooling",        "communication"};
  static_assert(std::size(kWords) == kKernelKindCount);
  return kWords[static_cast<std::size_t>(kind)];
}

KernelKind KindOfKernel(std::string_view name) {
  if (IsNcclKernel(name)) return KernelKind::kCommunication;
  const auto* const found =
      std::ranges::find_if(kParts, [name](const NamePart& one) { return Contains(name, one.part); });
  if (found != std::end(kParts)) return found->kind;
  return IsCupyFunction(name) ? KernelKind::kElementwise : KernelKind::kOther;
}

bool IsFp32WithoutTensorCores(std::string_view name) {
  // cuBLAS puts a generation or a size beside "sgemm". A kernel that somebody has written by hand is none of a library,
  // whose settings would make it faster.
  constexpr std::string_view kOrdinary[] = {"ampere_sgemm",  "turing_sgemm",      "volta_sgemm", "pascal_sgemm",
                                            "maxwell_sgemm", "magma_sgemm",       "sgemm_sm",    "sgemm_32x32",
                                            "sgemm_largek",  "f32f32_f32f32_f32", "_ffma",       "simt_s"};
  constexpr std::string_view kTensor[] = {"tf32", "tensorop", "s1688", "s16816", "bf16", "wgmma", "hmma"};
  return HasAny(name, kOrdinary) && !HasAny(name, kTensor);
}

bool IsMisalignedProduct(std::string_view name) {
  if (!Contains(name, "tensorop")) return false;
  const std::size_t at = name.find("align");
  if (at == std::string_view::npos) return false;
  const std::string_view number = name.substr(at + 5);
  const bool is_one_digit =
      number.size() == 1 || (number.size() > 1 && std::isdigit(static_cast<unsigned char>(number[1])) == 0);
  return is_one_digit && !number.empty() && (number[0] == '1' || number[0] == '2');
}

bool IsSingleElementwise(std::string_view name) {
  return (Contains(name, "at::native::") && Contains(name, "elementwise_kernel") &&
          KindOfKernel(name) == KernelKind::kElementwise) ||
         IsCupyFunction(name);
}

bool IsLogSoftmax(std::string_view name) {
  constexpr std::string_view kLog[] = {"LogSoftMax", "LogSoftmax", "log_softmax"};
  return HasAny(name, kLog);
}

}  // namespace gprof
