// Every finding has a place on the timeline, or a reason why it has none.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "html/finding_places.h"

namespace gprof::test {
namespace {

// The ids that stand in the sources of the analyses, however a finding is made there.
std::set<std::string> IdsInSources() {
  const std::regex finding(
      R"re((?:\.id = |\{|push_back\(\{|return \{)\s*"([a-z]+\.[a-z_]+)"(?:;|,\s*(?:Severity|SeverityOf|[a-z_]*percent|&TraceHealth)))re");
  const std::regex leader(R"re(\{"([a-z]+\.[a-z_]+)", "([a-z]+\.[a-z_]+)"\})re");
  std::set<std::string> ids;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(GPROF_SOURCE_DIR) + "/src/analysis")) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (std::sregex_iterator at(text.begin(), text.end(), finding), end; at != end; ++at) ids.insert((*at)[1]);
    if (entry.path().filename() != "findings.cpp") continue;
    for (std::sregex_iterator at(text.begin(), text.end(), leader), end; at != end; ++at) {
      ids.insert((*at)[1]);
      ids.insert((*at)[2]);
    }
  }
  return ids;
}

TEST(Places, EveryFindingHasOneOrAReason) {
  const std::set<std::string> ids = IdsInSources();
  for (const char* id : {"memcpy.pageable", "idle.sync", "streams.one_used", "api.errors", "steps.outliers",
                         "health.bad_times", "nccl.straggler", "critical.kernel", "memory.page_faults"}) {
    EXPECT_TRUE(ids.count(id) == 1) << id << " is not found in the sources: the pattern of this test is out of date";
  }
  for (const std::string& id : ids) {
    const PlaceOfId* const place = FindPlace(id);
    ASSERT_NE(place, nullptr) << id << " needs a line in src/html/finding_places.cpp";
    const bool has_place = !place->query.empty() || place->table != nullptr || place->id == "idle.";
    EXPECT_NE(has_place, !place->reason.empty()) << id;
  }
}

Finding FindingWith(const std::string& id, const std::string& message) {
  Finding finding;
  finding.id = id;
  finding.message = message;
  return finding;
}

std::string QueryFor(const Finding& finding, const Table& table) {
  const Table* const tables[] = {&table};
  const std::vector<FindingPlace> places = PlacesOf(std::span(&finding, 1), tables);
  return places.empty() ? "none" : places.front().query;
}

Table TableWith(const std::string& id, const std::string& column, const std::vector<std::string>& values) {
  Table table;
  table.id = id;
  table.columns = {{"other", "Other", Unit::kText, false}, {column, column, Unit::kText, false}};
  for (const std::string& value : values) table.rows.push_back({std::monostate(), value});
  return table;
}

TEST(Places, NameWhatTheFindingNames) {
  const Table kernels = TableWith("kernels", "name", {"void a<int>(int)", "gemm", "gemm_large", "other"});
  EXPECT_EQ(QueryFor(FindingWith("critical.kernel", "gemm_large is 30% of the critical path"), kernels),
            "kind:kernel name:\"gemm_large\"");
  EXPECT_EQ(QueryFor(FindingWith("occupancy.tail", "a ran 3 times"), kernels), "kind:kernel name:\"void a<int>(int)\"");
  EXPECT_EQ(QueryFor(FindingWith("steps.trend", "…"), TableWith("steps", "path", {"epoch/\"step\" \\"})),
            "kind:nvtx nvtx:\"epoch/\\\"step\\\" \\\\\"");
}

TEST(Places, DirectionsAndCausesAreThoseOfTheFinding) {
  const Table none;
  EXPECT_EQ(QueryFor(FindingWith("memcpy.pageable", "4 pageable copies host to device: …"), none), "kind:pageable_h2d");
  EXPECT_EQ(QueryFor(FindingWith("memcpy.pageable", "4 pageable copies device to host: …"), none), "kind:pageable_d2h");
  EXPECT_EQ(QueryFor(FindingWith("idle.dependency", "…"), none), "cause:dependency");
  EXPECT_EQ(QueryFor(FindingWith("health.bad_times", "…"), none), "none");
}

TEST(Places, WithoutItsTableAFindingHasAWiderPlace) {
  EXPECT_EQ(QueryFor(FindingWith("critical.kernel", "gemm is 30%"), Table()), "kind:kernel");
}

}  // namespace
}  // namespace gprof::test
