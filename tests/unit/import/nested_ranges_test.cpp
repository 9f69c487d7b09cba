#include "import/shared/nested_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace gprof {
namespace {

class Ranges {
 public:
  Ranges() { builder_.Enter(builder_.AddProcess(0, 1)); }

  void Add(const char* name, int64_t start_ns, int64_t end_ns, uint32_t domain = 0) {
    ClosedRange range;
    range.start_ns = start_ns;
    range.end_ns = end_ns;
    range.tid = 1;
    range.domain = domain;
    range.text = builder_.Text(name);
    ranges_.Add(range);
  }

  Trace Finish() {
    ranges_.Finish(&builder_);
    return builder_.Finish(0);
  }

 private:
  MemoryBudget budget_{"t", 0};
  ForeignBuilder builder_{"t", "test", &budget_};
  NestedRanges ranges_;
};

NvtxRange Find(const Trace& t, std::string_view name) {
  return *std::find_if(t.ranges.begin(), t.ranges.end(), [&](const NvtxRange& r) { return t.Text(r.name) == name; });
}

TEST(NestedRanges, NestWhateverTheirOrder) {
  Ranges ranges;
  ranges.Add("inner", 20, 30);
  ranges.Add("next", 50, 60);
  ranges.Add("outer", 10, 50);
  const Trace t = ranges.Finish();
  EXPECT_EQ(t.Text(Find(t, "inner").path), "outer/inner");
  EXPECT_EQ(t.Text(Find(t, "next").path), "next");
  EXPECT_EQ(Find(t, "outer").DurationNs(), 40);
}

TEST(NestedRanges, WhatOnlyOverlapsKeepsItsTimes) {
  Ranges ranges;
  ranges.Add("a", 10, 50);
  ranges.Add("b", 40, 70);
  ranges.Add("c", 45, 48);
  const Trace t = ranges.Finish();
  EXPECT_FALSE(Find(t, "b").is_push_pop);
  EXPECT_EQ(Find(t, "b").start_ns, 40);
  EXPECT_EQ(Find(t, "b").end_ns, 70);
  EXPECT_EQ(t.Text(Find(t, "c").path), "a/c");
}

TEST(NestedRanges, DomainsNestOnTheirOwn) {
  Ranges ranges;
  ranges.Add("a", 10, 50);
  ranges.Add("b", 40, 70, 1);
  const Trace t = ranges.Finish();
  EXPECT_TRUE(Find(t, "b").is_push_pop);
  EXPECT_EQ(Find(t, "b").DurationNs(), 30);
}

TEST(NestedRanges, EmptyAndOpenRanges) {
  Ranges ranges;
  ranges.Add("open", 10, ClosedRange::kOpen);
  ranges.Add("first", 10, 10);
  ranges.Add("second", 10, 10);
  ranges.Add("last", 90, 95);
  const Trace t = ranges.Finish();
  EXPECT_EQ(t.ranges.size(), 4u);
  EXPECT_TRUE(Find(t, "open").is_open);
  EXPECT_EQ(Find(t, "second").DurationNs(), 0);
  EXPECT_EQ(Find(t, "last").DurationNs(), 5);
}

// Whatever the ranges are, every one comes out with the times that it went in with.
TEST(NestedRanges, DurationsAreExact) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    Ranges ranges;
    std::vector<std::pair<int64_t, int64_t>> in, out;
    for (int i = 0; i < 60; ++i) {
      const auto start_ns = static_cast<int64_t>(1 + random() % 40);
      const int64_t end_ns = start_ns + static_cast<int64_t>(random() % 20);
      ranges.Add("r", start_ns, end_ns, random() % 2);
      in.emplace_back(start_ns, end_ns);
    }
    const Trace t = ranges.Finish();
    for (const NvtxRange& range : t.ranges) out.emplace_back(range.start_ns, range.end_ns);
    std::sort(in.begin(), in.end());
    std::sort(out.begin(), out.end());
    ASSERT_EQ(in, out) << "round " << round;
    EXPECT_EQ(t.health.open_ranges, 0u);
    EXPECT_EQ(t.health.unmatched_nvtx_ends, 0u);
  }
}

}  // namespace
}  // namespace gprof
