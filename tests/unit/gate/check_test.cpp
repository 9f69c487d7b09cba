#include "gate/check/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gprof/error.h"
#include "runs.h"

namespace gprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Budget BudgetOf(const std::string& rules) { return ParseBudget("{\"rules\": {" + rules + "}}", "perf.json"); }

CheckResult Judge(const std::string& rules, const RunSet& runs, const RunSet* baseline = nullptr,
                  const CheckOptions& options = {}) {
  return Check(BudgetOf(rules), runs, baseline, options);
}

RuleResult One(const CheckResult& result) {
  EXPECT_EQ(result.rules.size(), 1u);
  return result.rules.empty() ? RuleResult() : result.rules.front();
}

constexpr const char* kIdle = R"("gpu.idle_percent": {"max": 20, "warn": 15, "reason": "why"})";

TEST(Check, PassesWarnsAndFails) {
  EXPECT_EQ(One(Judge(kIdle, Runs("gpu.idle_percent", {15}))).verdict, Verdict::kPass);
  const RuleResult warned = One(Judge(kIdle, Runs("gpu.idle_percent", {16})));
  EXPECT_EQ(warned.verdict, Verdict::kWarn);
  EXPECT_EQ(warned.message, "16% is above the warning level of 15%, limit 20%");
  EXPECT_EQ(One(Judge(kIdle, Runs("gpu.idle_percent", {20}))).verdict, Verdict::kWarn);
  const CheckResult failed = Judge(kIdle, Runs("gpu.idle_percent", {20.5}));
  EXPECT_EQ(One(failed).verdict, Verdict::kFail);
  EXPECT_EQ(One(failed).message, "20.5% is above the limit of 20%");
  EXPECT_EQ(One(failed).reason, "why");
  EXPECT_EQ(One(failed).value, 20.5);
  EXPECT_EQ(One(failed).limit, 20);
  EXPECT_EQ(One(failed).file, "perf.json");
  EXPECT_EQ(failed.verdict, Verdict::kFail);
  EXPECT_EQ(failed.line, "FAIL: 1 of 1 rule failed: gpu.idle_percent");
}

TEST(Check, SeverityWarnNeverStopsAnybody) {
  const char* rule = R"("gpu.idle_percent": {"max": 20, "severity": "warn"})";
  EXPECT_EQ(Judge(rule, Runs("gpu.idle_percent", {50})).verdict, Verdict::kWarn);
  const CheckResult missing = Judge(rule, Runs("kernels.count", {50}));
  EXPECT_EQ(missing.verdict, Verdict::kWarn);
  EXPECT_THAT(One(missing).message, HasSubstr("not judged"));
}

TEST(Check, OtherComparisons) {
  EXPECT_EQ(Judge(R"("gpu.busy_percent": {"min": 60})", Runs("gpu.busy_percent", {59})).verdict, Verdict::kFail);
  EXPECT_EQ(Judge(R"("gpu.busy_percent": {"min": 60})", Runs("gpu.busy_percent", {60})).verdict, Verdict::kPass);
  EXPECT_EQ(Judge(R"("kernels.count": {"equals": 5})", Runs("kernels.count", {5, 5})).verdict, Verdict::kPass);
  EXPECT_EQ(Judge(R"("kernels.count": {"equals": 5})", Runs("kernels.count", {5, 6})).verdict, Verdict::kFail);
}

TEST(Check, MedianOfTimesAndWorstOfCounters) {
  const RuleResult time = One(Judge(R"("kernels.total_ns": "5ms")", Runs("kernels.total_ns", {4e6, 4.5e6, 9e6})));
  EXPECT_EQ(time.verdict, Verdict::kPass);
  EXPECT_EQ(time.value, 4.5e6);
  EXPECT_EQ(time.evidence, "3 runs, 4 ms to 9 ms");
  const RuleResult counter = One(Judge(R"("kernels.count": 5)", Runs("kernels.count", {5, 5, 6})));
  EXPECT_EQ(counter.verdict, Verdict::kFail);
  EXPECT_EQ(counter.value, 6);
}

