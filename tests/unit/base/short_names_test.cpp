#include "base/short_names.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/text.h"

namespace gprof {
namespace {

using Names = std::vector<std::string>;

// As PyTorch 2, CUTLASS, Thrust, CUB and Triton have them.
const Names kReal = {
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13AUnaryFunctorIfffNS0_15binary_internal10MulFunctorIfEEEESt5"
    "arrayIPcLm2EEEEviT0_T1_",
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BinaryFunctorIfffNS0_15binary_internal10MulFunctorIfEEEESt"
    "5arrayIPcLm3EEEEviT0_T1_",
    "_ZN2at6native13reduce_kernelILi128ELi4ENS0_8ReduceOpIfNS0_14func_wrapper_tIfZNS0_11sum_functorIfffEclERNS_14Tensor"
    "IteratorEEUlffE_EEjfLi4ELi4EEEEEvT1_",
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffEEjfLi4ELi4EEEEEvT1_",
    "_ZN7cutlass7Kernel2I43cutlass_80_simt_sgemm_256x128_8x4_nn_align1EEvNT_6ParamsE",
    "_ZN7cutlass7Kernel2I43cutlass_80_simt_sgemm_256x128_8x4_nt_align1EEvNT_6ParamsE",
    "triton_poi_fused_add_mul_relu_threshold_backward_12",
    "triton_poi_fused_add_mul_relu_threshold_backward_21",
    "void cub::DeviceReduceKernel<cub::DeviceReducePolicy<float, int, cub::Sum>::Policy600, float*, int, "
    "cub::Sum>(float*)",
    "void cub::DeviceReduceKernel<cub::DeviceReducePolicy<float, int, cub::Max>::Policy600, float*, int, "
    "cub::Max>(float*)",
    "void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<int>>(int)",
    "saxpy(int, float)",
};

TEST(ShortNames, AloneANameLosesWhatIsNoise) {
  EXPECT_EQ(ShortNames({kReal[0]}), Names{"at::native::vectorized_elementwise_kernel"});
  EXPECT_EQ(ShortNames({kReal[0], kReal[0]}), Names(2, "at::native::vectorized_elementwise_kernel"));
  EXPECT_EQ(ShortNames({"saxpy(int, float)", "copy host to device"}), (Names{"saxpy", "copy host to device"}));
  EXPECT_TRUE(ShortNames({}).empty());
}

TEST(ShortNames, WhatTellsTwoApartStays) {
  EXPECT_EQ(ShortNames({kReal[0], kReal[1], kReal[4]}),
            (Names{"at::native::vectorized_elementwise_kernel<…FillFunctor<float>, array<char*, 1ul…>",
                   "at::native::vectorized_elementwise_kernel<…AUnaryFunctor<float, float, floa…ctor<float> >, "
                   "array<char*, 2ul…>",
                   "at::native::reduce_kernel"}));
  EXPECT_EQ(ShortNames({kReal[5], kReal[6]}), (Names{"cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>",
                                                     "cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nt_align1>"}));
  EXPECT_EQ(ShortNames({"f(int)", "f(float)"}), (Names{"f<…int…>", "f<…float…>"}));
  EXPECT_EQ(ShortNames({"void f<1>()", "void f<1, 2>()"}), (Names{"f<…1…>", "f<…1, 2…>"}));
}

TEST(ShortNames, LambdasOfOneFunction) {
  const Names names = ShortNames({"void run<main::{lambda(int)#1}>(main::{lambda(int)#1})",
                                  "void run<main::{lambda(int)#2}>(main::{lambda(int)#2})"});
  EXPECT_NE(names[0], names[1]);
  EXPECT_NE(names[0].find("#1"), std::string::npos) << names[0];
  EXPECT_NE(names[1].find("#2"), std::string::npos) << names[1];
}

TEST(ShortNames, NoTwoKernelsReadAlikeWhateverTheRoom) {
  const Names names = ShortNames(kReal);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), kReal.size());
  for (std::size_t width = 8; width < 100; ++width) {
    const Names cut = ShortenApart(names, width);
    EXPECT_EQ(std::set<std::string>(cut.begin(), cut.end()).size(), kReal.size()) << width;
    for (const std::string& text : cut) EXPECT_LE(DisplayWidth(text), width) << text;
  }
}

TEST(ShortenApart, CutsTheMiddleWhereThatIsEnough) {
  EXPECT_EQ(ShortenApart({"abcdefghij", "klm"}, 7), (Names{"abc…hij", "klm"}));
  EXPECT_EQ(ShortenApart({"klm", "klm"}, 7), Names(2, "klm"));
}

TEST(ShortenApart, ShowsWhereTheyDiffer) {
  const std::string start = "a_rather_long_beginning_of_", end = "_and_an_equally_long_ending";
  EXPECT_EQ(ShortenApart({start + "RED" + end, start + "BLUE" + end}, 20),
            (Names{"a_rath…_of_RE…ending", "a_rath…_of_BL…ending"}));
}

TEST(ShortenApart, NumbersWhatHasNoRoom) {
  const Names cut = ShortenApart({"aaaaaaaaaaaaaaaaXaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaYaaaaaaaaaaaaaaa"}, 6);
  EXPECT_NE(cut[0], cut[1]);
}

TEST(BriefNames, SentencesHaveNoNamespacesAndFortyColumns) {
  EXPECT_EQ(BriefName(kReal[0]), "vectorized_elementwise_kernel");
  EXPECT_EQ(BriefName("__main__::kernel::add_scaled[abi:v1](Array<float, 1>, float)"), "add_scaled");
  EXPECT_EQ(BriefNames({"a::run(int)", "b::run(int)"}), (Names{"a::run", "b::run"}));
  const Names brief = BriefNames(kReal);
  EXPECT_EQ(std::set<std::string>(brief.begin(), brief.end()).size(), kReal.size());
  for (const std::string& name : brief) EXPECT_LE(DisplayWidth(name), 40u) << name;
}

}  // namespace
}  // namespace gprof
