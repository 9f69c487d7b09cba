#include "base/demangle.h"

#include <gtest/gtest.h>

#include <string>

namespace gprof {
namespace {

TEST(Demangle, Names) {
  EXPECT_EQ(Demangle("_Z4spini"), "spin(int)");
  EXPECT_EQ(Demangle("_Z1fILb1ELi3EEvv"), "void f<true, 3>()");
}

TEST(Demangle, WhatIsNotMangledStays) {
  for (const char* name : {"", "saxpy", "my kernel (2)", "_Z", "_Zzzz", "triton_poi_fused_0", "_ZN"}) {
    EXPECT_EQ(Demangle(name), name);
  }
  const std::string with_zero("_Z1fv\0_Z1gv", 11);
  EXPECT_EQ(Demangle(with_zero), with_zero);
}

// Each parameter is twice as long as the one before: 360 bytes for 2^34 characters.
TEST(Demangle, ExplodingNameComesBackAsItIs) {
  std::string name = "_Z1f1AIiiES_IS0_S0_E";
  for (const char c : std::string("123456789ABCDEFGHIJKLMNOPQRSTUVWXY")) {
    name += std::string("S_IS") + c + "_S" + c + "_E";
  }
  EXPECT_EQ(Demangle(name), name);
  EXPECT_EQ(ShortName(name), name);
}

// Nor does one that many names of a trace could be: 110 bytes for 34,000 characters. What programs have is shorter.
TEST(Demangle, ANameGrowsInProportion) {
  std::string name = "_Z1f1AIiiES_IS0_S0_E";
  for (const char c : std::string("123456789")) name += std::string("S_IS") + c + "_S" + c + "_E";
  EXPECT_EQ(Demangle(name), name);
  name = "_Z1f1AIiiES_IS0_S0_E";
  for (const char c : std::string("12345")) name += std::string("S_IS") + c + "_S" + c + "_E";
  EXPECT_GT(Demangle(name).size(), 15 * name.size());
}

TEST(Demangle, DeepNestingIsNoStackOverflow) {
  std::string pointers = "_Z1f";
  std::string names = "_Z";
  for (int i = 0; i < 8000; ++i) {
    pointers += "P";
    names += "N1";
  }
  EXPECT_FALSE(Demangle(pointers + "i").empty());
  EXPECT_EQ(Demangle(names), names);
  const std::string huge = "_Z" + std::string(100'000, 'P');
  EXPECT_EQ(Demangle(huge), huge);
}

// libstdc++ demangles nothing that is longer than 1,024 bytes.
TEST(ShortName, OfWhatIsTooLongForTheDemanglerTheScopeIsLeft) {
  std::string arguments;
  for (int i = 0; i < 120; ++i) arguments += "8Argument" + std::to_string(i % 10);
  const std::string name = "_ZN7cutlass6KernelI" + arguments + "EEvT_";
  EXPECT_EQ(Demangle(name), name);
  EXPECT_EQ(ShortName(name), "cutlass::Kernel<…>");
  EXPECT_EQ(ShortName("_ZN99cutlassI"), "_ZN99cutlassI");
  EXPECT_EQ(ShortName("_ZN7"), "_ZN7");
}

struct ShortNameCase {
  const char* name;
  const char* expected;
};

TEST(ShortName, DropsWhatIsNoise) {
  const ShortNameCase cases[] = {
      {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
       "at::native::vectorized_elementwise_kernel"},
      {"_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo"},
      {"_ZZ4mainENKUlvE_clEv", "main::{lambda#1}::operator()"},
      {"_ZZ1fIiEvT_ENKUliE0_clEi", "f::{lambda#2}::operator()"},
      {"_ZlsRSoRK1A", "operator<<"},
      {"_ZNK1AcviEv", "A::operator int"},
      {"_ZN6cudapy8__main__7addB2v1B5abcdeE5ArrayIfLi1E1C7mutable7alignedE", "cudapy::__main__::addB2v1"},
      {"void foo<(int)3, (A > B)>(int) [clone .cold]", "foo"},
      {"unsigned long long count<a::b>(int)", "count"},
      {"saxpy", "saxpy"},
      {"<module>", "<module>"},
      {"train.<locals>.step", "train.<locals>.step"},
      {"Net.<lambda>", "Net.<lambda>"},
      {"", ""},
  };
  for (const ShortNameCase& c : cases) EXPECT_EQ(ShortName(c.name), c.expected) << c.name;
}

TEST(ShortName, OddTextIsNeverLost) {
  for (const char* name : {"(", "<", "[abi:", "a<b", "f(", "operator", "(((((", "<<>>", "{", "a>b", " ("}) {
    EXPECT_FALSE(ShortName(name).empty()) << name;
  }
}

}  // namespace
}  // namespace gprof