TEST(Check, WhatIsNotThereIsInconclusive) {
  RunSet runs = Runs("kernels.count", {5});
  runs.runs[0].not_recorded.push_back({"memory.", "memory usage was not recorded"});
  EXPECT_EQ(One(Judge(R"("memory.peak_bytes": "1GB")", runs)).message, "unknown: memory usage was not recorded");
  EXPECT_EQ(Judge(R"("memory.peak_bytes": "1GB")", runs).verdict, Verdict::kInconclusive);
  EXPECT_EQ(Judge(R"("step.p95_ns": "1ms")", runs).verdict, Verdict::kInconclusive);
  EXPECT_EQ(Judge(R"("nvtx.total_ns@nvtx:*": "1ms")", runs).verdict, Verdict::kInconclusive);
  EXPECT_EQ(Judge(R"("nvtx.total_ns@nvtx:*": {"max": "1ms", "allow_missing": true})", runs).verdict, Verdict::kPass);
  EXPECT_EQ(Judge(R"("step.p95_ns": {"max": "1ms", "allow_missing": true})", runs).verdict, Verdict::kPass);
  // Not recorded is not the same as not there.
  EXPECT_EQ(Judge(R"("memory.peak_bytes": {"max": 1, "allow_missing": true})", runs).verdict, Verdict::kInconclusive);
  EXPECT_EQ(Judge(R"("memory.peak_bytes@gpu*": {"max": 1, "allow_missing": true})", runs).verdict,
            Verdict::kInconclusive);
  EXPECT_EQ(Judge(R"("step.p95_ns": "1ms")", runs).line, "INCONCLUSIVE: 1 of 1 rule NOT JUDGED: step.p95_ns");
}

TEST(Check, AFigureInSomeRunsOnlyIsInconclusive) {
  const RunSet runs = SetOf({RunOf({{"step.p95_ns", 5}}), RunOf({{"kernels.count", 1}})});
  const RuleResult result = One(Judge(R"("step.p95_ns": "1ms")", runs));
  EXPECT_EQ(result.verdict, Verdict::kInconclusive);
  EXPECT_EQ(result.message, "only 1 of 2 runs have the metric");
}

TEST(Check, IncompleteRunsProveOnlyWhatTheyCan) {
  RunSet runs =
      SetOf({RunOf({{"kernels.count", 10}, {"gpu.idle_percent", 5}, {"health.lost_records", 3}, {"api.calls", 7}})});
  runs.runs[0].is_complete = runs.runs[0].is_host_complete = false;
  runs.runs[0].missing = {"3 records lost while recording"};
  // There were 10 at least.
  EXPECT_EQ(Judge(R"("kernels.count": 9)", runs).verdict, Verdict::kFail);
  EXPECT_EQ(Judge(R"("kernels.count": 11)", runs).verdict, Verdict::kInconclusive);
  EXPECT_EQ(Judge(R"("kernels.count": {"min": 10})", runs).verdict, Verdict::kPass);
  EXPECT_EQ(Judge(R"("kernels.count": {"min": 11})", runs).verdict, Verdict::kInconclusive);
  EXPECT_EQ(Judge(R"("gpu.idle_percent": 4)", runs).verdict, Verdict::kInconclusive);
  EXPECT_EQ(Judge(R"("health.lost_records": 5)", runs).verdict, Verdict::kPass);
  EXPECT_EQ(Judge(R"("api.calls": 9)", runs).verdict, Verdict::kInconclusive);
  EXPECT_EQ(Judge(R"("nvtx.total_ns@nvtx:*": {"max": 1, "allow_missing": true})", runs).verdict,
            Verdict::kInconclusive);
  EXPECT_EQ(Judge(R"("step.p95_ns": {"max": 1, "allow_missing": true})", runs).verdict, Verdict::kInconclusive);
  EXPECT_THAT(Judge(R"("kernels.count": 9)", runs).notes,
              ElementsAre("run.trace is incomplete (3 records lost while recording)"));
  // GPU work alone is missing.
  runs.runs[0].is_host_complete = true;
  EXPECT_EQ(Judge(R"("api.calls": 9)", runs).verdict, Verdict::kPass);
  EXPECT_EQ(Judge(R"("gpu.idle_percent": 9)", runs).verdict, Verdict::kInconclusive);
}

