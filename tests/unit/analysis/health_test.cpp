#include <gtest/gtest.h>

#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

TEST(Health, AGoodTraceHasNothingToSay) {
  TraceMaker maker;
  maker.Launch(0, 10, 20, 30);
  const AnalysisResult result = RunHealth(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "health.complete"), 1);
  EXPECT_EQ(MetricOf(result, "health.lost_records"), 0);
  EXPECT_TRUE(result.findings.empty());
  EXPECT_TRUE(TableOf(result, "health").rows.empty());
  EXPECT_EQ(TableOf(result, "health").note, "No known losses.");
}

struct Case {
  const char* metric;
  uint64_t TraceHealth::*count;
  bool is_loss;  // makes the trace incomplete
};

class HealthProblem : public testing::TestWithParam<Case> {};

TEST_P(HealthProblem, IsCountedAndSaid) {
  TraceMaker maker;
  maker.Launch(0, 10, 20, 30);
  maker.trace().health.*GetParam().count = 1234;
  const AnalysisResult result = RunHealth(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, GetParam().metric), 1234);
  EXPECT_EQ(MetricOf(result, "health.complete"), GetParam().is_loss ? 0 : 1);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].id, GetParam().metric);
  EXPECT_NE(result.findings[0].message.find(": 1,234"), std::string::npos) << result.findings[0].message;
  EXPECT_FALSE(result.findings[0].advice.empty());
  ASSERT_EQ(TableOf(result, "health").rows.size(), 1u);
  EXPECT_EQ(IntOf(TableOf(result, "health"), 0, "count"), 1234);
}

INSTANTIATE_TEST_SUITE_P(All, HealthProblem,
                         testing::Values(Case{"health.damaged_chunks", &TraceHealth::damaged_chunks, true},
                                         Case{"health.missing_chunks", &TraceHealth::missing_chunks, true},
                                         Case{"health.skipped_bytes", &TraceHealth::skipped_bytes, true},
                                         Case{"health.unknown_chunks", &TraceHealth::unknown_chunks, true},
                                         Case{"health.unknown_records", &TraceHealth::unknown_records, false},
                                         Case{"health.duplicate_chunks", &TraceHealth::duplicate_chunks, false},
                                         Case{"health.lost_records", &TraceHealth::lost_records, true},
                                         Case{"health.bad_times", &TraceHealth::bad_times, true},
                                         Case{"health.unmatched_launches", &TraceHealth::unmatched_launches, false},
                                         Case{"health.unmatched_ops", &TraceHealth::unmatched_ops, false},
                                         Case{"health.early_ops", &TraceHealth::early_ops, false},
                                         Case{"health.unfinished_processes", &TraceHealth::unfinished_processes, true},
                                         Case{"health.unmatched_nvtx_ends", &TraceHealth::unmatched_nvtx_ends, false},
                                         Case{"health.salvaged_processes", &TraceHealth::salvaged_processes, false},
                                         Case{"health.unfinished_gpu_work", &TraceHealth::unfinished_gpu_work, true},
                                         Case{"health.ops_from_before", &TraceHealth::ops_from_before, false},
                                         Case{"health.open_ranges", &TraceHealth::open_ranges, false},
                                         Case{"health.missing_strings", &TraceHealth::missing_strings, false}),
                         [](const auto& tested) { return std::string(tested.param.metric).substr(7); });

TEST(Health, WorkThatMayBeMissingSaysFromWhen) {
  TraceMaker maker;
  maker.Launch(1'000'000, 1'000'010, 1'000'020, 1'000'030);
  maker.AddProcess(200);
  maker.trace().health.unfinished_gpu_work = 2;
  maker.trace().processes[0].gpu_complete_until_ns = 5'000'000;
  maker.trace().processes[1].gpu_complete_until_ns = 4'000'000;
  const AnalysisResult result = RunHealth(maker.Finish(), {});
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].message, "Processes whose last GPU work may be missing: 2, from 3.00 ms into the trace");
}

