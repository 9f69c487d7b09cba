// Whether changes that do nothing are called better when many are tried.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "analysis/findings/change_catalogue.h"
#include "analysis/findings/finding_catalogue.h"
#include "base/input_file.h"
#include "gate/trials/judge_trials.h"
#include "series.h"

namespace gprof {
namespace {

constexpr std::size_t kRounds = 10;

std::vector<double> Runs(double mean, double drift, Random* random) {
  std::vector<double> values;
  for (std::size_t i = 0; i < kRounds; ++i) {
    values.push_back(mean * (1 + drift * static_cast<double>(i) / kRounds) * (1 + 0.02 * random->Normal()));
  }
  return values;
}

// How often any of `tried` placebos, which share their base runs, is called better or worse.
uint32_t FalseAlarms(std::size_t tried, double drift, uint32_t experiments) {
  Random random(11);
  uint32_t alarms = 0;
  const SampleRules rules = RulesOfTrials({}, tried);
  for (uint32_t i = 0; i < experiments; ++i) {
    const std::vector<double> base = Runs(100, drift, &random);
    bool is_alarm = false;
    for (std::size_t k = 0; k < tried; ++k) {
      const Change change = JudgeTrial(base, Runs(100, drift, &random), rules).change;
      is_alarm = is_alarm || change == Change::kImproved || change == Change::kRegressed;
    }
    alarms += is_alarm ? 1 : 0;
  }
  return alarms;
}

TEST(JudgeTrial, NoneOfTwentyPlacebosIsBetterIn95PercentOfExperiments) {
  // 5 % of 400 are 20; 31 come once in a hundred.
  EXPECT_LE(FalseAlarms(20, 0, 400), 31u);
  EXPECT_LE(FalseAlarms(20, 0.1, 400), 31u);
}

TEST(JudgeTrial, TenPercentAreFoundAmongTwenty) {
  Random random(12);
  const SampleRules rules = RulesOfTrials({}, 20);
  uint32_t found = 0;
  for (uint32_t i = 0; i < 100; ++i) {
    const std::vector<double> base = Runs(100, 0, &random);
    found += JudgeTrial(base, Runs(90, 0, &random), rules).change == Change::kImproved ? 1 : 0;
  }
  EXPECT_GE(found, 99u);
}

TEST(JudgeTrial, OneChangeIsJudgedAsAComparisonDoes) {
  EXPECT_DOUBLE_EQ(RulesOfTrials({}, 1).false_alarms, SampleRules().false_alarms);
  EXPECT_DOUBLE_EQ(RulesOfTrials({}, 20).false_alarms, 0.0025);
}

TEST(ChangeCatalogue, NamesOnceWhatFindingsThatExistAskFor) {
  std::set<std::string_view> names;
  for (const ChangeInfo& change : ChangeCatalogue()) {
    EXPECT_TRUE(names.insert(change.name).second) << change.name;
    EXPECT_EQ(FindChange(change.name), &change);
    EXPECT_FALSE(change.permanent.empty()) << change.name;
    EXPECT_NE(change.environment.empty(), change.wrapper.empty()) << change.name;
    for (const std::string_view finding : change.findings) {
      EXPECT_TRUE(finding.empty() || FindFinding(finding) != nullptr) << change.name << " " << finding;
    }
  }
  EXPECT_EQ(ChangesFor("gemm.fp32"), std::vector<std::string_view>{"tf32"});
  EXPECT_TRUE(ChangesFor("").empty());
}

TEST(ChangeCatalogue, PageHasAllOfIt) {
  const std::string page = ReadInputFile(std::string(GPROF_SOURCE_DIR) + "/docs/commands/try.md");
  EXPECT_NE(page.find(ChangesMarkdown()), std::string::npos) << ChangesMarkdown();
}

}  // namespace
}  // namespace gprof