TEST(Check, CompleteRunsSpeakForIncompleteOnes) {
  RunSet runs = Runs("gpu.idle_percent", {5, 90, 6});
  runs.runs[1].is_complete = runs.runs[1].is_host_complete = false;
  const CheckResult result = Judge(R"("gpu.idle_percent": 20)", runs);
  EXPECT_EQ(result.verdict, Verdict::kPass);
  EXPECT_EQ(One(result).evidence, "2 runs, 5% to 6%");
  EXPECT_THAT(result.notes.front(), HasSubstr("run2.trace is incomplete"));
}

TEST(Check, MixedDevicesMakeTimesInconclusive) {
  RunSet runs = SetOf({RunOf({{"kernels.total_ns", 1}, {"kernels.count", 1}}, "a.trace"),
                       RunOf({{"kernels.total_ns", 1}, {"kernels.count", 1}}, "b.trace")});
  runs.runs[1].fingerprint.gpus = {"NVIDIA H100"};
  EXPECT_EQ(Judge(R"("kernels.count": 1)", runs).verdict, Verdict::kPass);
  const CheckResult result = Judge(R"("kernels.total_ns": 1)", runs);
  EXPECT_EQ(result.verdict, Verdict::kInconclusive);
  EXPECT_THAT(result.notes.front(), HasSubstr("GPU: NVIDIA H100 instead of NVIDIA H200 in b.trace"));
  EXPECT_EQ(Judge(R"("kernels.total_ns": 1)", runs, nullptr, {.ignores_fingerprint = true}).verdict, Verdict::kPass);
}

TEST(Check, GlobsGiveAResultForEachMatch) {
  const RunSet runs =
      SetOf({RunOf({{"gpu.idle_percent", 5}, {"gpu.idle_percent", 4, "gpu0"}, {"gpu.idle_percent", 30, "gpu1"}})});
  const CheckResult result = Judge(R"("gpu.idle_percent@gpu*": 20)", runs);
  ASSERT_EQ(result.rules.size(), 2u);
  EXPECT_EQ(result.rules[0].verdict, Verdict::kPass);
  EXPECT_EQ(result.rules[1].verdict, Verdict::kFail);
  EXPECT_EQ(result.rules[1].rule, "gpu.idle_percent@gpu1 <= 20%");
  EXPECT_EQ(result.line, "FAIL: 1 of 2 rules failed: gpu.idle_percent@gpu1");
  EXPECT_EQ(Judge(R"("gpu.idle_percent@gpu7": 20)", runs).verdict, Verdict::kInconclusive);
}

TEST(Check, CountersAreComparedWithTheBaselineExactly) {
  const RunSet base = Runs("launches.count", {100, 100});
  const char* rule = R"("launches.count": {"max_increase": "5%"})";
  EXPECT_EQ(One(Judge(rule, Runs("launches.count", {105}), &base)).verdict, Verdict::kPass);
  const RuleResult failed = One(Judge(rule, Runs("launches.count", {106}), &base));
  EXPECT_EQ(failed.verdict, Verdict::kFail);
  EXPECT_EQ(failed.message, "106, 6.0% (6) above the baseline's 100; 5% allowed");
  EXPECT_EQ(failed.baseline, 100);
  EXPECT_EQ(failed.limit, 105);
  // Both must be exceeded.
  EXPECT_EQ(One(Judge(R"("launches.count": {"max_increase": "5%", "and": 10})", Runs("launches.count", {109}), &base))
                .verdict,
            Verdict::kPass);
  EXPECT_EQ(One(Judge(R"("launches.count": {"max_increase": 0})", Runs("launches.count", {101}), &base)).verdict,
            Verdict::kFail);
  EXPECT_EQ(One(Judge(R"("launches.count": {"max_decrease": "5%"})", Runs("launches.count", {94}), &base)).verdict,
            Verdict::kFail);
  EXPECT_EQ(One(Judge(R"("launches.count": {"max_decrease": "5%"})", Runs("launches.count", {194}), &base)).verdict,
            Verdict::kPass);
  // One that varies after all decides only where every pair of runs agrees.
  EXPECT_EQ(One(Judge(rule, Runs("launches.count", {104, 106}), &base)).verdict, Verdict::kInconclusive);
  EXPECT_EQ(One(Judge(rule, Runs("launches.count", {107, 106}), &base)).verdict, Verdict::kFail);
}

