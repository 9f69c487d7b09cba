#include <gtest/gtest.h>

#include <string_view>

#include "analysis/facts/shared_facts.h"
#include "analysis/topics/kernels/kernel_sequences.h"
#include "analysis/topics/kernels/library_names.h"
#include "gprof/analysis.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

struct Named {
  std::string_view name;
  KernelKind kind;
};

// As cuBLAS, cuDNN, PyTorch, CuPy, Triton and MIOpen have them in captures.
constexpr Named kNames[] = {
    {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3_ffma_execute_kernel__5x_cublas",
     KernelKind::kProduct},
    {"nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT", KernelKind::kProduct},
    {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>", KernelKind::kProduct},
    {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_execute_kernel__5x_cudnn",
     KernelKind::kConvolution},
    {"void cudnn::winograd_nonfused::winogradWgradData4x4<float, float>(...)", KernelKind::kConvolution},
    {"void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1>(...)", KernelKind::kConvolution},
    {"void cudnn::engines_precompiled::nchwToNhwcKernel<float, float>(...)", KernelKind::kLayout},
    {"batched_transpose_16x64_pack_1x4_ediv_1x2_half", KernelKind::kLayout},
    {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention)", KernelKind::kAttention},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64", KernelKind::kAttention},
    {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float, float>(...)", KernelKind::kSoftmax},
    {"void cudnn::bn_bw_1C11_kernel_new<float, float>(...)", KernelKind::kNormalisation},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(...)",
     KernelKind::kElementwise},
    {"void at::native::index_elementwise_kernel<128, 4>(...)", KernelKind::kIndexing},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::FusedAdamMathFunctor>(...)",
     KernelKind::kOptimizer},
    {"cupy_multiply__float32_float_float32", KernelKind::kElementwise},
    {"cupy_sum", KernelKind::kReduction},
    {"triton_poi_fused_add_relu_0", KernelKind::kElementwise},
    {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", KernelKind::kCommunication},
    {"MyOwnKernel(float*)", KernelKind::kOther},
};

TEST(LibraryNames, SayWhatAKernelDoes) {
  for (const auto& [name, kind] : kNames) EXPECT_EQ(WordOf(KindOfKernel(name)), WordOf(kind)) << name;
}

TEST(LibraryNames, SayWhetherTensorCoresMultiply) {
  EXPECT_TRUE(IsFp32WithoutTensorCores("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_ffma_execute_kernel"));
  EXPECT_TRUE(IsFp32WithoutTensorCores("ampere_sgemm_128x64_nn"));
  EXPECT_TRUE(IsFp32WithoutTensorCores("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x128_8x4_tn_align1>"));
  EXPECT_TRUE(IsFp32WithoutTensorCores("sgemm_32x32x32_NN_vec"));
  EXPECT_FALSE(IsFp32WithoutTensorCores("sgemm_gpu_kernel(float const*, float const*, float*, int)"));
  EXPECT_FALSE(IsFp32WithoutTensorCores("sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x256x32_execute_kernel"));
  EXPECT_FALSE(IsFp32WithoutTensorCores("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn"));
}

TEST(LibraryNames, SayHowRowsAreAligned) {
  EXPECT_TRUE(IsMisalignedProduct("cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1>"));
  EXPECT_TRUE(IsMisalignedProduct("cutlass_80_tensorop_f16_s16816gemm_f16_64x64_tn_align2"));
  EXPECT_FALSE(IsMisalignedProduct("cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_tn_align8>"));
  EXPECT_FALSE(IsMisalignedProduct("cutlass_80_tensorop_i8_i16832gemm_s8_tn_align16"));
  EXPECT_FALSE(IsMisalignedProduct("cutlass_80_simt_sgemm_128x128_8x4_tn_align1"));
  EXPECT_FALSE(IsMisalignedProduct("cutlass_80_tensorop_align"));
}

// Kernels of one stream, one after the other, 10 us each.
class InAStream {
 public:
  InAStream& Run(std::string_view name, int times = 1) {
    for (; times > 0; --times, at_ns_ += 10 * kUs) maker_.AddKernel(at_ns_, at_ns_ + 10 * kUs, kNone, name);
    return *this;
  }
  InAStream& Fill() {
    maker_.AddFill(at_ns_, at_ns_ + 10 * kUs, 64);
    at_ns_ += 10 * kUs;
    return *this;
  }
  SequenceSum Attention() {
    const Trace trace = maker_.Finish();
    const AnalysisInput input(trace);
    const KernelGroups& kernels = input.shared().kernels();
    std::vector<KernelKind> kinds;
    for (uint32_t i = 0; i < kernels.size(); ++i) kinds.push_back(KindOfKernel(kernels.Name(i)));
    return SoftmaxBetweenProducts(trace, kernels, kinds);
  }
  SequenceSum Elementwise() {
    const Trace trace = maker_.Finish();
    const AnalysisInput input(trace);
    return ElementwiseInARow(trace, input.shared().kernels());
  }

 private:
  TraceMaker maker_;
  int64_t at_ns_ = 0;
};

constexpr std::string_view kProduct = "sgemm", kSoftmax = "softmax_warp_forward", kLog = "LogSoftMaxForward",
                           kAdd = "at::native::elementwise_kernel<add>", kOther = "mine";

TEST(KernelSequences, SoftmaxBetweenTwoProductsIsAttention) {
  const SequenceSum sum =
      InAStream().Run(kProduct).Run(kAdd).Run(kSoftmax).Run(kProduct).Run(kSoftmax).Run(kProduct).Attention();
  EXPECT_EQ(sum.sequences, 2);
  EXPECT_EQ(sum.kernels, 3);
  EXPECT_EQ(sum.ns, 30 * kUs);
}

TEST(KernelSequences, SoftmaxOfAClassifierIsNone) {
  EXPECT_EQ(InAStream().Run(kProduct).Run(kLog).Run(kProduct).Attention().sequences, 0);
  EXPECT_EQ(InAStream().Run(kProduct).Run(kSoftmax).Run(kOther).Run(kProduct).Attention().sequences, 0);
  EXPECT_EQ(InAStream().Run(kSoftmax).Run(kProduct).Attention().sequences, 0);
  EXPECT_EQ(InAStream().Run(kProduct).Run(kSoftmax).Attention().sequences, 0);
  EXPECT_EQ(InAStream().Run(kProduct).Run(kAdd, 12).Run(kSoftmax).Run(kProduct).Attention().sequences, 0);
}

TEST(KernelSequences, ElementwiseKernelsInARowSaveAllButTheLongest) {
  const SequenceSum sum = InAStream().Run(kAdd, 3).Run(kOther).Run(kAdd).Run(kOther).Run(kAdd, 2).Elementwise();
  EXPECT_EQ(sum.sequences, 2);
  EXPECT_EQ(sum.kernels, 5);
  EXPECT_EQ(sum.ns, 50 * kUs);
  EXPECT_EQ(sum.saved_ns, 30 * kUs);
}

TEST(KernelSequences, OtherWorkOfTheStreamEndsARow) {
  EXPECT_EQ(InAStream().Run(kAdd).Fill().Run(kAdd).Elementwise().sequences, 0);
}

TEST(KernelSequences, OneKernelDoesTheWorkOfSixteenAtMost) {
  const SequenceSum sum = InAStream().Run(kAdd, 40).Elementwise();
  EXPECT_EQ(sum.sequences, 3);
  EXPECT_EQ(sum.saved_ns, 370 * kUs);
}

}  // namespace
}  // namespace gprof::test
