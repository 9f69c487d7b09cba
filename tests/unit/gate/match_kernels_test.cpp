#include "gate/breakdown/match_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace gprof::test {
namespace {

KernelOfRun Kernel(const std::string& name, const std::string& shape, int64_t count, double place,
                   const std::string& path = "") {
  return {name, {{shape, count}}, path, place, count, 10 * count};
}

std::string Named(const std::vector<KernelOfRun>& kernels, size_t row) {
  return row == kNoKernel ? "-" : kernels[row].name;
}

// "old>new", sorted; `-` for none.
std::vector<std::string> Pairs(std::vector<KernelOfRun> base, std::vector<KernelOfRun> now) {
  const auto by_name = [](const KernelOfRun& a, const KernelOfRun& b) { return a.name < b.name; };
  std::sort(base.begin(), base.end(), by_name);
  std::sort(now.begin(), now.end(), by_name);
  std::vector<std::string> pairs;
  for (const KernelPair& pair : MatchKernels(base, now)) {
    pairs.push_back(Named(base, pair.base) + ">" + Named(now, pair.now));
    EXPECT_EQ(pair.why.empty(),
              pair.base == kNoKernel || pair.now == kNoKernel || base[pair.base].name == now[pair.now].name);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

using Names = std::vector<std::string>;

TEST(MatchKernels, ByNameWhateverTheShape) {
  EXPECT_EQ(Pairs({Kernel("a", "4", 1, 0)}, {Kernel("a", "8", 2, 0.5, "step")}), Names{"a>a"});
}

TEST(MatchKernels, ByShapeCountAndPlaceWhereTheNameIsAnother) {
  EXPECT_EQ(Pairs({Kernel("old", "4", 3, 0.5)}, {Kernel("new", "4", 3, 0.6)}), Names{"old>new"});
}

TEST(MatchKernels, NotWhereShapeCountOrPlaceDiffer) {
  const Names apart{"->new", "old>-"};
  EXPECT_EQ(Pairs({Kernel("old", "4", 3, 0.5)}, {Kernel("new", "8", 3, 0.5)}), apart);
  EXPECT_EQ(Pairs({Kernel("old", "4", 3, 0.5)}, {Kernel("new", "4", 2, 0.5)}), apart);
  EXPECT_EQ(Pairs({Kernel("old", "4", 3, 0.0)}, {Kernel("new", "4", 3, 0.5)}), apart);
  EXPECT_EQ(Pairs({Kernel("old", "", 3, 0.5)}, {Kernel("new", "", 3, 0.5)}), apart);  // shapes were not recorded
}

TEST(MatchKernels, ARangeIsABetterPlaceThanTheOrder) {
  EXPECT_EQ(Pairs({Kernel("old", "4", 3, 0, "step/norm")}, {Kernel("new", "4", 3, 0.9, "step/norm")}),
            Names{"old>new"});
  EXPECT_EQ(Pairs({Kernel("old", "4", 3, 0.5, "step/norm")}, {Kernel("new", "4", 3, 0.5, "step/sort")}),
            (Names{"->new", "old>-"}));
}

TEST(MatchKernels, ARunWithoutRangesIsMatchedByOrder) {
  EXPECT_EQ(Pairs({Kernel("old", "4", 3, 0.5)}, {Kernel("new", "4", 3, 0.5, "step")}), Names{"old>new"});
}

TEST(MatchKernels, SeveralAlikeKeepTheirOrder) {
  EXPECT_EQ(
      Pairs({Kernel("a", "4", 3, 0.5), Kernel("b", "4", 3, 0.4)}, {Kernel("c", "4", 3, 0.4), Kernel("d", "4", 3, 0.5)}),
      (Names{"a>d", "b>c"}));
}

TEST(MatchKernels, NobodyCanTellWhichOfTwoItWas) {
  EXPECT_EQ(Pairs({Kernel("a", "4", 3, 0.5)}, {Kernel("c", "4", 3, 0.4), Kernel("d", "4", 3, 0.5)}),
            (Names{"->c", "->d", "a>-"}));
}

TEST(MatchKernels, ATemplateWithOtherArguments) {
  EXPECT_EQ(Pairs({Kernel("void gemm<float, 64>(float*)", "8", 3, 0)},
                  {Kernel("void gemm<float, 128>(float*)", "4", 3, 0.9)}),
            Names{"void gemm<float, 64>(float*)>void gemm<float, 128>(float*)"});
  EXPECT_EQ(
      Pairs({Kernel("void gemm<float, 64>(float*)", "8", 3, 0)},
            {Kernel("void gemm<float, 128>(float*)", "4", 3, 0.9), Kernel("void gemm<float, 32>(float*)", "2", 3, 0.9)})
          .size(),
      3u);
}

// Each kernel is in one pair, whatever there is.
TEST(MatchKernels, ForgetsNothingAndTakesNothingTwice) {
  std::mt19937 random(7);
  const auto pick = [&](uint32_t below) { return static_cast<int64_t>(random() % below); };
  for (int round = 0; round < 300; ++round) {
    std::vector<KernelOfRun> sides[2];
    for (std::vector<KernelOfRun>& side : sides) {
      for (char name = 'a'; name < 'm'; ++name) {
        if (pick(2) == 0) continue;
        side.push_back(Kernel(std::string(1, name), std::to_string(pick(3)), 1 + pick(2),
                              static_cast<double>(pick(4)) / 4, pick(2) == 0 ? "step" : ""));
      }
    }
    std::vector<int> seen[2] = {std::vector<int>(sides[0].size()), std::vector<int>(sides[1].size())};
    for (const KernelPair& pair : MatchKernels(sides[0], sides[1])) {
      ASSERT_FALSE(pair.base == kNoKernel && pair.now == kNoKernel);
      if (pair.base != kNoKernel) ++seen[0][pair.base];
      if (pair.now != kNoKernel) ++seen[1][pair.now];
    }
    for (const std::vector<int>& side : seen) {
      ASSERT_TRUE(std::all_of(side.begin(), side.end(), [](int times) { return times == 1; }));
    }
  }
}

}  // namespace
}  // namespace gprof::test
