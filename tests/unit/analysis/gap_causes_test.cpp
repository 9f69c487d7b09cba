// Causes of gaps, which are kept by runs of operations, against those of each gap by itself, and what is asked of gaps.
#include "analysis/causes/gaps/gap_causes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <tuple>
#include <vector>

#include "analysis/causes/gaps/gap_explainer.h"
#include "analysis/causes/idle_parts.h"
#include "analysis/facts/gaps/gap_list.h"
#include "analysis/facts/shared_facts.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

// Runs of launches that the device had queued, that it waited for, and that the host came late with; some operations
// follow each other at once.
Trace LaunchesInRuns(uint32_t seed) {
  TraceMaker maker;
  std::mt19937 random(seed);
  uint64_t way = 0, left = 0;
  for (int64_t i = 1; i < 1000; ++i) {
    if (left-- == 0) way = random() % 3, left = random() % (random() % 4 == 0 ? 150 : 5);
    const int64_t at_ns = i * 1000, end_ns = at_ns + (random() % 5 == 0 ? 1500 : 900);
    if (way == 0) maker.Launch(at_ns - 550, at_ns - 500, at_ns + 500, end_ns);  // before the last one ended
    if (way == 1) maker.Launch(at_ns - 200, at_ns + 400, at_ns + 500, end_ns);  // while it ended
    if (way == 2) maker.Launch(at_ns - 50, at_ns + 300, at_ns + 500, end_ns);
  }
  return maker.Finish();
}

struct ToldGap {
  uint32_t after;
  std::vector<std::tuple<Cause, int64_t, uint32_t>> parts;
  friend bool operator==(const ToldGap&, const ToldGap&) = default;
};

ToldGap Told(const Gap& gap, std::span<const Part> parts) {
  ToldGap told{gap.after, {}};
  for (const Part& part : parts) told.parts.emplace_back(part.cause, part.duration_ns, part.call());
  return told;
}

TEST(GapCauses, AreThoseOfEachGapByItself) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Trace trace = LaunchesInRuns(seed);
    const AnalysisInput input(trace);
    const SharedFacts& shared = input.shared();
    GapExplainer explainer(trace, shared.host(), shared.recorded(), shared.ops());
    std::vector<ToldGap> all, told;
    std::vector<Part> parts;
    const auto add = [&](const Gap& gap) {
      parts.clear();
      explainer.Explain(gap, &parts);
      all.push_back(Told(gap, parts));
    };
    for (uint32_t op = 0; op < trace.ops.size(); ++op) shared.gaps(0).ForEachBefore(op, add);
    ForEachExplainedGap(input, 0,
                        [&](const Gap& gap, std::span<const Part> of_gap) { told.push_back(Told(gap, of_gap)); });
    EXPECT_EQ(told, all) << seed;
  }
}

TEST(IdleWithin, IsWhatTheGapsHaveInCommonWithTheTime) {
  const Trace trace = LaunchesInRuns(1);
  const AnalysisInput input(trace);
  const GapList& gaps = input.shared().gaps(0);
  IdleWithin idle(trace, gaps);
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    // Near the one before as a rule, as ranges are.
    const int64_t start_ns = i % 50 == 0 ? random() % 1'000'000 : i * 500;
    const int64_t end_ns = start_ns + random() % 4000 * (i % 9 == 0 ? 50 : 1);
    int64_t expected_ns = 0;
    for (uint32_t op = 0; op < trace.ops.size(); ++op) {
      const int64_t gap_end_ns = trace.ops[op].start_ns, gap_start_ns = gap_end_ns - gaps.IdleBefore(op);
      expected_ns += std::max<int64_t>(0, std::min(end_ns, gap_end_ns) - std::max(start_ns, gap_start_ns));
    }
    ASSERT_EQ(idle.IdleNs(start_ns, end_ns), expected_ns) << start_ns << " " << end_ns;
  }
}

}  // namespace
}  // namespace gprof::test
