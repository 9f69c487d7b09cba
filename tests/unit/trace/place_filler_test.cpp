// The second pass over calls and operations: what it asks of whole columns, and the order it puts blocks in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "chunks.h"
#include "random_trace.h"
#include "trace/file/column_scan.h"
#include "trace/load/fill_places.h"
#include "trace_text.h"

namespace gprof {
namespace {

CorrelationExtent PlainExtent(const std::vector<uint64_t>& numbers) {
  CorrelationExtent extent;
  for (const uint64_t number : numbers) {
    const auto id = static_cast<uint32_t>(number);
    if (id != 0) extent.Add({id, id, 1});
  }
  return extent;
}

void ExpectScans(const std::vector<uint64_t>& numbers) {
  uint64_t bits = 0;
  for (const uint64_t number : numbers) bits |= number;
  const auto fall = std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>());
  const bool is_ascending = bits >> 63 == 0 && fall == numbers.end();
  std::size_t ascending = 0;
  while (ascending < numbers.size() && numbers[ascending] >> 63 == 0 &&
         (ascending == 0 || numbers[ascending] > numbers[ascending - 1])) {
    ++ascending;
  }
  const CorrelationExtent expected = PlainExtent(numbers);
  for (const Scan scan : {Scan::kWide, Scan::kPlain}) {
    EXPECT_EQ(AllBits(numbers.data(), numbers.size(), scan), bits);
    EXPECT_EQ(IsAscending(numbers.data(), numbers.size(), scan), is_ascending);
    EXPECT_EQ(CountAscending(numbers.data(), numbers.size(), scan), ascending);
    const CorrelationExtent extent = ExtentOf(numbers.data(), numbers.size(), scan);
    EXPECT_EQ(extent.count, expected.count);
    if (expected.count == 0) continue;
    EXPECT_EQ(extent.low, expected.low);
    EXPECT_EQ(extent.high, expected.high);
  }
}

TEST(PlaceFiller, ScansAreTheSameOnAnyProcessor) {
  Random random(21);
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint64_t> numbers(random.Below(round % 10 == 0 ? 700 : 30));
    uint64_t sum = random.Value() >> random.Below(64);
    for (uint64_t& number : numbers) number = sum += 1 + random.Below(uint64_t{1} << random.Below(40));
    ExpectScans(numbers);
    if (numbers.empty()) continue;
    numbers[random.Below(numbers.size())] = random.Value();  // one out of order, or none, or with all of its bits
    ExpectScans(numbers);
    for (uint64_t& number : numbers) number = random.Below(3) == 0 ? random.Below(2) << 32 : random.Value();
    ExpectScans(numbers);
  }
}

TEST(PlaceFiller, BlocksAreOrderedByTheirStarts) {
  Random random(22);
  BlockOrder order;
  for (int round = 0; round < 400; ++round) {
    const uint64_t base = 1 + (random.Next() >> (8 + random.Below(40)));
    std::vector<uint64_t> starts(1 + random.Below(round % 20 == 0 ? trace::kMaxChunkRecords : 300));
    for (std::size_t i = 0; i < starts.size(); ++i) {
      // Late by far, or by little, or many of them at once, or just any time.
      const uint64_t kinds[] = {i + random.Below(100), i + (random.Below(9) == 0 ? 0 : 500),
                                (i + starts.size() / 2) % starts.size(), random.Below(1000)};
      starts[i] = base + kinds[round % 4];
    }
    std::vector<std::pair<uint64_t, std::size_t>> expected;
    for (std::size_t i = 0; i < starts.size(); ++i) expected.emplace_back(starts[i], i);
    std::sort(expected.begin(), expected.end());
    ASSERT_TRUE(order.Plan(starts.data(), starts.size()));
    for (std::size_t k = 0; k < starts.size(); ++k) {
      ASSERT_EQ(order.numbers()[k] & BlockOrder::kIndexBits, expected[k].second);
    }
  }
}

