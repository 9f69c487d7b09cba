// Ranges come out as they went in, and take no more room than they say.
#include "gprof/packed_ranges.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/builder/unjoined.h"
#include "trace/join/join.h"
#include "trace/load/fill_pass.h"

namespace gprof {
namespace {

constexpr int64_t kLimitNs = int64_t{1} << 60;  // of times, see saturating_time.h
// Around what an item has room for.
constexpr int64_t kDurationsNs[] = {0,
                                    1,
                                    (int64_t{1} << 32) - 1,
                                    int64_t{1} << 32,
                                    (int64_t{0xFE} << 32) + 0xFFFFFFFF,
                                    int64_t{0xFF} << 32,
                                    int64_t{1} << 40,
                                    kLimitNs,
                                    -1,
                                    -kLimitNs};

auto Fields(const NvtxRange& r) {
  return std::make_tuple(r.start_ns, r.end_ns, r.thread, r.end_thread, r.parent, r.domain, r.name, r.path, r.category,
                         r.color, r.payload, r.payload_type, r.depth, r.is_push_pop, r.is_open, r.is_cut);
}

class Random {
 public:
  explicit Random(uint32_t seed) : random_(seed) {}
  uint64_t Any() { return random_(); }
  uint32_t Index() { return random_() % 4 == 0 ? kNone : static_cast<uint32_t>(random_() % 5); }
  bool Truth() { return random_() % 2 == 0; }

  NvtxRange Range(bool with_payloads) {
    NvtxRange r;
    r.start_ns = static_cast<int64_t>(Any() % kLimitNs);
    r.end_ns = r.start_ns + kDurationsNs[Any() % std::size(kDurationsNs)];
    r.thread = Index(), r.end_thread = Index(), r.parent = Index(), r.domain = Index();
    r.name.value = Index(), r.path.value = Index();
    r.category = Index(), r.color = static_cast<uint32_t>(Any());
    r.payload = with_payloads && Truth() ? Any() : 0;
    r.payload_type = static_cast<trace::PayloadType>(Any() % 8);
    r.depth = static_cast<uint16_t>(Any());
    r.is_push_pop = Truth(), r.is_open = Truth(), r.is_cut = Truth();
    return r;
  }

 private:
  std::mt19937_64 random_;
};

void ExpectSame(const PackedRanges& packed, const std::vector<NvtxRange>& plain) {
  ASSERT_EQ(packed.size(), plain.size());
  std::size_t i = 0;
  for (const NvtxRange& range : packed) {
    ASSERT_EQ(Fields(range), Fields(plain[i])) << i;
    ASSERT_EQ(Fields(packed[i]), Fields(plain[i])) << i;
    ASSERT_EQ(packed.DurationNs(packed.items()[i]), plain[i].DurationNs()) << i;
    ++i;
  }
}

TEST(PackedRanges, ItemsAndTraitsAreSmall) {
  EXPECT_EQ(sizeof(PackedRanges::Item), 24u);
  EXPECT_EQ(sizeof(PackedRanges::Traits), 32u);
}

TEST(PackedRanges, RangesComeOutAsTheyWentIn) {
  for (const bool with_payloads : {false, true}) {
    Random r(1);
    PackedRanges packed;
    std::vector<NvtxRange> plain;
    for (int i = 0; i < 3000; ++i) packed.push_back(plain.emplace_back(r.Range(with_payloads && i > 100)));
    for (int i = 0; i < 1000; ++i) {
      const std::size_t at = r.Any() % plain.size();
      packed.Set(at, plain[at] = r.Range(with_payloads));
    }
    ExpectSame(packed, plain);
    EXPECT_EQ(packed.payloads().empty(), !with_payloads);
  }
}

TEST(PackedRanges, TimesChangeAlone) {
  Random r(2);
  PackedRanges packed;
  std::vector<NvtxRange> plain;
  for (int i = 0; i < 500; ++i) packed.push_back(plain.emplace_back(r.Range(true)));
  for (int i = 0; i < 2000; ++i) {
    const std::size_t at = r.Any() % plain.size();
    const NvtxRange other = r.Range(true);
    if (r.Truth()) {
      packed.SetTimes(at, plain[at].start_ns = other.start_ns, plain[at].end_ns = other.end_ns);
    } else {
      packed.SetEndNs(at, plain[at].end_ns = plain[at].start_ns + other.DurationNs());
    }
  }
  ExpectSame(packed, plain);
}

TEST(PackedRanges, ListsAreAppended) {
  for (int round = 0; round < 12; ++round) {
    Random r(3 + static_cast<uint32_t>(round));
    PackedRanges ranges, more;
    std::vector<NvtxRange> plain;
    const int first = round < 4 ? 0 : 50;
    for (int i = 0; i < first; ++i) ranges.push_back(plain.emplace_back(r.Range(round % 2 == 0)));
    for (int i = 0; i < 50; ++i) more.push_back(plain.emplace_back(r.Range(round % 4 < 2)));
    ranges.Append(std::move(more));
    ExpectSame(ranges, plain);
    ranges.push_back(plain.emplace_back(plain.front()));  // found among the traits of both
    ExpectSame(ranges, plain);
  }
}

// What a loader makes, without a file.
class UnjoinedRanges {
 public:
  UnjoinedRanges() {
    unjoined.trace.processes.resize(1);
    unjoined.trace.threads.resize(1);
    unjoined.trace.threads[0].process = 0;
    unjoined.trace.process_captures.resize(1);
    unjoined.DomainIndex(0, 0);
  }

