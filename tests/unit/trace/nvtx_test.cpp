// NVTX ranges from their ends, marks, domains, and the range that a call was made in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chunks.h"
#include "trace_text.h"

namespace gprof {
namespace {

NvtxRange Range(const Trace& t, std::string_view name) {
  for (const NvtxRange& r : t.ranges) {
    if (t.Text(r.name) == name) return r;
  }
  ADD_FAILURE() << "no range " << name;
  return t.ranges.front();
}

std::string_view ParentOf(const Trace& t, std::string_view name) {
  const uint32_t parent = Range(t, name).parent;
  return parent == kNone ? "-" : t.Text(t.ranges[parent].name);
}

TEST(Nvtx, PushAndPopNest) {
  const Trace t = LoadText(R"(
nvtx time_ns=10 tid=1 event=2 message="step" category=3 color=255 payload_type=1 payload=42
nvtx time_ns=20 tid=1 event=2 message="forward"
nvtx time_ns=30 tid=1 event=3
nvtx time_ns=40 tid=1 event=2 message="backward"
nvtx time_ns=50 tid=1 event=3
nvtx time_ns=60 tid=1 event=3
nvtx time_ns=70 tid=1 event=2 message="next"
nvtx time_ns=80 tid=1 event=3
)");
  ASSERT_EQ(t.ranges.size(), 4u);
  EXPECT_EQ(t.Text(t.ranges[0].name), "step");
  EXPECT_EQ(t.ranges[0].end_ns, 60);
  EXPECT_EQ(t.ranges[0].category, 3u);
  EXPECT_EQ(t.ranges[0].color, 255u);
  EXPECT_EQ(t.ranges[0].payload, 42u);
  EXPECT_EQ(t.ranges[0].payload_type, trace::PayloadType::kUnsigned64);
  EXPECT_EQ(ParentOf(t, "step"), "-");
  EXPECT_EQ(ParentOf(t, "forward"), "step");
  EXPECT_EQ(ParentOf(t, "backward"), "step");
  EXPECT_EQ(ParentOf(t, "next"), "-");
  EXPECT_EQ(Range(t, "backward").depth, 1u);
  EXPECT_EQ(t.Text(Range(t, "forward").path), "step/forward");
  EXPECT_EQ(t.Text(Range(t, "next").path), "next");
  EXPECT_EQ(t.health.open_ranges + t.health.unmatched_nvtx_ends, 0u);
}

TEST(Nvtx, EventsAtTheSameTimeKeepTheirOrder) {
  const Trace t = LoadText(R"(
nvtx time_ns=10 tid=1 event=2 message="a"
nvtx time_ns=10 tid=1 event=2 message="b"
nvtx time_ns=10 tid=1 event=3
nvtx time_ns=10 tid=1 event=3
nvtx time_ns=10 tid=1 event=2 message="c"
nvtx time_ns=10 tid=1 event=3
)");
  EXPECT_EQ(ParentOf(t, "b"), "a");
  EXPECT_EQ(ParentOf(t, "c"), "-");
  EXPECT_EQ(t.health.unmatched_nvtx_ends, 0u);
}

TEST(Nvtx, EachThreadHasItsStack) {
  const Trace t = LoadText(R"(
nvtx time_ns=10 tid=1 event=2 message="a"
nvtx time_ns=20 tid=2 event=2 message="b"
nvtx time_ns=30 tid=1 event=3
nvtx time_ns=40 tid=2 event=3
)");
  EXPECT_EQ(Range(t, "a").end_ns, 30);
  EXPECT_EQ(Range(t, "b").end_ns, 40);
  EXPECT_EQ(ParentOf(t, "b"), "-");
  ASSERT_EQ(t.thread_ranges.size(), 2u);
  EXPECT_EQ(t.thread_ranges[0].last, 1u);
  EXPECT_EQ(t.thread_ranges[1].first, 1u);
}

TEST(Nvtx, EachDomainHasItsStackAndItsPath) {
  const Trace t = LoadText(R"(
nvtx_domain domain=3 name="NCCL"
nvtx time_ns=10 tid=1 event=2 message="step"
nvtx time_ns=20 tid=1 event=2 domain=3 message="allReduce"
nvtx time_ns=25 tid=1 event=2 domain=3 message="chunk"
nvtx time_ns=30 tid=1 event=3 domain=3
nvtx time_ns=35 tid=1 event=3
nvtx time_ns=40 tid=1 event=3 domain=3
)");
  EXPECT_EQ(Range(t, "step").end_ns, 35);
  EXPECT_EQ(Range(t, "allReduce").end_ns, 40);
  EXPECT_EQ(t.Text(Range(t, "allReduce").path), "NCCL/allReduce");
  EXPECT_EQ(t.Text(Range(t, "chunk").path), "NCCL/allReduce/chunk");
  EXPECT_EQ(ParentOf(t, "allReduce"), "-");  // it outlives step
  EXPECT_EQ(ParentOf(t, "chunk"), "allReduce");
  ASSERT_EQ(t.domains.size(), 2u);
  EXPECT_EQ(t.Text(t.domains[Range(t, "chunk").domain].name), "NCCL");
  EXPECT_EQ(t.Text(t.domains[Range(t, "step").domain].name), "");
}

TEST(Nvtx, ParentsMayBeOfAnotherDomain) {
  const Trace t = LoadText(R"(
nvtx time_ns=10 tid=1 event=2 message="step"
nvtx time_ns=20 tid=1 event=2 domain=3 message="op"
nvtx time_ns=30 tid=1 event=3 domain=3
nvtx time_ns=40 tid=1 event=3
)");
  EXPECT_EQ(ParentOf(t, "op"), "step");
  EXPECT_EQ(Range(t, "op").depth, 1u);
  EXPECT_EQ(t.Text(Range(t, "op").path), "<domain #3>/op");
}

TEST(Nvtx, CrossingRangesFindTheInnermostThatHoldsThem) {
  const Trace t = LoadText(R"(
nvtx time_ns=10 tid=1 event=2 domain=1 message="x"
nvtx time_ns=20 tid=1 event=2 domain=2 message="y"
nvtx time_ns=30 tid=1 event=2 domain=3 message="in both"
nvtx time_ns=40 tid=1 event=3 domain=3
nvtx time_ns=50 tid=1 event=3 domain=1
nvtx time_ns=60 tid=1 event=2 domain=3 message="in y"
nvtx time_ns=70 tid=1 event=3 domain=3
nvtx time_ns=80 tid=1 event=3 domain=2
nvtx time_ns=90 tid=1 event=2 domain=3 message="alone"
nvtx time_ns=95 tid=1 event=3 domain=3
)");
  EXPECT_EQ(ParentOf(t, "x"), "-");
  EXPECT_EQ(ParentOf(t, "y"), "-");
  EXPECT_EQ(ParentOf(t, "in both"), "y");
  EXPECT_EQ(ParentOf(t, "in y"), "y");
  EXPECT_EQ(ParentOf(t, "alone"), "-");
}

TEST(Nvtx, StartsAndEndsPairByIdAcrossThreads) {
  const Trace t = LoadText(R"(
nvtx time_ns=5 tid=1 event=2 message="pushed"
nvtx time_ns=10 tid=1 event=4 range=100 message="a"
nvtx time_ns=20 tid=1 event=4 range=101 message="b"
nvtx time_ns=25 tid=1 event=3
nvtx time_ns=30 tid=2 event=5 range=100
nvtx time_ns=40 tid=1 event=5 range=101
nvtx time_ns=50 tid=1 event=5 range=102
nvtx time_ns=51 tid=1 event=5 range=101
)");
  const NvtxRange a = Range(t, "a");
  EXPECT_EQ(a.end_ns, 30);
  EXPECT_FALSE(a.is_push_pop);
  EXPECT_EQ(t.threads[a.thread].tid, 1u);
  EXPECT_EQ(t.threads[a.end_thread].tid, 2u);
  EXPECT_EQ(a.parent, kNone);
  EXPECT_EQ(Range(t, "b").end_ns, 40);
  EXPECT_EQ(t.health.unmatched_nvtx_ends, 2u);
  EXPECT_EQ(t.health.open_ranges, 0u);
}

TEST(Nvtx, AnEndMayBeReadBeforeItsStart) {
  const Trace t = LoadText(R"(
chunk pid=1
nvtx time_ns=30 tid=2 event=5 range=100
chunk pid=1
nvtx time_ns=10 tid=1 event=4 range=100 message="a"
)");
  EXPECT_EQ(Range(t, "a").end_ns, 30);
  EXPECT_EQ(t.health.unmatched_nvtx_ends, 0u);
}

TEST(Nvtx, ThePopMayBeReadBeforeThePush) {
  const Trace t = LoadText(R"(
chunk pid=1
nvtx time_ns=30 tid=1 event=3
chunk pid=1
nvtx time_ns=10 tid=1 event=2 message="a"
)");
  EXPECT_EQ(Range(t, "a").end_ns, 30);
  EXPECT_EQ(t.health.unmatched_nvtx_ends, 0u);
}

TEST(Nvtx, RangeIdsAreOfTheirProcess) {
  const Trace t = LoadText(R"(
chunk pid=1
nvtx time_ns=10 tid=1 event=4 range=100 message="a"
chunk pid=2
nvtx time_ns=30 tid=1 event=5 range=100
)");
  EXPECT_TRUE(Range(t, "a").is_open);
  EXPECT_EQ(t.health.unmatched_nvtx_ends, 1u);
  EXPECT_EQ(t.health.open_ranges, 1u);
}

TEST(Nvtx, OpenRangesEndWithTheirProcess) {
  const Trace t = LoadText(R"(
nvtx time_ns=10 tid=1 event=2 message="outer"
nvtx time_ns=20 tid=1 event=2 message="inner"
nvtx time_ns=25 tid=1 event=4 range=4 message="started"
nvtx time_ns=30 tid=1 event=2 message="closed"
nvtx time_ns=40 tid=1 event=3
nvtx time_ns=41 tid=2 event=3
kernel start_ns=100 duration_ns=50
)");
  EXPECT_EQ(Range(t, "outer").end_ns, 150);
  EXPECT_TRUE(Range(t, "outer").is_open);
  EXPECT_EQ(Range(t, "inner").end_ns, 150);
  EXPECT_EQ(Range(t, "started").end_ns, 150);
  EXPECT_FALSE(Range(t, "closed").is_open);
  EXPECT_EQ(ParentOf(t, "inner"), "outer");
  EXPECT_EQ(ParentOf(t, "closed"), "inner");
  EXPECT_EQ(t.health.open_ranges, 3u);
  EXPECT_EQ(t.health.unmatched_nvtx_ends, 1u);
}

TEST(Nvtx, CallsFindTheInnermostPushedRangeAtTheirEntry) {
  const Trace t = LoadText(R"(
nvtx time_ns=10 tid=1 event=2 message="outer"
nvtx time_ns=20 tid=1 event=2 message="inner"
nvtx time_ns=22 tid=1 event=4 range=9 message="started"
nvtx time_ns=30 tid=1 event=3
nvtx time_ns=40 tid=1 event=3
nvtx time_ns=10 tid=2 event=2 message="elsewhere"
api start_ns=5 duration_ns=50 tid=1 function="before"
api start_ns=10 duration_ns=1 tid=1 function="at push"
api start_ns=15 duration_ns=1 tid=1 function="outer"
api start_ns=25 duration_ns=50 tid=1 function="inner"
api start_ns=30 duration_ns=1 tid=1 function="at pop"
api start_ns=45 duration_ns=1 tid=1 function="after"
api start_ns=45 duration_ns=1 tid=2 function="open"
api start_ns=45 duration_ns=1 tid=3 function="no ranges"
)");
  const auto range_of = [&](std::string_view function) {
    for (const ApiCall& c : t.api_calls) {
      if (t.Text(c.function) == function) return c.range == kNone ? "-" : t.Text(t.ranges[c.range].name);
    }
    return std::string_view("?");
  };
  EXPECT_EQ(range_of("before"), "-");
  EXPECT_EQ(range_of("at push"), "outer");
  EXPECT_EQ(range_of("outer"), "outer");
  EXPECT_EQ(range_of("inner"), "inner");
  EXPECT_EQ(range_of("at pop"), "outer");
  EXPECT_EQ(range_of("after"), "-");
  EXPECT_EQ(range_of("open"), "elsewhere");
  EXPECT_EQ(range_of("no ranges"), "-");
}

TEST(Nvtx, MarksAreOrderedByTime) {
  const Trace t = LoadText(R"(
nvtx time_ns=30 tid=1 event=1 message="late" payload_type=99
nvtx time_ns=10 tid=2 event=1 message="early" category=4
nvtx time_ns=40 tid=2 event=77 message="unknown"
)");
  ASSERT_EQ(t.marks.size(), 2u);
  EXPECT_EQ(t.Text(t.marks[0].name), "early");
  EXPECT_EQ(t.marks[0].category, 4u);
  EXPECT_EQ(t.marks[1].payload_type, trace::PayloadType::kNone);
  EXPECT_EQ(t.health.unknown_records, 1u);
}

TEST(Nvtx, CategoriesAreOfTheirDomain) {
  const Trace t = LoadText(R"(
nvtx_category domain=0 category=1 name="io"
nvtx_category domain=2 category=1 name="net"
nvtx_category domain=0 category=1 name="disk"
)");
  ASSERT_EQ(t.categories.size(), 2u);
  EXPECT_EQ(t.Text(t.categories[0].name), "disk");
  EXPECT_EQ(t.domains[t.categories[1].domain].id, 2u);
}

TEST(Nvtx, DeepNestingCutsPathsAndNotTheProgram) {
  std::string text;
  constexpr int kDepth = 70000;
  for (int i = 0; i < kDepth; ++i)
    text += "nvtx time_ns=" + std::to_string(i + 1) + " tid=1 event=2 message=\"level\"\n";
  const Trace t = LoadText(text);
  ASSERT_EQ(t.ranges.size(), static_cast<std::size_t>(kDepth));
  EXPECT_EQ(t.ranges.back().depth, 65535u);
  EXPECT_EQ(t.ranges.back().parent, static_cast<uint32_t>(kDepth - 2));
  EXPECT_LT(t.Text(t.ranges.back().path).size(), 4200u);
  EXPECT_EQ(t.Text(t.ranges.back().path).substr(0, 12), "level/level/");
  EXPECT_LT(t.strings.size(), 2000u);
}

}  // namespace
}  // namespace gprof
