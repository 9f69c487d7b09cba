// What CI systems get must be valid whatever stands in a budget or a trace.
#include "cli/ci/ci_formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <utility>

#include "cli/render/markdown.h"

namespace gprof::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// Control characters, bytes that are no UTF-8, a code point that XML lacks, a CDATA end, a turned direction, an emoji.
const std::string kHostile = std::string("a\x1b[2J\n\t\0", 8) +
                             "b\xff\xc3 ]]> <x y='1'> \"&amp;\" | ` % : , \xEF\xBF\xBF \xE2\x80\xAE \xF0\x9F\x9A\x80";

RuleResult MakeRule(Verdict verdict, const std::string& rule, double value, double limit) {
  RuleResult result;
  result.rule = rule;
  result.metric = "gpu.idle_percent";
  result.unit = Unit::kPercent;
  result.verdict = verdict;
  result.value = value;
  result.limit = limit;
  result.message = "it is " + std::to_string(static_cast<int>(value));
  result.reason = "because";
  result.evidence = "5 runs";
  result.file = "ci/perf.json";
  result.line = 7;
  return result;
}

CheckResult MakeResult(std::vector<RuleResult> rules) {
  CheckResult result;
  result.name = "perf.json";
  result.rules = std::move(rules);
  result.sources = {"a.trace"};
  for (const RuleResult& rule : result.rules) result.verdict = WorseOf(result.verdict, rule.verdict);
  result.line = "FAIL: some";
  return result;
}

CheckResult OneOfEach() {
  return MakeResult({MakeRule(Verdict::kPass, "p", 1, 2), MakeRule(Verdict::kWarn, "w", 3, 2),
                     MakeRule(Verdict::kFail, "f", 30, 20), MakeRule(Verdict::kInconclusive, "i", 0, 0)});
}

CheckResult Hostile() {
  RuleResult rule = MakeRule(Verdict::kFail, kHostile, 1, 0);
  rule.message = rule.reason = rule.evidence = rule.file = rule.scope = rule.metric = kHostile;
  RuleResult good = rule;
  good.verdict = Verdict::kPass;
  CheckResult result = MakeResult({rule, good, rule});
  result.name = result.line = kHostile;
  result.notes = {kHostile};
  result.sources = {kHostile};
  result.fingerprint.gpus = {kHostile};
  result.fingerprint.host = result.fingerprint.commit = result.fingerprint.program = kHostile;
  return result;
}

