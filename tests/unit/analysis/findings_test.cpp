#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "analysis/findings/ranked_findings.h"

namespace gprof {
namespace {

Finding Make(const std::string& id, int64_t gain_ns, Severity severity = Severity::kNote) {
  Finding finding;
  finding.id = id, finding.severity = severity, finding.gain_ns = gain_ns;
  return finding;
}

// Of a window of 1,000 ns, unless a test says otherwise.
const std::vector<Metric> kTotals = {
    {"idle.host_ns", "", 300},   {"idle.launch_ns", "", 100}, {"idle.queue_ns", "", 50},  {"idle.api_ns", "", 50},
    {"idle.sync_ns", "", 100},   {"idle.copy_ns", "", 20},    {"gpu.kernel_ns", "", 200}, {"gpu.copy_only_ns", "", 180},
    {"idle.host_ns", "gpu0", 1}, {"idle.memory_ns", "", 0}};

// "id gain < leader", "(id gain)" for a minor one.
std::vector<std::string> Judge(std::vector<Finding> findings, const std::vector<Metric>& totals = kTotals,
                               const JudgedBasis& judged = {1000}) {
  RankFindings(&findings);
  std::vector<std::string> lines;
  for (const RankedFinding& ranked : JudgeFindings(findings, totals, judged)) {
    std::string line = ranked.finding->id + " " + std::to_string(ranked.gain_ns);
    if (ranked.leader != nullptr) line += " < " + ranked.leader->id;
    lines.push_back(ranked.is_minor ? "(" + line + ")" : line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(Findings, NobodyClaimsMoreThanThereIs) {
  EXPECT_EQ(Judge({Make("memcpy.pageable", 5000)}), (Lines{"memcpy.pageable 200"}));
  EXPECT_EQ(Judge({Make("memcpy.pageable", 150), Make("memcpy.overlap", 100)}),
            (Lines{"memcpy.pageable 150", "memcpy.overlap 30 < memcpy.pageable"}));
}

TEST(Findings, ClaimsSayOfWhichTimeTheyAre) {
  const std::vector<Finding> findings = {Make("sync.drains", 150), Make("idle.sync", 100), Make("api.errors", 5)};
  const std::vector<RankedFinding> ranked = JudgeFindings(findings, kTotals, {1000});
  using Claims = std::map<std::string, int64_t>;
  EXPECT_EQ(ranked[0].claims, (Claims{{"idle.sync_ns", 100}, {"idle.copy_ns", 20}, {"idle.launch_ns", 30}}));
  for (const RankedFinding& other : {ranked[1], ranked[2]}) EXPECT_EQ(other.claims, Claims{}) << other.finding->id;
}

TEST(Findings, WhyComesBeforeWhere) {
  EXPECT_EQ(Judge({Make("idle.sync", 100), Make("sync.drains", 80)}),
            (Lines{"sync.drains 80", "idle.sync 20 < sync.drains"}));
  EXPECT_EQ(Judge({Make("gpu.copy_bound", 180), Make("memcpy.pageable", 60)}),
            (Lines{"gpu.copy_bound 120", "memcpy.pageable 60"}));
}

TEST(Findings, WhatMoreThereIsToSayStandsBehindThePlace) {
  const std::vector<Metric> totals = {{"gpu.kernel_ns", "", 900}, {"gpu.copy_only_ns", "", 100}};
  EXPECT_EQ(Judge({Make("library.attention", 500), Make("gpu.kernel_bound", 150), Make("gpu.copy_bound", 90),
                   Make("library.layout", 60)},
                  totals),
            (Lines{"gpu.kernel_bound 150", "gpu.copy_bound 90", "library.attention 500", "library.layout 60"}));
  // A warning about the same kernels does not make the place minor.
  EXPECT_EQ(Judge({Make("gemm.fp32", 500, Severity::kWarning), Make("gpu.kernel_bound", 40)}, totals),
            (Lines{"gpu.kernel_bound 40", "gemm.fp32 500"}));
  EXPECT_EQ(Judge({Make("library.attention", 500), Make("memcpy.pageable", 90)}, totals),
            (Lines{"memcpy.pageable 90", "library.attention 500"}));
}

TEST(Findings, WhyThereIsWaitingComesBeforeTheWait) {
  const std::vector<Metric> totals = {{"idle.sync_ns", "", 100}};
  EXPECT_EQ(Judge({Make("sync.drains", 100), Make("balance.uneven", 90)}, totals),
            (Lines{"balance.uneven 90", "sync.drains 10 < balance.uneven"}));
  EXPECT_EQ(Judge({Make("sync.drains", 100), Make("balance.uneven", 20)}, totals),
            (Lines{"sync.drains 80", "balance.uneven 20"}));
}

TEST(Findings, WhatKeepsKernelsApartComesBeforeTheirGrids) {
  const std::vector<Metric> totals = {{"gpu.kernel_ns", "", 200}, {"gpu.copy_only_ns", "", 0}};
  EXPECT_EQ(Judge({Make("occupancy.small_grid", 180), Make("streams.no_overlap", 180)}, totals),
            (Lines{"streams.no_overlap 180", "occupancy.small_grid 20 < streams.no_overlap"}));
  EXPECT_EQ(Judge({Make("occupancy.small_grid", 180), Make("streams.no_overlap", 20)}, totals),
            (Lines{"occupancy.small_grid 180", "streams.no_overlap 20"}));
  EXPECT_EQ(Judge({Make("occupancy.small_grid", 120), Make("gpu.kernel_bound", 130)}, totals),
            (Lines{"occupancy.small_grid 120", "gpu.kernel_bound 80"}));
}

TEST(Findings, WhatMostHaveLeftStaysForItself) {
  EXPECT_EQ(Judge({Make("idle.host", 300), Make("launch.bound", 200)}), (Lines{"idle.host 250", "launch.bound 200"}));
}

TEST(Findings, WithoutTotalsNothingIsTakenAway) {
  EXPECT_EQ(Judge({Make("memcpy.pageable", 5000), Make("memcpy.overlap", 100)}, {}),
            (Lines{"memcpy.pageable 5000", "memcpy.overlap 100"}));
}

TEST(Findings, SlowStepsClaimTheCausesTheyName) {
  Finding steps = Make("steps.outliers", 290);
  steps.subject.causes = {"host"};
  EXPECT_EQ(Judge({Make("idle.host", 300), steps}), (Lines{"steps.outliers 290", "idle.host 10 < steps.outliers"}));
}

TEST(Findings, WhatTheStartTookIsNotLeftOfWhatComesAgain) {
  const std::vector<Metric> totals = {{"idle.os_ns", "", 900}};  // 600 of it before the steps
  EXPECT_EQ(Judge({Make("idle.os", 300), Make("os.handover", 280)}, totals),
            (Lines{"os.handover 280", "idle.os 20 < os.handover"}));
}

TEST(Findings, StepsWithLongerKernelsClaimKernels) {
  EXPECT_EQ(Judge({Make("gpu.clocks_fell", 150), Make("steps.trend", 160)}),
            (Lines{"steps.trend 160", "gpu.clocks_fell 40 < steps.trend"}));
}

TEST(Findings, SomeWarningsComeBeforeAll) {
  EXPECT_EQ(Judge({Make("idle.host", 300), Make("launch.blocking", 50, Severity::kWarning)}),
            (Lines{"launch.blocking 50", "(idle.host 0 < launch.blocking)"}));
  EXPECT_EQ(Judge({Make("idle.host", 300), Make("api.errors", 0, Severity::kWarning)}),
            (Lines{"api.errors 0", "idle.host 300"}));
  EXPECT_EQ(Judge({Make("idle.host", 300), Make("api.errors", 0)}), (Lines{"idle.host 300", "api.errors 0"}));
}

TEST(Findings, AGuessComesAfterWhatIsInTheWay) {
  EXPECT_EQ(Judge({Make("critical.kernel", 100), Make("memcpy.pageable", 50)}),
            (Lines{"memcpy.pageable 50", "critical.kernel 100"}));
}

TEST(Findings, LittleIsNotForTheFirstScreen) {
  EXPECT_EQ(Judge({Make("memcpy.pageable", 9, Severity::kWarning)}), (Lines{"(memcpy.pageable 9)"}));
  EXPECT_EQ(Judge({Make("memcpy.pageable", 10)}), (Lines{"memcpy.pageable 10"}));
  EXPECT_EQ(Judge({Make("memory.leaked", 0, Severity::kInfo)}), (Lines{"(memory.leaked 0)"}));
  EXPECT_EQ(Judge({Make("memory.growth", 0)}), (Lines{"memory.growth 0"}));  // whose gain is not known
}

TEST(Findings, LessThanATenthOfTheLargestSavingIsNotForTheFirstScreen) {
  EXPECT_EQ(Judge({Make("memcpy.pageable", 180, Severity::kWarning), Make("idle.launch", 17)}),
            (Lines{"memcpy.pageable 180", "(idle.launch 17)"}));
  EXPECT_EQ(Judge({Make("memcpy.pageable", 180, Severity::kWarning), Make("idle.launch", 18)}),
            (Lines{"memcpy.pageable 180", "idle.launch 18"}));
}

TEST(Findings, WarningsComeBeforeNotesAndLargerSavingsBeforeSmallerOnes) {
  EXPECT_EQ(Judge({Make("idle.host", 250), Make("sync.drains", 50, Severity::kWarning),
                   Make("memcpy.pageable", 90, Severity::kWarning)}),
            (Lines{"memcpy.pageable 90", "sync.drains 50", "idle.host 250"}));
}

TEST(Findings, WarningsWithoutASavingStandWithNotes) {
  EXPECT_EQ(Judge({Make("idle.host", 250), Make("gpu.other_processes", 0, Severity::kWarning)}),
            (Lines{"idle.host 250", "gpu.other_processes 0"}));
}

TEST(Findings, StartUpComesAfterWarningsAboutWhatComesAgain) {
  EXPECT_EQ(Judge({Make("startup.first_launches", 300, Severity::kWarning),
                   Make("memcpy.pageable", 150, Severity::kWarning), Make("idle.sync", 50)}),
            (Lines{"memcpy.pageable 150", "startup.first_launches 300", "idle.sync 50"}));
  EXPECT_EQ(Judge({Make("startup.first_launches", 300), Make("idle.sync", 50)}),
            (Lines{"idle.sync 50", "startup.first_launches 300"}));
}

TEST(Findings, WhatIsCopiedOnceComesAfterTheKernels) {
  const std::vector<Finding> findings = {Make("memcpy.pageable", 170, Severity::kWarning),
                                         Make("gpu.kernel_bound", 120), Make("idle.host", 150, Severity::kWarning)};
  EXPECT_EQ(Judge(findings, kTotals, {1000, true}),
            (Lines{"idle.host 150", "gpu.kernel_bound 120", "memcpy.pageable 170"}));
  EXPECT_EQ(Judge(findings, kTotals, {1000, false}),
            (Lines{"memcpy.pageable 170", "idle.host 150", "gpu.kernel_bound 120"}));
  EXPECT_EQ(Judge({Make("memcpy.pageable", 170)}, kTotals, {1000, true}), (Lines{"memcpy.pageable 170"}));
}

TEST(Findings, OfPlacesTheOneWithMostOfTheTimeComesFirst) {
  const std::vector<Metric> totals = {{"gpu.kernel_ns", "", 700}, {"idle.host_ns", "", 250}, {"idle.sync_ns", "", 30}};
  Finding kernels = Make("gpu.kernel_bound", 70);
  kernels.about_ns = 700;
  EXPECT_EQ(Judge({Make("idle.host", 240), kernels}, totals), (Lines{"gpu.kernel_bound 70", "idle.host 240"}));
  kernels.about_ns = 239;
  EXPECT_EQ(Judge({Make("idle.host", 240), kernels}, totals), (Lines{"idle.host 240", "gpu.kernel_bound 70"}));
  // What says why the GPU waits comes before what says where.
  kernels.about_ns = 150;
  EXPECT_EQ(Judge({Make("idle.host", 200), kernels, Make("sync.drains", 30, Severity::kWarning)}, totals),
            (Lines{"sync.drains 30", "idle.host 200", "gpu.kernel_bound 70"}));
}

TEST(Findings, ShareOfTheRun) {
  Finding sync = Make("sync.drains", 50);
  RankedFinding ranked{.finding = &sync, .gain_ns = 40, .gpus = 2, .run_ns = 400};
  EXPECT_EQ(ranked.PercentOfRun(), 5);
  ranked.leader = &sync;
  EXPECT_EQ(ranked.PercentOfRun(), 6.25);
  ranked.run_ns = 0;
  EXPECT_EQ(ranked.PercentOfRun(), std::nullopt);
}

TEST(Findings, ShortGapsBeforeKernelsAreClaimedOnce) {
  EXPECT_EQ(Judge({Make("kernels.chain", 170), Make("launch.bound", 150, Severity::kWarning)}),
            (Lines{"launch.bound 150", "kernels.chain 20 < launch.bound"}));
}

TEST(Findings, WaitingForALateRankIsClaimedOnce) {
  const std::vector<Metric> totals = {{"nccl.exposed_ns", "", 260}, {"idle.sync_ns", "", 0}};
  EXPECT_EQ(Judge({Make("balance.uneven", 240, Severity::kWarning), Make("nccl.straggler", 240, Severity::kWarning),
                   Make("nccl.exposed", 20, Severity::kWarning)},
                  totals),
            (Lines{"balance.uneven 240", "(nccl.straggler 20 < balance.uneven)", "(nccl.exposed 0 < balance.uneven)"}));
}

}  // namespace
}  // namespace gprof