TEST(Check, TimesAreComparedAsSamples) {
  const RunSet base = Runs("kernels.total_ns", {10.0e6, 10.1e6, 9.9e6, 10.05e6, 9.95e6});
  const char* rule = R"("kernels.total_ns": {"max_increase": "5%", "and": "200us"})";
  const RunSet slow = Runs("kernels.total_ns", {11.9e6, 12.1e6, 12.0e6, 12.05e6, 11.95e6});
  const RuleResult failed = One(Judge(rule, slow, &base));
  EXPECT_EQ(failed.verdict, Verdict::kFail);
  EXPECT_EQ(failed.message, "12 ms, 20.0% (2 ms) above the baseline's 10 ms; 5% and 200 us allowed");
  EXPECT_THAT(failed.evidence, HasSubstr("5 vs 5 runs"));
  EXPECT_EQ(One(Judge(rule, base, &base)).verdict, Verdict::kPass);
  // Faster is fine for a rule about increases, and slower for one about decreases.
  const RunSet fast = Runs("kernels.total_ns", {8.0e6, 8.1e6, 7.9e6, 8.05e6, 7.95e6});
  EXPECT_EQ(One(Judge(rule, fast, &base)).verdict, Verdict::kPass);
  EXPECT_EQ(One(Judge(R"("kernels.total_ns": {"max_decrease": "5%"})", fast, &base)).verdict, Verdict::kFail);
  EXPECT_EQ(One(Judge(R"("kernels.total_ns": {"max_decrease": "5%"})", slow, &base)).verdict, Verdict::kPass);
  EXPECT_EQ(One(Judge(R"("kernels.total_ns": {"max_increase": "5%", "and": "5ms"})", slow, &base)).verdict,
            Verdict::kPass);
}

TEST(Check, CountersOfCapturesByTimeAreSamplesLikeTimes) {
  RunSet base = Runs("kernels.count", {100, 103, 98, 101, 99}), now = Runs("kernels.count", {101, 98, 102, 100, 99});
  const char* rule = R"("kernels.count": {"max_increase": "5%"})";
  EXPECT_EQ(One(Judge(rule, now, &base)).verdict, Verdict::kPass);
  EXPECT_EQ(One(Judge(R"("kernels.count": {"max_increase": 2})", now, &base)).verdict, Verdict::kInconclusive);
  for (Measurement& run : now.runs) run.is_exact = false;
  EXPECT_THAT(One(Judge(rule, now, &base)).evidence, HasSubstr("5 vs 5 runs"));
  EXPECT_EQ(One(Judge(R"("kernels.count": 101)", now)).value, 100) << "the median";
}