TEST(PlaceFiller, StartsThatAreTooFarApartAreNotOrdered) {
  BlockOrder order;
  const auto can_plan = [&](const std::vector<uint64_t>& starts) { return order.Plan(starts.data(), starts.size()); };
  EXPECT_TRUE(can_plan({100, 50, 70}));
  EXPECT_FALSE(can_plan({uint64_t{1} << 50, 0, 70}));
  EXPECT_FALSE(can_plan({100, uint64_t{1} << 60}));
  EXPECT_FALSE(can_plan({uint64_t{1} << 60, 50}));
  EXPECT_FALSE(can_plan({100, ~uint64_t{0}, 50}));
}

// Places of a block of runs, in the order of their starts; none where the runs give none.
std::vector<std::size_t> OrderOfRuns(const std::vector<uint64_t>& starts) {
  std::vector<std::size_t> places;
  BlockRuns runs;
  const auto take = [&](std::size_t first, std::size_t last) {
    EXPECT_LT(first, last);
    for (std::size_t i = first; i < last; ++i) places.push_back(i);
  };
  if (!runs.Find(starts.data(), starts.size()) || !runs.ForEachSection(take)) places.clear();
  return places;
}

TEST(PlaceFiller, BlocksOfAFewRunsAreOrderedByThem) {
  Random random(25);
  int ordered = 0;
  for (int round = 0; round < 500; ++round) {
    const std::size_t neighbours = 1 + random.Below(60);
    std::vector<std::vector<uint64_t>> runs(1 + random.Below(10));
    uint64_t ns = 1000;
    for (std::size_t i = 0; i < 40; ++i) {
      std::vector<uint64_t>& run = runs[random.Below(runs.size())];
      for (std::size_t k = 0; k < neighbours; ++k) run.push_back(ns += 1 + random.Below(100));
    }
    std::vector<uint64_t> starts;
    for (const std::vector<uint64_t>& run : runs) starts.insert(starts.end(), run.begin(), run.end());
    if (round % 5 == 0) starts[random.Below(starts.size())] = starts[random.Below(starts.size())];
    std::vector<std::size_t> expected(starts.size());
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = i;
    std::sort(expected.begin(), expected.end(), [&](std::size_t a, std::size_t b) { return starts[a] < starts[b]; });
    const std::vector<std::size_t> places = OrderOfRuns(starts);
    if (places.empty()) continue;
    EXPECT_EQ(places, expected);
    ++ordered;
  }
  EXPECT_GT(ordered, 200);
}

TEST(PlaceFiller, BlocksOfRunsThatBeginTogetherAreNotOrdered) {
  EXPECT_TRUE(OrderOfRuns({10, 20, 30, 20, 40}).empty());
  EXPECT_TRUE(OrderOfRuns({10, 10}).empty());
  EXPECT_TRUE(OrderOfRuns({10, uint64_t{1} << 63, 20}).empty());
  EXPECT_THAT(OrderOfRuns({10, 20, 30, 5, 25, 40}), testing::ElementsAre(3u, 0u, 1u, 4u, 2u, 5u));
  std::vector<uint64_t> turns;  // each of two runs has but one before it is the other's turn
  for (uint64_t run = 0; run < 2; ++run) {
    for (uint64_t i = 0; i < 100; ++i) turns.push_back(10 + 2 * i + run);
  }
  EXPECT_TRUE(OrderOfRuns(turns).empty());
}

// Calls of some threads in one block, taking turns after some calls or after each.
std::vector<trace::ApiRecord> CallsOfThreads(Random& random, uint64_t most_neighbours, uint64_t late) {
  std::vector<trace::ApiRecord> calls(2500);
  uint64_t left = 0;
  uint32_t tid = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (left-- == 0) left = random.Below(most_neighbours), tid = static_cast<uint32_t>(1 + random.Below(3));
    calls[i].tid = tid;
    calls[i].start_ns = 100'000 + 20 * i - (random.Below(50) == 0 ? random.Below(1 + late) : 0);
    calls[i].duration_ns = random.Below(15);
    calls[i].correlation = static_cast<uint32_t>(i + 1);
    calls[i].result = static_cast<int32_t>(random.Below(2));
  }
  return calls;
}

