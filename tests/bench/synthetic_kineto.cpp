// Writes JSON of a given size as torch.profiler does: the same events, names, arguments and blanks as its captures of a
// training loop with record_shapes have. The same size gives the same bytes.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "common/arguments.h"

namespace gprof::bench {
namespace {

constexpr const char* kUsage = "usage: synthetic_kineto --bytes N --out FILE\n";
constexpr const char* kHead = R"json({
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85018279936,
      "computeMajor": 9, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32,
      "sharedMemPerBlock": 49152, "numSms": 132
    , "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472
    }
  ],
  "record_shapes": 1,
  "baseTimeNanoseconds": 1751410836000000000,
  "displayTimeUnit": "ms",
  "traceEvents": [)json";

constexpr const char* kOps[] = {
    "aten::linear", "aten::addmm", "aten::layer_norm", "aten::gelu",
    "aten::add",    "aten::copy_", "aten::mul",        "autograd::engine::evaluate_function: AddmmBackward0"};
constexpr const char* kKernels[] = {
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, "
    "3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_"
    "cublas",
    "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8>(cutlass_80_wmma_"
    "tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8::Params)"};

// Nanoseconds as the microseconds that Kineto writes.
std::string Us(uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

// One operator: two ranges, the launching call, the kernel, and the arrow between them.
void AppendOperator(uint64_t number, std::string* out) {
  const uint64_t start_ns = 1'419'247'335'442'229 + number * 20'117, id = number + 1, correlation = number + 9000;
  const char* const op = kOps[number % std::size(kOps)];
  const auto to = std::back_inserter(*out);
  for (uint64_t depth = 0; depth < 2; ++depth) {
    fmt::format_to(to, R"json({}
  {{
    "ph": "X", "cat": "cpu_op", "name": "{}", "pid": 19392, "tid": 19392,
    "ts": {}, "dur": {},
    "args": {{
      "External id": {},"Record function id": 0, "Concrete Inputs": ["", "", "1"], "Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"], "Input Strides": [[72192, 512, 1], [72192, 512, 1], []], "Input Dims": [[1, 141, 512], [1, 141, 512], []], "Ev Idx": {}
    }}
  }})json",
                   number == 0 && depth == 0 ? "" : ",", op, Us(start_ns + depth * 450), Us(17'000 - depth * 2000), id,
                   2 * number + depth);
  }
  fmt::format_to(to, R"json(,
  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 19392, "tid": 19392,
    "ts": {}, "dur": {},
    "args": {{
      "External id": {}, "cbid": 211, "correlation": {}
    }}
  }},
  {{
    "ph": "X", "cat": "kernel", "name": "{}", "pid": 0, "tid": 7,
    "ts": {}, "dur": {},
    "args": {{
      "External id": {},
      "queued": 0, "device": 0, "context": 1,
      "stream": 7, "correlation": {},
      "registers per thread": 24,
      "shared memory": 0,
      "blocks per SM": 1.068182,
      "warps per SM": 4.272727,
      "grid": [{}, 1, 1],
      "block": [128, 1, 1],
      "est. achieved occupancy %": 7
    }}
  }},
  {{
    "ph": "s", "id": {}, "pid": 19392, "tid": 19392, "ts": {},
    "cat": "ac2g", "name": "ac2g"
  }},
  {{
    "ph": "f", "id": {}, "pid": 0, "tid": 7, "ts": {},
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  }})json",
                 Us(start_ns + 6820), Us(5140), id, correlation, kKernels[number % std::size(kKernels)],
                 Us(start_ns + 13'316), Us(1600 + number % 4096), id, correlation, 16 + number % 512, correlation,
                 Us(start_ns + 6820), correlation, Us(start_ns + 13'316));
}

int Run(uint64_t bytes, const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  std::string text = kHead;
  uint64_t written = 0;
  for (uint64_t number = 0; written + text.size() < bytes; ++number) {
    AppendOperator(number, &text);
    if (text.size() < (1u << 20)) continue;
    out << text;
    written += text.size();
    text.clear();
  }
  out << text << "\n  ]\n}\n";
  return out.flush() ? 0 : 1;
}

}  // namespace
}  // namespace gprof::bench

int main(int argc, char** argv) {
  gprof::examples::Arguments arguments(argc, argv, gprof::bench::kUsage);
  const std::size_t bytes = arguments.Number("--bytes", 1'000'000'000);
  const std::string path = arguments.Text("--out", "");
  arguments.Finish();
  const int code = gprof::bench::Run(bytes, path);
  if (code != 0) std::fprintf(stderr, "synthetic_kineto: cannot write '%s'\n", path.c_str());
  return code;
}