TEST(Check, ManyKernelsAreNoTrouble) {
  RunSet runs = SetOf({RunOf({}), RunOf({})});
  for (Measurement& run : runs.runs) {
    for (int i = 0; i < 10'000; ++i)
      run.metrics.push_back({"kernels.count", "kernel:void kernel" + std::to_string(i) + "<float>(int)", 1});
  }
  const CheckResult result = Judge(
      R"("kernels.count@kernel:*": 1, "kernels.count@kernel:/9<f/": 1, "kernels.count@kernel:kernel77": 0)", runs);
  ASSERT_EQ(result.rules.size(), 11'001u);
  EXPECT_EQ(result.line, "FAIL: 1 of 11,001 rules failed: kernels.count@kernel:kernel77");
}

TEST(Check, OtherStepsAreNotCompared) {
  RunSet base = Runs("step.count", {5}), now = Runs("step.count", {5});
  base.runs[0].breakdown.steps.emplace().path = "epoch";
  now.runs[0].breakdown.steps.emplace().path = "step";
  const char* rule = R"("step.count": {"max_increase": 0})";
  EXPECT_EQ(One(Judge(rule, now, &base)).verdict, Verdict::kInconclusive);
  EXPECT_EQ(One(Judge(rule, now, &base)).message,
            "the step is 'step' in the runs, 'epoch' in the baseline; choose one with --step");
  base.runs[0].breakdown.steps->path = "step";
  EXPECT_EQ(One(Judge(rule, now, &base)).verdict, Verdict::kPass);
}

TEST(Check, SmallLimitsAreShownAsTheyAre) {
  EXPECT_EQ(One(Judge(R"("gpu.idle_percent": 0.05)", Runs("gpu.idle_percent", {0.06}))).message,
            "0.06% is above the limit of 0.05%");
}

TEST(Check, OneRunTellsNothingAboutTimes) {
  const RunSet base = Runs("kernels.total_ns", {10e6});
  const RuleResult result =
      One(Judge(R"("kernels.total_ns": {"max_increase": "5%"})", Runs("kernels.total_ns", {10.1e6}), &base));
  EXPECT_EQ(result.verdict, Verdict::kInconclusive);
  EXPECT_THAT(result.evidence, HasSubstr("need >= 5 runs per side"));
}

TEST(Check, AnotherFingerprintMakesTimesInconclusiveAndCountersNot) {
  RunSet base = SetOf({RunOf({{"kernels.total_ns", 1}, {"kernels.count", 1}})});
  base.runs[0].fingerprint.driver_version = "12.4";
  const RunSet now = SetOf({RunOf({{"kernels.total_ns", 1}, {"kernels.count", 2}})});
  const char* rules = R"("kernels.total_ns": {"max_increase": "5%"}, "kernels.count": {"max_increase": 0})";
  const CheckResult result = Judge(rules, now, &base);
  EXPECT_EQ(result.rules[0].verdict, Verdict::kInconclusive);
  EXPECT_EQ(result.rules[0].message, "times cannot be compared: CUDA driver: 13.0 instead of 12.4");
  EXPECT_EQ(result.rules[1].verdict, Verdict::kFail);
  EXPECT_THAT(result.notes.front(), HasSubstr("recorded differently from the baseline"));
  const CheckResult ignored = Judge(rules, now, &base, {.ignores_fingerprint = true});
  EXPECT_THAT(ignored.notes.front(), HasSubstr("--ignore-fingerprint"));
  EXPECT_THAT(ignored.rules[0].evidence, HasSubstr("1 vs 1 runs"));
}

TEST(Check, SaysWhenRunsWereMeasuredUnderOtherConditions) {
  const RunSet base = SetOf({RunOf({{"gpu.clock_sm_mhz_p50", 1980}, {"gpu.other_processes", 0}})});
  const RunSet same = SetOf({RunOf({{"gpu.clock_sm_mhz_p50", 1950}, {"gpu.other_processes", 0}})});
  const RunSet other = SetOf({RunOf({{"gpu.clock_sm_mhz_p50", 1410}, {"gpu.other_processes", 2}})});
  const char* rules = R"("gpu.clock_sm_mhz_p50": {"min": 1})";
  EXPECT_TRUE(Judge(rules, same, &base).notes.empty());
  const CheckResult result = Judge(rules, other, &base);
  ASSERT_EQ(result.notes.size(), 2u);
  EXPECT_THAT(result.notes[0], HasSubstr("SM clock: 1410 MHz instead of 1980 MHz (medians)"));
  EXPECT_THAT(result.notes[1], HasSubstr("other processes on the GPU: 2 instead of 0"));
}

TEST(Check, AHostOfAnotherNameIsNoDifference) {
  RunSet base = Runs("kernels.total_ns", {10, 10, 10, 10, 10});
  const RunSet now = base;
  for (Measurement& run : base.runs) run.fingerprint.host = "runner-1", run.fingerprint.commit = "abc";
  EXPECT_EQ(Judge(R"("kernels.total_ns": {"max_increase": "5%"})", now, &base).verdict, Verdict::kPass);
}

TEST(Check, ADifferenceNeedsABaseline) {
  try {
    Judge(R"("kernels.total_ns": {"max_increase": "5%"})", Runs("kernels.total_ns", {1}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_STREQ(error.what(), "perf.json:1: 'kernels.total_ns <= baseline + 5%' needs a baseline");
  }
}

TEST(Check, WhatTheBaselineLacksIsInconclusive) {
  const RunSet base = Runs("kernels.count", {1});
  const RuleResult result = One(Judge(R"("launches.count": {"max_increase": 0})", Runs("launches.count", {1}), &base));
  EXPECT_EQ(result.verdict, Verdict::kInconclusive);
  EXPECT_THAT(result.message, HasSubstr("no such metric in the baseline"));
}

TEST(Check, TheLineSaysAll) {
  const RunSet runs = SetOf({RunOf({{"gpu.idle_percent", 30}, {"kernels.count", 5}, {"gaps.count", 7}})});
  EXPECT_EQ(
      Judge(R"("gpu.idle_percent": 20, "kernels.count": 5, "gaps.count": {"warn": 5}, "step.p95_ns": 1)", runs).line,
      "FAIL: 1 of 4 rules failed: gpu.idle_percent; 1 NOT JUDGED; 1 warning");
  EXPECT_EQ(Judge(R"("kernels.count": 5, "gaps.count": {"warn": 5})", runs).line,
            "PASS with 1 warning in 2 rules, 1 run: gaps.count");
  EXPECT_EQ(Judge(R"("kernels.count": 5)", runs).line, "PASS: 1 rule, 1 run");
}

constexpr const char* kNoSlower = R"("gpu.window_ns": {"max_increase": "5%"})";

TEST(Check, AnImprovementIsNeverInconclusive) {
  const auto verdict = [](const std::vector<double>& base, const std::vector<double>& now) {
    const RunSet baseline = Runs("gpu.window_ns", base);
    return Judge(kNoSlower, Runs("gpu.window_ns", now), &baseline).verdict;
  };
  EXPECT_EQ(verdict({1000}, {900}), Verdict::kPass);
  EXPECT_EQ(verdict({1000, 1010}, {990, 1000}), Verdict::kPass);
  EXPECT_EQ(verdict({1000, 1400, 700}, {1010, 600, 650}), Verdict::kPass);
  EXPECT_EQ(verdict({1000}, {1000}), Verdict::kInconclusive) << "the same is no improvement";
  EXPECT_EQ(verdict({1000}, {1200}), Verdict::kInconclusive) << "one run of each proves no regression";
  EXPECT_EQ(verdict({1000, 1010}, {1005, 999}), Verdict::kInconclusive);
}

TEST(Check, ADecreaseRuleKnowsItsImprovements) {
  const char* rule = R"("streams.overlap_percent": {"max_decrease": 5})";
  const RunSet baseline = Runs("streams.overlap_percent", {50});
  EXPECT_EQ(Judge(rule, Runs("streams.overlap_percent", {60}), &baseline).verdict, Verdict::kPass);
  EXPECT_EQ(Judge(rule, Runs("streams.overlap_percent", {40}), &baseline).verdict, Verdict::kInconclusive);
}

TEST(Check, AnImprovementOnAnotherGpuIsNone) {
  RunSet baseline = Runs("gpu.window_ns", {1000});
  baseline.runs.front().fingerprint.gpus = {"NVIDIA A100"};
  EXPECT_EQ(Judge(kNoSlower, Runs("gpu.window_ns", {500}), &baseline).verdict, Verdict::kInconclusive);
}

TEST(Check, WhatWasNotJudgedHasALineOfItsOwn) {
  const RunSet runs = Runs("gpu.idle_percent", {10});
  const std::string open = R"("kernels.count": {"max": 1, "severity": "warn"}, "memory.peak_bytes": 1)";
  EXPECT_EQ(NotJudgedLine(Judge(kIdle, runs)), "");
  EXPECT_EQ(NotJudgedLine(Judge(R"("gpu.idle_percent": 5, )" + open, runs)),
            "NOT JUDGED: 2 of 3 rules: kernels.count, memory.peak_bytes");
  EXPECT_EQ(NotJudgedLine(Judge(R"("gpu.idle_percent": 50, "kernels.count": {"max": 1, "severity": "warn"})", runs)),
            "NOT JUDGED: 1 of 2 rules: kernels.count");
  const CheckResult nothing = Judge(open, runs);
  EXPECT_EQ(NotJudgedLine(nothing), "") << "the verdict says so";
  EXPECT_THAT(nothing.line, HasSubstr("INCONCLUSIVE: 1 of 2 rules NOT JUDGED: memory.peak_bytes"));
}

}  // namespace
}  // namespace gprof