void ExpectCalls(const std::vector<trace::ApiRecord>& calls) {
  std::string body(1u << 20, '\0');
  trace::ByteWriter out(reinterpret_cast<unsigned char*>(body.data()), body.size());
  trace::EncodeBlock(calls.data(), calls.size(), out);
  body.resize(out.size());
  trace::ChunkHeader header;
  header.kind = static_cast<uint16_t>(trace::RecordKind::kApi);
  header.record_count = static_cast<uint32_t>(calls.size());
  const Trace t = LoadTraceFromMemory(MakeChunk(header, body), "test");
  ASSERT_EQ(t.api_calls.size(), calls.size());
  std::size_t found = 0;
  for (std::size_t thread = 0; thread < t.threads.size(); ++thread) {
    int64_t before_ns = 0;
    for (uint32_t i = t.thread_api_calls[thread].first; i < t.thread_api_calls[thread].last; ++i, ++found) {
      const ApiCall call = t.api_calls[i];
      const trace::ApiRecord& r = calls[call.correlation - 1];
      ASSERT_GE(call.start_ns, before_ns);
      before_ns = call.start_ns;
      ASSERT_EQ(call.start_ns, static_cast<int64_t>(r.start_ns));
      ASSERT_EQ(call.end_ns, static_cast<int64_t>(r.start_ns + r.duration_ns));
      ASSERT_EQ(t.threads[thread].tid, r.tid);
      ASSERT_EQ(call.result, r.result);
    }
  }
  EXPECT_EQ(found, calls.size());
}

// Marks of one thread or of some, each later than the one before or not.
TEST(PlaceFiller, EventsOfAnyTimesAreThere) {
  Random random(24);
  for (const uint64_t threads : {1u, 3u}) {
    for (const uint64_t most_early : {1u, 2u, 40u}) {
      std::vector<trace::NvtxRecord> events(1500);
      for (std::size_t i = 0; i < events.size(); ++i) {
        events[i].time_ns = 5'000 + i - random.Below(most_early);
        events[i].tid = static_cast<uint32_t>(1 + random.Below(threads));
        events[i].event = static_cast<uint8_t>(trace::NvtxEvent::kMark);
        events[i].category = static_cast<uint32_t>(i + 1);
      }
      std::string body(1u << 20, '\0');
      trace::ByteWriter out(reinterpret_cast<unsigned char*>(body.data()), body.size());
      trace::EncodeBlock(events.data(), events.size(), out);
      body.resize(out.size());
      trace::ChunkHeader header;
      header.kind = static_cast<uint16_t>(trace::RecordKind::kNvtx);
      header.record_count = static_cast<uint32_t>(events.size());
      const Trace t = LoadTraceFromMemory(MakeChunk(header, body), "test");
      ASSERT_EQ(t.marks.size(), events.size());
      std::vector<std::pair<uint64_t, uint32_t>> expected, marks;
      for (const trace::NvtxRecord& e : events) expected.emplace_back(e.time_ns, e.tid);
      for (const NvtxMark& m : t.marks) marks.emplace_back(static_cast<uint64_t>(m.time_ns), t.threads[m.thread].tid);
      std::sort(expected.begin(), expected.end());
      std::sort(marks.begin(), marks.end());
      EXPECT_EQ(marks, expected);
    }
  }
}

TEST(PlaceFiller, CallsOfThreadsThatTakeTurnsAreInOrder) {
  Random random(23);
  for (const uint64_t most_neighbours : {1u, 6u, 40u, 1000u}) {
    for (const uint64_t late : {0u, 30u, 3000u}) ExpectCalls(CallsOfThreads(random, most_neighbours, late));
  }
}

}  // namespace
}  // namespace gprof
