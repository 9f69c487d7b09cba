// Joins that are done in pieces: what lies across a cut is as it would be without one, on any number of cores.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "random_trace.h"
#include "trace/join/join.h"
#include "trace/load/fill_pass.h"
#include "trace/load/list_slices.h"
#include "trace/load/order.h"
#include "trace/load/range_cursor.h"

namespace gprof {
namespace {

constexpr std::size_t kCores[] = {1, 2, 5};

// One process with calls and operations as they are after reading.
class UnjoinedCalls {
 public:
  explicit UnjoinedCalls(uint32_t threads) {
    Trace& t = unjoined.trace;
    t.processes.resize(1);
    t.process_captures.resize(1);
    t.devices.resize(1);
    unjoined.correlations.resize(1);
    for (uint32_t i = 0; i < threads; ++i) {
      t.threads.emplace_back().process = 0;
      t.thread_ranges.emplace_back();
      t.thread_api_calls.emplace_back();
    }
  }

  // In order of thread and time.
  uint32_t Add(uint32_t thread, int64_t start_ns, int64_t end_ns, uint32_t correlation, std::string_view function,
               trace::ApiDomain domain = trace::ApiDomain::kRuntime) {
    PackedCalls::Traits f;
    f.thread = thread;
    f.process = 0;
    f.function = unjoined.names.Intern(function);
    f.domain = domain;
    PackedCalls& calls = unjoined.trace.api_calls;
    calls.Add(start_ns, end_ns, calls.Intern(f), correlation);
    unjoined.trace.thread_api_calls[thread].last = static_cast<uint32_t>(calls.size());
    if (thread + 1 < unjoined.trace.threads.size()) {
      unjoined.trace.thread_api_calls[thread + 1].first = static_cast<uint32_t>(calls.size());
    }
    if (correlation != 0) unjoined.correlations[0].Add({correlation, correlation, 1});
    unjoined.calls_of_traits.resize(calls.TraitsCount());
    ++unjoined.calls_of_traits[calls.TraitsIndex(calls.size() - 1)];
    return static_cast<uint32_t>(calls.size() - 1);
  }

  void AddOp(int64_t start_ns, uint32_t correlation) {
    PackedOps::Traits f;
    f.process = 0;
    f.device = 0;
    PackedOps& ops = unjoined.trace.ops;
    ops.Add(start_ns, start_ns + 1, ops.Intern(f), correlation);
  }

