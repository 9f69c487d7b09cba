// The plain names of kernels, as compilers mangle them.
#include "tracer/counters/request/kernel_name.h"

#include <gtest/gtest.h>

#include <string>

namespace gprof::tracer {
namespace {

std::string NameOf(const char* mangled) {
  const NamePart name = FunctionNameOf(mangled);
  return {name.at, name.size};
}

TEST(KernelName, OfFunctionsAndTemplates) {
  EXPECT_EQ(NameOf("_Z5saxpyifPfS_"), "saxpy");
  EXPECT_EQ(NameOf("_ZL6quietvPf"), "quietv");
  EXPECT_EQ(NameOf("_Z6reduceIfLi256EEvPKT_PS0_i"), "reduce");
  EXPECT_EQ(NameOf("_ZN3lib5scaleIfEEvPT_f"), "scale");
  EXPECT_EQ(NameOf("_ZN12_GLOBAL__N_13runEv"), "run");
  EXPECT_EQ(NameOf("_ZN3lib5OuterIiE5innerIfEEvPT_"), "inner");
}

TEST(KernelName, OfNamesInArgumentsOfTemplates) {
  EXPECT_EQ(
      NameOf("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15FillFunctorIfEEN6detail5ArrayIPcLi1EEEEEviT0_"
             "T1_"),
      "vectorized_elementwise_kernel");
  EXPECT_EQ(NameOf("_ZN7cutlass6KernelI4GemmEEvNT_6ParamsE"), "Kernel");
  EXPECT_EQ(NameOf("_ZN1a1fIXadL_ZN1b1gEvEEEEvv"), "f");
  EXPECT_EQ(NameOf("_ZN1a4callIZNS_3useEvEUlvE_EEvT_"), "call");
}

TEST(KernelName, WholeWhereItIsNotMangled) {
  EXPECT_EQ(NameOf("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT"), "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT");
  EXPECT_EQ(NameOf(""), "");
  EXPECT_EQ(NameOf("_Z"), "_Z");
  EXPECT_EQ(NameOf("_ZN"), "_ZN");
  EXPECT_EQ(NameOf("_Z999f"), "f");
}

// A symbol is as long as its program wants it: one that took a frame for each letter would end the thread.
TEST(KernelName, DeepNestingIsNoStackOverflow) {
  const std::string scopes(4'000'000, 'N');
  EXPECT_EQ(NameOf(("_ZN1a1f" + scopes).c_str()), "f");
}

}  // namespace
}  // namespace gprof::tracer
