#include "analysis/result/findings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gprof {
namespace {

Finding Make(const std::string& id, int64_t gain_ns) { return {id, Severity::kNote, "", "", gain_ns, ""}; }

std::vector<std::string> Order(const std::vector<Finding>& findings) {
  std::vector<std::string> ids;
  for (const RankedFinding& ranked : LeadersFirst(findings)) {
    ids.push_back(ranked.finding->id + (ranked.leader == nullptr ? "" : " < " + ranked.leader->id));
  }
  return ids;
}

using Ids = std::vector<std::string>;

TEST(Findings, OneThingComesOnceBeforeTheOthers) {
  EXPECT_EQ(
      Order({Make("memcpy.pageable", 34), Make("memcpy.pageable", 20), Make("idle.copy", 12), Make("api.errors", 0)}),
      (Ids{"memcpy.pageable", "memcpy.pageable", "api.errors", "idle.copy < memcpy.pageable"}));
}

TEST(Findings, TheLargerOneLeads) {
  EXPECT_EQ(Order({Make("idle.launch", 9), Make("launch.bound", 8)}),
            (Ids{"idle.launch", "launch.bound < idle.launch"}));
  EXPECT_EQ(Order({Make("launch.bound", 9), Make("idle.launch", 8)}),
            (Ids{"launch.bound", "idle.launch < launch.bound"}));
}

// What follows does not lead: kernels.chain is about launch.bound, which is about idle.host, and idle.host is not about
// it.
TEST(Findings, FollowersLeadNobody) {
  EXPECT_EQ(Order({Make("idle.host", 9), Make("launch.bound", 8), Make("kernels.chain", 7)}),
            (Ids{"idle.host", "kernels.chain", "launch.bound < idle.host"}));
}

TEST(Findings, SlowStepsFollowWhatTheySayTheyWaitedFor) {
  Finding steps = Make("steps.outliers", 5);
  steps.subject.causes = {"host"};
  EXPECT_EQ(Order({Make("idle.host", 9), Make("idle.sync", 8), steps}),
            (Ids{"idle.host", "idle.sync", "steps.outliers < idle.host"}));
}

TEST(Findings, WithoutAGainThereIsNothingToAdd) {
  EXPECT_EQ(Order({Make("sync.site", 5), Make("idle.sync", 0)}), (Ids{"sync.site", "idle.sync"}));
}

TEST(Findings, LeadersByIdKeepTheOrder) {
  EXPECT_EQ(LeadersOf({Make("idle.host", 9), Make("launch.bound", 8), Make("other", 7)}), (Ids{"", "idle.host", ""}));
}

TEST(Findings, LittleIsNotForTheFirstScreen) {
  const auto is_minor = [](Severity severity, int64_t gain_ns) {
    Finding finding = Make("memcpy.pageable", gain_ns);
    finding.severity = severity;
    return IsMinor(finding, 1000);
  };
  EXPECT_TRUE(is_minor(Severity::kNote, 9));
  EXPECT_FALSE(is_minor(Severity::kNote, 10));
  EXPECT_TRUE(is_minor(Severity::kInfo, 0));
  EXPECT_FALSE(is_minor(Severity::kNote, 0));  // whose gain is not known
  EXPECT_FALSE(is_minor(Severity::kWarning, 1));
}

}  // namespace
}  // namespace gprof
