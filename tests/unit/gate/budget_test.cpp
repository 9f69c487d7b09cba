#include "gate/budget/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "gate/budget/scope_pattern.h"
#include "gprof/error.h"

namespace gprof {
namespace {

using testing::HasSubstr;

std::vector<Rule> RulesOf(const std::string& rules) {
  return ParseBudget("{\"rules\": {" + rules + "}}", "ci/perf.json").rules;
}

// "what | hint"
std::string ProblemOf(const std::string& budget) {
  try {
    ParseBudget(budget, "perf.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return std::string(error.what()) + " | " + error.hint();
  }
  return "none";
}

std::string ProblemOfRules(const std::string& rules) { return ProblemOf("{\"rules\": {\n" + rules + "}}"); }

std::string ProblemOfCondition(const std::string& text) {
  try {
    ParseCondition(text, "--fail-if");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return std::string(error.what()) + " | " + error.hint();
  }
  return "none";
}

TEST(Budget, ReadsEveryFormOfRule) {
  const std::vector<Rule> rules = RulesOf(R"(
    "memcpy.pageable_bytes": 0,
    "sync.host_blocked_ns": "5ms",
    "gpu.idle_percent@gpu*": {"max": "20%", "warn": 15, "reason": "the loader must keep up"},
    "gpu.busy_percent": {"min": 60, "severity": "warn", "allow_missing": true},
    "kernels.count": {"equals": 12},
    "step.p95_ns": {"max_increase": "5%", "and": "200us"},
    "launches.count": {"max_decrease": 10},
    "gaps.count": {"warn": 100},
    "nvtx.total_ns@nvtx:*/step": [{"max": "5ms"}, {"max_increase": "200us", "and": "2%"}],
  )");
  ASSERT_EQ(rules.size(), 10u);
  EXPECT_EQ(TextOf(rules[0], ""), "memcpy.pageable_bytes <= 0 B");
  EXPECT_EQ(rules[0].file, "ci/perf.json");
  EXPECT_EQ(rules[0].line, 2u);
  EXPECT_EQ(rules[1].limit, 5e6);
  EXPECT_EQ(rules[2].scope, "gpu*");
  EXPECT_EQ(rules[2].warn, 15);
  EXPECT_EQ(rules[2].reason, "the loader must keep up");
  EXPECT_EQ(TextOf(rules[2], "gpu1"), "gpu.idle_percent@gpu1 <= 20%");
  EXPECT_TRUE(rules[3].is_warning && rules[3].allows_missing);
  EXPECT_EQ(TextOf(rules[4], ""), "kernels.count = 12");
  EXPECT_EQ(TextOf(rules[5], ""), "step.p95_ns <= baseline + 5% and 200 us");
  EXPECT_TRUE(rules[5].NeedsBaseline());
  EXPECT_EQ(TextOf(rules[6], ""), "launches.count >= baseline - 10");
  EXPECT_TRUE(rules[7].is_warning);
  EXPECT_EQ(rules[7].limit, 100);
  EXPECT_EQ(rules[9].share, 0.02);
  EXPECT_EQ(rules[9].limit, 200e3);
}

TEST(Budget, KnowsItsNameAndItsBaseline) {
  const Budget budget =
      ParseBudget(R"({"schema": "gprof.budget/1", "$schema": "x", "name": "training", "step": "train/step",
      "baseline": "baselines/main.json", "rules": {"api.errors": 0}})",
                  "ci/perf.json");
  EXPECT_EQ(budget.name, "training");
  EXPECT_EQ(budget.step, "train/step");
  EXPECT_EQ(budget.baseline, "ci/baselines/main.json");
  EXPECT_EQ(ParseBudget(R"({"rules": {"api.errors": 0}})", "ci/perf.json").name, "perf.json");
}

TEST(Budget, NamesTheLineAndWhatWasMeant) {
  EXPECT_EQ(ProblemOfRules(R"("gpu.idle_percnt": 5)"),
            "perf.json:2: unknown metric 'gpu.idle_percnt' | did you mean gpu.idle_percent?");
  EXPECT_EQ(ProblemOfRules("\n\"gpu.idle_percent\": {\n\"maxx\": 5}"),
            "perf.json:4: \"maxx\" is not a known key of a rule | did you mean max?");
  EXPECT_EQ(ProblemOf("{\"rule\": {}}"), "perf.json:1: \"rule\" is not a known key of a budget | did you mean rules?");
  EXPECT_EQ(ProblemOf("{\"kernels.count\": 5}"),
            "perf.json:1: \"kernels.count\" is not a known key of a budget | metrics belong in \"rules\"");
  EXPECT_THAT(ProblemOf("{\"rules\": {}}"), HasSubstr("perf.json:1: \"rules\" is empty"));
  EXPECT_THAT(ProblemOf("{}"), HasSubstr("a budget needs \"rules\""));
  EXPECT_THAT(ProblemOf("[]"), HasSubstr("a budget must be an object, not a list"));
  EXPECT_THAT(ProblemOf("{\"schema\": \"gprof.budget/2\", \"rules\": {\"api.errors\": 0}}"),
              HasSubstr("this gprof-cli reads gprof.budget/1"));
}

TEST(Budget, RefusesRulesThatMakeNoSense) {
  EXPECT_THAT(ProblemOfRules(R"("memcpy.bytes": "5ms")"),
              HasSubstr("the limit of memcpy.bytes cannot be '5ms' | expected a size in bytes"));
  EXPECT_THAT(ProblemOfRules(R"("gpu.busy_percent": 60)"), HasSubstr("higher is better"));
  EXPECT_THAT(ProblemOfRules(R"("api.errors": null)"), HasSubstr("not null"));
  EXPECT_THAT(ProblemOfRules(R"("api.errors": {})"), HasSubstr("this rule has no limit"));
  EXPECT_THAT(ProblemOfRules(R"("api.errors": {"max": 1, "and": 2})"), HasSubstr("\"and\" requires max_increase"));
  EXPECT_THAT(ProblemOfRules(R"("gaps.count": {"max": 1, "warn": 2})"), HasSubstr("beyond the limit"));
  EXPECT_THAT(ProblemOfRules(R"("gaps.count": {"max": 9, "min": 1, "warn": 2})"),
              HasSubstr("exactly one of max and min"));
  EXPECT_THAT(ProblemOfRules(R"("gaps.count": {"max": 9, "severity": "fatal"})"), HasSubstr("'fatal'"));
  EXPECT_THAT(ProblemOfRules(R"("gaps.count": {"max": 9, "reason": 5})"),
              HasSubstr("\"reason\" must be a string, not a number"));
  EXPECT_THAT(ProblemOfRules(R"("gaps.count": {"max_increase": "5%", "and": "2%"})"),
              HasSubstr("one percentage and one absolute value"));
  EXPECT_THAT(ProblemOfRules(R"("gaps.count": {"max_increase": "-5%"})"), HasSubstr("must not be negative"));
  EXPECT_THAT(ProblemOfRules(R"("gaps.count@rank3": 5)"), HasSubstr("'@rank3' is not a valid scope"));
  EXPECT_THAT(ProblemOfRules(R"("gaps.count@": 5)"), HasSubstr("nothing after the @"));
  EXPECT_THAT(ProblemOfRules(R"("gaps.count@nvtx:step": 5)"), HasSubstr("no value per NVTX range"));
  EXPECT_THAT(ProblemOfRules(R"("gaps.count@kernel:f": 5)"), HasSubstr("no value per kernel"));
  EXPECT_THAT(ProblemOfRules(R"("kernels.median_ns": 5)"), HasSubstr("use kernels.median_ns@kernel:NAME"));
  EXPECT_THAT(ProblemOfRules(R"("kernels.count@kernel:/(/": 5)"), HasSubstr("'(' is not a valid regular expression"));
}

TEST(Budget, ReadsConditionsOfTheCommandLine) {
  const auto text = [](const std::string& condition) {
    const Rule rule = ParseCondition(condition, "--fail-if");
    return TextOf(rule, rule.scope);
  };
  EXPECT_EQ(text("gpu.idle_percent > 20"), "gpu.idle_percent <= 20%");
  EXPECT_EQ(text("gpu.idle_percent>=20%"), "gpu.idle_percent < 20%");
  EXPECT_EQ(text(" streams.overlap_percent@gpu0 < 30 "), "streams.overlap_percent@gpu0 >= 30%");
  EXPECT_EQ(text("kernels.total_ns@kernel:f<float, 4> > 5ms"), "kernels.total_ns@kernel:f<float, 4> <= 5 ms");
  EXPECT_EQ(text("health.complete == 0"), "health.complete != 0");
  EXPECT_EQ(text("health.complete != 1"), "health.complete = 1");
  EXPECT_EQ(text("run.wall_ns > baseline + 5%"), "run.wall_ns <= baseline + 5%");
  EXPECT_EQ(text("run.wall_ns > baseline+2ms"), "run.wall_ns <= baseline + 2 ms");
  EXPECT_EQ(text("gpu.busy_percent < baseline - 5%"), "gpu.busy_percent >= baseline - 5%");
  EXPECT_EQ(text("launches.count > baseline"), "launches.count <= baseline");
}

TEST(Budget, RefusesConditionsThatAreNone) {
  EXPECT_EQ(ProblemOfCondition("gpu.idle_percnt > 20"),
            "--fail-if 'gpu.idle_percnt > 20': unknown metric 'gpu.idle_percnt' | did you mean gpu.idle_percent?");
  EXPECT_THAT(ProblemOfCondition("gpu.idle_percent"), HasSubstr("no comparison operator"));
  EXPECT_THAT(ProblemOfCondition("gpu.idle_percent > much"),
              HasSubstr("'much' is not a valid limit for gpu.idle_percent"));
  EXPECT_THAT(ProblemOfCondition("gpu.idle_percent >> 5"), HasSubstr("'>>' is not a comparison operator"));
  EXPECT_THAT(ProblemOfCondition("gpu.idle_percent > "), HasSubstr("'' is not a valid limit"));
  EXPECT_THAT(ProblemOfCondition("gpu.idle_percent > baseline - 5%"), HasSubstr("is not a valid limit"));
  EXPECT_THAT(ProblemOfCondition("gpu.idle_percent == baseline"), HasSubstr("is not a valid limit"));
  EXPECT_THAT(ProblemOfCondition("> 5"), HasSubstr("no comparison"));
  EXPECT_THAT(ProblemOfCondition(""), HasSubstr("no comparison"));
}

bool MatchesScope(const std::string& pattern, std::string_view scope) { return ScopePattern(pattern).Matches(scope); }

TEST(Scopes, AreMatchedByGlobsNamesAndExpressions) {
  EXPECT_TRUE(MatchesScope("gpu*", "gpu12"));
  EXPECT_FALSE(MatchesScope("gpu*", "nvtx:gpu1"));
  EXPECT_TRUE(MatchesScope("nvtx:*/step", "nvtx:train/epoch/step"));
  EXPECT_FALSE(MatchesScope("nvtx:*/step", "nvtx:step"));
  EXPECT_TRUE(MatchesScope("kernel:*softmax*", "kernel:void softmax<float>(float*)"));
  EXPECT_TRUE(MatchesScope("kernel:ns::softmax", "kernel:void ns::softmax<float>(float*)"));
  EXPECT_FALSE(MatchesScope("kernel:soft", "kernel:void softmax<float>(float*)"));
  EXPECT_TRUE(MatchesScope("kernel:/soft(max|plus)/", "kernel:void softmax<float>(float*)"));
  EXPECT_FALSE(MatchesScope("kernel:/^soft/", "kernel:void softmax<float>(float*)"));
  EXPECT_TRUE(MatchesScope("kernel:f(int*)", "kernel:f(int*)"));
}

TEST(Scopes, BearLongNames) { EXPECT_TRUE(MatchesScope("kernel:/.*a/", "kernel:" + std::string(60'000, 'a'))); }

TEST(Budget, BearsAnything) {
  const std::string good = R"({"schema": "gprof.budget/1", "baseline": "a", "rules": {"gpu.idle_percent@gpu*":
      {"max": "20%", "warn": 15, "reason": "r"}, "kernels.count@kernel:/a|b/": [{"max_increase": "5%", "and": 2}]}})";
  ASSERT_EQ(ProblemOf(good), "none");
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_NE(ProblemOf(good.substr(0, size)), "none") << size;
  std::mt19937 random(11);
  const std::string alphabet = "{}[]\":,/*\\0159.e-@%msunvtxgpukel \n";
  for (int round = 0; round < 2000; ++round) {
    std::string text = good;
    for (int i = 0; i < 3; ++i) text[random() % text.size()] = alphabet[random() % alphabet.size()];
    ProblemOf(text);
  }
}

}  // namespace
}  // namespace gprof
