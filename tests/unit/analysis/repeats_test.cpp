#include "analysis/topics/launches/repeats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace gprof {

bool operator==(const Repeat& a, const Repeat& b) {
  return std::tie(a.first, a.last, a.period) == std::tie(b.first, b.last, b.period);
}
void PrintTo(const Repeat& r, std::ostream* out) { *out << r.first << ".." << r.last << "/" << r.period; }

namespace test {
namespace {

std::vector<uint64_t> Symbols(const std::string& text) {
  std::vector<uint64_t> symbols;
  for (const char c : text) symbols.push_back(Mix(static_cast<uint64_t>(c)));
  return symbols;
}

std::string Repeated(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

std::vector<Repeat> Find(const std::string& text) { return FindRepeats(Symbols(text), 3, 6); }

TEST(Repeats, OnePeriod) {
  EXPECT_EQ(Find("abcabcabc"), (std::vector<Repeat>{{0, 9, 3}}));
  EXPECT_EQ(Find("xyabcabcabcabz"), (std::vector<Repeat>{{2, 13, 3}}));
  EXPECT_EQ(Find("aaaaaaaa"), (std::vector<Repeat>{{0, 8, 1}}));
}

TEST(Repeats, NothingToFind) {
  EXPECT_EQ(Find(""), std::vector<Repeat>{});
  EXPECT_EQ(Find("abcdefghijklmnop"), std::vector<Repeat>{});
  EXPECT_EQ(Find("abcabc"), std::vector<Repeat>{});  // twice is not enough
  EXPECT_EQ(Find("aaaab"), std::vector<Repeat>{});   // too few symbols
  EXPECT_EQ(Find("abbaabbc"), std::vector<Repeat>{});
}

TEST(Repeats, SymbolsThatComeSeveralTimesInAPeriod) {
  EXPECT_EQ(Find(Repeated("ababb", 10)), (std::vector<Repeat>{{0, 50, 5}}));
  EXPECT_EQ(Find(Repeated("aabaac", 5)), (std::vector<Repeat>{{0, 30, 6}}));
}

TEST(Repeats, TheLongerOneWinsOverThoseWithin) {
  const std::string step = Repeated("a", 8) + "b";
  EXPECT_EQ(Find(Repeated(step, 6)), (std::vector<Repeat>{{0, 54, 9}}));
}

TEST(Repeats, AnInterruptionBeginsAnewOne) {
  EXPECT_EQ(Find(Repeated("abc", 4) + "xyz" + Repeated("bca", 4)), (std::vector<Repeat>{{0, 12, 3}, {15, 27, 3}}));
}

TEST(Repeats, NeighboursDoNotOverlap) {
  const std::vector<Repeat> found = Find(Repeated("ab", 10) + Repeated("ac", 10));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_LE(found[0].last, found[1].first);
  EXPECT_GE(found[0].Repetitions() + found[1].Repetitions(), 19u);
}

TEST(Repeats, PeriodsLongerThanEveryGroup) {
  std::mt19937 random(1);
  std::vector<uint64_t> period, symbols;
  for (int i = 0; i < 1000; ++i) period.push_back(Mix(random() % 5));  // five symbols, so that all of them come often
  for (int i = 0; i < 7; ++i) symbols.insert(symbols.end(), period.begin(), period.end());
  EXPECT_EQ(FindRepeats(symbols, 4, 16), (std::vector<Repeat>{{0, 7000, 1000}}));
}

// What is found repeats, is as long as it can be unless it has a neighbour, and none overlap.
TEST(Repeats, AnyText) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    while (text.size() < 200) {
      std::string part;
      for (auto i = random() % 6 + 1; i > 0; --i) part += static_cast<char>('a' + random() % 3);
      text += Repeated(part, static_cast<int>(random() % 6 + 1));
    }
    uint32_t last = 0;
    for (const Repeat& r : Find(text)) {
      ASSERT_GE(r.first, last);
      ASSERT_LE(r.last, text.size());
      ASSERT_GE(r.Repetitions(), 3u);
      for (uint32_t i = r.first + r.period; i < r.last; ++i) ASSERT_EQ(text[i], text[i - r.period]) << text;
      last = r.last;
    }
  }
}

}  // namespace
}  // namespace test
}  // namespace gprof
