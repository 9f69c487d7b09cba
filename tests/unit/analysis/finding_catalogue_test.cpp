// The catalogue of findings against the sources that make them, the tests that see them and the page that lists them.
#include "analysis/findings/finding_catalogue.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "analysis/result/idle_causes.h"

namespace gprof {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = GPROF_SOURCE_DIR;

std::string TextOf(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// f(path, text) for each file below the folder with that ending.
template <class F>
void ForEachFile(const fs::path& folder, const std::string& ending, F f) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().string().ends_with(ending)) f(entry.path(), TextOf(entry.path()));
  }
}

TEST(FindingCatalogue, RowsAreWhole) {
  std::set<std::string_view> ids;
  for (const FindingInfo& info : FindingCatalogue()) {
    EXPECT_TRUE(ids.insert(info.id).second) << info.id << " is there twice";
    EXPECT_FALSE(info.meaning.empty()) << info.id;
    EXPECT_FALSE(info.table.empty()) << info.id;
    EXPECT_NE(info.place.query.empty(), info.place.why_none.empty()) << info.id;
    EXPECT_EQ(info.place.name == nullptr, info.place.key.data() == nullptr) << info.id;
  }
  for (const FindingInfo& info : FindingCatalogue()) {
    for (const std::string_view metric : info.claims.ids) {
      EXPECT_TRUE(metric.empty() || FindMetric(metric) != nullptr) << info.id << " claims " << metric;
    }
  }
  ForEachCause([&](Cause cause) { EXPECT_TRUE(ids.contains("idle." + std::string(InfoOf(cause).name))); });
}

TEST(FindingCatalogue, SeveritiesFollowTheRule) {
  EXPECT_EQ(NewFinding("memcpy.pageable", 0.4).severity, Severity::kInfo);
  EXPECT_EQ(NewFinding("memcpy.pageable", 0.5).severity, Severity::kNote);
  EXPECT_EQ(NewFinding("memcpy.pageable", 5).severity, Severity::kWarning);
  EXPECT_EQ(NewFinding("idle.host", 24.9).severity, Severity::kNote);
  EXPECT_EQ(NewFinding("idle.host", 25).severity, Severity::kWarning);
  EXPECT_EQ(NewFinding("steps.warmup", 1000).severity, Severity::kInfo);
  EXPECT_EQ(NewFinding("sync.drains", 0).severity, Severity::kWarning);
}

TEST(FindingCatalogue, ReportsSayTheSame) {
  const std::string page = TextOf(kSource / "docs/commands/report.md");
  size_t rows = 0;
  for (size_t at = page.find("## Findings"); (at = page.find("\n| `", at)) != std::string::npos; ++at) ++rows;
  EXPECT_EQ(rows, FindingCatalogue().size());
  for (const FindingInfo& info : FindingCatalogue()) {
    const std::string row = "| `" + std::string(info.id) + "` | " + std::string(info.meaning) + " |\n";
    EXPECT_NE(page.find(row), std::string::npos) << "docs/commands/report.md has no row\n" << row;
  }
}

// Whatever an analysis makes has its row: NewFinding takes the rest from there.
TEST(FindingCatalogue, HasAllThatIsMade) {
  const std::regex made(
      R"re((?:NewFinding|Diagnose|add|report(?:\.|->)Add)\(\s*"([a-z]+\.[a-z0-9_]+)"|\{"(health\.[a-z_]+)", &TraceHealth)re");
  std::set<std::string> ids;
  ForEachFile(kSource / "src/analysis", ".cpp", [&](const fs::path& path, const std::string& text) {
    for (std::sregex_iterator at(text.begin(), text.end(), made), end; at != end; ++at)
      ids.insert((*at)[1].matched ? (*at)[1] : (*at)[2]);
    if (path.filename() == "finding_catalogue.cpp") return;
    for (const char* other : {"Finding finding;", "Finding{", "findings.push_back({", "findings->push_back({"})
      EXPECT_EQ(text.find(other), std::string::npos) << path << " makes a finding past the catalogue: " << other;
  });
  ForEachCause([&](Cause cause) { ids.insert("idle." + std::string(InfoOf(cause).name)); });
  for (const std::string& id : ids) EXPECT_NE(FindFinding(id), nullptr) << id;
  for (const FindingInfo& info : FindingCatalogue())
    EXPECT_TRUE(ids.contains(std::string(info.id))) << info.id << " is made nowhere";
}

// In a report of a recorded trace, in a case, or where a test looks for it.
TEST(FindingCatalogue, EachIsSeenByATest) {
  std::string seen;
  ForEachFile(kSource / "tests/cases", ".test", [&](const fs::path&, const std::string& text) { seen += text; });
  ForEachFile(kSource / "tests/data", ".report.json", [&](const fs::path&, const std::string& text) { seen += text; });
  ForEachFile(kSource / "tests/unit/analysis", "_test.cpp", [&](const fs::path& path, const std::string& text) {
    if (path.filename() != "findings_test.cpp" && path.filename() != "finding_catalogue_test.cpp") seen += text;
  });
  ForEachFile(kSource / "tests/unit/counters", "_test.cpp",
              [&](const fs::path&, const std::string& text) { seen += text; });
  // idle_findings_test.cpp makes each of these from the names of the causes.
  ASSERT_NE(seen.find("EachCauseIsSaidWhereItIsAndNowhereElse"), std::string::npos);
  for (const FindingInfo& info : FindingCatalogue()) {
    if (info.id.starts_with("idle.")) continue;
    const std::string id(info.id);
    const bool is_seen =
        seen.find("[" + id + "]") != std::string::npos || seen.find("\"" + id + "\"") != std::string::npos;
    EXPECT_TRUE(is_seen) << "no test and no case has a finding " << id;
  }
}

}  // namespace
}  // namespace gprof
