#include "analysis/registry/advice_words.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

namespace gprof {
namespace {

constexpr std::string_view kPinNumba =
    "Allocate host arrays with cuda.pinned_array, or pin them with cuda.pinned, and pass a stream to the copies.";
constexpr std::string_view kPinPyTorch =
    "Load data with DataLoader(pin_memory=True), or pin tensors with .pin_memory(), and copy with .to(device, "
    "non_blocking=True).";
constexpr std::string_view kPinCuPy =
    "Allocate host arrays with cupyx.empty_pinned, and copy with .set() and .get(blocking=False) in a stream.";
constexpr std::string_view kPinJax =
    "Send inputs one step ahead with jax.device_put, which does not block, and leave results on the GPU until the host "
    "needs them.";
constexpr std::string_view kReuseNumba =
    "Allocate device arrays once (cuda.device_array) and reuse them: a NumPy array that is passed to a kernel is "
    "allocated and copied at each launch.";
constexpr std::string_view kReusePyTorch =
    "PyTorch's allocator keeps freed blocks: do not call torch.cuda.empty_cache() in the loop, and avoid sizes that "
    "change with each step.";
constexpr std::string_view kReuseCuPy =
    "Keep CuPy's memory pool (cupy.cuda.set_allocator(None) switches it off), and reuse arrays with out=.";
constexpr std::string_view kReuseJax =
    "Leave XLA_PYTHON_CLIENT_PREALLOCATE on, and reuse buffers with jax.jit(donate_argnums=...).";
constexpr std::string_view kGraphNumba = "Merge kernels into one @cuda.jit function, or give each launch more work.";
constexpr std::string_view kGraphPyTorch =
    "Use torch.compile(mode=\"reduce-overhead\") or torch.cuda.graph, or give each launch more work (larger batches).";
constexpr std::string_view kGraphCuPy =
    "Fuse kernels (cupy.fuse, or one cupy.RawKernel), capture them as a graph (Stream.begin_capture), or give each "
    "launch more work.";
constexpr std::string_view kGraphJax =
    "Compile the whole step with jax.jit, and loops with jax.lax.scan, or give each launch more work.";

constexpr AdviceWords kWords[] = {
    {"Allocate the host side with cudaMallocHost or pin it with cudaHostRegister, and copy with cudaMemcpyAsync.",
     {},
     kPinNumba,
     kPinPyTorch,
     kPinCuPy,
     kPinJax},
    {"Use pinned memory (cudaMallocHost, cudaHostRegister) and cudaMemcpyAsync so that the host does not block.",
     {},
     kPinNumba,
     kPinPyTorch,
     kPinCuPy,
     kPinJax},
    {"Copy the rest from pinned memory in a separate stream, overlapped with kernels.",
     {},
     "Copy the rest from pinned memory (cuda.pinned_array) in a separate stream, overlapped with kernels.",
     "Copy the rest from pinned memory (pin_memory=True, non_blocking=True), so that it overlaps with kernels.",
     "Copy the rest from pinned memory (cupyx.empty_pinned) in a separate stream, overlapped with kernels.",
     "Send the rest one step ahead with jax.device_put, so that it overlaps with kernels."},
    {"Copy the next part with cudaMemcpyAsync in another stream while kernels process the current one.",
     {},
     "Copy the next part in another stream (cuda.stream(), pinned arrays) while kernels process the current one.",
     "Copy the next batch in another stream (torch.cuda.stream, non_blocking=True) while kernels process the current "
     "one.",
     "Copy the next part in another stream (cupy.cuda.Stream(non_blocking=True)) while kernels process the current "
     "one.",
     "Send the next batch with jax.device_put before you wait for the current step."},
    {"Give each part of the work its own stream: all parts seem to use the same handle.",
     {},
     "Give each part of the work its own stream: [cuda.stream() for _ in range(n)]. [cuda.stream()] * n has the same "
     "one n times.",
     "Give each part of the work its own stream: [torch.cuda.Stream() for _ in range(n)]. [torch.cuda.Stream()] * n "
     "has the same one n times.",
     "Give each part of the work its own stream: [cupy.cuda.Stream() for _ in range(n)]. [cupy.cuda.Stream()] * n has "
     "the same one n times.",
     {}},
    {"Split the work into parts with one stream each: while one part computes, copy the next one in and the previous "
     "one out.",
     {},
     "Split the work into parts with a stream each, [cuda.stream() for _ in range(n)]: while one part computes, copy "
     "the next one in and the previous one out.",
     "Copy in another stream (torch.cuda.stream, non_blocking=True): while one batch computes, copy the next one in "
     "and the previous results out.",
     "Split the work into parts with a stream each, [cupy.cuda.Stream() for _ in range(n)]: while one part computes, "
     "copy the next one in and the previous one out.",
     {}},
    {"Pass the streams to the launches (<<<grid, block, shared, stream>>>) and to cudaMemcpyAsync.",
     {},
     "Pass the streams to the launches (kernel[grid, block, stream]) and to the copies (stream=stream).",
     "Put the work of each stream into a block: with torch.cuda.stream(stream).",
     "Put the work of each stream into a block: with stream.",
     {}},
    {"Move that work to its own stream, or create the other streams with cudaStreamNonBlocking, and order dependent "
     "work with events.",
     {},
     "Pass a stream to that work as well: launches and copies without one use the default stream. Order dependent work "
     "with events.",
     "Move that work to its own stream (with torch.cuda.stream), and order dependent work with events.",
     "Move that work to its own stream, or create the others with cupy.cuda.Stream(non_blocking=True), and order "
     "dependent work with events.",
     {}},
    {"Launch the whole sequence as one CUDA graph, fuse kernels, or give each launch more work (larger batches).",
     {},
     kGraphNumba,
     kGraphPyTorch,
     kGraphCuPy,
     kGraphJax},
    {"Capture one repetition as a CUDA graph and launch the graph, or fuse its short kernels.",
     {},
     kGraphNumba,
     kGraphPyTorch,
     kGraphCuPy,
     kGraphJax},
    {"Fuse kernels, give each launch more work, or launch them as a CUDA graph.",
     {},
     kGraphNumba,
     kGraphPyTorch,
     kGraphCuPy,
     kGraphJax},
    {"Give each launch more work, or capture many launches as one CUDA graph.",
     {},
     kGraphNumba,
     kGraphPyTorch,
     kGraphCuPy,
     kGraphJax},
    {"Allocate once before the loop and reuse, or use cudaMallocAsync with a memory pool: cudaMalloc and cudaFree wait "
     "for the GPU.",
     {},
     kReuseNumba,
     kReusePyTorch,
     kReuseCuPy,
     kReuseJax},
    {"Allocate once and keep the memory, or use cudaMallocAsync and cudaFreeAsync, which do not wait.",
     {},
     kReuseNumba,
     kReusePyTorch,
     kReuseCuPy,
     kReuseJax},
    {"Allocate once and keep the block, or use cudaMallocAsync and cudaFreeAsync, whose pool reuses blocks: cudaFree "
     "waits for the GPU.",
     {},
     kReuseNumba,
     kReusePyTorch,
     kReuseCuPy,
     kReuseJax},
    {"Wait with cudaEventSynchronize (cudaEventBlockingSync frees the core)",
     {},
     "Wait with Event.synchronize()",
     "Wait with Event.synchronize() (torch.cuda.Event(blocking=True) frees the core)",
     "Wait with Event.synchronize() (cupy.cuda.Event(block=True) frees the core)",
     "Wait with jax.block_until_ready"},
    {"torch.set_float32_matmul_precision('high'), or cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH). BF16 or "
     "FP16 (torch.autocast) are",
     "cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH). BF16 or FP16 are",
     {},
     "torch.set_float32_matmul_precision('high'). BF16 or FP16 (torch.autocast) are",
     "CUPY_TF32=1 in the environment. FP16 is",
     "jax.config.update('jax_default_matmul_precision', 'tensorfloat32'). BF16 or FP16 are"},
    {"torch.set_float32_matmul_precision('high') for products and torch.backends.cudnn.allow_tf32 = True for "
     "convolutions. BF16 or FP16 (torch.autocast) are",
     "cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH) for products, cudnnSetConvolutionMathType for "
     "convolutions. "
     "BF16 or FP16 are",
     {},
     {},
     "CUPY_TF32=1 in the environment. FP16 is",
     "jax.config.update('jax_default_matmul_precision', 'tensorfloat32'). BF16 or FP16 are"},
    {"Fuse them: torch.compile, cupy.fuse, fused=True for PyTorch optimisers.",
     "Fuse them: do several steps in one kernel.", "Fuse them: do several steps in one @cuda.jit function.",
     "Fuse them: torch.compile, and fused=True for optimisers.", "Fuse them: cupy.fuse, or one cupy.ElementwiseKernel.",
     "Fuse them: put them into one function with jax.jit(f)."}};

std::string_view For(Framework framework, const AdviceWords& words) {
  switch (framework) {
    case Framework::kCuda:
      return words.cuda;
    case Framework::kNumba:
      return words.numba;
    case Framework::kPyTorch:
      return words.pytorch;
    case Framework::kCuPy:
      return words.cupy;
    case Framework::kJax:
      break;
  }
  return words.jax;
}

bool Replace(std::string_view what, std::string_view by, std::string* text) {
  const size_t at = text->find(what);
  if (at != std::string::npos) text->replace(at, what.size(), by);
  return at != std::string::npos;
}

// Sentences about tools that there are for GPUs of NVIDIA only.
bool IsAboutTools(std::string_view sentence) {
  constexpr std::string_view kTools[] = {"gprof-cli profile",   "gprof-cli counters", "nvidia-", "Nsight", "nsys",
                                         "CUDA_MODULE_LOADING", "CUDA_CACHE_"};
  return std::ranges::any_of(kTools,
                             [&](std::string_view tool) { return sentence.find(tool) != std::string_view::npos; });
}

std::string WithoutTools(std::string_view advice) {
  std::string kept;
  while (!advice.empty()) {
    const size_t end = advice.find(". ");
    const std::string_view sentence = advice.substr(0, end == std::string_view::npos ? advice.size() : end + 2);
    if (!IsAboutTools(sentence)) kept += sentence;
    advice.remove_prefix(sentence.size());
  }
  while (kept.ends_with(' ')) kept.pop_back();
  return kept;
}

// Most functions of HIP are named as those of CUDA.
std::string InHip(const std::string& advice) {
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"cudaMallocHost", "hipHostMalloc"},
      {"cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH)", "rocblas_set_math_mode"},
      {"cuBLAS", "rocBLAS"},
      {"cuRAND", "rocRAND"},
      {"cuDNN", "MIOpen"},
      {"CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING"},
      {"CUDA ", "HIP "}};
  std::string text = WithoutTools(advice);
  for (const auto& [cuda, hip] : kOthers) {
    while (Replace(cuda, hip, &text)) {
    }
  }
  constexpr std::string_view kPrefix = "cuda";
  for (size_t at = text.find(kPrefix); at != std::string::npos; at = text.find(kPrefix, at + 1)) {
    const size_t next = at + kPrefix.size();
    if (next < text.size() && std::isupper(static_cast<unsigned char>(text[next])))
      text.replace(at, kPrefix.size(), "hip");
  }
  return text;
}

}  // namespace

std::span<const AdviceWords> AllAdviceWords() { return kWords; }

std::string InWordsOf(const ProgramLanguage& language, std::string advice) {
  for (const AdviceWords& words : kWords) {
    const std::string_view instead = For(language.framework, words);
    if (!instead.empty() && Replace(words.words, instead, &advice)) break;
  }
  return language.is_amd ? InHip(advice) : advice;
}

void AdviseInItsWords(const AnalysisInput& input, std::vector<AnalysisResult>* results) {
  const ProgramLanguage language = LanguageOf(input);
  for (AnalysisResult& result : *results) {
    for (Finding& finding : result.findings) finding.advice = InWordsOf(language, std::move(finding.advice));
  }
}

}  // namespace gprof