TEST(Health, WhatTheTracerSaidIsAFinding) {
  TraceMaker maker;
  maker.Launch(0, 10, 20, 30);
  for (const trace::NoticeLevel level : {trace::NoticeLevel::kInfo, trace::NoticeLevel::kWarning}) {
    Notice notice;
    notice.level = level;
    notice.message = maker.Name("hello");
    maker.trace().notices.push_back(notice);
  }
  const AnalysisResult result = RunHealth(maker.Finish(), {});
  ASSERT_EQ(result.findings.size(), 2u);
  EXPECT_EQ(result.findings[0].id, "health.notice");
  EXPECT_EQ(result.findings[0].severity, Severity::kWarning);
  EXPECT_EQ(result.findings[1].severity, Severity::kInfo);
  EXPECT_EQ(result.findings[1].message, "hello");
}

TEST(Health, LossesSayWhy) {
  TraceMaker maker;
  maker.Launch(0, 10, 20, 30);
  maker.trace().health.lost_records = 30;
  maker.trace().losses.push_back({0, trace::LossReason::kCuptiDropped, 0, 20, 5});
  maker.trace().losses.push_back({0, trace::LossReason::kWriteFailed, 0, 10, 5});
  const AnalysisResult result = RunHealth(maker.Finish(), {});
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].message,
            "Records lost during recording: 30 (10 not written to the file, 20 dropped by CUPTI)");
}

TEST(Health, AFullDiskIsSaidWhereTheLossesShowIt) {
  TraceMaker maker;
  maker.Launch(0, 10, 20, 30);
  maker.trace().health.lost_records = 10;
  maker.trace().health.damaged_chunks = 1;
  maker.trace().losses.push_back({0, trace::LossReason::kWriteFailed, 0, 10, 5});
  Trace trace = maker.Finish();
  const AnalysisResult result = RunHealth(trace, {});
  const std::string lost = FindingOf(result, "health.lost_records")->advice;
  EXPECT_EQ(lost,
            "The disk or quota was full while recording: record again with more disk space, or write to another disk "
            "(--output). Counts and sums do not include the lost records.");
  EXPECT_EQ(FindingOf(result, "health.damaged_chunks")->advice,
            "The disk or quota was full while recording: record again with more disk space, or write to another disk "
            "(--output). Figures cover only the readable data.");

  trace.losses.push_back({0, trace::LossReason::kCuptiDropped, 0, 20, 5});
  const AnalysisResult mixed = RunHealth(trace, {});
  EXPECT_EQ(FindingOf(mixed, "health.lost_records")->advice,
            lost + " For the other losses, record a shorter part of the program, or fewer event types (--trace).");
}

TEST(Health, OtherLossesAreNoFullDisk) {
  TraceMaker maker;
  maker.Launch(0, 10, 20, 30);
  maker.trace().health.lost_records = 20;
  maker.trace().losses.push_back({0, trace::LossReason::kCuptiDropped, 0, 20, 5});
  const AnalysisResult result = RunHealth(maker.Finish(), {});
  EXPECT_EQ(FindingOf(result, "health.lost_records")->advice.find("disk"), std::string::npos);
}

TEST(Health, ATruncatedFileIsNotComplete) {
  TraceMaker maker;
  maker.Launch(0, 10, 20, 30);
  maker.trace().health.is_truncated = true;
  const AnalysisResult result = RunHealth(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "health.truncated"), 1);
  EXPECT_NE(FindingOf(result, "health.truncated"), nullptr);
  EXPECT_EQ(TableOf(result, "health").note, "The trace is incomplete.");
}

TEST(Health, NoticesOfTheTracerArePassedOn) {
  TraceMaker maker;
  maker.Launch(0, 10, 20, 30);
  maker.trace().notices.push_back({0, 1, trace::NoticeLevel::kWarning, maker.Name("CUPTI is taken")});
  maker.trace().notices.push_back({0, 2, trace::NoticeLevel::kInfo, maker.Name("all is well")});
  const AnalysisResult result = RunHealth(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "health.warnings"), 1);
  ASSERT_EQ(result.findings.size(), 2u);
  EXPECT_EQ(result.findings[0].message, "CUPTI is taken");
  EXPECT_EQ(result.findings[0].severity, Severity::kWarning);
  EXPECT_EQ(result.findings[1].severity, Severity::kInfo);
}

TEST(Health, ATraceWithoutGpuSaysSo) {
  TraceMaker maker;
  EXPECT_NE(FindingOf(RunHealth(maker.Finish(), {}), "health.no_gpu"), nullptr);
}

}  // namespace
}  // namespace gprof::test