std::size_t CountOfText(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::vector<std::string> LinesOfText(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Junit, SaysWhichRuleFailedAndWhichNobodyCanJudge) {
  const std::string xml = RenderJunit(OneOfEach());
  EXPECT_EQ(CountOfText(xml, "<testcase "), 4u);
  EXPECT_THAT(xml, HasSubstr(R"(<testsuite name="perf.json" tests="4" failures="1" errors="1" skipped="0">)"));
  EXPECT_THAT(xml, HasSubstr(R"(<testcase classname="gprof-cli.perf_json" name="f" time="0">
      <failure type="budget" message="it is 30">it is 30
because
5 runs
ci/perf.json:7</failure>)"));
  EXPECT_THAT(xml, HasSubstr(R"(<error type="inconclusive" message="it is 0">)"));
  EXPECT_THAT(xml, HasSubstr("<system-out>warning\nit is 3"));
}

TEST(Junit, NamesOfTestCasesAreDifferent) {
  const std::string xml =
      RenderJunit(MakeResult({MakeRule(Verdict::kPass, "same", 1, 2), MakeRule(Verdict::kPass, "same", 1, 2)}));
  EXPECT_THAT(xml, HasSubstr("name=\"same\""));
  EXPECT_THAT(xml, HasSubstr("name=\"same (2)\""));
}

TEST(Junit, HasNothingThatXmlCannotHold) {
  const std::string xml = RenderJunit(Hostile());
  for (const char c : xml) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << static_cast<int>(c);
  EXPECT_THAT(xml, Not(HasSubstr("\xff")));
  EXPECT_THAT(xml, Not(HasSubstr("\xEF\xBF\xBF")));
  EXPECT_THAT(xml, Not(HasSubstr("]]>")));
  EXPECT_THAT(xml, Not(HasSubstr("<x")));
  EXPECT_THAT(xml, HasSubstr("\xF0\x9F\x9A\x80"));
  EXPECT_THAT(xml, HasSubstr("&quot;&amp;amp;&quot;"));
}

TEST(Annotations, AreRankedAndSayWhere) {
  const std::vector<std::string> lines = LinesOfText(RenderAnnotations(OneOfEach(), {}));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "::error file=ci/perf.json,line=7,title=fail%3A f::it is 30%0Abecause%0A5 runs");
  EXPECT_EQ(lines[1], "::error file=ci/perf.json,line=7,title=inconclusive%3A i::it is 0%0Abecause%0A5 runs");
  EXPECT_EQ(lines[2], "::warning file=ci/perf.json,line=7,title=warn%3A w::it is 3%0Abecause%0A5 runs");
}

TEST(Annotations, TheWorstComeFirst) {
  const std::string text = RenderAnnotations(
      MakeResult({MakeRule(Verdict::kFail, "small", 21, 20), MakeRule(Verdict::kFail, "large", 80, 20),
                  MakeRule(Verdict::kFail, "none at all", 1, 0)}),
      {});
  EXPECT_LT(text.find("none at all"), text.find("large"));
  EXPECT_LT(text.find("large"), text.find("small"));
}

TEST(Annotations, AreTenAtMostAndCountTheRest) {
  std::vector<RuleResult> rules;
  for (int i = 0; i < 10; ++i) rules.push_back(MakeRule(Verdict::kFail, "r" + std::to_string(i), 2, 1));
  EXPECT_EQ(LinesOfText(RenderAnnotations(MakeResult(rules), {})).size(), 10u);
  rules.push_back(MakeRule(Verdict::kWarn, "last", 2, 1));
  const std::vector<std::string> lines = LinesOfText(RenderAnnotations(MakeResult(rules), {}));
  ASSERT_EQ(lines.size(), 10u);
  EXPECT_EQ(lines.back(), "::error title=perf.json::2 more rules did not pass");
}

TEST(Annotations, NoTextCanBeginACommandOrLeaveItsPlace) {
  const std::string text = RenderAnnotations(Hostile(), {});
  const std::vector<std::string> lines = LinesOfText(text);
  ASSERT_EQ(lines.size(), 2u);
  for (const std::string& line : lines) {
    EXPECT_EQ(line.rfind("::error file=", 0), 0u);
    // Two commas of ours, and no colon between the two pairs that are ours.
    const std::string properties = line.substr(8, line.find("::", 8) - 8);
    EXPECT_EQ(CountOfText(properties, ","), 2u) << properties;
    EXPECT_EQ(properties.find(':'), std::string::npos) << properties;
    EXPECT_FALSE(std::regex_search(line, std::regex("%(?!25|0A|3A|2C)"))) << line;
  }
}

TEST(Annotations, OfTheCommandLineHaveNoFile) {
  RuleResult rule = MakeRule(Verdict::kFail, "f", 2, 1);
  rule.file.clear();
  EXPECT_EQ(RenderAnnotations(MakeResult({rule}), {}), "::error title=fail%3A f::it is 2%0Abecause%0A5 runs\n");
}

TEST(PathInRepository, IsRelativeToItWhereItLiesInThere) {
  EXPECT_EQ(PathInRepository("./ci/../perf.json", {}), "perf.json");
  EXPECT_EQ(PathInRepository("/repository/ci/perf.json", "/repository"), "ci/perf.json");
  EXPECT_EQ(PathInRepository("/elsewhere/perf.json", "/repository"), "/elsewhere/perf.json");
}

TEST(CodeQuality, HasAnIssueForWhatDidNotPass) {
  const auto issues = nlohmann::json::parse(RenderCodeQuality(OneOfEach(), {}, ".gitlab-ci.yml"));
  ASSERT_EQ(issues.size(), 3u);
  EXPECT_EQ(issues[0]["severity"], "critical");
  EXPECT_EQ(issues[1]["severity"], "major");
  EXPECT_EQ(issues[2]["severity"], "minor");
  EXPECT_EQ(issues[0]["check_name"], "gpu.idle_percent");
  EXPECT_EQ(issues[0]["description"], "f: it is 30; because; 5 runs");
  EXPECT_EQ(issues[0]["location"]["path"], "ci/perf.json");
  EXPECT_EQ(issues[0]["location"]["lines"]["begin"], 7);
}

TEST(CodeQuality, KnowsARuleAgainWhateverItsFigure) {
  const auto fingerprint = [](const RuleResult& rule) {
    return nlohmann::json::parse(RenderCodeQuality(MakeResult({rule}), {}, "x"))[0]["fingerprint"].get<std::string>();
  };
  const RuleResult first = MakeRule(Verdict::kFail, "f", 30, 20);
  RuleResult later = MakeRule(Verdict::kFail, "f", 31, 20);
  later.line = 9;
  EXPECT_EQ(fingerprint(first), fingerprint(later));
  EXPECT_EQ(fingerprint(first).size(), 32u);
  EXPECT_NE(fingerprint(first), fingerprint(MakeRule(Verdict::kFail, "g", 30, 20)));
  const auto twice = nlohmann::json::parse(RenderCodeQuality(MakeResult({first, first}), {}, "x"));
  EXPECT_NE(twice[0]["fingerprint"], twice[1]["fingerprint"]);
}

TEST(CodeQuality, PutsRulesOfTheCommandLineWhereTheCommandStands) {
  RuleResult rule = MakeRule(Verdict::kFail, "f", 2, 1);
  rule.file.clear();
  rule.line = 0;
  const auto issues = nlohmann::json::parse(RenderCodeQuality(MakeResult({rule}), {}, "ci/gpu.yml"));
  EXPECT_EQ(issues[0]["location"]["path"], "ci/gpu.yml");
  EXPECT_EQ(issues[0]["location"]["lines"]["begin"], 1);
}

TEST(CodeQuality, IsJsonWhateverIsInIt) {
  EXPECT_EQ(nlohmann::json::parse(RenderCodeQuality(Hostile(), {}, "x")).size(), 2u);
}

TEST(OpenMetrics, HasWhatWasJudgedAndTheVerdicts) {
  RuleResult scoped = MakeRule(Verdict::kPass, "s", 12.5, 20);
  scoped.scope = "gpu0";
  RuleResult bytes = MakeRule(Verdict::kPass, "b", 4'000'000'000, 20);
  bytes.metric = "memcpy.pageable_bytes";
  EXPECT_THAT(RenderOpenMetrics(MakeResult({MakeRule(Verdict::kFail, "f", 30, 20), bytes, scoped})),
              testing::MatchesRegex("# TYPE gprof_gpu_idle_percent gauge\n"
                                    "# HELP gprof_gpu_idle_percent idle time in percent of the GPU window\n"
                                    "gprof_gpu_idle_percent 30\n"
                                    "gprof_gpu_idle_percent.scope=\"gpu0\". 12.5\n"
                                    "# TYPE gprof_memcpy_pageable_bytes gauge\n"
                                    "# HELP gprof_memcpy_pageable_bytes .*\n"
                                    "gprof_memcpy_pageable_bytes 4000000000\n"
                                    "# TYPE gprof_check_rules gauge\n"
                                    "# HELP gprof_check_rules rules of the budget by verdict\n"
                                    "gprof_check_rules.verdict=\"pass\". 2\n"
                                    "gprof_check_rules.verdict=\"warn\". 0\n"
                                    "gprof_check_rules.verdict=\"fail\". 1\n"
                                    "gprof_check_rules.verdict=\"inconclusive\". 0\n"
                                    "# EOF\n"));
}

TEST(OpenMetrics, EveryLineIsOneWhateverIsInIt) {
  CheckResult result = Hostile();
  result.rules[0].value = std::numeric_limits<double>::infinity();
  const std::regex sample(R"re([a-zA-Z_][a-zA-Z0-9_]*(\{[a-z]+="([^"\\]|\\["\\n])*"\})? -?[0-9.e+-]+)re");
  for (const std::string& line : LinesOfText(RenderOpenMetrics(result))) {
    EXPECT_TRUE(line.rfind("# ", 0) == 0 || std::regex_match(line, sample)) << line;
  }
}

TEST(Summary, BeginsWithTheVerdictAndFoldsAwayWhatPassed) {
  const std::string text = RenderSummary(OneOfEach());
  EXPECT_EQ(text.rfind("## FAIL: some\n", 0), 0u);
  EXPECT_THAT(text, HasSubstr("| **fail** | `f` | it is 30<br>because<br>5 runs |\n| **inconclusive** | `i` |"));
  EXPECT_LT(text.find("**warn**"), text.find("<details><summary>1 rule passed</summary>\n\n"));
  EXPECT_LT(text.find("<details>"), text.find("| `p` | it is 1 |"));
  EXPECT_THAT(text, testing::EndsWith("</details>\n"));
}

TEST(Summary, StaysSmallAndSaysWhatIsNotShown) {
  std::vector<RuleResult> rules;
  for (int i = 0; i < 5'000; ++i) {
    rules.push_back(MakeRule(i % 2 == 0 ? Verdict::kFail : Verdict::kPass, std::string(5'000, 'k'), 2, 1));
  }
  const std::string text = RenderSummary(MakeResult(rules));
  EXPECT_LE(text.size(), kMostSummaryBytes);
  EXPECT_GT(text.size(), kMostSummaryBytes / 2);
  EXPECT_THAT(text, HasSubstr("more rules are not shown."));
}

TEST(Summary, IsOneRowARuleWhateverIsInIt) {
  const std::string text = RenderSummary(Hostile());
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("<x"), text.find("\\<x") + 1);
  for (const std::string& line : LinesOfText(text)) {
    if (line.rfind("| **fail**", 0) != 0) continue;
    EXPECT_EQ(CountOfText(line, "|") - CountOfText(line, "\\|"), 4u) << line;
  }
}

TEST(ErrorAsResult, IsInconclusiveAndSaysWhy) {
  const CheckResult result = ResultOfError(Error(ExitCode::kUnreadable, "cannot read 'x'", "look there"));
  EXPECT_EQ(result.verdict, Verdict::kInconclusive);
  EXPECT_THAT(RenderJunit(result), HasSubstr("<error type=\"inconclusive\" message=\"cannot read 'x'\">"));
  EXPECT_THAT(RenderSummary(result), HasSubstr("ERROR: not judged: cannot read 'x'"));
  EXPECT_EQ(RenderAnnotations(result, {}), "::error title=not judged::cannot read 'x'%0Alook there\n");
  EXPECT_EQ(nlohmann::json::parse(RenderCodeQuality(result, {}, "ci.yml"))[0]["check_name"], "gprof-cli");
}

TEST(Markdown, NamesAreNoMentionsNumbersOfIssuesOrLinks) {
  EXPECT_EQ(MarkdownEscaped("@admin"), "@&#8203;admin");
  EXPECT_EQ(MarkdownEscaped("f(@a, @b)"), "f(@&#8203;a, @&#8203;b)");
  EXPECT_EQ(MarkdownEscaped("gpu.busy_percent@gpu0 @ 5"), "gpu.busy\\_percent@gpu0 @ 5");
  EXPECT_EQ(MarkdownEscaped("#12 # a"), "\\#&#8203;12 \\# a");
  EXPECT_EQ(MarkdownEscaped("https://a www.b"), "https:&#8203;//a www.&#8203;b");
  EXPECT_EQ(MarkdownEscaped("&lt; $x$"), "\\&lt; \\$x\\$");
}

TEST(Markdown, CodeKeepsItsTicksAndBars) {
  EXPECT_EQ(MarkdownCode("a_b"), "`a_b`");
  EXPECT_EQ(MarkdownCode("a`b"), "``a`b``");
  EXPECT_EQ(MarkdownCode("`a"), "`` `a ``");
  EXPECT_EQ(MarkdownCode("a|b", true), "`a\\|b`");
  EXPECT_EQ(MarkdownCode("a|b"), "`a|b`");
  EXPECT_EQ(MarkdownEscaped("a_b<c>|\n"), "a\\_b\\<c\\>\\|\\\\n");
}

}  // namespace
}  // namespace gprof::cli
