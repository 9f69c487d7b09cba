// NVTX ranges from their ends, marks, domains, and the range that a call was made in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "chunks.h"
#include "random_trace.h"
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

// What a thread pushed and popped, as a stack has it.
struct PlainRange {
  int64_t start_ns = 0, end_ns = std::numeric_limits<int64_t>::max();
  uint32_t parent = kNone;
};
struct PlainThread {
  std::vector<PlainRange> ranges;
  std::vector<uint32_t> open;
  uint64_t unmatched = 0;

  void Push(int64_t time_ns) {
    open.push_back(static_cast<uint32_t>(ranges.size()));
    ranges.push_back({time_ns, std::numeric_limits<int64_t>::max(), open.size() == 1 ? kNone : open[open.size() - 2]});
  }
  void Pop(int64_t time_ns) {
    if (open.empty()) return void(++unmatched);
    ranges[open.back()].end_ns = time_ns;
    open.pop_back();
  }
  uint32_t InnermostAt(int64_t time_ns) const {
    for (auto i = static_cast<uint32_t>(ranges.size()); i-- > 0;) {
      if (ranges[i].start_ns <= time_ns && time_ns < ranges[i].end_ns) return i;
    }
    return kNone;
  }
};

// Pushes and pops of one thread with other things between them, some at the same time, some far apart.
PlainThread WriteEvents(Random& random, uint64_t deepest, uint32_t tid, std::string* text) {
  PlainThread thread;
  int64_t time_ns = 1000;
  uint32_t domain = 0;
  for (int i = 0; i < 400; ++i) {
    time_ns += static_cast<int64_t>(random.Below(40) == 0 ? uint64_t{1} << 41 : random.Below(3));
    const std::string time = std::to_string(time_ns), of_thread = " tid=" + std::to_string(tid);
    const std::string where = "time_ns=" + time + of_thread;
    if (random.Below(20) == 0) *text += "nvtx " + where + " event=1 message=\"mark\"\n";
    if (random.Below(3) == 0) *text += "api start_ns=" + time + " duration_ns=0" + of_thread + "\n";
    if (thread.open.empty()) domain = static_cast<uint32_t>(random.Below(2));  // never two at a time
    const bool is_push = thread.open.size() < deepest && random.Below(2) == 0;
    is_push ? thread.Push(time_ns) : thread.Pop(time_ns);
    *text += "nvtx " + where + " domain=" + std::to_string(domain) +
             (is_push ? " event=2 message=\"" + std::to_string(random.Below(5)) + "\"\n" : " event=3\n");
  }
  return thread;
}

TEST(Nvtx, AnyPushesAndPopsAreThoseOfAStack) {
  Random random(31);
  for (const uint64_t deepest : {1u, 3u, 300u}) {
    for (int round = 0; round < 20; ++round) {
      std::string text;
      std::vector<PlainThread> expected;
      for (uint32_t tid = 1; tid <= 3; ++tid) expected.push_back(WriteEvents(random, deepest, tid, &text));
      const Trace t = LoadText(text);
      uint64_t unmatched = 0;
      for (uint32_t thread = 0; thread < 3; ++thread) {
        const PlainThread& plain = expected[t.threads[thread].tid - 1];
        const Trace::Slice slice = t.thread_ranges[thread], calls = t.thread_api_calls[thread];
        const auto placed = [&](uint32_t i) { return i == kNone ? kNone : slice.first + i; };
        ASSERT_EQ(slice.last - slice.first, plain.ranges.size());
        for (uint32_t i = 0; i < plain.ranges.size(); ++i) {
          const NvtxRange r = t.ranges[slice.first + i];
          const bool is_open = plain.ranges[i].end_ns == std::numeric_limits<int64_t>::max();
          EXPECT_EQ(r.start_ns, plain.ranges[i].start_ns);
          EXPECT_EQ(r.is_open, is_open);
          EXPECT_TRUE(is_open || r.end_ns == plain.ranges[i].end_ns);
          EXPECT_EQ(r.parent, placed(plain.ranges[i].parent));
          EXPECT_EQ(r.depth, r.parent == kNone ? 0 : t.ranges[r.parent].depth + 1);
          const std::string prefix = r.parent == kNone ? "" : std::string(t.Text(t.ranges[r.parent].path)) + "/";
          const bool is_default = t.domains[r.domain].id == 0;  // else its name comes first
          EXPECT_TRUE(!is_default || t.Text(r.path) == prefix + std::string(t.Text(r.name)));
        }
        for (uint32_t i = calls.first; i < calls.last; ++i) {
          EXPECT_EQ(t.api_calls[i].range, placed(plain.InnermostAt(t.api_calls[i].start_ns)));
        }
        unmatched += plain.unmatched;
      }
      EXPECT_EQ(t.health.unmatched_nvtx_ends, unmatched);
    }
  }
}

TEST(Nvtx, CallsFindDeepRanges) {
  std::string text;
  constexpr int kDepth = 200;
  for (int i = 1; i <= kDepth; ++i) {
    text += "nvtx time_ns=" + std::to_string(i) + " tid=1 event=2 message=\"down\"\n";
    text += "nvtx time_ns=" + std::to_string(1000 - i) + " tid=1 event=3\n";
  }
  for (const int at : {1, 150, 200, 500, 800, 801, 850, 999}) {
    text += "api start_ns=" + std::to_string(at) + " duration_ns=1 tid=1\n";
  }
  const Trace t = LoadText(text);
  std::vector<uint32_t> ranges;
  for (const ApiCall& c : t.api_calls) ranges.push_back(c.range);
  EXPECT_THAT(ranges, testing::ElementsAre(0u, 149u, 199u, 199u, 198u, 197u, 148u, kNone));
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

// Each letter of a path of one-letter names is a path of its own: thousands of them, before they were cut by levels.
TEST(Nvtx, PathsHaveAtMost256Levels) {
  std::string text, whole;
  constexpr int kDepth = 5000;
  for (int i = 0; i < kDepth; ++i) text += "nvtx time_ns=" + std::to_string(i + 1) + " tid=1 event=2 message=\"a\"\n";
  for (int i = 0; i < 256; ++i) whole += whole.empty() ? "a" : "/a";
  const Trace t = LoadText(text);
  EXPECT_EQ(t.Text(t.ranges[255].path), whole);
  EXPECT_EQ(t.Text(t.ranges[256].path), whole + "/…");
  EXPECT_EQ(t.ranges.back().path, t.ranges[256].path);
  EXPECT_LT(t.strings.size(), 300u);
}

TEST(Nvtx, APathThatIsCutStaysSo) {
  const std::string longest(4000, 'x'), too_long(200, 'y');
  const Trace t = LoadText("nvtx time_ns=1 tid=1 event=2 message=\"" + longest + "\"\n" +
                           "nvtx time_ns=2 tid=1 event=2 message=\"" + too_long + "\"\n" +
                           "nvtx time_ns=3 tid=1 event=2 message=\"short\"\n"
                           "nvtx time_ns=4 tid=1 event=3\n"
                           "nvtx time_ns=5 tid=1 event=3\n"
                           "nvtx time_ns=6 tid=1 event=2 message=\"short\"\n");
  ASSERT_EQ(t.ranges.size(), 4u);
  EXPECT_EQ(t.Text(t.ranges[1].path), longest + "/…");
  EXPECT_EQ(t.Text(t.ranges[2].path), longest + "/…");
  EXPECT_EQ(t.Text(t.ranges[3].path), longest + "/short");
}

}  // namespace
}  // namespace gprof