  void Add(trace::NvtxEvent event, int64_t time_ns, const std::string& name, uint64_t payload = 0, uint32_t color = 0) {
    NvtxEvents::Traits f;
    f.thread = f.domain = 0;
    f.message = unjoined.names.Intern(name);
    f.event = event;
    f.color = color;
    unjoined.nvtx_events.Add(time_ns, unjoined.nvtx_events.Intern(f), {0, payload});
  }
  void Push(int64_t time_ns, const std::string& name, uint64_t payload = 0, uint32_t color = 0) {
    Add(trace::NvtxEvent::kPush, time_ns, name, payload, color);
  }
  void Pop(int64_t time_ns) { Add(trace::NvtxEvent::kPop, time_ns, ""); }
  const PackedRanges& Pair() {
    GroupAdded(unjoined);
    PairRanges(unjoined, 1);
    return unjoined.trace.ranges;
  }

  UnjoinedTrace unjoined;
};

TEST(PackedRanges, RangesThatAreAlikeShareTraits) {
  UnjoinedRanges d;
  for (int64_t i = 0; i < 3000; i += 6) {
    d.Push(i + 1, "step"), d.Push(i + 2, "forward"), d.Pop(i + 3), d.Push(i + 4, "forward"), d.Pop(i + 5), d.Pop(i + 6);
  }
  const PackedRanges& ranges = d.Pair();
  EXPECT_EQ(ranges.size(), 1500u);
  EXPECT_EQ(ranges.TraitsCount(), 2u);
  EXPECT_TRUE(const_cast<PackedRanges&>(ranges).payloads().empty());
}

// A name of its own for each, and for what is within a path of its own: one of the traits for each of the two.
TEST(PackedRanges, RangesWithNamesOfTheirOwnHaveTraitsOnce) {
  UnjoinedRanges d;
  for (int64_t i = 0; i < 1000; ++i) {
    d.Push(8 * i + 1, "case " + std::to_string(i)), d.Push(8 * i + 2, "forward"), d.Pop(8 * i + 3), d.Pop(8 * i + 4);
  }
  const PackedRanges& ranges = d.Pair();
  EXPECT_EQ(ranges.TraitsCount(), 2000u);
  EXPECT_EQ(d.unjoined.names.Text(ranges[1999].path), "case 999/forward");
  EXPECT_EQ(ranges[1999].parent, 1998u);
}

// What is the same but for its colour has one path, and what is within it is the same.
TEST(PackedRanges, EachColourHasTraitsOnce) {
  UnjoinedRanges d;
  for (int64_t i = 0; i < 1000; ++i) {
    d.Push(8 * i + 1, "a", 0, static_cast<uint32_t>(i % 100)), d.Push(8 * i + 2, "b"), d.Pop(8 * i + 3),
        d.Pop(8 * i + 4);
  }
  const PackedRanges& ranges = d.Pair();
  EXPECT_EQ(ranges.TraitsCount(), 101u);
  for (uint32_t i = 0; i < ranges.size(); i += 2) {
    ASSERT_EQ(ranges[i].color, i / 2 % 100);
    ASSERT_EQ(ranges[i].path, ranges[0].path);
    ASSERT_EQ(ranges[i + 1].path, ranges[1].path);
  }
}

TEST(PackedRanges, PayloadsAreKeptWhereSomeRangeHasOne) {
  UnjoinedRanges d;
  for (int64_t i = 0; i < 100; ++i) d.Push(2 * i + 1, "a", i == 70 ? 12345 : 0), d.Pop(2 * i + 2);
  const PackedRanges& ranges = d.Pair();
  EXPECT_EQ(ranges.TraitsCount(), 1u);
  for (uint32_t i = 0; i < 100; ++i) ASSERT_EQ(ranges[i].payload, i == 70 ? 12345u : 0u);
}

TEST(PackedRanges, LongRangesKeepTheirEnds) {
  UnjoinedRanges d;
  const int64_t long_ns = int64_t{1} << 42;
  d.Push(1, "day"), d.Push(2, "minute"), d.Pop(3), d.Pop(1 + long_ns), d.Push(2 + long_ns, "open");
  d.unjoined.trace.processes[0].end_ns = 3 * long_ns;
  const PackedRanges& ranges = d.Pair();
  EXPECT_EQ(ranges[0].DurationNs(), long_ns);
  EXPECT_EQ(ranges[1].end_ns, 3);
  EXPECT_EQ(ranges[2].end_ns, 3 * long_ns);
  EXPECT_TRUE(ranges[2].is_open);
  EXPECT_EQ(ranges[2].end_thread, kNone);
  EXPECT_EQ(ranges[1].end_thread, 0u);
}

}  // namespace
}  // namespace gprof
