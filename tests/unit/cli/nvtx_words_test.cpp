// The NVTX filters of ncu, read and put for the tracer.
#include "cli/measuring/nvtx_words.h"

#include <gtest/gtest.h>

#include "gprof/error.h"

namespace gprof::cli {
namespace {

std::string Lines(const char* text, bool excludes = false) {
  return NvtxFilterLines(ReadNvtxPlace("--nvtx-include", text), excludes);
}

TEST(NvtxWords, RangesThatAreOpenSomehow) {
  EXPECT_EQ(Lines("step"), "nvtx-include any\nnvtx-range step\n");
  EXPECT_EQ(Lines("step", true), "nvtx-exclude any\nnvtx-range step\n");
  EXPECT_EQ(Lines("lib@a,b c"), "nvtx-include any\nnvtx-domain lib\nnvtx-range a\nnvtx-range b c\n");
}

TEST(NvtxWords, PlacesInTheStack) {
  EXPECT_EQ(Lines("step/"), "nvtx-include stack\nnvtx-range step\n");
  EXPECT_EQ(Lines("lib@a/b"), "nvtx-include stack\nnvtx-domain lib\nnvtx-range a\nnvtx-range b\n");
  EXPECT_EQ(Lines("[a/*/b"), "nvtx-include stack,bottom\nnvtx-range a\nnvtx-gap any\nnvtx-range b\n");
  EXPECT_EQ(Lines("a/+/b]"), "nvtx-include stack,top\nnvtx-range a\nnvtx-gap one\nnvtx-range b\n");
}

TEST(NvtxWords, SignsThatBelongToNames) {
  EXPECT_EQ(Lines("a\\/b\\,c\\@d"), "nvtx-include any\nnvtx-range a/b,c@d\n");
  EXPECT_EQ(Lines("layer[3\\]/"), "nvtx-include stack\nnvtx-range layer[3]\n");
  EXPECT_EQ(Lines("a+b*/"), "nvtx-include stack\nnvtx-range a+b*\n");
}

TEST(NvtxWords, Expressions) {
  EXPECT_EQ(Lines("regex:^lib@layer[0-9]+/mul\\.*/"),
            "nvtx-include stack,regex\nnvtx-domain ^lib\nnvtx-range layer[0-9]+\nnvtx-range mul\\.*\n");
  EXPECT_EQ(Lines("regex:a\\/b"), "nvtx-include any,regex\nnvtx-range a/b\n");
}

TEST(NvtxWords, WhatNamesNoRange) {
  for (const char* text : {"", "/", "lib@", "[", "regex:", "a\nb"})
    EXPECT_THROW(ReadNvtxPlace("--x", text), Error) << text;
}

}  // namespace
}  // namespace gprof::cli