  UnjoinedTrace unjoined;
};

// Launches one after the other, each with the driver call in it: calls 2 i and 2 i + 1, of correlation i + 1, at 100 i.
void AddLaunches(UnjoinedCalls& d, uint32_t thread, uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; ++i) {
    d.Add(thread, 100 * i, 100 * i + 50, i + 1, "cudaLaunchKernel");
    d.Add(thread, 100 * i + 10, 100 * i + 40, i + 1, "cuLaunchKernel", trace::ApiDomain::kDriver);
  }
}

TEST(Pieces, ACallMayHoldThoseOfManyPieces) {
  constexpr uint32_t kLaunches = 3 * kPieceItems;
  for (const std::size_t cores : kCores) {
    UnjoinedCalls d(2);
    const uint32_t outer = d.Add(0, 0, 100 * (kLaunches - 10), 0, "cudaStreamEndCapture");
    AddLaunches(d, 0, 0, kLaunches);
    AddLaunches(d, 1, kLaunches, kLaunches);
    NestApiCalls(d.unjoined, cores);
    const PackedCalls& calls = d.unjoined.trace.api_calls;
    for (uint32_t i = 0; i < 2 * kLaunches; ++i) {
      const uint32_t call = 1 + 2 * i;
      ASSERT_EQ(calls[call].parent, i < kLaunches - 10 ? outer : kNone) << i << " on " << cores;
      ASSERT_EQ(calls[call + 1].parent, call) << i << " on " << cores;
    }
  }
}

TEST(Pieces, OfCallsWithOneIdInSeveralTheOuterOneOrTheFirstIsFound) {
  constexpr uint32_t kLaunches = 4 * kPieceItems;
  for (const std::size_t cores : kCores) {
    UnjoinedCalls d(2);
    d.Add(0, 0, 1, 5, "cuLaunchKernel", trace::ApiDomain::kDriver);
    AddLaunches(d, 0, 10, kLaunches);
    const uint32_t runtime = d.Add(1, 0, 1, 5, "cudaLaunchKernel");
    const uint32_t again = d.Add(1, 2, 3, 20, "cudaLaunchKernel");
    const CorrelationIndex index = NestApiCalls(d.unjoined, cores);
    EXPECT_EQ(index.Find(0, 5), runtime);
    EXPECT_LT(index.Find(0, 20), again);
    for (uint32_t i = 0; i < kLaunches; ++i) ASSERT_EQ(index.Find(0, 11 + i), 1 + 2 * i) << cores;
  }
}

TEST(Pieces, CallsFindTheirRangesWhereverTheyAreCut) {
  constexpr uint32_t kLaunches = 2 * kPieceItems;
  for (const std::size_t cores : kCores) {
    UnjoinedCalls d(1);
    AddLaunches(d, 0, 0, kLaunches);
    // A range around all, one for every ten launches, and in it one of five that a start/end range comes with.
    NvtxRange r;
    r.thread = 0;
    PackedRanges& ranges = d.unjoined.trace.ranges;
    const auto add = [&](int64_t start_ns, int64_t end_ns, uint32_t parent, bool is_push_pop) {
      r.start_ns = start_ns, r.end_ns = end_ns, r.parent = parent, r.is_push_pop = is_push_pop;
      ranges.push_back(r);
    };
    add(0, 100 * kLaunches, kNone, true);
    for (uint32_t i = 0; i + 10 <= kLaunches; i += 10) {
      const auto outer = static_cast<uint32_t>(ranges.size());
      add(100 * i, 100 * i + 900, 0, true);
      add(100 * i + 200, 100 * i + 700, outer, true);
      add(100 * i + 205, 100 * i + 206, kNone, false);
    }
    d.unjoined.trace.thread_ranges[0].last = static_cast<uint32_t>(ranges.size());
    NestApiCalls(d.unjoined, cores);
    const PackedCalls& calls = d.unjoined.trace.api_calls;
    for (uint32_t i = 0; i + 10 <= kLaunches; ++i) {
      const uint32_t outer = 1 + i / 10 * 3, place = i % 10;
      const uint32_t expected = place == 9 ? 0 : place >= 2 && place < 7 ? outer + 1 : outer;
      ASSERT_EQ(calls[2 * i].range, expected) << i << " on " << cores;
    }
  }
}

TEST(Pieces, OperationsOfOneCallAreCountedWhereverTheyAreCut) {
  constexpr uint32_t kOps = 3 * kPieceItems;
  for (const std::size_t cores : kCores) {
    UnjoinedCalls d(1);
    d.Add(0, 0, 10, 1, "cudaGraphLaunch");
    AddLaunches(d, 0, 1, 20);
    d.Add(0, 90'000, 90'010, 0, "cudaMalloc");
    for (uint32_t i = 0; i < kOps; ++i) d.AddOp(5 + i, i % 3 == 0 ? 1 : i % 3 == 1 ? 2 + i % 20 : 0);
    const CorrelationIndex index = NestApiCalls(d.unjoined, cores);
    const LinkedOps linked = LinkOps(d.unjoined, index, cores);
    CountUnmatchedLaunches(d.unjoined, linked, cores);
    const Trace& t = d.unjoined.trace;
    EXPECT_EQ(linked.with_call, kOps / 3 * 2);
    EXPECT_EQ(t.api_calls[0].op_count, kOps / 3);
    uint64_t others = 0;
    for (uint32_t call = 1; call < t.api_calls.size(); ++call) others += t.api_calls[call].op_count;
    EXPECT_EQ(others, kOps / 3);
    EXPECT_EQ(t.health.unmatched_ops, kOps / 3);
    EXPECT_EQ(t.health.unmatched_launches, 0u);
    EXPECT_EQ(t.health.worst_early_ns, 2000 - 24);  // operation 19, of correlation 21
  }
}

TEST(Pieces, AnOperationThatWasNotCountedIsNoticed) {
  UnjoinedCalls d(1);
  AddLaunches(d, 0, 0, 300);
  for (uint32_t i = 0; i < 300; ++i) d.AddOp(100 * i + 60, 1 + i);
  const CorrelationIndex index = NestApiCalls(d.unjoined, 1);
  const LinkedOps linked = LinkOps(d.unjoined, index, 1);
  PackedCalls& calls = d.unjoined.trace.api_calls;
  calls.items()[40].op_count = 0;
  CountUnmatchedLaunches(d.unjoined, linked, 1);
  EXPECT_EQ(calls[40].op_count, 1u);
  EXPECT_EQ(d.unjoined.trace.health.unmatched_launches, 0u);
}

// On one core nobody goes over the calls when as many launches have operations.
TEST(Pieces, LaunchesWithoutAnOperationAreCounted) {
  for (const uint32_t ops : {300u, 299u, 1u, 0u}) {
    for (const std::size_t cores : kCores) {
      UnjoinedCalls d(1);
      for (uint32_t i = 0; i < 300; ++i) d.Add(0, 100 * i, 100 * i + 50, i + 1, "cudaLaunchKernel");
      d.Add(0, 40'000, 40'010, 0, "cudaMalloc");
      for (uint32_t i = 0; i < ops; ++i) {
        d.AddOp(100 * i + 60, 1 + i);
        if (i % 7 == 0) d.AddOp(100 * i + 61, 1 + i);
      }
      const CorrelationIndex index = NestApiCalls(d.unjoined, cores);
      CountUnmatchedLaunches(d.unjoined, LinkOps(d.unjoined, index, cores), cores);
      EXPECT_EQ(d.unjoined.trace.health.unmatched_launches, 300 - ops);
    }
  }
}

TEST(Pieces, LaunchesWithoutAnOperationAreCountedWhereverTheyAreCut) {
  for (const std::size_t cores : kCores) {
    UnjoinedCalls d(2);
    const auto border = [&](uint32_t at, std::string_view function) { d.Add(0, 100 * at, 100 * at + 1, 0, function); };
    AddLaunches(d, 0, 0, 100);
    border(200, "cudaStreamBeginCapture");
    AddLaunches(d, 0, 201, 2 * kPieceItems);
    border(300 + 2 * kPieceItems, "cudaStreamEndCapture");
    AddLaunches(d, 0, 301 + 2 * kPieceItems, 30);
    border(400 + 2 * kPieceItems, "cudaStreamBeginCapture");  // never ended: does not reach the other thread
    AddLaunches(d, 1, 500 + 2 * kPieceItems, 7);
    const CorrelationIndex index = NestApiCalls(d.unjoined, cores);
    CountUnmatchedLaunches(d.unjoined, LinkOps(d.unjoined, index, cores), cores);
    EXPECT_EQ(d.unjoined.trace.health.unmatched_launches, 137u) << cores;
  }
}

// Events of five threads in three domains; ranges of one thread end on another.
UnjoinedTrace UnjoinedEvents() {
  Random random(3);
  UnjoinedTrace unjoined;
  Trace& t = unjoined.trace;
  t.processes.resize(1);
  t.process_captures.resize(1);
  t.threads.resize(5);
  for (Thread& thread : t.threads) thread.process = 0;
  for (uint32_t domain = 0; domain < 3; ++domain) unjoined.DomainIndex(0, domain);
  for (uint32_t i = 0; i < 3000; ++i) {
    NvtxEvents::Traits f;
    f.thread = static_cast<uint32_t>(random.Below(5));
    f.domain = static_cast<uint32_t>(random.Below(3));
    f.message = unjoined.names.Intern("name " + std::to_string(random.Below(6)));
    f.event = static_cast<trace::NvtxEvent>(1 + random.Below(5));
    const bool has_id = f.event == trace::NvtxEvent::kStart || f.event == trace::NvtxEvent::kEnd;
    unjoined.nvtx_events.Add(static_cast<int64_t>(1 + random.Below(2000)), unjoined.nvtx_events.Intern(f),
                             {has_id ? random.Below(40) : 0, 0});
  }
  GroupAdded(unjoined);
  return unjoined;
}

TEST(Pieces, ThreadsPairTheirRangesSideBySideAsOneAfterTheOther) {
  UnjoinedTrace expected = UnjoinedEvents(), unjoined = UnjoinedEvents();
  PairRanges(expected, 1);
  unjoined.trace.ranges.items().resize(expected.trace.ranges.size());  // the room that makes them do so
  PairRanges(unjoined, 4);
  const Trace &a = expected.trace, &b = unjoined.trace;
  EXPECT_EQ(expected.names.Take(), unjoined.names.Take());
  const auto range = [](const NvtxRange& r) {
    return std::tuple(r.start_ns, r.end_ns, r.thread, r.end_thread, r.parent, r.domain, r.name.value, r.path.value,
                      r.depth, r.is_push_pop, r.is_open);
  };
  const auto mark = [](const NvtxMark& m) { return std::tuple(m.time_ns, m.thread, m.domain, m.name.value); };
  ASSERT_EQ(a.ranges.size(), b.ranges.size());
  for (std::size_t i = 0; i < a.ranges.size(); ++i) ASSERT_EQ(range(a.ranges[i]), range(b.ranges[i])) << i;
  ASSERT_EQ(a.marks.size(), b.marks.size());
  for (std::size_t i = 0; i < a.marks.size(); ++i) ASSERT_EQ(mark(a.marks[i]), mark(b.marks[i])) << i;
  EXPECT_GT(a.health.open_ranges, 0u);
  EXPECT_EQ(a.health.open_ranges, b.health.open_ranges);
  EXPECT_GT(a.health.unmatched_nvtx_ends, 0u);
  EXPECT_EQ(a.health.unmatched_nvtx_ends, b.health.unmatched_nvtx_ends);
}

TEST(Pieces, RunsAreMergedInAnyGroups) {
  Random random(5);
  for (const std::size_t cores : kCores) {
    for (const std::size_t runs : {1, 2, 16, 17, 18, 100, 200}) {
      std::vector<std::pair<uint32_t, uint32_t>> items;
      std::vector<uint32_t> starts;
      for (uint32_t run = 0; run < runs; ++run) {
        starts.push_back(static_cast<uint32_t>(items.size()));
        uint32_t key = 10 * run;
        for (uint64_t n = 1 + random.Below(30); n > 0; --n) {
          items.emplace_back(key, static_cast<uint32_t>(items.size()));
          key += static_cast<uint32_t>(random.Below(3));
        }
      }
      const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
      auto expected = items;
      std::stable_sort(expected.begin(), expected.end(), less);
      SortSlice(items, {0, static_cast<uint32_t>(items.size())}, starts, less, cores);
      ASSERT_EQ(items, expected) << runs << " on " << cores;
    }
  }
}

}  // namespace
}  // namespace gprof
