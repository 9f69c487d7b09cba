// Going back along the ranges of a thread, against a look at each nanosecond.
#include "analysis/topics/path/enclosing_ranges.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "random_trace.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

// The path of the innermost push/pop range just before that time.
NameId PathBefore(const Trace& trace, uint32_t thread, int64_t time_ns) {
  const Trace::Slice slice = trace.thread_ranges[thread];
  uint32_t range = kNone;
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    if (trace.ranges[i].start_ns < time_ns && trace.ranges[i].is_push_pop) range = i;
  }
  while (range != kNone && trace.ranges[range].end_ns < time_ns) range = trace.ranges[range].parent;
  return range == kNone ? NameId{} : trace.ranges[range].path;
}

using Times = std::map<uint32_t, int64_t>;  // by path

// Pieces with others between, all of which together go back from the end of the trace to its beginning.
void Compare(const Trace& trace, uint32_t thread, std::mt19937* random, int64_t longest_ns) {
  EnclosingRanges ranges(trace);
  Times of_each, of_pieces;
  const auto add_to = [](Times* times) {
    return [times](NameId path, int64_t ns) {
      ASSERT_GT(ns, 0);
      (*times)[path.value] += ns;
    };
  };
  for (int64_t to_ns = trace.end_ns + 2; to_ns > trace.start_ns - 2;) {
    const int64_t from_ns = to_ns - 1 - static_cast<int64_t>((*random)() % static_cast<uint64_t>(longest_ns));
    for (int64_t ns = from_ns + 1; ns <= to_ns; ++ns) ++of_each[PathBefore(trace, thread, ns).value];
    ranges.ForEach(thread, from_ns, to_ns, add_to(&of_pieces));
    ASSERT_EQ(of_pieces, of_each) << from_ns;
    to_ns = from_ns - static_cast<int64_t>((*random)() % 3 == 0 ? (*random)() % 7 : 0);
  }
}

// Ranges within each other, some of no length, some that touch, and some that need not nest.
Trace Nested(std::mt19937* random) {
  TraceMaker maker;
  std::vector<int64_t> starts;
  int64_t now_ns = 10;
  const std::string_view paths[] = {"a", "a/b", "a/b/c", "a/b/c/d"};
  for (int i = 0; i < 60; ++i) {
    now_ns += static_cast<int64_t>((*random)() % 4);
    if (starts.empty() || (starts.size() < std::size(paths) && (*random)() % 2 == 0)) {
      starts.push_back(now_ns);
    } else {
      maker.AddRange(starts.back(), now_ns, paths[starts.size() - 1]).depth = static_cast<uint16_t>(starts.size() - 1);
      starts.pop_back();
    }
    if ((*random)() % 8 == 0) maker.AddRange(now_ns, now_ns + 5, "free").is_push_pop = false;
  }
  return maker.Finish();
}

TEST(EnclosingRanges, TellTheInnermostRangeOfEachNanosecond) {
  std::mt19937 random(7);
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Trace trace = Nested(&random);
    Compare(trace, 0, &random, 1 + random() % 12);
    if (HasFatalFailure()) FAIL() << seed;
  }
}

TEST(EnclosingRanges, TakeRangesThatDoNotNest) {
  std::mt19937 random(8);
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const Trace trace = RandomTrace(seed);
    if (trace.end_ns - trace.start_ns > 20'000) continue;
    for (uint32_t thread = 0; thread < trace.threads.size(); ++thread) {
      Compare(trace, thread, &random, 40);
      if (HasFatalFailure()) FAIL() << seed;
    }
  }
}

}  // namespace
}  // namespace gprof::test
